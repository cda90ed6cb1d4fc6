/* build.h - builds a model. The caller adds nodes in any order, each below its parent;
 * build_finish() numbers them in pre-order, finds ties and freezes the model. All ids
 * (objects, tensors, storages, classes, values, strings) stay valid after it, except
 * nodes, which become places: findings and events are translated. Memory comes from the
 * model's arena, whose limit build_init() sets. When it is spent, functions return -1
 * (or the id ..._NONE) and build->model->arena.spent is set: the reader stops, and
 * build_finish() makes a partial model. */
#ifndef MODEL_BUILD_H
#define MODEL_BUILD_H

#include "base/err.h"
#include "base/map.h"
#include "base/work.h"
#include "model/model.h"

struct build_node;
struct build {
    struct model *model;  /* owned until build_finish() */
    struct work *work;    /* borrowed, may be NULL */
    struct arena scratch; /* for the reader; released with the build */
    struct arena own;     /* for the build: nodes and indexes */
    struct build_node *nodes;
    uint32_t *next; /* by node: its next sibling */
    uint32_t n_nodes, nodes_room;
    uint32_t *by_name; /* hash table: nodes + 1 by parent and name; 0 is free; only
                          nodes with many siblings */
    uint32_t n_by_name, by_name_room;
    struct map by_dims, by_class, by_tensor, by_global;
    uint32_t *firsts; /* by storage: its first tensor; other tensors are in by_tensor */
    uint32_t n_firsts, firsts_room;
    uint32_t said[FINDING_COUNT]; /* number of findings of each code so far */
    struct finding dropped;       /* what build_finding() returns for the rest */
    /* A state_dict does not record classes: if set, build_finish() guesses them from
     * the names and shapes of each module's own tensors (conv, linear, lstm ...).
     * Guesses are marked `guessed`, have arguments (in, out, kernel_size), and are
     * shown with a ~. Also finds buffers by their names and wrappers (module.,
     * _orig_mod.). */
    bool guess;
    struct program *program; /* the model's, while it is being built */
    size_t program_most;     /* it may grow until the model's arena reaches this size */
};

/* Begin a model. `path` is as given by the user; `limit` is the memory limit of the
 * model and of each of the build's two arenas. The root node is 0, a group. */
int build_init(struct build *build, const char *path, size_t limit, struct work *work,
               struct err *err);
/* Freeze: numbers the places, finds ties, guesses layers if `guess` is set. Releases
 * all memory of the build, scratch included. Returns the model, which never changes
 * from now on; free it with model_free(). NULL: even that needs more memory than
 * allowed. */
const struct model *build_finish(struct build *build, struct err *err);
/* Always call it; after a successful build_finish() it does nothing. */
void build_release(struct build *build);
/* Was the memory limit reached? */
bool build_spent(const struct build *build);

/* For a reader of many small files inside a file: releases all scratch memory allocated
 * between begin and end. Earlier scratch memory must not be used in between. */
struct arena build_scratch_begin(struct build *build);
void build_scratch_end(struct build *build, struct arena before);

/* Reserves memory for about this many tensors, each with its own storage. */
void build_reserve(struct build *build, size_t n_tensors);

/* Strings and values of the model. */
uint32_t build_string(struct build *build, struct str s);
struct values *build_values(struct build *build);

/* Adds a node below `parent`, after its siblings; its number, or NO_PLACE. */
uint32_t build_node(struct build *build, uint32_t parent, enum place_kind kind,
                    struct str name);
/* The node `name` below `parent` if build_child() made one, else a new one. */
uint32_t build_child(struct build *build, uint32_t parent, enum place_kind kind,
                     struct str name);
/* Always adds a node; *ret_again: build_leaf() already added one with this name and
 * parent. */
uint32_t build_leaf(struct build *build, uint32_t parent, enum place_kind kind,
                    struct str name, bool *ret_again);
/* The parent of a tensor with this dotted name; adds missing modules:
 * "layer1.0.conv1.weight" gives layer1.0.conv1 and, in *ret_last, "weight".
 * build_finish() sorts numbered siblings below such parents by number. */
uint32_t build_dotted(struct build *build, uint32_t parent, struct str dotted,
                      struct str *ret_last);
void build_set_kind(struct build *build, uint32_t node, enum place_kind kind);
void build_set_flags(struct build *build, uint32_t node, unsigned flags); /* adds */
void build_set_object(struct build *build, uint32_t node, uint32_t object);
enum place_kind build_kind(const struct build *build, uint32_t node);
unsigned build_flags(const struct build *build, uint32_t node);
/* The full name of a node, as place_path() will give it; its tensor, or NO_OBJECT. */
void build_path(const struct build *build, uint32_t node, struct buf *to);
uint32_t build_tensor_at(const struct build *build, uint32_t node);
/* The object of a module or group node, added if it has none; NULL: spent. The pointer
 * is valid until the next object is added. */
struct object *build_object(struct build *build, uint32_t node);
/* `node` is the same object as `first` (a shared module): PLACE_AGAIN. */
int build_same(struct build *build, uint32_t node, uint32_t first);

/* Is this the usual name of a buffer ("running_mean")? */
bool build_is_buffer_name(struct str last_name);

uint32_t build_class(struct build *build, struct str qualified_name);
uint32_t build_file(struct build *build, struct str name, uint64_t size);

/* Sets the name of a storage before build_storage(). A trailing number is stored apart,
 * as a file may have a hundred thousand of "data/N". -1: spent. */
int build_storage_name(struct build *build, struct storage *storage, struct str name);
/* Adds a storage; its number, or NO_STORAGE. It is complete unless it has
 * STORAGE_MISSING. */
uint32_t build_storage(struct build *build, const struct storage *storage);
/* The same if only the first `have` bytes can be read; sets its flags. */
uint32_t build_storage_part(struct build *build, struct storage *storage,
                            uint64_t have);

/* Adds a tensor with sizes and strides (strides NULL: C order). Checks rank, signs,
 * overflow and extent: a bad tensor is marked TENSOR_INVALID and becomes a finding at
 * `node`. Fills tensor->numel, shape, strides; copies *tensor. Tensors with the same
 * elements of the same storage in the same shape are tied: the existing one is
 * returned, and becomes a parameter if either is. Sets the node's tensor and kind
 * (PLACE_TENSOR); `node` may be NO_PLACE for a tensor without a place (inside an
 * attribute). Returns its number, or NO_OBJECT. */
uint32_t build_tensor(struct build *build, uint32_t node, struct tensor *tensor,
                      const int64_t *shape, const int64_t *strides, int rank);
/* Removes the last tensor added, but not its storage: `node` is empty again. False:
 * others may refer to the tensor, and it stays. */
bool build_tensor_undo(struct build *build, uint32_t node, uint32_t tensor);
/* Adds another place of a tensor. */
void build_tensor_again(struct build *build, uint32_t node, uint32_t tensor);
uint16_t build_device(struct build *build, struct str name);
/* The index in model->dims of a shape without a tensor: that of a program's value. A
 * size of -1 is unknown. UINT32_MAX: spent. */
uint32_t build_dims(struct build *build, const int64_t *shape, int rank);

/* Adds a fact about the container ("entries", 326), or metadata of the file. */
void build_fact(struct build *build, const char *key, uint32_t value);
void build_metadata(struct build *build, struct str key, uint32_t value);

/* Add a finding, at most 1000 of one code. TRUNCATED, DAMAGED, LIMIT, MISSING_* and
 * PICKLE_MALFORMED also mark the model as partial. It belongs to the newest file of the
 * model. Returns the finding, to set `named` or `entry`, or a dummy. */
struct finding *build_finding(struct build *build, enum finding_code code,
                              enum severity severity, uint32_t node, const char *format,
                              ...) __attribute__((format(printf, 5, 6)));

/* The pickle log. */
uint32_t build_pickle_stream(struct build *build, struct str name, uint64_t size);
/* The index of "module.name" in the log's globals, added if new; UINT32_MAX: spent. */
uint32_t build_pickle_global(struct build *build, struct str name, uint32_t module_len);
/* Counts one event. True: it is among the first PICKLE_LOG_KEEP of its kind and should
 * be kept in full with build_pickle_event(). */
bool build_pickle_count(struct build *build, uint32_t global_index,
                        enum pickle_act act);
void build_pickle_event(struct build *build, const struct pickle_event *event);

/* Code that a file names outside of a pickle (the classes in the JSON of Keras): a
 * complete stream in the log, and one use of `module.name` at an offset in it. `module`
 * may be empty; `args` is a value id, `node` or FINDING_NOWHERE is the result. */
uint32_t build_code_stream(struct build *build, struct str name, uint64_t size);
void build_code_use(struct build *build, uint32_t stream, struct str module,
                    struct str name, uint64_t offset, uint32_t args, uint32_t node);

/* The program of the model, see program.h. Begin it once the tree is complete; places
 * are nodes until build_finish(). It may use a quarter of the remaining memory, so that
 * a large program never makes the rest of the model partial: at that limit the
 * functions return PROGRAM_NONE and set program->cut. NULL: no memory left for a
 * program. */
struct program *build_program(struct build *build);
/* Discards the program. */
void build_program_drop(struct build *build);
/* Is there no memory left for the program? Also check this before interning strings and
 * values for it. */
bool build_program_full(struct build *build);
uint32_t build_program_value(struct build *build, const struct program_value *value);
/* A value of this kind to fill in and add: everything else about it is unknown. */
struct program_value build_program_blank(enum program_value_kind kind);
/* Adds an operation with the ios before it: op->io is set, n_in and n_out count them. */
uint32_t build_program_op(struct build *build, const struct program_op *op,
                          const struct program_io *ios);
/* The same for a call; its ios may be set later. */
uint32_t build_program_call(struct build *build, const struct program_call *call);
int build_program_call_ios(struct build *build, uint32_t call,
                           const struct program_io *ios, uint32_t n_in, uint32_t n_out);
uint32_t build_program_region(struct build *build, const struct program_region *region);
/* Sets the sources of a PROGRAM_MERGE. */
int build_program_sources(struct build *build, uint32_t value, const uint32_t *sources,
                          uint32_t n);

#endif
