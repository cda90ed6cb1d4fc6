/* model.h - the parts of a neural network. Frozen once built: any thread may read it
 * without locks.
 *
 * The tour of the room:
 *   model.h       places, objects, tensors, storages, classes; reading them
 *   build.h       building a model: used by readers and live modules
 *   value.h       plain values, interned      dtype.h    element types
 *   source.h      access to bytes and code    finding.h  problems found by a reader
 *   pickle_log.h  the effects of a pickle     program.h  the computation in a file
 *
 * A *place* is a position in the tree; an *object* is the module or tensor at that
 * position. Tied modules and tensors have several places and one object. Places are
 * numbered in pre-order: the first child of p is p + 1 (if p + 1 < end[p]), the next
 * sibling of p is end[p]. Places are stored as columns, so that folds, searches and
 * sums are linear scans. Full paths are built on demand. Place 0 is the root. */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/intern.h"
#include "base/str.h"
#include "model/dtype.h"
#include "model/finding.h"
#include "model/pickle_log.h"
#include "model/program.h"
#include "model/source.h"
#include "model/value.h"

#define NO_PLACE   UINT32_MAX
#define NO_OBJECT  UINT32_MAX
#define NO_STORAGE UINT32_MAX
#define NO_CLASS   UINT32_MAX

enum place_kind {
    PLACE_MODULE, /* an nn.Module, or implied by dotted names */
    PLACE_GROUP,  /* a dict, list, tuple or other object that contains places */
    PLACE_TENSOR, /* may have places below it: the parts of a sparse or wrapped tensor
                   */
    PLACE_VALUE,  /* a plain value: epoch: 12 */
};

/* Properties of a place. */
enum place_flag {
    PLACE_AGAIN = 1,        /* another place of a shared module or group: its children
                               are only below the first place */
    PLACE_STATE_DICT = 2,   /* a group that holds a state_dict */
    PLACE_OPTIMIZER = 4,    /* the state of an optimizer */
    PLACE_PREFIX = 8,       /* a wrapper by name: module. (DataParallel), _orig_mod. */
    PLACE_BUFFER_TEMP = 16, /* a non-persistent buffer */
    PLACE_ATTRIBUTE = 32,   /* a plain attribute of its module, not registered */
    PLACE_EMPTY = 64,       /* registered but None */
};

enum tensor_role {
    ROLE_PARAMETER,
    ROLE_BUFFER,
    ROLE_STATE, /* of an optimizer */
    ROLE_PLAIN, /* any other tensor; not counted as a parameter */
};

enum tensor_flag {
    TENSOR_ROLE_GUESSED = 1, /* parameter or buffer: guessed by name */
    TENSOR_GRAD_KNOWN = 2,   /* requires_grad is known */
    TENSOR_GRAD = 4,         /* requires_grad */
    TENSOR_CONJ = 8,         /* conjugated on the fly */
    TENSOR_NEG = 16,         /* negated on the fly */
    TENSOR_INVALID = 32,     /* its description is wrong (see findings); no values */
    TENSOR_META = 64,        /* has no values by design (meta device) */
    TENSOR_SHAPE_ONLY = 128, /* wrapped or sparse: its values are in the parts below
                                it */
    TENSOR_DERIVED = 256,    /* not in the file: computed from other tensors, described
                                by `extra` (packed weights) */
};

enum layout {
    LAYOUT_STRIDED,
    LAYOUT_COO,
    LAYOUT_CSR,
    LAYOUT_CSC,
    LAYOUT_BSR,
    LAYOUT_BSC,
    LAYOUT_NESTED,
    LAYOUT_WRAPPED
};

/* One tensor. Tied tensors are one tensor with several places; views of one storage are
 * several tensors. Sizes and strides are in elements. */
struct tensor {
    uint8_t dtype, role, layout, rank;
    uint16_t flags;
    uint16_t device;   /* index in model->devices: where it was saved from */
    uint32_t shape;    /* index of its sizes in model->dims (rank of them), followed by
                          its strides, which only matter if it is strided */
    uint32_t storage;  /* or NO_STORAGE */
    uint32_t class_id; /* "Parameter", a subclass, or NO_CLASS for a plain Tensor */
    uint32_t extra;    /* value id of a DICT: quantiser, scale, axis, ...; or None */
    uint32_t place;    /* its first place, or NO_PLACE: only in attributes */
    uint32_t places;   /* number of places */
    uint64_t offset;   /* of the first element in its storage, in elements */
    uint64_t numel;
};

enum storage_flag {
    STORAGE_BIG_ENDIAN = 1, /* elements are big-endian */
    STORAGE_MISSING = 2,    /* missing, or beyond the end of the file */
    STORAGE_PARTLY = 4,     /* truncated: only some of its bytes can be read */
};

struct storage {
    uint64_t bytes;  /* as declared; see storage_have() */
    uint64_t at;     /* offset in its file (for a zip member: of its header) */
    uint32_t name;   /* string id; see storage_name() */
    uint32_t number; /* not 0: the name is `name` followed by number - 1 */
    uint32_t file;   /* index in model->files */
    uint8_t flags;
    uint8_t dtype; /* declared element type, or DTYPE_UNKNOWN for untyped bytes */
};

/* The readable bytes of a storage with STORAGE_PARTLY. */
struct storage_part {
    uint64_t have;
    uint32_t storage;
};

struct class_info {
    uint32_t name;   /* string id, qualified: "torch.nn.modules.conv.Conv2d" */
    uint32_t source; /* string id of its source text, or 0: not in this file */
    uint32_t file;   /* string id of the path the source came from, or 0 */
    uint32_t line;   /* its first line there, or 0 */
    uint32_t bases;  /* value id of a LIST: names of its base classes, the nearest
                        first; or None: unknown */
};

/* A module, or another object with a class. */
struct object {
    uint32_t class_id; /* or NO_CLASS: unknown */
    uint32_t args;     /* value id of a DICT: hyper-parameters in order; or None */
    uint32_t hidden;   /* value id of a DICT: private attributes; or None */
    uint32_t hooks;    /* value id of a DICT kind -> list of names; or None */
    uint32_t place;    /* its first place */
    uint16_t version;  /* of a state_dict's module, from _metadata; 0: none */
    int8_t training;   /* 1, 0, or -1: unknown */
    bool guessed;      /* the class is a guess from names and shapes: shown with ~ */
};

/* One file that was opened: the model file itself, or a shard. */
struct model_file {
    uint32_t name;    /* string id, as shown */
    uint32_t address; /* string id of the address to open it with, if not its name: an
                         address with a secret, which is never written anywhere; else
                         0 */
    uint64_t size;
};

struct model_fact {
    uint32_t key;   /* string id */
    uint32_t value; /* value id */
};

struct model {
    struct arena arena;
    struct arena table; /* hash table of `strings`; released when sealed */
    struct intern strings;
    struct values values;

    /* What was opened. */
    const char *path;         /* as the user gave it */
    const char *format;       /* display name: "torch zip" */
    struct model_fact *facts; /* about the container: entries, protocol */
    uint32_t n_facts, facts_room;
    struct model_fact *metadata; /* of the file: __metadata__ */
    uint32_t n_metadata, metadata_room;
    struct model_file *files;
    uint32_t n_files, files_room;
    uint64_t file_bytes; /* of all files */

    /* Places, as columns. */
    uint32_t n_places;
    uint32_t *parent; /* NO_PLACE for the root */
    uint32_t *end;    /* one past the last place below */
    uint32_t *name;   /* string id */
    uint32_t *object; /* module, group: index in objects (or NO_OBJECT); tensor: index
                         in tensors; value: value id */
    uint8_t *kind, *flags;

    struct object *objects;
    uint32_t n_objects, objects_room;
    struct tensor *tensors;
    uint32_t n_tensors, tensors_room;
    struct storage *storages;
    uint32_t n_storages, storages_room;
    struct storage_part *parts; /* in the order of storages */
    uint32_t n_parts, parts_room;
    struct class_info *classes;
    uint32_t n_classes, classes_room;
    int64_t *dims; /* shapes and strides; equal ones are shared */
    uint32_t n_dims, dims_room;
    uint32_t *devices; /* string ids: "cpu", "cuda:0"; 0: unknown */
    uint32_t n_devices, devices_room;

    struct finding *findings;
    uint32_t n_findings, findings_room;
    bool live;    /* built from live objects, not from a file */
    bool partial; /* parts of the file could not be read */
    struct pickle_log pickle;
    const struct program *program; /* NULL: the file does not contain its computation */

    struct source *source; /* owned; NULL: values are not available */
    const char *no_values; /* a constant: why the format has no values; or NULL */
};

void model_free(const struct model *model); /* NULL is allowed */
/* A deep copy without a source: values cannot be read through it. NULL: no memory. */
const struct model *model_copy(const struct model *model);

/* The name of a storage in its file: "data/0", a key; may be empty. The result points
 * into the model or into `text`. */
#define STORAGE_NAME_MAX 48
struct str storage_name(const struct model *model, const struct storage *storage,
                        char text[STORAGE_NAME_MAX]);

/* The number of readable bytes, from the start. The storage must belong to the
 * model. */
uint64_t storage_have(const struct model *model, const struct storage *storage);

struct str model_string(const struct model *model, uint32_t id);
struct str place_name(const struct model *model, uint32_t place);

/* The full name: all names from below the root to the place, joined by dots:
 * "layer1.0.conv1.weight", in a checkpoint "state_dict.layer1.0.conv1.weight". The root
 * has "". Keys that contain a dot are not quoted. */
void place_path(const struct model *model, uint32_t place, struct buf *to);

/* The first place with this full name, or NO_PLACE. Also accepts a name below the
 * file's only state_dict ("conv1.weight" for "state_dict.conv1.weight"). Below a shared
 * module, all its names resolve to its first place. */
uint32_t place_find(const struct model *model, struct str path);
/* The same with a name relative to `base`; the name is not empty. */
uint32_t place_find_below(const struct model *model, uint32_t base, struct str path);

/* First child and next sibling, or NO_PLACE:
 *     for (c = place_first(m, p); c != NO_PLACE; c = place_next(m, c)) */
uint32_t place_first(const struct model *model, uint32_t place);
uint32_t place_next(const struct model *model, uint32_t place);
uint32_t place_depth(const struct model *model, uint32_t place);

/* The tensor at a PLACE_TENSOR, the object at a module or group (NULL if it has none).
 */
const struct tensor *place_tensor(const struct model *model, uint32_t place);
const struct object *place_object(const struct model *model, uint32_t place);

/* The class of a module or group: "torch.nn.modules.conv.Conv2d"; empty if unknown.
 * The short form is its last part: "Conv2d". */
struct str place_class(const struct model *model, uint32_t place);
struct str class_short(struct str name);
/* The code of a class (an index in `classes`): from the model, else from its source, in
 * the arena. If there is none, returns 0 and a reason. */
int class_code(const struct model *model, uint32_t class_id, struct arena *arena,
               struct class_code *ret_code, struct err *err);
/* Is `child` the module that this class wraps (DataParallel: "module")? */
bool class_wraps(struct str class_name, struct str child);

const int64_t *tensor_shape(const struct model *model, const struct tensor *tensor);
const int64_t *tensor_strides(const struct model *model, const struct tensor *tensor);
struct str tensor_device(const struct model *model, const struct tensor *tensor);
bool tensor_contiguous(const struct model *model, const struct tensor *tensor);
/* Bytes of its elements, stored densely; 0 if unknown. */
uint64_t tensor_bytes(const struct tensor *tensor);
/* The same for sums: 0 for a derived tensor, whose bytes are those of other tensors. */
uint64_t tensor_own_bytes(const struct tensor *tensor);
/* Can its values be read: is it a valid strided tensor with a storage? If not, *ret_why
 * (may be NULL) gives a reason: "no data (meta)", "cut short". */
bool tensor_readable(const struct model *model, const struct tensor *tensor,
                     const char **ret_why);

/* The next place after `place` with the same tensor, or NO_PLACE. Start with
 * tensor->place. */
uint32_t tensor_next_place(const struct model *model, uint32_t place);

#endif
