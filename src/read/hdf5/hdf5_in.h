/* hdf5_in.h - the public header of read/hdf5: HDF5 files, read without libhdf5.
 *
 * A file is a tree of groups and datasets; each has an object header, a list of
 * messages. Groups list their members as messages, in a B-tree with a heap of names
 * (old), or in a fractal heap (new). A dataset has a type, a shape and a layout: inside
 * the header, contiguous, or in chunks, located by an index and perhaps compressed by
 * filters.
 *
 *   hdf5.c            the superblock; loading and checking blocks; entry points
 *   hdf5_object.c     the messages of an object header
 *   hdf5_type.c       types and shapes
 *   hdf5_group.c      the members of a group
 *   hdf5_tree.c       all groups and datasets of a file
 *   hdf5_btree.c      B-trees of both versions
 *   hdf5_heap.c       fractal heaps, and the global heap with long texts
 *   hdf5_attribute.c  attributes as plain values
 *   hdf5_data.c       turns a dataset into a tensor or a value
 *   hdf5_index.c      locations of chunks; hdf5_extensible.c: of growing datasets
 *   hdf5_chunks.c     chunks as one blob, unpacked on demand
 *   hdf5_filter.c     deflate, shuffle, fletcher32, LZF
 *
 * Why not libhdf5: it is 5 MB and has a long list of memory errors on damaged files, so
 * it would need a separate process. Keras and h5py write a small part of the format.
 * Unsupported parts (other filters, external files) are reported.
 *
 * Addresses may point anywhere in a file, so blocks may form loops. Every loaded block
 * counts against a budget derived from the file size; nothing here recurses. */
#ifndef READ_HDF5_HDF5_IN_H
#define READ_HDF5_HDF5_IN_H

#include "base/bytes.h"
#include "base/map.h"
#include "read/file/input_in.h"

#define HDF5_NOWHERE UINT64_MAX /* the undefined address */
#define HDF5_RANK    32
#define HDF5_DEPTH   200 /* of groups; deeper ones are skipped */

enum hdf5_kind {
    HDF5_GROUP,
    HDF5_DATASET,
    HDF5_TYPE, /* a named type */
    HDF5_LINK, /* a symbolic or external link: see `target` */
    HDF5_BAD,  /* its header cannot be read; a finding says why */
};

/* One name in the tree. Item 0 is the root; children are a list in the order of names,
 * and come after their parent. */
struct hdf5_item {
    struct str name;
    uint32_t parent, first, next; /* items; 0: none */
    uint32_t same;                /* an earlier item of the same object, or itself */
    uint64_t at;                  /* address of its object header */
    uint16_t depth;
    uint8_t kind;
    struct str target; /* of a link */
};

struct hdf5_shared;
struct hdf5 {
    struct blob *blob;
    struct build *build;
    const char *path;
    struct work *work;
    uint64_t base; /* offset that addresses of the file are relative to */
    uint64_t end;  /* bytes after it */
    uint64_t root; /* address of the header of the root group */
    uint64_t left; /* budget: bytes that may still be loaded */
    uint8_t offset_size, length_size;
    uint8_t version;  /* of the superblock */
    bool said_sum;    /* a wrong checksum was reported */
    uint64_t heap_at; /* the global heap collection that was loaded last */
    struct str heap;
    struct hdf5_item *items;
    uint32_t n_items, items_room;
    struct map by_at;           /* address of a header -> item */
    struct hdf5_shared *shared; /* the cache of all chunked datasets; or NULL */
};

/* Is this the beginning of an HDF5 file? *ret_at is the offset of its superblock. */
bool hdf5_looks_like(struct str head, uint64_t *ret_at);

/* Open the file of an input and list all of its objects. Allocates in the scratch arena
 * of the build. -1: nothing can be shown. */
int hdf5_open(struct hdf5 *file, struct input *input, struct build *build,
              struct err *err);

/* The child of an item with this name; 0: none. */
uint32_t hdf5_child(const struct hdf5 *file, uint32_t item, struct str name);
/* "layers/dense/vars/0"; empty for the root. */
void hdf5_path(const struct hdf5 *file, uint32_t item, struct buf *to);

/* The attributes of an object as a DICT of values, or None. Those that cannot be read are
 * findings. -1: memory is spent. */
int hdf5_attributes(struct hdf5 *file, uint32_t item, uint32_t *ret_value,
                    struct err *err);

/* Add the dataset of an item to the node: a tensor with this role, or a value. */
int hdf5_add_dataset(struct hdf5 *file, uint32_t item, uint32_t node,
                     enum tensor_role role, struct err *err);

/* Add everything below an item to the node unchanged: groups, datasets, attributes. */
int hdf5_add_all(struct hdf5 *file, uint32_t item, uint32_t node, enum tensor_role role,
                 struct err *err);

/* Turns an error of one object into a finding at the node; -1 if reading must stop. */
int hdf5_note(struct hdf5 *file, uint32_t item, uint32_t node, const struct err *why,
              struct err *err);

#endif
