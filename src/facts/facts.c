#include "facts/facts.h"

#include <inttypes.h>
#include <string.h>

#include "base/base.h"
#include "facts/memory_text.h"
#include "facts/ops_text.h"
#include "facts/performance.h"
#include "facts/run_text.h"
#include "rows/labels.h"
#include "rows/value_text.h"
#include "text/escape.h"
#include "text/number.h"

#define MOST_METADATA 40
#define MOST_ENDS     20
#define MOST_SLOW     5

/* --- The container */

/* Is the key a plural of countable things: "entries", "storages"? */
static bool is_counted(const struct model *model, const struct model_fact *fact)
{
    return value_at(&model->values, fact->value)->kind == VALUE_INT &&
           str_ends(model_string(model, fact->key), STR("s"));
}

/* "entries", or "entry" if there is one. */
static void add_counted(struct buf *to, struct str many, bool one)
{
    if (one && str_ends(many, STR("ies"))) {
        escape_terminal(to, str_head(many, many.len - 3));
        buf_char(to, 'y');
    } else if (one) {
        escape_terminal(
            to, str_head(many, many.len - (str_ends(many, STR("sses")) ? 2 : 1)));
    } else {
        escape_terminal(to, many);
    }
}

/* Is it a minor fact: the folder inside a zip, its layout version? */
static bool is_minor(const struct model *model, const struct model_fact *fact)
{
    struct str key = model_string(model, fact->key);

    return str_is(key, "root") || str_is(key, "version");
}

/* Inputs, outputs and the like have separate lines: a list, or a sentence. */
static bool is_own_line(const struct model *model, const struct model_fact *fact)
{
    static const char *const keys[] = {"inputs", "outputs", "sizes", "changes",
                                       "layout"};
    struct str key = model_string(model, fact->key);
    enum value_kind kind = value_at(&model->values, fact->value)->kind;
    bool found = kind == VALUE_LIST;

    for (size_t i = 0; i < COUNT_OF(keys) && kind == VALUE_STR; i++)
        found |= str_is(key, keys[i]);
    return found;
}

/* Does it come from a file beside the model? facts_beside() shows it. */
static bool is_beside(const struct model *model, const struct model_fact *fact)
{
    return value_at(&model->values, fact->value)->kind == VALUE_DICT;
}

/* "326 entries", "protocol 2". */
static void add_fact(struct file_facts *facts, const struct model_fact *fact)
{
    const struct model *model = facts->show->model;
    struct str key = model_string(model, fact->key);
    const struct value *value = value_at(&model->values, fact->value);

    if (is_counted(model, fact)) {
        text_commas(&facts->to->text, (uint64_t)value->integer);
        buf_char(&facts->to->text, ' ');
        add_counted(&facts->to->text, key, value->integer == 1);
        return;
    }
    /* The protocol of the main pickle of the zip. */
    if (str_is(key, "protocol") && strcmp(model->format, "torch zip") == 0)
        buf_text(&facts->to->text, "data.pkl ");
    escape_terminal(&facts->to->text, key);
    buf_char(&facts->to->text, ' ');
    if (value->kind == VALUE_STR)
        escape_terminal(&facts->to->text, value_text(&model->values, fact->value));
    else
        value_show(&facts->to->text, model, fact->value, 64);
}

/* "torch zip (326 entries, protocol 2), little-endian, 97.8MB" */
void facts_format(struct file_facts *facts)
{
    const struct model *model = facts->show->model;
    struct str order = STR("");
    int n = 0;

    buf_text(&facts->to->text, model->format);
    for (uint32_t i = 0; i < model->n_facts; i++) {
        if (str_is(model_string(model, model->facts[i].key), "byteorder")) {
            order = value_text(&model->values, model->facts[i].value);
            continue;
        }
        if (is_own_line(model, &model->facts[i]) ||
            is_beside(model, &model->facts[i]) ||
            (facts->brief && is_minor(model, &model->facts[i])))
            continue;
        buf_text(&facts->to->text, n++ == 0 ? " (" : ", ");
        add_fact(facts, &model->facts[i]);
    }
    buf_text(&facts->to->text, n > 0 ? "), " : ", ");
    if (order.len > 0) {
        escape_terminal(&facts->to->text, order);
        buf_text(&facts->to->text, "-endian, ");
    }
    text_bytes(&facts->to->text, model->file_bytes);
    if (model->n_files > 1)
        buf_printf(&facts->to->text, " in %" PRIu32 " files", model->n_files);
    fact_end(facts->to, "format", COLOUR_NONE);
}

/* ", float32 and int64": append name `i` of a list of `all`. */
static void add_listed(struct buf *to, const char *name, int i, int all)
{
    buf_text(to, i == 0 || i + 1 < all ? ", " : " and ");
    buf_text(to, name);
}

static void add_dtypes(struct file_facts *facts)
{
    bool seen[DTYPE_COUNT] = {false};
    int all = 0, n = 0;

    for (uint32_t i = 0; i < facts->show->model->n_tensors; i++) {
        all += !seen[facts->show->model->tensors[i].dtype];
        seen[facts->show->model->tensors[i].dtype] = true;
    }
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++)
        if (seen[dtype])
            add_listed(&facts->to->text, dtype_name((enum dtype)dtype), n++, all);
}

/* ", from cpu/cuda:0,1"; a recording ran on them. */
static void add_devices(struct file_facts *facts, const struct row *root)
{
    size_t begin = facts->to->text.len, named;

    buf_text(&facts->to->text, facts->show->activity ? ", on " : ", from ");
    named = facts->to->text.len;
    column_figure(&facts->to->text, column_find(STR("device")), facts->show, root);
    if (facts->to->text.len == named)
        facts->to->text.len = begin;
}

/* "a " or "an ", by pronunciation: "an LSTM" and "an N" by the letter, "a LeNet" by its
 * sound. */
static const char *article(const char *word)
{
    bool is_spelt = word[0] >= 'A' && word[0] <= 'Z' && !(word[1] >= 'a');

    return strchr(is_spelt ? "AEFHILMNORSX" : "AEIOaeio", word[0]) ? "an " : "a ";
}

/* "a state_dict: ", "an OrderedDict with 2 keys: ", "2 pickles: " */
static void add_root(struct file_facts *facts, const struct row *root)
{
    struct label label = {0};

    label_make(&label, facts->show, root, LABEL_NAME);
    if (label.type.len > 0)
        buf_printf(&facts->to->text,
                   "%s%s: ", label.is_count ? "" : article(label.type.at),
                   label.type.at);
    label_release(&label);
}

/* "a state_dict: 320 tensors, float32 and int64, 151 modules, from cpu" */
void facts_holds(struct file_facts *facts)
{
    const struct counts *total = &facts->show->session->total;
    struct row root = {.count = 1, .above = NO_ROW};

    if (show_bare(facts->show->model, 0)) {
        buf_text(&facts->to->text, show_bare(facts->show->model, 0));
    } else {
        add_root(facts, &root);
        text_plural(&facts->to->text, total->tensors, "tensor", "tensors");
    }
    add_dtypes(facts);
    if (total->modules > (facts->show->model->kind[0] == PLACE_GROUP)) {
        buf_text(&facts->to->text, ", ");
        text_plural(&facts->to->text, total->modules, "module", "modules");
    }
    add_devices(facts, &root);
    fact_end(facts->to, "holds", COLOUR_NONE);
}

/* --- The rest */

void facts_metadata(struct file_facts *facts)
{
    const struct model *model = facts->show->model;

    for (uint32_t i = 0; i < model->n_metadata && i < MOST_METADATA; i++) {
        escape_terminal(&facts->to->text, model_string(model, model->metadata[i].key));
        buf_text(&facts->to->text, ": ");
        value_show(&facts->to->text, model, model->metadata[i].value, 160);
        fact_end(facts->to, i == 0 ? "metadata" : "", COLOUR_NONE);
    }
    if (model->n_metadata > MOST_METADATA) {
        buf_printf(&facts->to->text, "%" PRIu32 " more: %s lists them all",
                   model->n_metadata - MOST_METADATA, facts->all);
        fact_end(facts->to, "", COLOUR_NONE);
    }
}

/* --- Inputs and outputs */

/* "batch×3×224×224"; a dynamic size has a name, or is "?". */
static void add_sizes(struct buf *to, const struct values *values, uint32_t list)
{
    const struct value *sizes = value_at(values, list);

    if (sizes->kind != VALUE_LIST)
        return;
    buf_text(to, sizes->n == 0 ? " scalar" : " ");
    for (uint32_t i = 0; i < sizes->n; i++) {
        uint32_t size = value_items(values, list)[i];

        buf_text(to, i > 0 ? "×" : "");
        if (value_at(values, size)->kind == VALUE_INT)
            buf_printf(to, "%" PRId64, value_at(values, size)->integer);
        else if (value_at(values, size)->kind == VALUE_STR)
            escape_terminal(to, value_text(values, size));
        else
            buf_char(to, '?');
    }
}

/* "x: float32 batch×3×224×224" of {'name': 'x', 'dtype': 'float32', 'shape': [...]}. */
static void add_end(struct buf *to, const struct values *values, uint32_t end)
{
    uint32_t part;

    if (value_get(values, end, "name", &part))
        escape_terminal(to, value_text(values, part));
    buf_char(to, ':');
    if (value_get(values, end, "of", &part)) {
        buf_char(to, ' ');
        escape_terminal(to, value_text(values, part));
    }
    if (value_get(values, end, "dtype", &part)) {
        buf_char(to, ' ');
        escape_terminal(to, value_at(values, part)->kind == VALUE_STR
                                ? value_text(values, part)
                                : STR("?"));
    }
    if (value_get(values, end, "shape", &part))
        add_sizes(to, values, part);
}

static void add_list(struct file_facts *facts, const struct model_fact *fact)
{
    const struct model *model = facts->show->model;
    const struct value *list = value_at(&model->values, fact->value);

    for (uint32_t k = 0; k < list->n; k++) {
        const char *label = k == 0 ? model_string(model, fact->key).at : "";

        if (k == MOST_ENDS) {
            buf_printf(&facts->to->text, "%" PRIu32 " more: %s lists them all",
                       list->n - k, facts->all);
            fact_end(facts->to, "", COLOUR_NONE);
            break;
        }
        add_end(&facts->to->text, &model->values,
                value_items(&model->values, fact->value)[k]);
        fact_end(facts->to, label, COLOUR_NONE);
    }
}

void facts_ends(struct file_facts *facts)
{
    const struct model *model = facts->show->model;

    for (uint32_t i = 0; i < model->n_facts; i++) {
        const struct model_fact *fact = &model->facts[i];

        if (!is_own_line(model, fact))
            continue;
        if (value_at(&model->values, fact->value)->kind == VALUE_LIST) {
            add_list(facts, fact);
            continue;
        }
        escape_terminal(&facts->to->text, value_text(&model->values, fact->value));
        fact_end(facts->to, model_string(model, fact->key).at, COLOUR_NONE);
    }
}

/* --- A recording */

/* "torch 2.13.0": the text stored in the recording under this key. */
static void add_recorded(struct file_facts *facts, const char *name, const char *key)
{
    struct str text = STR("");

    run_fact(facts->show->session->run, key, &text);
    if (text.len == 0)
        return;
    buf_printf(&facts->to->text, "%s%s", fact_is_empty(facts->to) ? "" : ", ", name);
    fact_text(facts->to, key, text);
}

int facts_run(struct file_facts *facts, struct err *err)
{
    const struct show *show = facts->show;

    add_recorded(facts, "", "when");
    add_recorded(facts, "torch ", "torch");
    add_recorded(facts, "Python ", "python");
    add_recorded(facts, "mode ", "mode");
    fact_end(facts->to, "recorded", COLOUR_NONE);
    if (run_capsule(facts->to, show->session->run)) {
        fact_end(facts->to, "capsule", COLOUR_ALARM);
        return 0;
    }
    run_passes(facts->to, show);
    fact_end(facts->to, "run", COLOUR_NONE);
    run_cost(facts->to, show);
    fact_end(facts->to, "cost", COLOUR_NONE);
    if (show->ops) {
        ops_text_flops(facts->to, &show->ops[0]);
        fact_end_as(facts->to, "flops", "FLOPs", COLOUR_NONE);
    }
    if (performance_slowest(facts->to, show, MOST_SLOW, true, err) < 0)
        return -1;
    memory_run(facts->to, show, MOST_SLOW);
    performance_measured(facts->to, show);
    return 0;
}

/* --- The whole */

int facts_file(struct file_facts *facts, struct err *err)
{
    facts_format(facts);
    facts_holds(facts);
    facts_gguf(facts);
    facts_beside(facts);
    facts_ends(facts);
    facts_params(facts);
    facts_memory(facts);
    facts_trained(facts);
    facts_buffers(facts);
    facts_history(facts);
    if (facts->show->activity && facts_run(facts, err) < 0)
        return -1;
    if (session_judged(facts->show->session))
        facts_safety(facts);
    return 0;
}
