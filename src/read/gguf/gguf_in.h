/* gguf_in.h - the public header of read/gguf: llama.cpp's model files.
 *
 *     "GGUF"  u32 version  u64 tensors  u64 entries
 *     entries: string key, u32 type, value
 *     tensors: string name, u32 rank, u64 sizes (fastest first), u32 type, u64 offset
 *     padding to a multiple of the alignment, then the data of the tensors
 *
 * Version 1 has u32 for all counts, lengths and sizes. Version 3 may be big-endian.
 *
 *   gguf.c          the reader: header, order of the parts, findings about the whole
 *   gguf_cursor.c   reads the file front to back in windows
 *   gguf_entries.c  the metadata; arrays are summarised and never held
 *   gguf_tensors.c  the tensors and the location of their data */
#ifndef READ_GGUF_GGUF_IN_H
#define READ_GGUF_GGUF_IN_H

#include "base/map.h"
#include "read/file/input_in.h"

extern const struct reader gguf_reader;

#define GGUF_STRING (64 * 1024) /* longer strings are cut, longer names are refused */

/* A position in the file. A read past the end, or a failed one, returns zero and sets
 * `bad`, which stays set; `why` has the error unless it was the end. */
struct gguf_cursor {
    struct blob *blob;
    uint64_t at; /* of the next byte */
    bool big;    /* numbers are big-endian */
    bool narrow; /* version 1 */
    bool bad;
    struct err why;
    uint8_t *window; /* bytes window_at to window_at + window_n of the file */
    uint64_t window_at;
    size_t window_n;
};

/* Begin at byte 0; the window is in the arena. */
int gguf_begin(struct gguf_cursor *in, struct blob *blob, struct arena *arena);
uint64_t gguf_left(const struct gguf_cursor *in);
/* An unsigned number of 1, 2, 4 or 8 bytes. */
uint64_t gguf_number(struct gguf_cursor *in, unsigned bytes);
uint32_t gguf_u32(struct gguf_cursor *in);
uint64_t gguf_count(struct gguf_cursor *in); /* u64; u32 in version 1 */
/* A string, cut to GGUF_STRING bytes, valid until the next read. *ret_len is its full
 * length. */
struct str gguf_string(struct gguf_cursor *in, uint64_t *ret_len);
void gguf_skip(struct gguf_cursor *in, uint64_t n);

struct gguf_reading {
    struct input *input;
    struct build *build;
    struct gguf_cursor in;
    uint32_t version;
    uint64_t n_tensors, n_entries; /* from the header */
    uint64_t data_at;              /* 0: unknown */
    struct name_map keys;
    /* From the metadata. */
    uint64_t alignment;
    uint64_t part, parts; /* of a split model; parts 0: not split */
};

/* Read all entries. -1: stopped; else r->in.bad may be set. */
int gguf_read_entries(struct gguf_reading *r, struct err *err);
/* Read all tensor descriptions and add the tensors. Returns likewise. */
int gguf_read_tensors(struct gguf_reading *r, struct err *err);

#endif
