/* op_table_in.h - the two tables of op_table.h: names by family (op_families.c) and
 * formulas by name (op_formulas.c), and helpers for the formulas (op_flops.c). In both
 * tables names of aten have no namespace. */
#ifndef RUN_OP_TABLE_IN_H
#define RUN_OP_TABLE_IN_H

#include "run/op_table.h"
#include "run/ops.h"

struct op_family_row {
    const char *title;
    const char *names; /* separated by blanks, sorted by bytes */
    size_t length;     /* of names */
    bool matrix;
};
extern const struct op_family_row op_families[OP_FAMILY_COUNT];

/* op_layers.c: classes of Keras, operators of TFLite; without titles. */
extern const struct op_family_row op_keras_rows[OP_FAMILY_COUNT];
extern const struct op_family_row op_tflite_rows[OP_FAMILY_COUNT];

/* How to count the FLOPs of an operation. `count` defines the meaning of a, b and c:
 * usually the arguments to multiply. */
struct op_formula {
    const char *name;
    int64_t (*count)(const struct op_seen *seen, const struct op_formula *formula);
    uint8_t a, b, c;
};
extern const struct op_formula op_formulas[]; /* sorted by name */
extern const uint32_t op_n_formulas;
const struct op_formula *op_formula_find(struct str name); /* or NULL */

/* op_onnx.c: the family of an operation of ONNX, "Conv", or OP_FAMILY_OTHER. */
enum op_family op_onnx_family(struct str name);
bool op_onnx_sorted(void); /* for a test: is the table sorted? */

/* "aten::add" becomes "add"; other names are unchanged. */
struct str op_table_name(struct str name);

/* Arithmetic on counts: OP_NO_FLOPS if an operand is negative or the result does not
 * fit. So a missing size makes the whole formula OP_NO_FLOPS. */
int64_t op_plus(int64_t a, int64_t b);
int64_t op_times(int64_t a, int64_t b);
int64_t op_product(const int64_t *factors, uint32_t n);
#define OP_PRODUCT(...)                                                                \
    op_product((const int64_t[]){__VA_ARGS__},                                         \
               sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

/* The tensor that is argument (result) number `arg`; NULL if that is None, a list, or
 * not dense: sparse or nested. */
const struct op_tensor *op_arg(const struct op_seen *seen, uint32_t arg);
const struct op_tensor *op_arg_sparse(const struct op_seen *seen, uint32_t arg);
const struct op_tensor *op_result(const struct op_seen *seen, uint32_t arg);
/* Item `item` of the list of tensors that is argument `arg`, or NULL. */
const struct op_tensor *op_arg_item(const struct op_seen *seen, uint32_t arg,
                                    uint32_t item);
/* These accept NULL. A negative `dim` counts from the end. OP_NO_FLOPS: it has none. */
int64_t op_size(const struct op_tensor *tensor, int dim);
int64_t op_sizes_from(const struct op_tensor *tensor, int dim); /* their product */
int64_t op_sizes_before(const struct op_tensor *tensor, int dim);
int64_t op_numel(const struct op_tensor *tensor);
bool op_is_rank(const struct op_tensor *tensor, uint32_t rank);

/* Attributes. A missing one does not mean the default: recordings have all. op_bool()
 * and op_mask() return 0, 1 or -1: missing or of another kind. */
int op_bool(const struct op_seen *seen, const char *key);
int op_mask(const struct op_seen *seen, const char *key, uint32_t item);
bool op_int(const struct op_seen *seen, const char *key, int64_t *ret_value);
/* The items of a list of integers. False: more than `most`, or other kinds. */
bool op_ints(const struct values *values, uint32_t id, int64_t *ret_items,
             uint32_t most, uint32_t *ret_n);

/* The formulas. Matrix products (op_flops_matmul.c), */
int64_t op_count_matmul(const struct op_seen *seen, const struct op_formula *formula);
int64_t op_count_sampled(const struct op_seen *seen, const struct op_formula *formula);
int64_t op_count_grouped(const struct op_seen *seen, const struct op_formula *formula);
int64_t op_count_linear(const struct op_seen *seen, const struct op_formula *formula);
int64_t op_count_packed(const struct op_seen *seen, const struct op_formula *formula);
int64_t op_count_linear_back(const struct op_seen *seen,
                             const struct op_formula *formula);
int64_t op_count_outer(const struct op_seen *seen, const struct op_formula *formula);
int64_t op_count_inner(const struct op_seen *seen, const struct op_formula *formula);
int64_t op_count_vecdot(const struct op_seen *seen, const struct op_formula *formula);
int64_t op_count_tensordot(const struct op_seen *seen,
                           const struct op_formula *formula);
int64_t op_count_chain(const struct op_seen *seen, const struct op_formula *formula);
/* einsum, products of three factors, distances and bags (op_flops_forms.c), */
int64_t op_count_einsum(const struct op_seen *seen, const struct op_formula *formula);
int64_t op_count_bilinear(const struct op_seen *seen, const struct op_formula *formula);
int64_t op_count_trilinear(const struct op_seen *seen,
                           const struct op_formula *formula);
int64_t op_count_distances(const struct op_seen *seen,
                           const struct op_formula *formula);
int64_t op_count_pdist(const struct op_seen *seen, const struct op_formula *formula);
int64_t op_count_bag(const struct op_seen *seen, const struct op_formula *formula);
int64_t op_count_bag_back(const struct op_seen *seen, const struct op_formula *formula);
/* convolutions (op_flops_conv.c), */
int64_t op_count_conv(const struct op_seen *seen, const struct op_formula *formula);
int64_t op_count_conv_back(const struct op_seen *seen,
                           const struct op_formula *formula);
int64_t op_count_deform_back(const struct op_seen *seen,
                             const struct op_formula *formula);
int64_t op_count_conv_tbc(const struct op_seen *seen, const struct op_formula *formula);
int64_t op_count_conv_packed(const struct op_seen *seen,
                             const struct op_formula *formula);
int64_t op_count_conv_reordered(const struct op_seen *seen,
                                const struct op_formula *formula);
/* attention and recurrent layers (op_flops_layers.c). */
int64_t op_count_attention(const struct op_seen *seen,
                           const struct op_formula *formula);
int64_t op_count_flash(const struct op_seen *seen, const struct op_formula *formula);
int64_t op_count_mha(const struct op_seen *seen, const struct op_formula *formula);
int64_t op_count_encoder(const struct op_seen *seen, const struct op_formula *formula);
int64_t op_count_rnn(const struct op_seen *seen, const struct op_formula *formula);
int64_t op_count_rnn_layer(const struct op_seen *seen,
                           const struct op_formula *formula);
int64_t op_count_cell(const struct op_seen *seen, const struct op_formula *formula);
int64_t op_count_packed_cell(const struct op_seen *seen,
                             const struct op_formula *formula);

#endif
