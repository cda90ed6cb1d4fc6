/* pickle_load.c - a pickle out of a file, but for the torch files that lie in it.
 * pickle.dump() of tensors writes the data of each as a whole torch file in bytes.
 * Those are read where they lie in the file, as any other torch file: so their memory
 * stays untouched here, and a pickle of gigabytes takes what its own opcodes take. */
#include <inttypes.h>
#include <string.h>

#include "base/base.h"
#include "read/pickle/pickle_load_in.h"
#include "read/pickle/pickle_machine_in.h"

#define STEP      (64 * KIB)
#define LEAST     (256 * KIB) /* bytes of a torch file that is worth leaving out */
#define KEPT_HEAD (4 * KIB)   /* of it, by which all others know what it is */
#define MOST      (1 * GIB)   /* to be read */
#define SIZE_MOST UINT32_MAX  /* of the file: nodes count bytes so */

struct pickle_load {
    struct blob *blob;
    struct work *work;
    char *bytes;     /* as many as the file has */
    uint64_t have;   /* up to here they are read, or left out */
    uint64_t loaded; /* so many were read */
};

bool pickle_is_torch_file(struct str bytes)
{
    static const char magic[] = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";

    return str_find(str_head(bytes, 32), str_span(magic, sizeof magic - 1)) >= 0;
}

/* See that all bytes before `end` are there; a little more is read at once. */
static int load_to(struct pickle_load *l, uint64_t end, struct err *err)
{
    uint64_t size = l->blob->size, n;

    if (end <= l->have)
        return 0;
    if (end < l->have + STEP)
        end = l->have + STEP;
    if (end > size)
        end = size;
    n = end - l->have;
    l->loaded += n;
    if (l->loaded > MOST)
        return err_set(err, ERR_LIMIT,
                       "%s: its pickle has more than the %" PRIu64
                       " bytes that are read of one",
                       l->blob->name, (uint64_t)MOST);
    if (!work_step(l->work, 0))
        return err_set(err, ERR_CANCELLED, "stopped");
    if (blob_read(l->blob, l->have, l->bytes + l->have, (size_t)n, err) < 0)
        return -1;
    l->have = end;
    return 0;
}

/* Behind the end of the line that begins at *at; beyond the file if it does not end. */
static int skip_line(struct pickle_load *l, uint64_t *at, struct err *err)
{
    const char *end = NULL;

    while (!end && *at < l->blob->size) {
        if (load_to(l, *at + 1, err) < 0)
            return -1;
        end = memchr(l->bytes + *at, '\n', (size_t)(l->have - *at));
        *at = end ? (uint64_t)(end - l->bytes) + 1 : l->have;
    }
    if (!end)
        *at = l->blob->size + 1;
    return 0;
}

/* Leave out what of a torch file in bytes from `at` to `end` is not read yet. What is
 * read of it already goes back. */
static void leave_out(struct pickle_load *l, uint64_t at, uint64_t end)
{
    if (l->have < end)
        l->have = end;
    arena_drop_part(l->bytes, (size_t)at + KEPT_HEAD, (size_t)end);
}

/* Behind the bytes that the argument at *at counts. */
static int skip_counted(struct pickle_load *l, const struct opcode *opcode, bool bytes,
                        uint64_t *at, struct err *err)
{
    uint64_t count = 0, size = l->blob->size;

    for (unsigned i = 0; i < opcode->fixed; i++)
        count |= (uint64_t)(uint8_t)l->bytes[*at + i] << 8 * i;
    *at += opcode->fixed;
    if (*at > size || count > size - *at) {
        *at = size + 1;
        return 0;
    }
    if (bytes && count >= LEAST) {
        if (load_to(l, *at + KEPT_HEAD, err) < 0)
            return -1;
        if (pickle_is_torch_file(str_span(l->bytes + *at, KEPT_HEAD)))
            leave_out(l, *at, *at + count);
    }
    *at += count;
    return load_to(l, *at, err);
}

/* Walk over one opcode. *at becomes what is behind it; beyond the file: it is none, or
 * its argument is not all there. */
static int skip_opcode(struct pickle_load *l, uint64_t *at, struct err *err)
{
    uint8_t byte = (uint8_t)l->bytes[*at];
    const struct opcode *opcode = &pickle_opcodes[byte];
    bool bytes = byte == 'B' || byte == 0x8e; /* BINBYTES, BINBYTES8 */

    ++*at;
    if (!opcode->name) {
        *at = l->blob->size + 1;
        return 0;
    }
    switch (opcode->arg) {
    case ARG_NONE:
        return 0;
    case ARG_FIXED:
        *at += opcode->fixed;
        return 0;
    case ARG_COUNTED:
        return skip_counted(l, opcode, bytes, at, err);
    case ARG_NAMES:
        if (skip_line(l, at, err) < 0)
            return -1;
        return *at < l->blob->size ? skip_line(l, at, err) : 0;
    default:
        return skip_line(l, at, err);
    }
}

/* Walk over pickles that follow each other, as far as this can be followed. */
static int walk(struct pickle_load *l, struct err *err)
{
    uint64_t at = 0;
    bool ended = false;

    while (at < l->blob->size) {
        /* An opcode and its count, with room to spare; bytes are zero behind the end.
         */
        if (load_to(l, at + 16, err) < 0)
            return -1;
        if (ended && (uint8_t)l->bytes[at] != 0x80)
            return 0;
        ended = l->bytes[at] == '.';
        if (skip_opcode(l, &at, err) < 0)
            return -1;
    }
    return 0;
}

int pickle_load(struct blob *blob, struct build *build, struct str *ret_bytes,
                struct err *err)
{
    struct pickle_load l = {.blob = blob, .work = build->work};

    if (blob->size > SIZE_MOST)
        return err_set(err, ERR_LIMIT,
                       "%s has %" PRIu64 " bytes, more than the %" PRIu64
                       " that a pickle may have here",
                       blob->name, blob->size, (uint64_t)SIZE_MOST);
    if (blob->size < LEAST)
        return blob_load(blob, 0, blob->size, &build->scratch, ret_bytes, err);
    l.bytes = arena_sparse(&build->scratch, (size_t)blob->size + 16);
    if (!l.bytes)
        return arena_err(&build->scratch, blob->name, err);
    if (walk(&l, err) < 0 || load_to(&l, blob->size, err) < 0)
        return -1;
    *ret_bytes = str_span(l.bytes, (size_t)blob->size);
    return 0;
}

int pickle_load_rest(struct blob *blob, struct str all, struct str bytes,
                     struct err *err)
{
    size_t at = (size_t)(bytes.at - all.at);

    if (bytes.len < LEAST || !pickle_is_torch_file(bytes))
        return 0;
    arena_reuse_part((char *)all.at, at, at + bytes.len);
    return blob_read(blob, at, (char *)all.at + at, bytes.len, err);
}
