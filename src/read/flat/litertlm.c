/* litertlm.c - LiteRT-LM (.litertlm): language models for phones. Behind a header,
 * which is a flatbuffer, are sections: TFLite models (read), and tokenizers. */
#include "base/base.h"
#include "base/bytes.h"
#include "read/file/file_source_in.h"
#include "read/flat/flat_in.h"

#define HEADER_AT     32
#define SECTIONS_MOST 1000
#define PAIRS_MOST    1000
#define TEXT_MOST     1000

enum { SECTION_TFLITE = 3 };

struct litertlm {
    struct flat flat;
    struct input *input;
    struct build *build;
    uint64_t size;    /* of the file */
    uint64_t reached; /* end of the sections so far */
};

static int litertlm_knows(const struct input *input)
{
    return input->blob && str_starts(input->head, STR("LITERTLM")) ? SURE_MAGIC : 0;
}

/* ---- metadata ---- */

/* The value of a pair of key and value. */
static uint32_t pair_value(struct litertlm *self, struct flat_table pair)
{
    enum { U8 = 1, I8, U16, I16, U32, I32, F32, BOOL, TEXT, U64, I64, F64 };
    static const uint8_t sizes[] = {0, 1, 1, 2, 2, 4, 4, 4, 1, 0, 8, 8, 8};
    struct flat *flat = &self->flat;
    struct values *values = build_values(self->build);
    int64_t kind = flat_int(flat, pair, 1, 1, 0);
    struct flat_table table = flat_table(flat, pair, 2);
    uint64_t at = flat_field(flat, table, 0), bits = 0;

    if (kind == TEXT)
        return value_str(values,
                         flat_text(flat, table, 0, TEXT_MOST, &self->build->scratch));
    if (kind < U8 || kind > F64)
        return VALUE_ID_NONE;
    if (at != 0)
        bits = flat_number(flat, at, sizes[kind]);
    switch (kind) {
    case F32:
        return value_real(values, flat_real((uint32_t)bits));
    case F64:
        return value_real(values, flat_double(bits));
    case BOOL:
        return value_bool(values, bits != 0);
    case I8:
    case I16:
    case I32:
    case I64:
        return value_int(values, flat_int(flat, table, 0, sizes[kind], 0));
    default:
        return value_int(values, (int64_t)bits);
    }
}

static void add_metadata(struct litertlm *self, struct flat_table root)
{
    struct flat *flat = &self->flat;
    struct build *build = self->build;
    struct flat_vector pairs = flat_vector(flat, flat_table(flat, root, 0), 0, 4);

    for (uint32_t i = 0; i < pairs.n && i < PAIRS_MOST && !flat->bad; i++) {
        struct flat_table pair = flat_table_at(flat, pairs.at + 4 * (uint64_t)i);
        struct str key = flat_text(flat, pair, 0, TEXT_MOST, &build->scratch);
        uint32_t value = pair_value(self, pair);

        if (value != VALUE_ID_FAILED)
            build_metadata(build, key, value);
    }
}

/* ---- sections ---- */

static const char *section_kind(int64_t kind)
{
    static const char *const names[] = {
        "section",      "data",         "deprecated",
        "model",        "sp_tokenizer", "llm_metadata",
        "hf_tokenizer", "weights",      "executor_metadata"};

    return kind >= 0 && (size_t)kind < COUNT_OF(names) ? names[kind] : names[0];
}

/* Makes the node of a section, named by its "model_type" or its kind; a name that
 * occurs twice gets a number. */
static uint32_t section_node(struct litertlm *self, struct flat_table section,
                             int64_t kind, uint32_t i)
{
    struct flat *flat = &self->flat;
    struct build *build = self->build;
    struct flat_vector pairs = flat_vector(flat, section, 0, 4);
    struct str name = str_of(section_kind(kind));
    uint32_t node;
    bool again;

    for (uint32_t k = 0; k < pairs.n && k < PAIRS_MOST && !flat->bad; k++) {
        struct flat_table pair = flat_table_at(flat, pairs.at + 4 * (uint64_t)k);
        uint32_t value;

        if (!str_is(flat_text(flat, pair, 0, TEXT_MOST, &build->scratch), "model_type"))
            continue;
        value = pair_value(self, pair);
        if (value != VALUE_ID_FAILED && value_text(build_values(build), value).len > 0)
            name = value_text(build_values(build), value);
    }
    node = build_leaf(build, self->input->node, PLACE_GROUP, name, &again);
    if (node == NO_PLACE || !again)
        return node;
    name = str_of(arena_printf(&build->scratch, "%.*s#%u", STR_ARG(name), i));
    return build_leaf(build, self->input->node, PLACE_GROUP, name, &again);
}

/* A section that is not a model: its size. */
static int list_section(struct litertlm *self, uint32_t node, uint64_t size,
                        struct err *err)
{
    struct values *values = build_values(self->build);
    uint32_t items[2] = {value_str(values, STR("bytes")),
                         value_int(values, (int64_t)size)};
    uint32_t value = value_make(values, VALUE_OBJECT, STR("section"), items, 2);

    if (value == VALUE_ID_FAILED)
        return arena_err(&self->build->model->arena, self->input->path, err);
    build_set_kind(self->build, node, PLACE_VALUE);
    build_set_object(self->build, node, value);
    return 0;
}

static int read_model_at(struct litertlm *self, uint32_t node, uint64_t at,
                         uint64_t size, struct err *err)
{
    struct build *build = self->build;
    struct err why = {0};
    struct blob *blob = blob_open_part(self->input->blob, at, size, "model", &why);

    if (blob && input_read_inner(self->input, blob, "model", node, build, &why) == 0)
        return 0;
    if (why.code == ERR_CANCELLED || build_spent(build))
        return err_copy(err, &why);
    build_finding(build, FINDING_DAMAGED, SEVERITY_ALARM, node,
                  "the section cannot be read: %s", err_reason(&why));
    return 0;
}

static int add_section(struct litertlm *self, struct flat_table section, uint32_t i,
                       struct err *err)
{
    struct flat *flat = &self->flat;
    uint64_t begin = (uint64_t)flat_int(flat, section, 1, 8, 0);
    uint64_t end = (uint64_t)flat_int(flat, section, 2, 8, 0);
    int64_t kind = flat_int(flat, section, 3, 1, 0);
    uint32_t node = section_node(self, section, kind, i);

    if (node == NO_PLACE)
        return arena_err(&self->build->model->arena, self->input->path, err);
    if (begin > end || end > self->size) {
        build_finding(self->build, FINDING_TRUNCATED, SEVERITY_ALARM, node,
                      "the section ends at byte %llu, but the file has %llu. Download "
                      "it again",
                      (unsigned long long)end, (unsigned long long)self->size);
        return 0;
    }
    if (begin < self->reached) {
        build_finding(self->build, FINDING_DAMAGED, SEVERITY_ALARM, node,
                      "the section overlaps the one before and is not read");
        return 0;
    }
    self->reached = end;
    return kind == SECTION_TFLITE ? read_model_at(self, node, begin, end - begin, err)
                                  : list_section(self, node, end - begin, err);
}

static int add_sections(struct litertlm *self, struct flat_table root, struct err *err)
{
    struct flat *flat = &self->flat;
    struct build *build = self->build;
    struct flat_vector sections = flat_vector(flat, flat_table(flat, root, 1), 0, 4);

    if (self->input->node == 0)
        build_fact(build, "sections", value_int(build_values(build), sections.n));
    if (sections.n > SECTIONS_MOST)
        build_finding(build, FINDING_LIMIT, SEVERITY_ALARM, FINDING_NOWHERE,
                      "only the first %d of %u sections are shown", SECTIONS_MOST,
                      sections.n);
    for (uint32_t i = 0; i < sections.n && i < SECTIONS_MOST && !flat->bad; i++) {
        struct arena before = build_scratch_begin(build);
        int status = add_section(
            self, flat_table_at(flat, sections.at + 4 * (uint64_t)i), i, err);

        build_scratch_end(build, before);
        if (status < 0)
            return -1;
        if (!work_step(build->work, 0))
            return err_set_about(err, ERR_CANCELLED, self->input->path, ": stopped");
    }
    return 0;
}

/* "1.3.0": behind the magic bytes. */
static void add_version(struct litertlm *self)
{
    struct build *build = self->build;
    struct bytes in = bytes_of(self->input->head.at, self->input->head.len);
    uint32_t major, minor, patch;
    const char *text;

    bytes_skip(&in, 8);
    major = bytes_u32(&in);
    minor = bytes_u32(&in);
    patch = bytes_u32(&in);
    text = arena_printf(&build->scratch, "%u.%u.%u", major, minor, patch);
    if (text)
        build_fact(build, "version", value_str(build_values(build), str_of(text)));
}

static int litertlm_read(struct input *input, struct build *build, struct err *err)
{
    struct litertlm *self = arena_alloc(&build->scratch, sizeof *self);
    struct flat_table root;

    if (!self)
        return arena_err(&build->scratch, input->path, err);
    self->input = input;
    self->build = build;
    self->size = input->blob->size;
    flat_init(&self->flat, input->blob);
    root = flat_table_at(&self->flat, HEADER_AT);
    if (self->flat.bad || root.at == 0)
        return err_set_about(err, ERR_FORMAT, input->path,
                             " is a damaged LiteRT-LM file. Download it again");
    if (input->node == 0) {
        add_version(self);
        add_metadata(self, root);
    }
    if (add_sections(self, root, err) < 0)
        return -1;
    if (self->flat.bad)
        build_finding(
            build, FINDING_DAMAGED, SEVERITY_ALARM, FINDING_NOWHERE,
            "an offset points outside the file: the rest was skipped. Download "
            "it again");
    return 0;
}

const struct reader litertlm_reader = {
    .name = "LiteRT-LM", .knows = litertlm_knows, .read = litertlm_read};
