/* pickle_load.c - loads a pickle without the torch files and raw arrays in it.
 * pickle.dump() of a tensor writes its data as a whole torch file in bytes, which is
 * read from the file like any other torch file. So it is not loaded here, and a pickle
 * of gigabytes needs memory only for its own opcodes. */
#include <inttypes.h>
#include <string.h>

#include "base/base.h"
#include "read/pickle/pickle_load_in.h"
#include "read/pickle/pickle_machine_in.h"

#define STEP       (64 * KIB)
#define LEAST      (256 * KIB) /* smaller torch files are loaded */
#define KEPT_HEAD  (4 * KIB)   /* bytes to load of a torch file */
#define KEPT_RAW   (64 * KIB)  /* bytes to load of a raw array */
#define MOST       (1 * GIB)   /* bytes to load in all */
#define WALKS_MOST 4           /* scans of each byte before everything is loaded */
#define SIZE_MOST  UINT32_MAX  /* limit for the file: nodes have 32-bit offsets */

bool pickle_is_torch_file(struct str bytes)
{
    static const char magic[] = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";

    return str_find(str_head(bytes, 32), str_span(magic, sizeof magic - 1)) >= 0;
}

/* Load all bytes before `end`, and a few more. */
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
        return err_set_about(err, ERR_LIMIT, l->blob->name,
                             ": the pickle is larger than the limit of %" PRIu64
                             " bytes",
                             (uint64_t)MOST);
    if (!work_step(l->work, 0))
        return err_set(err, ERR_CANCELLED, "stopped");
    if (blob_read(l->blob, l->have, l->bytes + l->have, (size_t)n, err) < 0)
        return -1;
    l->have = end;
    return 0;
}

/* Move *at past the end of its line; beyond the file if there is none. */
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

/* Skip the rest of a torch file in the bytes from `at` to `end`, and free its loaded
 * part. */
static void leave_out(struct pickle_load *l, uint64_t at, uint64_t end)
{
    if (l->have < end)
        l->have = end;
    arena_drop_part(l->bytes, (size_t)at + KEPT_HEAD, (size_t)end);
}

/* Move *at past the counted argument. */
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

/* Move *at past its opcode; beyond the file if it is invalid or incomplete. */
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

/* Walk over consecutive pickles, as far as they are valid. */
static int walk(struct pickle_load *l, uint64_t at, struct err *err)
{
    uint64_t begin = at;
    bool ended = false;

    while (at < l->blob->size) {
        /* An opcode and its count; bytes after the end of the file are zero. */
        if (load_to(l, at + 16, err) < 0)
            return -1;
        if (ended && (uint8_t)l->bytes[at] != 0x80)
            break;
        ended = l->bytes[at] == '.';
        if (skip_opcode(l, &at, err) < 0)
            return -1;
    }
    l->walked += at - begin;
    return 0;
}

int pickle_load_from(struct pickle_load *load, uint64_t at, struct err *err)
{
    if (load->have >= load->blob->size)
        return 0;
    if (load->have < at)
        load->have = at;
    if (load->walked / WALKS_MOST > load->blob->size)
        return load_to(load, load->blob->size, err);
    return walk(load, at, err);
}

int pickle_load_raw(struct pickle_load *load, uint64_t at, uint64_t end,
                    struct err *err)
{
    uint64_t most = at + KEPT_RAW;

    return load_to(load, end < most ? end : most, err);
}

static bool names_joblib(const struct pickle_load *load)
{
    return str_find(str_span(load->bytes, (size_t)load->have),
                    STR("joblib.numpy_pickle")) >= 0;
}

int pickle_load(struct pickle_load *load, struct blob *blob, struct build *build,
                struct str *ret_bytes, struct err *err)
{
    struct str all;

    *load = (struct pickle_load){.blob = blob, .work = build->work};
    if (blob->size > SIZE_MOST)
        return err_set_about(err, ERR_LIMIT, blob->name,
                             " has %" PRIu64
                             " bytes; the limit for a pickle is %" PRIu64,
                             blob->size, (uint64_t)SIZE_MOST);
    if (blob->size < LEAST) {
        if (blob_load(blob, 0, blob->size, &build->scratch, &all, err) < 0)
            return -1;
        load->bytes = (char *)(uintptr_t)all.at;
        load->have = blob->size;
        load->joblib = names_joblib(load);
        *ret_bytes = all;
        return 0;
    }
    load->bytes = arena_sparse(&build->scratch, (size_t)blob->size + 16);
    if (!load->bytes)
        return arena_err(&build->scratch, blob->name, err);
    if (walk(load, 0, err) < 0)
        return -1;
    load->joblib = names_joblib(load);
    if (!load->joblib && load_to(load, blob->size, err) < 0)
        return -1;
    *ret_bytes = str_span(load->bytes, (size_t)blob->size);
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
