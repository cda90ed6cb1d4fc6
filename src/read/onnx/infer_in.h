/* infer_in.h - infers shapes and dtypes of results that the file does not record. A
 * rule gets the known properties of the inputs and sets those of the outputs; a size
 * that depends on the data, or is not fixed, stays ONNX_ANY. Integers are propagated
 * too (the sizes that Shape returns, the axes in a Constant), because shapes depend on
 * them.
 *
 *   infer.c         THE TABLE of rules, finding attributes
 *   infer_plain.c   elementwise, matrix products, quantisation, recurrent layers
 *   infer_window.c  convolutions and pooling
 *   infer_view.c    reshaping, slicing, gathering
 *   infer_number.c  operations on known integers */
#ifndef READ_ONNX_INFER_IN_H
#define READ_ONNX_INFER_IN_H

#include "read/onnx/made_in.h"

#define INFER_NUMBERS ONNX_NUMBERS /* most integers propagated per value */
#define INFER_UNKNOWN INT64_MIN    /* an unknown integer */

/* The known properties of a value. */
struct onnx_known {
    int32_t rank; /* -1: unknown */
    uint8_t dtype;
    const int64_t *dims;    /* sizes, or ONNX_ANY; in the arena */
    const int64_t *numbers; /* its elements in order; NULL: unknown */
    uint32_t n_numbers;
};

/* A function being followed: the source of its attributes. */
struct onnx_scope {
    const struct onnx_node *caller;
    const struct onnx_function *function;
    const struct onnx_scope *outer;
};

struct infer {
    struct onnx_making *m;
    const struct onnx_node *node;
    const struct onnx_scope *scope; /* NULL: not in a function */
    const struct onnx_known *in;    /* omitted inputs have rank -1 and no dtype */
    uint32_t n_in;
    const struct onnx_known *constant; /* of Constant: its tensor; else NULL */
    struct onnx_known *out;
    uint32_t n_out;
    int64_t opset; /* of the standard domain */
    bool spent;
};

/* Fills in the outputs if the operation has a rule. */
void onnx_infer(struct infer *f);
/* The attribute of a node; in a function, references resolve to attributes of the
 * call. */
const struct onnx_attr *onnx_attr_in(const struct onnx_parsed *p,
                                     const struct onnx_scope *scope,
                                     const struct onnx_node *node, const char *name);
/* Resolves a reference to an attribute of the call. NULL: the call does not have it. */
const struct onnx_attr *onnx_attr_resolve(const struct onnx_parsed *p,
                                          const struct onnx_scope *scope,
                                          const struct onnx_attr *attr);

/* ---- for rules ---- */

int64_t infer_int(const struct infer *f, const char *name, int64_t preset);
/* The integers of an attribute, at most INFER_NUMBERS; false: it has none. */
bool infer_ints(const struct infer *f, const char *name, int64_t *to, uint32_t *ret_n);
bool infer_text(const struct infer *f, const char *name, struct str *ret_text);
/* Input i; an unknown one if it is absent. */
const struct onnx_known *infer_input(const struct infer *f, uint32_t i);
/* Integers from an attribute, or from input i (newer opsets moved many there). False:
 * absent, or not all known; *ret_given: present. */
bool infer_numbers(const struct infer *f, const char *name, uint32_t i, int64_t *to,
                   uint32_t *ret_n, bool *ret_given);
/* Sets output i. `dims` is copied. */
void infer_set(struct infer *f, uint32_t i, uint8_t dtype, const int64_t *dims,
               int32_t rank);
/* Sets output i to the shape of another value, and to this dtype. */
void infer_same(struct infer *f, uint32_t i, const struct onnx_known *as,
                uint8_t dtype);
void infer_dtype(struct infer *f, uint32_t i, uint8_t dtype);
/* Sets the integers of output i. */
void infer_set_numbers(struct infer *f, uint32_t i, const int64_t *numbers, uint32_t n);
/* Normalises an axis, which may be negative; false: outside [0, rank). */
bool infer_axis(int64_t axis, int32_t rank, int32_t *ret_axis);
/* Products and sums; ONNX_ANY if an operand is, or on overflow. */
int64_t infer_times(int64_t a, int64_t b);
int64_t infer_plus(int64_t a, int64_t b);
/* The broadcast of two shapes into `to`; false: they are incompatible. */
bool infer_broadcast(const struct onnx_known *a, const struct onnx_known *b,
                     int64_t *to, int32_t *ret_rank);

/* ---- rules ---- */

void infer_like_first(struct infer *f);
void infer_like_norm(struct infer *f);
void infer_boolean(struct infer *f);
void infer_elementwise(struct infer *f);
void infer_comparison(struct infer *f);
void infer_where(struct infer *f);
void infer_cast(struct infer *f);
void infer_dropout(struct infer *f);
void infer_matmul(struct infer *f);
void infer_gemm(struct infer *f);
void infer_quantize(struct infer *f);
void infer_dequantize(struct infer *f);
void infer_dynamic_quantize(struct infer *f);
void infer_recurrent(struct infer *f);
void infer_reduce(struct infer *f);
void infer_arg(struct infer *f);
void infer_conv(struct infer *f);
void infer_conv_transpose(struct infer *f);
void infer_pool(struct infer *f);
void infer_global_pool(struct infer *f);
void infer_resize(struct infer *f);
void infer_depth_space(struct infer *f);
void infer_reshape(struct infer *f);
void infer_flatten(struct infer *f);
void infer_transpose(struct infer *f);
void infer_concat(struct infer *f);
void infer_split(struct infer *f);
void infer_slice(struct infer *f);
void infer_squeeze(struct infer *f);
void infer_unsqueeze(struct infer *f);
void infer_gather(struct infer *f);
void infer_gather_nd(struct infer *f);
void infer_gather_elements(struct infer *f);
void infer_expand(struct infer *f);
void infer_tile(struct infer *f);
void infer_pad(struct infer *f);
void infer_topk(struct infer *f);
void infer_one_hot(struct infer *f);
void infer_shape(struct infer *f);
void infer_size(struct infer *f);
void infer_constant(struct infer *f);
void infer_constant_of_shape(struct infer *f);
void infer_range(struct infer *f);
void infer_random(struct infer *f);
void infer_non_zero(struct infer *f);
/* Propagates integers to a result whose shape is set; runs after the rules. */
void infer_follow(struct infer *f);

#endif
