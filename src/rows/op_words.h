/* op_words.h - short texts about operations, for people. For runs with operations. */
#ifndef ROWS_OP_WORDS_H
#define ROWS_OP_WORDS_H

#include "base/buf.h"
#include "run/run.h"

/* A short sign for an operation: "aten::add_" is "+",
 * "aten::_scaled_dot_product_flash_attention" is "sdpa". Names that are not in the
 * table lose "aten::" and underscores at both ends; those of other libraries stay
 * whole. Escaped. */
void op_sign(struct buf *to, struct str name);
/* The same for an executed operation: a convolution includes its number of dimensions,
 * attach() the name it gave. */
void op_title(struct buf *to, const struct run *run, const struct run_op *op);
/* Is it only a view of its argument? Such operations are dim. */
bool op_is_view(const struct run *run, const struct run_op *op);

/* The shape of a value of operations: "1×64×56×56", "scalar". */
void op_shape(struct buf *to, const struct run *run, uint32_t value);
/* The shapes of its results, or of the arguments that it wrote to: "1×64×56×56", "3 ×
 * 1×128×768", "1×128×768 +2" if they differ. Appends nothing if it has none. */
void op_shapes(struct buf *to, const struct run *run, const struct run_op *op);
/* The counts of NaN and Inf in its results, as far as they were measured. */
void op_not_finite(const struct run *run, const struct run_op *op, uint64_t *ret_nan,
                   uint64_t *ret_inf);

#endif
