/* The facts that `info` shows of an ONNX file, and findings. */
#include <inttypes.h>
#include <string.h>

#include "base/base.h"
#include "read/onnx/made_in.h"

/* ---- types ---- */

/* A list of sizes: an integer, the name of a dynamic size, or None. */
static uint32_t shape_value(struct onnx_making *m, const struct onnx_type *type)
{
    struct values *values = build_values(m->build);
    uint32_t items[ONNX_RANK];

    if (type->rank < 0 || type->rank > ONNX_RANK)
        return VALUE_ID_NONE;
    for (uint32_t i = 0; i < (uint32_t)type->rank; i++) {
        uint32_t name = m->p->items[type->dim_names + i];
        int64_t size = m->p->dims[type->dims + i];

        items[i] = size >= 0 ? value_int(values, size)
                   : name    ? value_str(values, onnx_text(m->p, name))
                             : VALUE_ID_NONE;
    }
    return value_make(values, VALUE_LIST, STR(""), items, (uint32_t)type->rank);
}

/* {'name': 'x', 'dtype': 'float32', 'shape': ['batch', 3, 224, 224]} */
static uint32_t type_value(struct onnx_making *m, const struct onnx_type *type)
{
    struct values *values = build_values(m->build);
    const char *element = onnx_type_name(type->type);
    uint32_t items[8], n = 0;

    items[n++] = value_str(values, STR("name"));
    items[n++] = value_str(values, onnx_text(m->p, type->name));
    if (type->prefix) {
        items[n++] = value_str(values, STR("of"));
        items[n++] = value_str(values, str_trim(onnx_text(m->p, type->prefix)));
    }
    items[n++] = value_str(values, STR("dtype"));
    items[n++] = element ? value_str(values, str_of(element)) : VALUE_ID_NONE;
    items[n++] = value_str(values, STR("shape"));
    items[n++] = shape_value(m, type);
    return value_make(values, VALUE_DICT, STR(""), items, n);
}

/* A list of types as a fact. Inputs with an initialiser are skipped: they are tensors.
 */
static void add_types(struct onnx_making *m, const char *key,
                      const struct onnx_list *list, bool inputs)
{
    struct values *values = build_values(m->build);
    uint32_t *items = arena_array(m->p->arena, (size_t)list->n + 1, sizeof *items);
    uint32_t n = 0;

    if (!items)
        return;
    for
        ONNX_EACH(i, m->p, types, *list)
        {
            const struct onnx_type *type = &m->p->types[i];

            if (inputs && onnx_initialiser(m, 0, type->name) != ONNX_NONE)
                continue;
            items[n] = type_value(m, type);
            if (items[n++] == VALUE_ID_FAILED)
                return;
        }
    build_fact(m->build, key, value_make(values, VALUE_LIST, STR(""), items, n));
}

/* ---- facts ---- */

static void add_text(struct onnx_making *m, const char *key, struct str text)
{
    if (text.len > 0)
        build_fact(m->build, key, value_str(build_values(m->build), text));
}

/* "pytorch 2.13.0" */
static void add_producer(struct onnx_making *m)
{
    struct buf text = BUF_INIT;

    buf_str(&text, onnx_text(m->p, m->p->producer));
    if (m->p->producer_version) {
        buf_text(&text, text.len > 0 ? " " : "");
        buf_str(&text, onnx_text(m->p, m->p->producer_version));
    }
    add_text(m, "producer", buf_span(&text));
    buf_release(&text);
}

/* "20, com.microsoft 1" */
static void add_opsets(struct onnx_making *m)
{
    struct buf text = BUF_INIT;

    for (uint32_t i = 0; i < m->p->n_opsets; i++) {
        struct str domain = onnx_text(m->p, m->p->opsets[i].domain);

        buf_text(&text, i > 0 ? ", " : "");
        if (!onnx_is_standard(domain)) {
            buf_str(&text, domain);
            buf_char(&text, ' ');
        }
        buf_printf(&text, "%" PRId64, m->p->opsets[i].version);
    }
    add_text(m, "opset", buf_span(&text));
    buf_release(&text);
}

static void add_count(struct onnx_making *m, const char *key, uint64_t n)
{
    if (n > 0)
        build_fact(m->build, key, value_int(build_values(m->build), (int64_t)n));
}

void onnx_facts(struct onnx_making *m)
{
    struct onnx_parsed *p = m->p;

    build_fact(m->build, "IR version",
               value_int(build_values(m->build), p->ir_version));
    add_opsets(m);
    add_producer(m);
    add_text(m, "graph", onnx_text(p, p->graphs[0].name));
    add_text(m, "domain", onnx_text(p, p->domain));
    add_count(m, "model version", (uint64_t)p->model_version);
    build_fact(m->build, "nodes", value_int(build_values(m->build), p->n_nodes));
    add_count(m, "functions", p->n_functions);
    add_types(m, "inputs", &p->graphs[0].inputs, true);
    add_types(m, "outputs", &p->graphs[0].outputs, false);
}

/* ---- findings ---- */

/* Is this a domain of custom operators, for which a runtime loads a library? */
static bool is_custom(const struct onnx_making *m, struct str domain)
{
    static const char *const known[] = {"ai.onnx.ml",      "ai.onnx.training",
                                        "ai.onnx.preview", "ai.onnx.preview.training",
                                        "com.microsoft",   "com.microsoft.nchwc"};

    if (onnx_is_standard(domain))
        return false;
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (str_is(domain, known[i]))
            return false;
    for (uint32_t i = 0; i < m->p->n_functions; i++)
        if (str_eq(domain, onnx_text(m->p, m->p->functions[i].domain)))
            return false;
    return true;
}

/* One finding per domain, with its first operator. */
static void say_domains(struct onnx_making *m)
{
    enum { MOST = 16 };
    uint32_t said[MOST], n = 0, last = 0;

    for (uint32_t i = 0; i < m->p->n_nodes && n < MOST; i++) {
        const struct onnx_node *node = &m->p->nodes[i];
        bool known = node->domain == last;

        for (uint32_t k = 0; k < n && !known; k++)
            known = said[k] == node->domain;
        last = node->domain;
        if (known || !is_custom(m, onnx_text(m->p, node->domain)))
            continue;
        said[n++] = node->domain;
        build_finding(
            m->build, FINDING_UNSUPPORTED, SEVERITY_WARNING, FINDING_NOWHERE,
            "the operators of the domain %.*s (%.*s) are not part of ONNX: running "
            "the model needs a library that implements them",
            STR_ARG(onnx_text(m->p, node->domain)),
            STR_ARG(onnx_text(m->p, node->op_type)));
    }
}

static void say_python(struct onnx_making *m)
{
    for (uint32_t i = 0; i < m->p->n_nodes; i++) {
        struct str op_type = onnx_text(m->p, m->p->nodes[i].op_type);

        if (onnx_is_standard(onnx_text(m->p, m->p->nodes[i].domain)) ||
            !(str_is(op_type, "PythonOp") || str_is(op_type, "PyOp")))
            continue;
        build_finding(m->build, FINDING_UNEXPECTED, SEVERITY_ALARM, FINDING_NOWHERE,
                      "the operator %.*s calls Python code that is not in the file",
                      STR_ARG(op_type));
        return;
    }
}

void onnx_findings(struct onnx_making *m)
{
    const struct wire_window *window = &m->p->window;

    if (window->err.code != ERR_NONE)
        build_finding(m->build, FINDING_DAMAGED, SEVERITY_ALARM, FINDING_NOWHERE, "%s",
                      window->err.text);
    else if (window->cut)
        build_finding(m->build, FINDING_TRUNCATED, SEVERITY_ALARM, FINDING_NOWHERE,
                      "the file is truncated at byte %" PRIu64 ": download it again",
                      m->input->blob->size);
    else if (window->fault)
        build_finding(m->build, FINDING_DAMAGED, SEVERITY_ALARM, FINDING_NOWHERE,
                      "byte %" PRIu64 " begins %s: the rest of its message is skipped",
                      window->fault_at, window->fault);
    if (!m->p->has_graph)
        build_finding(m->build, FINDING_DAMAGED, SEVERITY_ALARM, FINDING_NOWHERE,
                      "the file has no graph");
    if (m->p->too_deep)
        build_finding(m->build, FINDING_LIMIT, SEVERITY_ALARM, FINDING_NOWHERE,
                      "%" PRIu32
                      " graphs are nested more than %d deep and were skipped",
                      m->p->too_deep, ONNX_DEPTH);
    if (m->p->n_training)
        build_finding(m->build, FINDING_UNSUPPORTED, SEVERITY_NOTE, FINDING_NOWHERE,
                      "the training graphs (training_info) are not shown");
    say_domains(m);
    say_python(m);
}
