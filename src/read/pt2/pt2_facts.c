/* The main facts of a program: version of torch, inputs, outputs, sizes that may
 * vary. */
#include "base/base.h"
#include "base/buf.h"
#include "read/pt2/pt2_in.h"

#define LISTED_MOST 64

static void add_text(struct pt2 *pt2, const char *key, const struct buf *text)
{
    if (text->len > 0)
        build_fact(pt2->build, key,
                   value_str(build_values(pt2->build), buf_span(text)));
}

static struct str text_at(const struct pt2 *pt2, uint32_t at, const char *key)
{
    return json_doc_text(&pt2->doc, json_doc_get(&pt2->doc, at, key));
}

/* "8.20"; the first version was a single number. */
static void add_schema(struct pt2 *pt2)
{
    uint32_t version = json_doc_get(&pt2->doc, JSON_DOC_ROOT, "schema_version");
    struct buf text = BUF_INIT;

    buf_str(&text, json_doc_kind(&pt2->doc, version) == JSON_NUMBER
                       ? json_doc_text(&pt2->doc, version)
                       : text_at(pt2, version, "major"));
    if (text_at(pt2, version, "minor").len > 0) {
        buf_char(&text, '.');
        buf_str(&text, text_at(pt2, version, "minor"));
    }
    add_text(pt2, "schema", &text);
    buf_release(&text);
}

/* "aten 10, quantized 2" */
static void add_opsets(struct pt2 *pt2)
{
    uint32_t opsets = json_doc_get(&pt2->doc, JSON_DOC_ROOT, "opset_version"), n = 0;
    struct buf text = BUF_INIT;

    for (uint32_t k = json_doc_first(&pt2->doc, opsets); k && n < LISTED_MOST;
         k = json_doc_next(&pt2->doc, k), n++) {
        if (n > 0)
            buf_text(&text, ", ");
        buf_str(&text, json_doc_text(&pt2->doc, k));
        buf_char(&text, ' ');
        buf_str(&text, json_doc_text(&pt2->doc, json_doc_value(&pt2->doc, k)));
    }
    add_text(pt2, "opset", &text);
    buf_release(&text);
}

/* ---- inputs and outputs ---- */

/* "float32 s77×3×8×8": the sizes as in the file. */
static void add_tensor(struct buf *to, const struct pt2 *pt2, uint32_t meta)
{
    const struct json_doc *doc = &pt2->doc;
    uint32_t sizes = json_doc_get(doc, meta, "sizes"), n = 0;
    struct str dtype = pt2_scalar_type(doc, json_doc_get(doc, meta, "dtype"));

    buf_str(to, str_from(dtype, dtype.len > 6 ? 6 : 0));
    buf_char(to, ' ');
    for (uint32_t i = json_doc_first(doc, sizes); i && n < PT2_RANK;
         i = json_doc_next(doc, i), n++) {
        if (n > 0)
            buf_text(to, "×");
        pt2_sym(to, doc, i);
    }
    if (n == 0)
        buf_text(to, "scalar");
}

/* The type of the value with this name. */
static void add_type(struct buf *to, const struct pt2 *pt2, struct str kind,
                     struct str name)
{
    const struct json_doc *doc = &pt2->doc;
    uint32_t metas = json_doc_get(doc, pt2->graph, "tensor_values");

    for (uint32_t k = json_doc_first(doc, metas); k; k = json_doc_next(doc, k))
        if (str_eq(json_doc_text(doc, k), name)) {
            add_tensor(to, pt2, json_doc_value(doc, k));
            return;
        }
    buf_str(to, str_starts(kind, STR("as_sym_")) ? str_from(kind, 7)
                : str_starts(kind, STR("as_"))   ? str_from(kind, 3)
                                                 : kind);
}

/* The argument of a spec of this kind, and its name; false: another kind. */
static bool user_spec(const struct json_doc *doc, uint32_t spec, const char *wanted,
                      struct str *ret_kind, struct str *ret_name)
{
    struct str kind;
    uint32_t about = pt2_union(doc, spec, &kind), value;

    if (!str_is(kind, wanted))
        return false;
    value = pt2_union(doc, json_doc_get(doc, about, "arg"), ret_kind);
    *ret_name = json_doc_text(doc, json_doc_get(doc, value, "name"));
    if (ret_name->len == 0)
        *ret_name = json_doc_text(doc, json_doc_get(doc, value, "as_name"));
    return true;
}

/* "x: float32 s77×3×8×8, flag: bool" */
static void add_user(struct pt2 *pt2, const char *key, const char *list,
                     const char *wanted)
{
    const struct json_doc *doc = &pt2->doc;
    uint32_t specs = json_doc_get(doc, pt2->signature, list), n = 0;
    struct buf text = BUF_INIT;
    struct str kind, name;

    for (uint32_t i = json_doc_first(doc, specs); i; i = json_doc_next(doc, i)) {
        if (!user_spec(doc, i, wanted, &kind, &name))
            continue;
        if (n++ == LISTED_MOST) {
            buf_text(&text, ", …");
            break;
        }
        if (n > 1)
            buf_text(&text, ", ");
        if (name.len > 0) {
            buf_str(&text, name);
            buf_text(&text, ": ");
        }
        add_type(&text, pt2, kind, name);
    }
    add_text(pt2, key, &text);
    buf_release(&text);
}

/* ---- ranges, mutations ---- */

/* "s77: 2 to 64, u0: 0 to any" */
static void add_ranges(struct pt2 *pt2)
{
    const struct json_doc *doc = &pt2->doc;
    uint32_t ranges = json_doc_get(doc, JSON_DOC_ROOT, "range_constraints"), n = 0;
    struct buf text = BUF_INIT;

    for (uint32_t k = json_doc_first(doc, ranges); k && n < LISTED_MOST;
         k = json_doc_next(doc, k), n++) {
        struct str least = text_at(pt2, json_doc_value(doc, k), "min_val");
        struct str most = text_at(pt2, json_doc_value(doc, k), "max_val");

        if (n > 0)
            buf_text(&text, ", ");
        buf_str(&text, json_doc_text(doc, k));
        buf_text(&text, ": ");
        buf_str(&text, least.len > 0 ? least : STR("any"));
        buf_text(&text, " to ");
        buf_str(&text, most.len > 0 && most.len < 18 ? most : STR("any"));
    }
    add_text(pt2, "sizes", &text);
    buf_release(&text);
}

/* The full names of buffers, parameters and inputs that a pass changes. */
static void add_mutations(struct pt2 *pt2)
{
    static const char *const kinds[][2] = {
        {"buffer_mutation", "buffer_name"},
        {"parameter_mutation", "parameter_name"},
        {"user_input_mutation", "user_input_name"},
    };
    const struct json_doc *doc = &pt2->doc;
    uint32_t specs = json_doc_get(doc, pt2->signature, "output_specs"), n = 0;
    struct buf text = BUF_INIT;

    for (uint32_t i = json_doc_first(doc, specs); i && n < LISTED_MOST;
         i = json_doc_next(doc, i)) {
        struct str kind;
        uint32_t about = pt2_union(doc, i, &kind);

        for (size_t k = 0; k < COUNT_OF(kinds); k++) {
            if (!str_is(kind, kinds[k][0]))
                continue;
            if (n++ > 0)
                buf_text(&text, ", ");
            buf_str(&text, text_at(pt2, about, kinds[k][1]));
        }
    }
    add_text(pt2, "changes", &text);
    buf_release(&text);
}

static void add_verifiers(struct pt2 *pt2)
{
    const struct json_doc *doc = &pt2->doc;
    uint32_t list = json_doc_get(doc, JSON_DOC_ROOT, "verifiers"), n = 0;
    struct buf text = BUF_INIT;

    for (uint32_t i = json_doc_first(doc, list); i && n < LISTED_MOST;
         i = json_doc_next(doc, i), n++) {
        if (n > 0)
            buf_text(&text, ", ");
        buf_str(&text, json_doc_text(doc, i));
    }
    if (n == 0)
        buf_str(&text, text_at(pt2, JSON_DOC_ROOT, "dialect"));
    add_text(pt2, "dialect", &text);
    buf_release(&text);
}

void pt2_facts(struct pt2 *pt2)
{
    struct buf text = BUF_INIT;

    if (pt2->input->node != 0) /* the facts are about the outer file */
        return;
    buf_str(&text, text_at(pt2, JSON_DOC_ROOT, "torch_version"));
    add_text(pt2, "torch", &text);
    buf_release(&text);
    add_schema(pt2);
    add_opsets(pt2);
    add_verifiers(pt2);
    if (pt2->big_endian)
        build_fact(pt2->build, "byteorder",
                   value_str(build_values(pt2->build), STR("big")));
    add_user(pt2, "inputs", "input_specs", "user_input");
    add_user(pt2, "outputs", "output_specs", "user_output");
    add_ranges(pt2);
    add_mutations(pt2);
}
