/* op_words.h - short texts about operations, for people. For runs with operations. */
#ifndef ROWS_OP_WORDS_H
#define ROWS_OP_WORDS_H

#include "base/buf.h"
#include "run/run.h"

/* What an operation does, as short as it is read: "aten::add_" is "+",
 * "aten::_scaled_dot_product_flash_attention" is "sdpa". Names that the table does not
 * have lose "aten::" and underscores at both ends; those of other libraries stay whole.
 * Escaped. */
void op_sign(struct buf *to, struct str name);
/* The same for an operation that ran: a convolution also says of how many dimensions,
 * attach() which name it gave. */
void op_title(struct buf *to, const struct run *run, const struct run_op *op);
/* Does it only look at its argument in another way? Such operations are dim. */
bool op_is_view(const struct run *run, const struct run_op *op);

/* The shape of a value of operations: "1×64×56×56", "scalar". */
void op_shape(struct buf *to, const struct run *run, uint32_t value);
/* The shapes of its results, or of the arguments that it wrote to: "1×64×56×56",
 * "3 × 1×128×768", "1×128×768 +2" if they differ. Nothing if it has none. */
void op_shapes(struct buf *to, const struct run *run, const struct run_op *op);
/* NaN and Inf in its results, as far as they were measured. */
void op_not_finite(const struct run *run, const struct run_op *op, uint64_t *ret_nan,
                   uint64_t *ret_inf);

#endif
