/* npy_in.h - numpy's array files: .npy holds one array, .npz is a zip of them.
 *
 *   npy_header.c  the header of an array: a dict in Python's syntax
 *   npy.c         one array as a tensor, a value or a pickle; the reader of .npy
 *   npz.c         the reader of .npz */
#ifndef READ_NPY_IN_H
#define READ_NPY_IN_H

#include "base/str.h"
#include "model/dtype.h"
#include "read/file/input_in.h"

#define NPY_RANK   64
#define NPY_HEADER (1 * MIB) /* limit; numpy's own is 10,000 bytes */

struct npy_header {
    struct str descr; /* the dtype as written: "<f4", or "[('x', '<f4'), ...]" */
    struct str code;  /* a plain dtype without the byte order: "f4"; or empty */
    char order;       /* '<', '>', '|' or '=' */
    enum dtype dtype; /* UNKNOWN: not numbers */
    uint64_t size;    /* of an element; 0: unknown */
    bool objects;     /* its data is a pickle */
    bool fortran;
    int rank;
    int64_t shape[NPY_RANK];
    uint64_t data_at; /* where the data begins, in bytes of the file */
    uint8_t major, minor;
};

/* Does this look like the beginning of a .npy file? */
bool npy_looks_like(struct str head);

/* The total size of the header, from its first bytes; 0: not a .npy file, or an unknown
 * version. */
uint64_t npy_header_bytes(struct str head);

/* Parse a whole header; the strings of the result point into `bytes`. Returns NULL, or
 * what is wrong. */
const char *npy_parse(struct str bytes, struct npy_header *ret_header);

/* The location of a .npy file: in a blob owned by the source, or in a deflated member
 * of a zip. */
struct npy_file {
    struct blob *blob;
    uint64_t at, size; /* in the blob; of a deflated member, the unpacked size */
    struct zip *zip;   /* not NULL: a deflated member, and `blob` is the zip's */
    uint32_t entry;
    struct str name; /* for messages: "weights.npy" */
    bool weights;    /* arrays of floats are parameters */
};

/* Add the array to the node. -1: its header cannot be read. */
int npy_add(struct input *input, struct build *build, const struct npy_file *file,
            uint32_t node, struct npy_header *ret_header, struct err *err);

#endif
