/* tflite_in.h - TFLite, for tflite*.c only. */
#ifndef READ_FLAT_TFLITE_IN_H
#define READ_FLAT_TFLITE_IN_H

#include "read/flat/flat_in.h"

/* One tensor of a subgraph. */
struct tflite_tensor {
    struct str name;
    uint32_t node, tensor; /* of a constant; else NO_PLACE, NO_OBJECT */
    uint32_t value;        /* of the program; PROGRAM_NONE: not made yet */
    uint32_t shape;        /* index in model->dims, or PROGRAM_NONE */
    uint8_t dtype, rank;
};

struct tflite {
    struct flat flat;
    struct input *input;
    struct build *build;
    struct flat_vector codes, buffers;
    struct tflite_tensor *tensors;
    uint32_t n_tensors;
};

/* The operators of a subgraph, whose tensors are in the tree, as the program. */
int tflite_program(struct tflite *tflite, struct flat_table graph, struct err *err);

/* "CONV_2D"; NULL: unknown. */
const char *tflite_op_name(int64_t code);
/* The options of an operator as a DICT, or None. */
uint32_t tflite_options(struct tflite *tflite, struct flat_table op);

#endif
