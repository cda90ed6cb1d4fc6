/* dcp_in.h - folders of torch.distributed.checkpoint. The pickle `.metadata` lists the
 * tensors, the boxes ("chunks") of each, and the location of each box: a part of a file
 * __RANK_N.distcp, which is a complete torch.save() file. A tensor in one box is that
 * part; any other is a computed storage (read/file/file_source_in.h) of its boxes.
 *
 *   dcp.c           the reader: the folder, or its .metadata; the tree
 *   dcp_metadata.c  the pickle: items and their locations
 *   dcp_files.c     the files and their parts
 *   dcp_boxes.c     checks that boxes fill a tensor without overlap
 *   dcp_assemble.c  the computed storage
 *   dcp_hf.c        the same in safetensors, as HuggingFaceStorageWriter writes it
 *
 * Names of files in the metadata are untrusted: only plain names in the folder are
 * opened. */
#ifndef READ_DCP_DCP_IN_H
#define READ_DCP_DCP_IN_H

#include "base/map.h"
#include "read/file/input_in.h"
#include "read/pickle/pickle_in.h"

extern const struct reader dcp_reader;

#define DCP_RANK 64

/* A part of a tensor, and the location of its elements. */
struct dcp_box {
    const int64_t *offsets, *sizes; /* in the whole tensor; allocated in the build's
                                       scratch */
    uint64_t numel;
    /* Set when it was read. NO_STORAGE: missing. */
    uint32_t storage;
    uint64_t begin;         /* its first element in the storage */
    const int64_t *strides; /* in elements */
};

/* A tensor as the metadata describes it. */
struct dcp_whole {
    enum dtype dtype;
    int rank;
    int64_t shape[DCP_RANK];
    uint64_t numel;
    struct dcp_box *boxes;
    uint32_t n;
};

/* The location of an item. */
struct dcp_place {
    node_id fqn, offset;  /* of the key */
    struct str file;      /* untrusted */
    uint64_t at, size;    /* in it */
    bool transformed;     /* compressed by `transform` */
    struct str transform; /* "zstd" */
};

/* One file of the folder. */
struct dcp_file {
    struct blob *blob; /* NULL: it is missing, refused or unreadable */
    uint32_t n_parts;
};

/* A part of a file that an item uses. */
struct dcp_span {
    uint32_t file;
    uint64_t at, end;
    uint32_t node; /* of its item */
};

struct dcp {
    struct input *input;
    struct build *build;
    int dir_fd;
    const char *folder; /* its path */
    struct pickle pickle;
    node_id items, path_of; /* dicts: state_dict_metadata, planner_data */
    struct dcp_place *places;
    uint32_t n_places, places_room;
    struct map by_key; /* hash of name and offset -> place */
    struct name_map file_names;
    struct dcp_file *files;
    uint32_t files_room;
    struct dcp_span *spans;
    uint32_t n_spans, spans_room;
    uint64_t looks_left; /* for comparing boxes */
    bool said_looks;
    uint64_t n_boxes;
};

/* Does the name have too many parts to be split? */
bool dcp_is_deep(struct str name);

/* ---- dcp_metadata.c ---- */

/* Is the result of the pickle the metadata of a checkpoint? Finds the dicts. */
bool dcp_is_metadata(struct dcp *dcp);
/* Index the locations of all items. */
int dcp_index(struct dcp *dcp, struct err *err);
/* The place of a box (NULL offsets: of an item that is not a tensor), or NULL. */
const struct dcp_place *dcp_find(const struct dcp *dcp, struct str fqn,
                                 const int64_t *offsets, int rank);
/* Is the item a tensor, according to the metadata? */
bool dcp_is_tensor(const struct dcp *dcp, node_id item);
/* Its dtype, shape and boxes. False: malformed, see *ret_why; or memory is spent. */
bool dcp_whole(struct dcp *dcp, node_id item, struct dcp_whole *ret_whole,
               const char **ret_why);

/* ---- dcp_files.c ---- */

/* The file with this name, opened on first use; NULL: memory is spent. A file that
 * cannot be opened is a finding. */
const struct dcp_file *dcp_file(struct dcp *dcp, struct str name, uint32_t *ret_index,
                                struct err *err);
/* Read the part of a file at `place` into the node. 1: it cannot be read, which adds a
 * finding at the node. */
int dcp_read(struct dcp *dcp, const struct dcp_place *place, uint32_t node,
             struct err *err);
/* Findings for parts of files that overlap. */
int dcp_check_spans(struct dcp *dcp, struct err *err);

/* ---- dcp_boxes.c ---- */

/* Adds findings if the boxes of a tensor do not fill it or overlap. True: they fill
 * it. */
bool dcp_check_boxes(struct dcp *dcp, const struct dcp_whole *whole, uint32_t node,
                     struct str name);

/* ---- dcp_assemble.c ---- */

/* Assemble the tensor at the node from its boxes; all_there: none is missing. */
int dcp_assemble(struct build *build, const struct dcp_whole *whole, bool all_there,
                 uint32_t node, struct str name, struct err *err);

/* Makes the computed storage of boxes, for dcp_assemble() and tests; copies its arrays
 * into the model. NULL: memory is spent. */
struct computed;
const struct computed *dcp_computed(struct build *build, const struct dcp_whole *whole);

/* ---- dcp_hf.c ---- */

/* Is it a set of shards of HuggingFaceStorageWriter? */
bool dcp_is_hf(const struct folder *folder);
int dcp_read_hf(struct dcp *dcp, struct err *err);

#endif
