#include <inttypes.h>

#include "base/base.h"
#include "read/gguf/gguf_in.h"

#define VERSION_MOST 3
#define ALIGNMENT    32

static int knows(const struct input *input)
{
    return input->blob && str_starts(input->head, STR("GGUF")) ? SURE_MAGIC : 0;
}

/* The version shows the byte order: it is small, so its high bits are zero. */
static int read_version(struct gguf_reading *r, struct err *err)
{
    uint32_t version;

    gguf_skip(&r->in, 4);
    version = gguf_u32(&r->in);
    if (version != 0 && (version & 0xffff) == 0) {
        version = __builtin_bswap32(version);
        r->in.big = true;
    }
    r->version = version;
    r->in.narrow = version == 1;
    if (r->in.bad)
        return err_set_about(err, ERR_FORMAT, r->input->path,
                             " is truncated in its header. Download it again");
    if (version == 0 || version > VERSION_MOST)
        return err_set_about(err, version ? ERR_UNSUPPORTED : ERR_FORMAT,
                             r->input->path,
                             " is a GGUF file of version %" PRIu32
                             ", which is not supported: only 1 to 3 are",
                             version);
    return 0;
}

/* Counts that do not fit in the file are wrong, or the file is truncated. */
static void check_counts(struct gguf_reading *r)
{
    uint64_t left = gguf_left(&r->in), word = r->in.narrow ? 4 : 8;

    /* At least an empty key, a type and a byte; an empty name, a rank, a type and an
     * offset. */
    if (r->n_entries <= left / (word + 5) && r->n_tensors <= left / (word + 16))
        return;
    build_finding(r->build, FINDING_TRUNCATED, SEVERITY_ALARM, r->input->node,
                  "the header declares more than the file can hold: entries: %" PRIu64
                  ", tensors: %" PRIu64 ", bytes: %" PRIu64,
                  r->n_entries, r->n_tensors, r->in.blob->size);
}

/* Reading stopped before the end of the metadata or of the list of tensors. -1: nothing
 * was read. */
static int note_break(struct gguf_reading *r, const char *where, struct err *err)
{
    const struct model *model = r->build->model;
    struct err *why = &r->in.why;
    bool truncated = why->code == ERR_NONE;

    if (truncated)
        err_set(why, ERR_FORMAT, "the file is truncated or damaged");
    if (model->n_metadata == 0 && model->n_tensors == 0)
        return err_set_about(err, ERR_FORMAT, r->input->path,
                             " cannot be read beyond byte %" PRIu64
                             ", in its %s: %s. Download it again",
                             r->in.at, where, why->text);
    build_finding(r->build, truncated ? FINDING_TRUNCATED : FINDING_DAMAGED,
                  SEVERITY_ALARM, r->input->node,
                  "%.*s cannot be read beyond byte %" PRIu64
                  ", in its %s: %s. Download it again",
                  STR_ARG(r->input->name), r->in.at, where, why->text);
    return 0;
}

static void check_alignment(struct gguf_reading *r)
{
    uint64_t alignment = r->alignment;

    if (alignment > 0 && alignment <= UINT32_MAX && (alignment & (alignment - 1)) == 0)
        return;
    build_finding(r->build, FINDING_DAMAGED, SEVERITY_ALARM, r->input->node,
                  "general.alignment is %" PRIu64
                  ", which is not a power of two; %d is "
                  "assumed",
                  alignment, ALIGNMENT);
    r->alignment = ALIGNMENT;
}

/* A part that was opened alone. Its name is not that of a part, or the others would
 * have been read with it. */
static void check_parts(struct gguf_reading *r)
{
    if (r->parts < 2 || r->input->depth > 0)
        return;
    build_finding(r->build, FINDING_MISSING_SHARD, SEVERITY_ALARM, r->input->node,
                  "this is part %" PRIu64 " of %" PRIu64
                  " of a model; the others are not read with it. A file on disk is "
                  "read with them if its name is NAME-%05" PRIu64 "-of-%05" PRIu64
                  ".gguf",
                  r->part + 1, r->parts, r->part + 1, r->parts);
}

static void add_facts(struct gguf_reading *r)
{
    struct values *values = build_values(r->build);

    build_fact(r->build, "version", value_int(values, r->version));
    build_fact(r->build, "entries", value_int(values, r->build->model->n_metadata));
    if (r->alignment != ALIGNMENT)
        build_fact(r->build, "alignment", value_int(values, (int64_t)r->alignment));
    if (!r->in.big)
        return;
    build_fact(r->build, "byteorder", value_str(values, STR("big")));
    build_finding(r->build, FINDING_BIG_ENDIAN, SEVERITY_NOTE, r->input->node,
                  "written for big-endian machines");
}

static int read_parts(struct gguf_reading *r, struct err *err)
{
    if (read_version(r, err) < 0)
        return -1;
    r->n_tensors = gguf_count(&r->in);
    r->n_entries = gguf_count(&r->in);
    if (r->in.bad)
        return note_break(r, "header", err);
    check_counts(r);
    if (gguf_read_entries(r, err) < 0)
        return -1;
    check_alignment(r);
    add_facts(r);
    check_parts(r);
    if (r->in.bad)
        return note_break(r, "metadata", err);
    if (gguf_read_tensors(r, err) < 0)
        return -1;
    return r->in.bad ? note_break(r, "list of tensors", err) : 0;
}

static int read_gguf(struct input *input, struct build *build, struct err *err)
{
    struct gguf_reading r = {.input = input, .build = build, .alignment = ALIGNMENT};

    if (gguf_begin(&r.in, input->blob, &build->scratch) < 0)
        return arena_err(&build->scratch, input->path, err);
    build_set_flags(build, input->node, PLACE_STATE_DICT);
    name_map_init(&r.keys, &build->scratch);
    return read_parts(&r, err);
}

const struct reader gguf_reader = {.name = "GGUF", .knows = knows, .read = read_gguf};
