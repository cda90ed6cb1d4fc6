/* parsed_in.h - the content of an ONNX file: graphs, nodes, attributes, tensors, types.
 * All are referred to by index in arrays of the scratch arena; lists are linked by
 * `next`. Strings are ids of the model. Bytes of tensors are located, not loaded. */
#ifndef READ_ONNX_PARSED_IN_H
#define READ_ONNX_PARSED_IN_H

#include "base/map.h"
#include "read/file/input_in.h"
#include "read/onnx/wire_in.h"

#define ONNX_NONE  UINT32_MAX
#define ONNX_DEPTH 64 /* graphs inside graphs, functions inside functions */
#define ONNX_RANK  64
#define ONNX_ANY   (-1) /* an unknown size */

/* A list: its first and last item, or ONNX_NONE. */
struct onnx_list {
    uint32_t first, last, n;
};

struct onnx_name { /* an input or output of a node or function */
    uint32_t name, next;
};

enum onnx_attr_type {
    ONNX_FLOAT = 1,
    ONNX_INT,
    ONNX_STRING,
    ONNX_TENSOR,
    ONNX_GRAPH,
    ONNX_FLOATS,
    ONNX_INTS,
    ONNX_STRINGS,
    ONNX_TENSORS,
    ONNX_GRAPHS,
    ONNX_SPARSE,
    ONNX_SPARSES,
    ONNX_TYPE,
    ONNX_TYPES,
};

struct onnx_attr {
    uint32_t name, next;
    uint32_t type;   /* enum onnx_attr_type */
    uint32_t ref;    /* string id: the attribute of the function that it refers to; 0:
                       none */
    uint32_t value;  /* value id of FLOAT, INT, STRING, and the lists of these */
    uint32_t tensor; /* of TENSOR, SPARSE: the first one; or ONNX_NONE */
    uint32_t graph, last_graph; /* of GRAPH and GRAPHS */
};

struct onnx_node {
    uint32_t name, op_type, domain, overload;
    struct onnx_list inputs, outputs, attrs;
    uint32_t next;
    uint32_t graph;      /* the graph that contains it */
    uint32_t scope;      /* node of the build: the module by its name; or NO_PLACE */
    uint32_t scopes;     /* value id: LIST of the names of modules; 0: by its name */
    uint32_t classes;    /* value id: LIST of their classes; 0: unknown */
    uint32_t file, line; /* string id and line of the source; 0: unknown */
};

/* Where the numbers of a tensor are. */
enum onnx_data {
    ONNX_DATA_NONE,
    ONNX_DATA_RAW,      /* the bytes of raw_data */
    ONNX_DATA_PACKED,   /* the bytes of one packed field of floats */
    ONNX_DATA_TYPED,    /* in typed fields, to be decoded: the message with them */
    ONNX_DATA_MERGED,   /* the same in several messages: the attribute with them */
    ONNX_DATA_EXTERNAL, /* in another file */
    ONNX_DATA_SPARSE,   /* in two other tensors */
};

/* Where the data of an external tensor is. */
struct onnx_external {
    uint32_t location;      /* string id */
    int64_t offset, length; /* -1: not given; -2: not a number */
};

/* TensorProto or SparseTensorProto. Files have millions of them, so this is small. */
struct onnx_tensor {
    union {
        struct {
            uint64_t at, size; /* of RAW to MERGED: in the file */
        };
        struct {
            uint32_t values, indices; /* of SPARSE: tensors, or ONNX_NONE */
        };
        uint32_t external; /* of EXTERNAL: index in `externals` */
    };
    uint32_t name;
    uint32_t owner; /* its graph or node, or ONNX_NONE: it is part of a sparse tensor */
    int32_t type;   /* TensorProto.DataType */
    uint32_t dims;  /* index in `dims` */
    uint32_t tensor;  /* in the model; or NO_OBJECT */
    uint32_t place;   /* node of the build; or NO_PLACE */
    uint32_t scope;   /* node of the build: the module of the nodes that read it */
    uint8_t rank;     /* at most ONNX_RANK + 1, which is an error */
    uint8_t data;     /* enum onnx_data */
    uint8_t use;      /* enum onnx_use */
    bool initialiser; /* `owner` is a graph; otherwise the node of its attribute */
};
_Static_assert(sizeof(struct onnx_tensor) == 48, "a million tensors fit into memory");

/* The use of a tensor, from the nodes that read it. */
enum onnx_use {
    ONNX_STATISTIC = 1, /* mean or variance of a normalisation */
    ONNX_SCALE = 2,     /* scale or zero point of a quantised tensor */
    ONNX_QUANTISED = 4, /* it is quantised */
};

struct onnx_type { /* ValueInfoProto */
    uint32_t name, next;
    uint32_t prefix;    /* string id: "sequence of ", "optional "; 0: a tensor */
    int32_t type;       /* of elements; 0: unknown */
    int32_t rank;       /* -1: unknown */
    uint32_t dims;      /* in parsed.dims: sizes, ONNX_ANY for others */
    uint32_t dim_names; /* in parsed.items: string ids of the others; 0: none */
};

struct onnx_quant {                           /* TensorAnnotation */
    uint32_t tensor, scale, zero_point, next; /* string ids */
};

struct onnx_graph {
    uint32_t name;
    uint32_t owner;    /* the node that has it as an attribute; or ONNX_NONE */
    uint32_t function; /* the function whose body it is; or ONNX_NONE */
    uint32_t attr;     /* name of that attribute */
    uint32_t next;     /* of a list of graphs in one attribute */
    uint32_t depth;
    struct onnx_list nodes, inputs, outputs, infos, quants;
    uint32_t group; /* node of the build for its tensors; or NO_PLACE */
};

struct onnx_function {
    uint32_t name, domain, overload;
    uint32_t graph; /* its nodes and value_infos */
    struct onnx_list inputs, outputs, attr_names, defaults;
    bool active; /* private: it is being followed */
};

struct onnx_opset {
    uint32_t domain;
    int64_t version;
};

/* A part of the file that is parsed later: graphs nest, parsing does not. */
struct onnx_later {
    uint64_t at, size;
    uint32_t graph;
};

struct onnx_parsed {
    struct input *input;
    struct build *build;
    struct arena *arena;
    struct wire_window window;
    bool spent;

#define ONNX_ARRAY(type, name)                                                         \
    type *name;                                                                        \
    uint32_t n_##name, name##_room
    ONNX_ARRAY(struct onnx_graph, graphs);
    ONNX_ARRAY(struct onnx_node, nodes);
    ONNX_ARRAY(struct onnx_attr, attrs);
    ONNX_ARRAY(struct onnx_name, names);
    ONNX_ARRAY(struct onnx_tensor, tensors);
    ONNX_ARRAY(struct onnx_external, externals);
    ONNX_ARRAY(struct onnx_type, types);
    ONNX_ARRAY(struct onnx_quant, quants);
    ONNX_ARRAY(struct onnx_function, functions);
    ONNX_ARRAY(struct onnx_opset, opsets);
    ONNX_ARRAY(struct onnx_later, laters);
    ONNX_ARRAY(int64_t, dims);
    ONNX_ARRAY(uint32_t, items);
#undef ONNX_ARRAY

    /* ModelProto */
    int64_t ir_version, model_version;
    bool has_graph;
    uint32_t producer, producer_version, domain; /* string ids */
    uint32_t too_deep, n_training;
};

/* The index of a new, zeroed item of `array`, or ONNX_NONE if memory is spent:
 *     uint32_t i = ONNX_ADD(p, nodes); */
#define ONNX_ADD(p, array)                                                             \
    (arena_room((p)->arena, &(p)->array, (p)->n_##array, &(p)->array##_room,           \
                sizeof *(p)->array) < 0                                                \
         ? ((p)->spent = true, ONNX_NONE)                                              \
         : (memset(&(p)->array[(p)->n_##array], 0, sizeof *(p)->array),                \
            (p)->n_##array++))
/* Appends item i of an array to a list of them. */
#define ONNX_LINK(p, array, list, i)                                                   \
    do {                                                                               \
        struct onnx_list *list_ = (list);                                              \
        (p)->array[i].next = ONNX_NONE;                                                \
        if (list_->n++ == 0)                                                           \
            list_->first = (i);                                                        \
        else                                                                           \
            (p)->array[list_->last].next = (i);                                        \
        list_->last = (i);                                                             \
    } while (0)
/* For each item of a list. */
#define ONNX_EACH(i, p, array, list)                                                   \
    (uint32_t i = (list).n > 0 ? (list).first : ONNX_NONE; i != ONNX_NONE;             \
     i = (p)->array[i].next)

/* ---- parse*.c ---- */

/* Parses the file as far as it can be read. -1: cancelled. */
int onnx_parse(struct onnx_parsed *p, struct input *input, struct build *build,
               struct err *err);

/* The string of a field, as an id of the model. */
uint32_t onnx_string(struct onnx_parsed *p, const struct wire_field *field);
/* A new graph; ONNX_NONE: spent. */
uint32_t onnx_graph_new(struct onnx_parsed *p, uint32_t owner, uint32_t attr,
                        uint32_t depth);
void onnx_parse_later(struct onnx_parsed *p, uint32_t graph,
                      const struct wire_field *field);
/* Parse one message; unknown fields are ignored. */
void onnx_parse_node(struct onnx_parsed *p, uint32_t graph, struct wire in);
uint32_t onnx_parse_attr(struct onnx_parsed *p, uint32_t node, struct wire in);
/* Appends a tensor, or merges into `tensor` if that is not ONNX_NONE. */
uint32_t onnx_parse_tensor(struct onnx_parsed *p, uint32_t tensor, struct wire in);
/* Sets the attribute in which several messages were merged into a tensor. */
void onnx_tensor_merged(struct onnx_parsed *p, uint32_t tensor, uint64_t at,
                        uint64_t size);
uint32_t onnx_parse_sparse(struct onnx_parsed *p, struct wire in);
/* ValueInfoProto; its index in `types`. */
uint32_t onnx_parse_type(struct onnx_parsed *p, struct wire in);
/* A key and a value: StringStringEntryProto. */
void onnx_parse_pair(struct onnx_parsed *p, struct wire in, uint32_t *ret_key,
                     struct wire_field *ret_value);
/* Appends the numbers of a packed or unpacked field to parsed.dims. */
void onnx_parse_dims(struct onnx_parsed *p, const struct wire *in,
                     const struct wire_field *field);

/* ---- types of elements: TensorProto.DataType (onnx_tensor.c) ---- */

enum dtype onnx_dtype(int32_t type);
/* "float32", also "string"; NULL: unknown. */
const char *onnx_type_name(int32_t type);

/* ---- looking ---- */

struct str onnx_text(const struct onnx_parsed *p, uint32_t id);
/* The attribute of a node, or NULL. */
const struct onnx_attr *onnx_attr_find(const struct onnx_parsed *p,
                                       const struct onnx_node *node, const char *name);
/* The name of input `i`; 0: none, or omitted. */
uint32_t onnx_input(const struct onnx_parsed *p, const struct onnx_node *node,
                    uint32_t i);
/* Is it the standard domain? */
bool onnx_is_standard(struct str domain);

#endif
