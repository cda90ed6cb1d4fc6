/* hdf5_parts_in.h - internals of read/hdf5. */
#ifndef READ_HDF5_HDF5_PARTS_IN_H
#define READ_HDF5_HDF5_PARTS_IN_H

#include "read/hdf5/hdf5_in.h"

/* ---- hdf5.c ---- */

/* Load n bytes at an address into the scratch arena. */
int hdf5_load(struct hdf5 *file, uint64_t at, uint64_t n, struct str *ret_bytes,
              struct err *err);
/* The same for a block that begins with a signature of four bytes; *ret_in starts after
 * it. With `sum`, its last four bytes are a checksum, excluded from *ret_in; a wrong
 * one is a finding. */
int hdf5_block(struct hdf5 *file, uint64_t at, uint64_t n, const char *sign, bool sum,
               struct bytes *ret_in, struct err *err);
/* Bob Jenkins' lookup3, the checksum of all newer blocks. */
uint32_t hdf5_sum(const uint8_t *at, size_t n);
/* An address (HDF5_NOWHERE: undefined) and a length, of the sizes in the superblock. */
uint64_t hdf5_offset(const struct hdf5 *file, struct bytes *in);
uint64_t hdf5_length(const struct hdf5 *file, struct bytes *in);
/* A number of n bytes; those after the eighth are skipped. */
uint64_t hdf5_number(struct bytes *in, unsigned n);
/* The number of bytes needed for numbers up to `most`. */
unsigned hdf5_number_size(uint64_t most);
int hdf5_damaged(const struct hdf5 *file, uint64_t at, const char *what,
                 struct err *err);

/* ---- hdf5_object.c ---- */

enum hdf5_message_type {
    MESSAGE_SPACE = 0x01,
    MESSAGE_LINK_INFO = 0x02,
    MESSAGE_TYPE = 0x03,
    MESSAGE_OLD_FILL = 0x04,
    MESSAGE_FILL = 0x05,
    MESSAGE_LINK = 0x06,
    MESSAGE_EXTERNAL = 0x07,
    MESSAGE_LAYOUT = 0x08,
    MESSAGE_FILTERS = 0x0b,
    MESSAGE_ATTRIBUTE = 0x0c,
    MESSAGE_CONTINUED = 0x10,
    MESSAGE_SYMBOLS = 0x11,
    MESSAGE_ATTRIBUTE_INFO = 0x15,
};

#define MESSAGE_SHARED 2 /* flag: the message is a reference to another object */

struct hdf5_message {
    uint16_t type;
    uint8_t flags;
    struct str data;
};

struct hdf5_object {
    struct hdf5_message *messages;
    uint32_t n, room;
};

int hdf5_object(struct hdf5 *file, uint64_t at, struct hdf5_object *ret_object,
                struct err *err);
/* The first message of a type, or NULL. */
const struct hdf5_message *hdf5_message(const struct hdf5_object *object,
                                        enum hdf5_message_type type);

/* ---- hdf5_type.c ---- */

enum hdf5_class {
    CLASS_INTEGER = 0,
    CLASS_FLOAT = 1,
    CLASS_TIME = 2,
    CLASS_TEXT = 3,
    CLASS_BITS = 4,
    CLASS_OPAQUE = 5,
    CLASS_COMPOUND = 6,
    CLASS_REFERENCE = 7,
    CLASS_ENUM = 8,
    CLASS_VARIABLE = 9,
    CLASS_ARRAY = 10,
    CLASS_COMPLEX = 11,
};

struct hdf5_type {
    uint8_t class;
    uint8_t dtype; /* enum dtype of numbers; else UNKNOWN */
    bool big_endian;
    bool text;   /* of CLASS_VARIABLE: a text */
    bool spaces; /* of CLASS_TEXT: padded with spaces */
    uint32_t size;
};

struct hdf5_space {
    int rank;
    bool null; /* no elements at all */
    uint64_t dims[HDF5_RANK];
    uint64_t most[HDF5_RANK]; /* maximum sizes; UINT64_MAX: unlimited */
    uint64_t n;               /* elements; UINT64_MAX: too many */
};

/* *message may be shared: then the type is that of another object. */
int hdf5_type(struct hdf5 *file, struct str bytes, bool shared,
              struct hdf5_type *ret_type, struct err *err);
int hdf5_space(struct hdf5 *file, struct str bytes, struct hdf5_space *ret_space,
               struct err *err);
const char *hdf5_class_name(enum hdf5_class class);

/* ---- hdf5_btree.c ---- */

/* Called for each entry of a B-tree. `key` is the key of version 1, or the record of
 * version 2; `child` the address, of version 1 only. */
typedef int hdf5_entry(void *user, struct bytes key, uint64_t child, struct err *err);

/* Version 1: `type` 0 groups, 1 chunks; a key has `key_size` bytes. */
int hdf5_btree1(struct hdf5 *file, uint64_t at, int type, uint32_t key_size,
                hdf5_entry *entry, void *user, struct err *err);
/* Version 2; *ret_type and *ret_size, which may be NULL, are set before the first record.
 */
int hdf5_btree2(struct hdf5 *file, uint64_t at, uint8_t *ret_type, uint16_t *ret_size,
                hdf5_entry *entry, void *user, struct err *err);

/* ---- hdf5_heap.c ---- */

struct hdf5_fractal {
    uint64_t at, root, huge;
    uint64_t start, direct_most; /* sizes of blocks */
    uint16_t id_size, width, rows;
    uint8_t offset_bytes, length_bytes;
    bool sums, filtered;
};

int hdf5_fractal_open(struct hdf5 *file, uint64_t at, struct hdf5_fractal *ret_heap,
                      struct err *err);
/* The object with an id. */
int hdf5_fractal_get(struct hdf5 *file, const struct hdf5_fractal *heap, struct str id,
                     struct str *ret_bytes, struct err *err);
/* Object `index` of the global heap collection at an address. */
int hdf5_global_get(struct hdf5 *file, uint64_t at, uint32_t index,
                    struct str *ret_bytes, struct err *err);

/* ---- hdf5_group.c ---- */

struct hdf5_link {
    struct str name, target; /* target: of a link to a name */
    uint64_t at;             /* HDF5_NOWHERE: a link to a name */
    bool external;           /* the target is in another file */
};
typedef int hdf5_take_link(void *user, const struct hdf5_link *link, struct err *err);
/* Calls `take` for each member of a group. */
int hdf5_links(struct hdf5 *file, const struct hdf5_object *object,
               hdf5_take_link *take, void *user, struct err *err);

/* ---- hdf5_tree.c ---- */

int hdf5_tree(struct hdf5 *file, struct err *err);

/* ---- hdf5_attribute.c ---- */

typedef int hdf5_take_attribute(void *user, struct str name, uint32_t value,
                                struct err *err);
/* Elements as a value: a single one, or a LIST (of lists). Long ones are truncated. */
uint32_t hdf5_elements(struct hdf5 *file, const struct hdf5_type *type,
                       const struct hdf5_space *space, struct str bytes);

/* ---- hdf5_filter.c ---- */

#define HDF5_FILTERS 8

enum hdf5_filter_id {
    FILTER_DEFLATE = 1,
    FILTER_SHUFFLE = 2,
    FILTER_FLETCHER32 = 3,
    FILTER_LZF = 32000,
};

struct hdf5_filters {
    uint32_t n;
    struct hdf5_filter {
        uint16_t id;
        uint32_t value; /* the first parameter */
    } at[HDF5_FILTERS];
};

int hdf5_filters(struct hdf5 *file, struct str bytes, struct hdf5_filters *ret_filters,
                 struct err *err);
/* NULL: all are supported. Else the name of an unsupported one. */
const char *hdf5_filters_unknown(const struct hdf5_filters *filters);
/* Undo the filters except those in `mask`. Both buffers have room for `size` + 64 bytes;
 * the packed bytes are in `a`. Returns the buffer with exactly `size` bytes, or NULL. */
uint8_t *hdf5_unpack(const struct hdf5_filters *filters, uint32_t mask, uint8_t *a,
                     uint8_t *b, size_t n, size_t size);

/* ---- hdf5_index.c, hdf5_chunks.c ---- */

enum hdf5_index {
    INDEX_BTREE1 = 0,
    INDEX_SINGLE = 1,
    INDEX_IMPLICIT = 2,
    INDEX_FIXED = 3,
    INDEX_EXTENSIBLE = 4,
    INDEX_BTREE2 = 5,
};

struct hdf5_chunk {
    uint64_t number; /* in C order of the grid of chunks */
    uint64_t at;
    uint32_t size, mask;
};

/* The layout of a chunked dataset. */
struct hdf5_layout {
    int rank;
    uint32_t element;
    uint64_t dims[HDF5_RANK];  /* of the dataset */
    uint64_t chunk[HDF5_RANK]; /* of a chunk */
    uint64_t grid[HDF5_RANK];  /* chunks along each dimension */
    uint64_t most[HDF5_RANK];  /* maximum chunks along each dimension, as counted by
                                  indexes */
    int growing;               /* the dimension without a limit; -1: none */
    uint64_t n_grid, chunk_bytes;
    uint8_t index; /* enum hdf5_index */
    uint64_t at;   /* of the index, or of the only chunk */
    uint64_t single_size;
    uint32_t single_mask;
    struct hdf5_filters filters;
    struct hdf5_chunk *chunks; /* sorted by number */
    uint32_t n_chunks, chunks_room;
    uint8_t fill[32]; /* the element of chunks that were never written */
};

/* Find all chunks; they are in the model's arena. */
int hdf5_find_chunks(struct hdf5 *file, struct hdf5_layout *layout, struct err *err);

/* Looking for the chunks of one dataset, for hdf5_index.c and hdf5_extensible.c. */
struct hdf5_finding {
    struct hdf5 *file;
    struct hdf5_layout *layout;
    uint8_t type;  /* of a B-tree of version 2 */
    uint16_t size; /* of its records */
    uint8_t entry; /* bytes of an element of an array */
    bool filtered; /* elements have a size and a mask, too */
};
int hdf5_find_extensible(struct hdf5_finding *self, struct err *err);
/* `n` elements of an array at an address, the first of which is element `number`. */
int hdf5_take_elements(struct hdf5_finding *self, uint64_t at, uint64_t number,
                       uint64_t n, struct err *err);

/* The whole dataset as a blob in C order. */
struct blob *hdf5_chunks_open(struct hdf5 *file, const struct hdf5_layout *layout,
                              uint64_t size, const char *name, struct err *err);

#endif
