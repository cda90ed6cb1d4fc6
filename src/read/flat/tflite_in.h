/* tflite_in.h - TFLite, for tflite*.c only.
 *
 * A model has subgraphs. An entry is one that a caller may run: the first, and those
 * that a signature names. The tensors of a single entry are at the root of the tree.
 * Every other subgraph is a module. */
#ifndef READ_FLAT_TFLITE_IN_H
#define READ_FLAT_TFLITE_IN_H

#include "base/map.h"
#include "read/flat/flat_in.h"

#define TFLITE_NAME_MOST 4096
#define TFLITE_IOS_MOST  4096 /* inputs or outputs of one operator or subgraph */
#define TFLITE_RANK_MOST 64
#define TFLITE_NONE      UINT32_MAX

/* One tensor of a subgraph. */
struct tflite_tensor {
    struct str name;
    uint32_t node, tensor; /* of a constant; else NO_PLACE, NO_OBJECT. Strings are a
                              plain value: they have a node and no tensor */
    uint32_t shape;        /* index in model->dims, or PROGRAM_NONE */
    uint8_t dtype, rank;
    bool variable; /* state that is kept from one run to the next */
};

struct tflite_graph {
    struct flat_table table;
    uint32_t node;
    struct str name;    /* of its module; empty: it is the root */
    uint32_t signature; /* index of the first one with this entry; or TFLITE_NONE */
    struct tflite_tensor *tensors;
    uint32_t n_tensors, room;
    bool entry;
    bool active; /* the program is inside of it */
};

/* A named entry. */
struct tflite_signature {
    struct str key; /* "serving_default" */
    struct flat_table table;
    uint32_t graph;
};

struct tflite {
    struct flat flat;
    struct input *input;
    struct build *build;
    struct flat_vector codes, buffers;
    struct tflite_graph *graphs;
    uint32_t n_graphs, n_entries;
    struct tflite_signature *signatures;
    uint32_t n_signatures, signatures_room;
    struct map storages;   /* buffer -> storage: tensors with one buffer are tied */
    uint32_t n_no_buffer;  /* tensors whose buffer does not exist */
    uint32_t n_other_file; /* tensors whose values are in another file */
    bool described;        /* the metadata has a description */
};

/* ---- tflite_tensors.c ---- */

enum dtype tflite_dtype(int64_t type);
/* Reads the tensors of a subgraph; its constants become tensors below its node. */
int tflite_tensors(struct tflite *tflite, struct tflite_graph *graph, struct err *err);
/* Where the bytes of a buffer are; false: it is empty or does not exist. */
bool tflite_buffer(struct tflite *tflite, uint32_t index, uint64_t *ret_at,
                   uint64_t *ret_size);

/* ---- tflite_sparse.c ---- */

/* The storage of a sparse tensor, which computes the dense values from those that are
 * stored at `storage`. NO_STORAGE: memory is spent. *ret_why: not NULL if the values
 * cannot be computed, and the storage is missing. */
uint32_t tflite_sparse(struct tflite *tflite, struct flat_table sparsity,
                       const int64_t *shape, int rank, struct storage *storage,
                       const char **ret_why);

/* ---- tflite_facts.c ---- */

/* Reads the signatures. */
int tflite_signatures(struct tflite *tflite, struct flat_table model, struct err *err);
/* The name that a signature gives to a tensor; empty: none. */
struct str tflite_signature_name(struct tflite *tflite,
                                 const struct tflite_signature *signature, bool in,
                                 uint32_t tensor);
/* What `info` says about the file. */
void tflite_facts(struct tflite *tflite, struct flat_table model);

/* ---- tflite_names.c, tflite_options.c ---- */

/* The number of an operator code; 0 if the index is not valid. */
int64_t tflite_op_code(struct tflite *tflite, uint64_t index);
/* "CONV_2D"; NULL: unknown. */
const char *tflite_op_name(int64_t code);
/* The options of an operator as a DICT, or None. */
uint32_t tflite_options(struct tflite *tflite, struct flat_table op);

/* ---- tflite_program.c ---- */

/* Makes the program from the operators of all entries. The tensors are in the tree. */
int tflite_program(struct tflite *tflite, struct err *err);

#endif
