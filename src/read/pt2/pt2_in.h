/* pt2_in.h - programs of torch.export: a zip with the graph as JSON, the tensors as raw
 * bytes (torch 2.8 and later) or as files of torch.save() (2.1 to 2.7). Also packages of
 * AOTInductor, which hold native code: it is listed and flagged, never loaded.
 *
 *   pt2.c           the reader: the files in the archive
 *   pt2_json.c      parts of the schema: unions, dtypes, tensor metadata
 *   pt2_tree.c      modules with their classes, from the stacks of the nodes
 *   pt2_tensors.c   parameters, buffers and constants
 *   pt2_facts.c     versions, inputs, outputs and ranges, as text
 *   pt2_native.c    packages with native code
 *   pt2_program.c   the graph as a program: values, operations, module calls
 *   pt2_args.c      one argument: inputs and attributes
 *   pt2_control.c   cond, while_loop, map and other operations with graphs inside
 *
 * The JSON is read into a tree (base/json_doc.h), whose depth is limited; so is every
 * recursion here. All names in it are untrusted. */
#ifndef READ_PT2_PT2_IN_H
#define READ_PT2_PT2_IN_H

#include "base/json_doc.h"
#include "base/map.h"
#include "read/file/input_in.h"

extern const struct reader pt2_reader;

#define PT2_RANK 64

/* One module of the stack of a node: the node is inside its call. */
struct pt2_frame {
    struct str key;  /* "L__self__fc", for another call of it "L__self__fc@1" */
    struct str path; /* "fc" */
    uint32_t node;   /* the build's node of the module; NO_PLACE: too deep */
};

/* The stack of some nodes: the outermost module first. */
struct pt2_stack {
    uint32_t first, n; /* in pt2->frames */
};

struct pt2 {
    struct input *input;
    struct build *build;
    struct zip *zip;
    bool old;        /* the layout of 2.1 to 2.7 */
    bool big_endian; /* raw tensors */
    struct str name; /* of the program: "model" */
    uint32_t root;   /* the build's node of its root module */
    struct json_doc doc;
    uint32_t graph, signature; /* nodes of doc */
    struct name_map stacks;    /* the text of each stack */
    struct pt2_stack *stack_of;
    uint32_t stack_room;
    struct pt2_frame *frames;
    uint32_t n_frames, frames_room;
    struct name_map tensors; /* full names; index in tensor_nodes */
    uint32_t *tensor_nodes;  /* the build's node of each */
    uint32_t tensor_nodes_room;
    uint32_t *storage_of; /* by zip entry: its storage + 1 */
};

/* ---- pt2_json.c ---- */

/* The member of a union that is set: {"as_int": 3}; old files list all members, with
 * null for unset ones. *ret_kind is its key; 0: none. */
uint32_t pt2_union(const struct json_doc *doc, uint32_t at, struct str *ret_kind);

struct pt2_meta {
    enum dtype dtype;
    enum layout layout;
    int rank;
    bool open; /* some size is symbolic, stored as -1 */
    bool grad;
    int64_t shape[PT2_RANK], strides[PT2_RANK], offset;
    struct str device;
    int64_t device_index; /* -1: none */
};
/* Read a TensorMeta; false: not a TensorMeta, or its rank is too large. */
bool pt2_meta(const struct json_doc *doc, uint32_t at, struct pt2_meta *ret_meta);

/* "torch.float32", "torch.channels_last", "torch.strided"; empty: unknown. */
struct str pt2_scalar_type(const struct json_doc *doc, uint32_t at);
struct str pt2_memory_format(const struct json_doc *doc, uint32_t at);
struct str pt2_layout(const struct json_doc *doc, uint32_t at);
/* "cuda:0" */
void pt2_device(struct buf *to, const struct json_doc *doc, uint32_t at);
/* The size or expression of a SymInt as text: "3", "s77", "2*s77". */
void pt2_sym(struct buf *to, const struct json_doc *doc, uint32_t at);

/* ---- pt2_tree.c ---- */

/* Makes the modules, in the order of the program's list, and their classes. */
int pt2_tree(struct pt2 *pt2, struct err *err);
/* The stack of a node of a graph (from its metadata), found by pt2_tree(). */
struct pt2_stack pt2_stack_of(const struct pt2 *pt2, uint32_t node);
/* The node for the tensor (or other object) with this full name, added if it is new. */
uint32_t pt2_place(struct pt2 *pt2, struct str full_name);
/* The node made by pt2_place(), or NO_PLACE. */
uint32_t pt2_place_find(const struct pt2 *pt2, struct str full_name);

/* ---- pt2_tensors.c, pt2_facts.c, pt2_native.c, pt2_program.c ---- */

int pt2_tensors(struct pt2 *pt2, struct err *err);
void pt2_facts(struct pt2 *pt2);
/* Lists the files below data/aotinductor/ and flags them as code. */
int pt2_native(struct pt2 *pt2, struct err *err);
void pt2_program(struct pt2 *pt2);

/* ---- helpers of pt2.c ---- */

/* Load the JSON of an entry into `doc`, in the build's scratch arena. */
int pt2_load_json(struct pt2 *pt2, uint32_t entry, struct json_doc *doc,
                  struct err *err);
/* The entry FOLDER + NAME + TAIL, or -1. */
int64_t pt2_entry(const struct pt2 *pt2, const char *folder, struct str name,
                  const char *tail);

#endif
