#include "facts/check_text.h"

#include "facts/notes.h"
#include "facts/training.h"
#include "rows/value_text.h"
#include "text/text.h"

#define ARGUMENTS_SHOWN 200u /* bytes of arguments, if there is no limit */
#define GLOBALS_SHOWN   40u

uint64_t check_uses(const struct pickle_global *global)
{
    uint64_t acts = 0;

    for (int act = 0; act < PICKLE_ACT_COUNT; act++)
        if (act != PICKLE_NAMES)
            acts += global->acts[act];
    return acts > 0 ? acts : global->acts[PICKLE_NAMES];
}

/* --- Pickles */

void check_arguments(struct buf *to, const struct model *model, uint32_t args,
                     size_t most)
{
    const struct value *value = value_at(&model->values, args);
    const uint32_t *items = value_items(&model->values, args);
    size_t end = to->len + most;

    buf_char(to, '(');
    if (value->kind != VALUE_TUPLE && value->kind != VALUE_NONE)
        value_show(to, model, args, most);
    for (uint32_t i = 0; value->kind == VALUE_TUPLE && i < value->n; i++) {
        buf_text(to, i > 0 ? ", " : "");
        if (to->len + 1 >= end) {
            buf_text(to, "…");
            break;
        }
        value_show(to, model, items[i], end - to->len);
    }
    buf_char(to, ')');
}

/* "posix.system("curl -s http://…")" */
static void call_fact(struct facts *to, const struct model *model, uint32_t index,
                      uint32_t args, size_t cells)
{
    const struct pickle_global *global = &model->pickle.globals[index];
    size_t begin = to->text.len, room;

    fact_text(to, "global", model_string(model, global->name));
    if (global->acts[PICKLE_CALLS] || global->acts[PICKLE_MAKES]) {
        room = to->text.len - begin + 6; /* brackets, quotes, … */
        room = cells > room + 8 ? cells - room : 8;
        check_arguments(&to->text, model, args, cells > 0 ? room : ARGUMENTS_SHOWN);
    }
    fact_end(to, check_topic_name(CHECK_PICKLE), COLOUR_ALARM);
}

/* The call, and where it is: "archive/data.pkl, REDUCE at byte 15,410". */
static void global_facts(struct facts *to, const struct model *model, uint32_t index,
                         size_t cells)
{
    const struct pickle_global *global = &model->pickle.globals[index];
    struct verdict_use use;

    if (verdict_uses(model, index, &use, 1) == 0) {
        fact_text(to, "global", model_string(model, global->name));
        fact_end(to, check_topic_name(CHECK_PICKLE), COLOUR_ALARM);
        return;
    }
    call_fact(to, model, index, use.args, cells);
    fact_text(to, "pickle", use.stream);
    buf_printf(&to->text, ", %s%sat byte ", use.opcode, use.opcode[0] ? " " : "");
    text_commas(&to->text, use.offset);
    if (check_uses(global) > 1) {
        buf_text(&to->text, ", ");
        fact_plural(to, "uses", check_uses(global), "use", "uses");
    }
    fact_end(to, "", COLOUR_ALARM);
}

/* "__main__.CifarCNN 1 use, …": all unknown globals, from `first` on. */
static void add_unknown(struct facts *to, const struct model *model,
                        const struct check *check, uint32_t first)
{
    uint32_t n = 0;

    for (uint32_t i = first; i < model->pickle.n_globals; i++) {
        const struct pickle_global *global = &model->pickle.globals[i];

        if (verdict_judge(model, &check->verdict, i, NULL) != TRUST_UNKNOWN)
            continue;
        if (++n > GLOBALS_SHOWN)
            continue;
        buf_text(&to->text, n > 1 ? ", " : "");
        fact_text(to, "global", model_string(model, global->name));
        buf_char(&to->text, ' ');
        fact_plural(to, "uses", check_uses(global), "use", "uses");
    }
    if (n > GLOBALS_SHOWN) {
        buf_text(&to->text, " and ");
        fact_count(to, "more", n - GLOBALS_SHOWN);
        buf_text(&to->text, " more");
    }
}

static void add_safe(struct facts *to, const struct model *model,
                     const struct check *check)
{
    const struct verdict_sum *sum = &check->verdict;

    if (model->pickle.n_streams == 0) {
        buf_text(&to->text, "none: the format holds no code");
    } else if (sum->known == 0) {
        buf_text(&to->text, "names nothing that a load would call");
    } else if (check->allowed > 0) {
        fact_plural(to, "globals", sum->known, "global", "globals");
        buf_text(&to->text, ", ");
        fact_count(to, "allowed", check->allowed);
        buf_text(&to->text, " of them allowed by you, the others on the allow-list");
    } else {
        fact_plural(to, "globals", sum->known, "global", "globals");
        buf_text(&to->text, ", all on the allow-list");
    }
}

/* --- The other topics */

static void add_inside(struct facts *to, const struct model *model,
                       const struct check *check)
{
    if (model->no_values) {
        fact_plural(to, "tensors", check->tensors, "tensor", "tensors");
        buf_printf(&to->text, "; their %s", model->no_values);
        return;
    }
    fact_count(to, "inside", check->inside);
    buf_text(&to->text, " of ");
    fact_count(to, "tensors", check->tensors);
    buf_text(&to->text, check->tensors == 1 ? " lies inside its storage"
                                            : " lie inside their storages");
}

static void add_well(struct facts *to, const struct model *model,
                     const struct check *check, enum check_topic topic)
{
    switch (topic) {
    case CHECK_PICKLE:
        add_safe(to, model, check);
        break;
    case CHECK_ZIP:
        fact_plural(to, "entries", check->entries, "entry", "entries");
        buf_text(&to->text, ", sizes and checksums agree");
        if (!check->data_verified && check->tensors > 0)
            buf_text(&to->text, " (of tensor data: --values)");
        break;
    case CHECK_SHARDS:
        fact_plural(to, "shards", check->entries, "shard", "shards");
        buf_text(&to->text, ", none is missing");
        break;
    case CHECK_FILE:
        buf_printf(&to->text, "%s, nothing is missing or left over", model->format);
        break;
    case CHECK_TENSORS:
        if (check->tensors == 0)
            buf_text(&to->text, "none");
        else
            add_inside(to, model, check);
        break;
    case CHECK_VALUES:
        buf_text(&to->text, "no NaN, no infinity in ");
        fact_plural(to, "values", check->values, "value", "values");
        break;
    case CHECK_TRAINING:
        buf_text(&to->text, "healthy in ");
        fact_plural(to, "steps", check->steps, "logged step", "logged steps");
        break;
    case CHECK_EXPECT:
        buf_text(&to->text, "as expected: names, shapes and dtypes of ");
        fact_plural(to, "tensors", check->expected, "tensor", "tensors");
        break;
    case CHECK_TOPIC_COUNT:
        break;
    }
}

static void add_count(struct facts *to, const struct model *model,
                      const struct check *check, enum check_topic topic)
{
    if (topic == CHECK_TENSORS) {
        add_inside(to, model, check);
    } else if (topic == CHECK_TRAINING) {
        buf_text(&to->text, "no step was logged");
        if (check->evals > 0) {
            buf_text(&to->text, ", only ");
            fact_count(to, "evals", check->evals);
            buf_text(&to->text, " of evaluation");
        }
    } else if (model->no_values && !check->stopped) {
        buf_text(&to->text, "nothing was recorded of ");
        fact_plural(to, "tensors", check->unread, "tensor", "tensors");
    } else {
        buf_text(&to->text, check->stopped ? "stopped: " : "");
        fact_plural(to, "tensors", check->unread, "tensor was", "tensors were");
        buf_text(&to->text, check->stopped ? " not checked" : " not readable");
    }
}

void check_facts(struct facts *to, const struct model *model, const struct check *check,
                 const struct check_item *item, size_t cells)
{
    static const enum colour roles[] = {[CHECK_GOOD] = COLOUR_GOOD,
                                        [CHECK_NOT_LOOKED_AT] = COLOUR_DIM,
                                        [CHECK_NOTE] = COLOUR_DIM,
                                        [CHECK_WARNING] = COLOUR_WARNING,
                                        [CHECK_ALARM] = COLOUR_ALARM};
    const char *topic = check_topic_name((enum check_topic)item->topic);

    switch ((enum check_says)item->says) {
    case CHECK_SAYS_WELL:
        add_well(to, model, check, item->topic);
        break;
    case CHECK_SAYS_GLOBAL:
        global_facts(to, model, item->index, cells);
        return;
    case CHECK_SAYS_UNKNOWN:
        add_unknown(to, model, check, item->index);
        break;
    case CHECK_SAYS_UNDECIDED:
        buf_text(&to->text, "could not be decoded to its end");
        break;
    case CHECK_SAYS_FINDING:
        note_finding(to, model, &check->findings[item->index])->label = topic;
        return;
    case CHECK_SAYS_COUNT:
        add_count(to, model, check, item->topic);
        break;
    case CHECK_SAYS_NOTHING:
        buf_text(&to->text, "not checked (--values)");
        break;
    }
    fact_end(to, topic, roles[item->mark]);
}

void check_subject(struct buf *to, const struct model *model, const struct check *check)
{
    text_plural(to, check->tensors, "tensor", "tensors");
    buf_printf(to, ", %s, ", model->format);
    text_bytes(to, model->file_bytes);
}
