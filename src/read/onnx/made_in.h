/* made_in.h - turns the content of an ONNX file into a model: tensors, tree, facts. */
#ifndef READ_ONNX_MADE_IN_H
#define READ_ONNX_MADE_IN_H

#include "read/onnx/parsed_in.h"

#define ONNX_SMALL   16 /* elements: constants up to this size are plain values */
#define ONNX_NUMBERS 64 /* most integers read from one tensor */

/* A file with external data. */
struct onnx_file {
    uint32_t location;
    struct blob *blob; /* owned by the model's source; NULL: it cannot be read */
};

/* A module that a name implies. */
struct onnx_module {
    uint32_t above; /* the module around it; NO_PLACE: the root, or none */
    uint32_t main_op,
        any; /* string ids: types of the last computing node, the last node */
    uint32_t n_main, n_any;
    bool holds;  /* it contains other modules */
    bool weight; /* it has a tensor "weight": its layer is guessed from shapes */
};

struct onnx_making {
    struct onnx_parsed *p;
    struct build *build;
    struct input *input;
    uint32_t root;          /* node of the build for the whole model */
    struct map by_location; /* location -> index in files */
    struct onnx_file *files;
    uint32_t n_files, files_room;
    uint32_t *by_name; /* string id -> initialiser of the main graph + 1; 0: none */
    uint32_t n_by_name;
    struct map initialisers;          /* of other graphs: graph and name -> tensor */
    struct map taken;                 /* the same: name -> the first graph with it */
    struct map by_function;           /* domain, name, overload -> function */
    struct map by_rule;               /* type of operation -> rule of infer.c */
    uint32_t last_scopes, last_scope; /* of onnx_names.c: a cache */
    struct onnx_module *modules;      /* by node of the build; empty for other nodes */
    uint32_t n_modules, modules_room;
};

/* ---- onnx_tensor.c ---- */

/* Makes a tensor at a node of the build (or NO_PLACE). -1: memory is spent. */
int onnx_tensor_make(struct onnx_making *m, uint32_t tensor, uint32_t node);
/* Reads the first n (at most ONNX_NUMBERS) elements of a tensor of integers or
 * booleans; false: other dtype, or fewer elements. */
bool onnx_tensor_ints(const struct onnx_making *m, uint32_t tensor, int64_t *to,
                      uint32_t n);
/* A small tensor as a plain value, a number or a list; VALUE_ID_NONE: it is too large.
 */
uint32_t onnx_tensor_value(struct onnx_making *m, uint32_t tensor);
/* The number of elements; UINT64_MAX: invalid dims. */
uint64_t onnx_tensor_count(const struct onnx_parsed *p, const struct onnx_tensor *t);

/* ---- onnx_typed.c ---- */

/* The bytes of a tensor whose numbers are in typed fields, decoded into scratch memory.
 * False: they do not have this many bytes, or memory is spent. */
bool onnx_typed_bytes(struct onnx_parsed *p, const struct onnx_tensor *t,
                      enum dtype dtype, uint64_t bytes, struct str *ret_bytes);
/* The first strings of a string tensor, as a LIST. */
uint32_t onnx_typed_texts(struct onnx_parsed *p, const struct onnx_tensor *t);

/* ---- onnx_external.c ---- */

/* The file at a location (string id), opened on first use; NULL: it cannot be read,
 * which is a finding. */
struct blob *onnx_external(struct onnx_making *m, uint32_t location);

/* ---- onnx_names.c, onnx_quant.c ---- */

/* Finds or adds the module `name` below the module `at`; dots separate modules, *depth
 * counts them. NO_PLACE: spent, or too deep. */
uint32_t onnx_descend(struct onnx_making *m, uint32_t at, struct str name, int *depth);
/* The parent of a module, or NO_PLACE. */
uint32_t onnx_above(const struct onnx_making *m, uint32_t place);
/* Gives all nodes and tensors a place. -1: memory is spent. */
int onnx_names(struct onnx_making *m);
/* Resolves a name in a graph to an initialiser or Constant; ONNX_NONE: neither. */
uint32_t onnx_initialiser(const struct onnx_making *m, uint32_t graph, uint32_t name);
/* Classifies initialisers by the nodes that read them. */
void onnx_use_tensors(struct onnx_making *m);
/* Links tensors to their scales and zero points; call it after all tensors are made. */
void onnx_quantisation(struct onnx_making *m);

/* ---- onnx_facts.c ---- */

void onnx_facts(struct onnx_making *m);
void onnx_findings(struct onnx_making *m);
/* "float32 batch×3×224×224"; nothing if the type is unknown. */
void onnx_type_text(const struct onnx_parsed *p, const struct onnx_type *type,
                    struct buf *to);

/* ---- onnx_walk.c ---- */

/* The program: what the graph computes. */
int onnx_program(struct onnx_making *m, struct err *err);

#endif
