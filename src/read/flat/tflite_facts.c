/* What a file says about itself: its signatures, its metadata, which is a flatbuffer of
 * its own in one of the buffers, and the files in a zip behind it. */
#include "base/base.h"
#include "base/buf.h"
#include "read/flat/tflite_in.h"

#define SIGNATURES_MOST 1000
#define METADATA_MOST   100
#define FILES_MOST      100
#define TEXT_MOST       4096
#define BYTES_SHOWN     16

/* ---- signatures ---- */

int tflite_signatures(struct tflite *tflite, struct flat_table model, struct err *err)
{
    struct flat *flat = &tflite->flat;
    struct arena *arena = &tflite->build->scratch;
    struct flat_vector list = flat_vector(flat, model, 7, 4);

    for (uint32_t i = 0; i < list.n && i < SIGNATURES_MOST && !flat->bad; i++) {
        struct flat_table table = flat_table_at(flat, list.at + 4 * (uint64_t)i);
        struct tflite_signature signature = {
            .key = flat_text(flat, table, 2, TFLITE_NAME_MOST, arena),
            .table = table,
            .graph = (uint32_t)flat_int(flat, table, 4, 4, 0)};

        if (signature.graph >= tflite->n_graphs)
            continue;
        if (arena_room(arena, &tflite->signatures, tflite->n_signatures,
                       &tflite->signatures_room, sizeof signature) < 0)
            return arena_err(arena, tflite->input->path, err);
        tflite->signatures[tflite->n_signatures++] = signature;
    }
    return 0;
}

struct str tflite_signature_name(struct tflite *tflite,
                                 const struct tflite_signature *signature, bool in,
                                 uint32_t tensor)
{
    struct flat *flat = &tflite->flat;
    struct flat_vector list = flat_vector(flat, signature->table, in ? 0 : 1, 4);

    for (uint32_t i = 0; i < list.n && i < TFLITE_IOS_MOST && !flat->bad; i++) {
        struct flat_table table = flat_table_at(flat, list.at + 4 * (uint64_t)i);

        if ((uint32_t)flat_int(flat, table, 1, 4, 0) == tensor)
            return flat_text(flat, table, 0, TFLITE_NAME_MOST, &tflite->build->scratch);
    }
    return STR("");
}

/* Names of inputs or outputs as a LIST, and as text: "x, mask". */
static uint32_t ends_value(struct tflite *tflite,
                           const struct tflite_signature *signature, bool in,
                           struct buf *text)
{
    struct flat *flat = &tflite->flat;
    struct values *values = build_values(tflite->build);
    struct flat_vector list = flat_vector(flat, signature->table, in ? 0 : 1, 4);
    uint32_t items[METADATA_MOST], n = 0;

    for (; n < list.n && n < METADATA_MOST && !flat->bad; n++) {
        struct flat_table table = flat_table_at(flat, list.at + 4 * (uint64_t)n);
        struct str name = flat_text(flat, table, 0, TEXT_MOST, &tflite->build->scratch);

        items[n] = value_str(values, name);
        buf_text(text, n > 0 ? ", " : "");
        buf_str(text, name);
    }
    return value_make(values, VALUE_LIST, STR(""), items, n);
}

/* {'name': 'encode', 'of': '(x) -> (code)', 'subgraph': 0, 'inputs': ['x'],
 * 'outputs': ['code']} */
static uint32_t signature_value(struct tflite *tflite,
                                const struct tflite_signature *signature)
{
    struct values *values = build_values(tflite->build);
    struct buf text = BUF_INIT;
    uint32_t in, out, items[10], n = 0;

    buf_char(&text, '(');
    in = ends_value(tflite, signature, true, &text);
    buf_text(&text, ") -> (");
    out = ends_value(tflite, signature, false, &text);
    buf_char(&text, ')');
    items[n++] = value_str(values, STR("name"));
    items[n++] = value_str(values, signature->key);
    items[n++] = value_str(values, STR("of"));
    items[n++] = value_str(values, buf_span(&text));
    items[n++] = value_str(values, STR("subgraph"));
    items[n++] = value_int(values, signature->graph);
    items[n++] = value_str(values, STR("inputs"));
    items[n++] = in;
    items[n++] = value_str(values, STR("outputs"));
    items[n++] = out;
    buf_release(&text);
    return value_make(values, VALUE_DICT, STR(""), items, n);
}

static void add_signatures(struct tflite *tflite)
{
    struct values *values = build_values(tflite->build);
    uint32_t items[SIGNATURES_MOST], n = tflite->n_signatures, list;

    for (uint32_t i = 0; i < n; i++)
        items[i] = signature_value(tflite, &tflite->signatures[i]);
    list = value_make(values, VALUE_LIST, STR(""), items, n);
    if (n > 0 && list != VALUE_ID_FAILED)
        build_fact(tflite->build, "signature", list);
}

/* ---- metadata ---- */

static void add_text(struct tflite *tflite, struct flat_table table, unsigned field,
                     const char *key)
{
    struct build *build = tflite->build;
    struct str text =
        flat_text(&tflite->flat, table, field, TEXT_MOST, &build->scratch);

    tflite->described |= text.len > 0 && str_is(str_of(key), "description");
    if (text.len > 0)
        build_metadata(build, str_of(key), value_str(build_values(build), text));
}

/* The metadata of TFLite's Support Library, a flatbuffer in a buffer. */
static void add_model_metadata(struct tflite *tflite, uint64_t at)
{
    struct flat_table table = flat_table_at(&tflite->flat, at);

    add_text(tflite, table, 0, "name");
    add_text(tflite, table, 1, "description");
    add_text(tflite, table, 2, "version");
    add_text(tflite, table, 4, "author");
    add_text(tflite, table, 5, "license");
    add_text(tflite, table, 7, "min_parser_version");
}

/* Is this a text that zeros fill up? */
static bool is_text(struct str bytes, struct str *ret_text)
{
    size_t n = 0;

    while (n < bytes.len && bytes.at[n] >= ' ' && bytes.at[n] <= '~')
        n++;
    *ret_text = str_head(bytes, n);
    for (size_t i = n; i < bytes.len; i++)
        if (bytes.at[i] != 0)
            return false;
    return n > 0;
}

static void add_metadata(struct tflite *tflite, struct flat_table entry)
{
    struct flat *flat = &tflite->flat;
    struct build *build = tflite->build;
    struct str name = flat_text(flat, entry, 0, TEXT_MOST, &build->scratch);
    struct str bytes, text;
    uint64_t at, size;

    if (!tflite_buffer(tflite, (uint32_t)flat_int(flat, entry, 1, 4, 0), &at, &size))
        return;
    if (str_is(name, "TFLITE_METADATA")) {
        add_model_metadata(tflite, at);
        return;
    }
    bytes = flat_bytes(flat, at, size, 64, &build->scratch);
    if (bytes.len == size && is_text(bytes, &text))
        build_metadata(build, name, value_str(build_values(build), text));
    else if (bytes.len > 0)
        build_metadata(
            build, name,
            value_bytes(build_values(build), str_head(bytes, BYTES_SHOWN), size));
}

static void add_all_metadata(struct tflite *tflite, struct flat_table model)
{
    struct flat *flat = &tflite->flat;
    struct flat_vector list = flat_vector(flat, model, 6, 4);

    for (uint32_t i = 0; i < list.n && i < METADATA_MOST && !flat->bad; i++)
        add_metadata(tflite, flat_table_at(flat, list.at + 4 * (uint64_t)i));
}

/* Labels and vocabularies are in a zip behind the flatbuffer. */
static void add_files(struct tflite *tflite)
{
    struct build *build = tflite->build;
    struct values *values = build_values(build);
    struct err why = {0};
    struct zip *zip = zip_open_behind(tflite->input->blob, build, &why);
    uint32_t items[FILES_MOST], n = 0, list;

    for (; zip && n < zip->n && n < FILES_MOST; n++)
        items[n] = value_str(values, zip->entries[n].name);
    if (n == 0)
        return;
    list = value_make(values, VALUE_LIST, STR(""), items, n);
    if (list != VALUE_ID_FAILED)
        build_metadata(build, STR("associated_files"), list);
}

void tflite_facts(struct tflite *tflite, struct flat_table model)
{
    struct build *build = tflite->build;
    struct values *values = build_values(build);

    build_fact(build, "version",
               value_int(values, flat_int(&tflite->flat, model, 0, 4, 0)));
    build_fact(build, "subgraphs", value_int(values, tflite->n_graphs));
    add_signatures(tflite);
    add_all_metadata(tflite, model);
    if (!tflite->described)
        add_text(tflite, model, 3, "description");
    add_files(tflite);
}
