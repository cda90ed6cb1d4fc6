/* wire_in.h - protobuf's wire format, read through a window of a blob: messages of any
 * size are walked, only requested parts are loaded. A field is a key (number and wire
 * type) and a number or a length with that many bytes:
 *     0a 03 61 62 63    field 1, length 3, "abc"
 * Lengths are checked against the end of the enclosing message. A fault ends its
 * message; the first one is recorded. */
#ifndef READ_ONNX_WIRE_IN_H
#define READ_ONNX_WIRE_IN_H

#include "base/arena.h"
#include "base/blob.h"
#include "base/bytes.h"
#include "base/str.h"

#define WIRE_WINDOW (64 * 1024)

enum wire_type { WIRE_VARINT = 0, WIRE_I64 = 1, WIRE_LEN = 2, WIRE_I32 = 5 };

/* The window, shared by all cursors of one blob. */
struct wire_window {
    struct blob *blob; /* borrowed */
    uint8_t *bytes;    /* the window: WIRE_WINDOW bytes */
    uint64_t at;       /* its offset in the blob */
    size_t n;          /* bytes loaded */
    size_t step;       /* bytes to load next */
    const char *fault; /* the first one: a constant such as "a group"; or NULL */
    uint64_t fault_at; /* its offset */
    bool cut;          /* the file ends inside a field */
    struct err err;    /* the first read error */
};

/* A cursor over the fields of one message. */
struct wire {
    struct wire_window *window;
    uint64_t at, end;
};

struct wire_field {
    uint32_t number;
    uint8_t type;   /* enum wire_type */
    uint64_t value; /* a number; for LEN the length, cut at the end of the message */
    uint64_t at;    /* for LEN: offset of its bytes */
};

int wire_init(struct wire_window *window, struct blob *blob, struct arena *arena);
/* The message at [at, at + size) of the blob. */
struct wire wire_of(struct wire_window *window, uint64_t at, uint64_t size);
/* The message in a LEN field. */
struct wire wire_inside(const struct wire *wire, const struct wire_field *field);

/* The next field; false at the end, and at a fault. */
bool wire_next(struct wire *wire, struct wire_field *ret_field);
/* One number of a packed field; false at the end, and at a fault. */
bool wire_varint(struct wire *wire, uint64_t *ret_value);
bool wire_fixed32(struct wire *wire, uint32_t *ret_value);
bool wire_fixed64(struct wire *wire, uint64_t *ret_value);

/* `n` bytes at `at`, valid until the next read; at most WIRE_WINDOW. NULL: they cannot
 * be read. */
const uint8_t *wire_look(struct wire_window *window, uint64_t at, size_t n);
/* The bytes of a LEN field, at most `most`, in the arena or the window (then valid
 * until the next read). Empty if they cannot be read. */
struct str wire_bytes(struct wire_window *window, const struct wire_field *field,
                      uint64_t most, struct arena *arena);

/* A number of a field that is declared as int32, int64 or bool. */
static inline int64_t wire_signed(uint64_t value)
{
    return (int64_t)value;
}

#endif
