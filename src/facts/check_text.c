#include "facts/check_text.h"

#include "rows/value_text.h"
#include "text/text.h"

#define ARGUMENTS_SHOWN 200u /* bytes of them, where there is no limit */
#define GLOBALS_SHOWN   40u

const char *check_sign(enum check_mark mark)
{
    static const char *const signs[] = {"✓", "-", "-", "!", "✗"};

    return signs[mark];
}

enum colour check_colour(enum check_mark mark)
{
    static const enum colour roles[] = {COLOUR_GOOD, COLOUR_DIM, COLOUR_DIM,
                                        COLOUR_WARNING, COLOUR_ALARM};

    return roles[mark];
}

uint64_t check_uses(const struct pickle_global *global)
{
    uint64_t acts = 0;

    for (int act = 0; act < PICKLE_ACT_COUNT; act++)
        if (act != PICKLE_NAMES)
            acts += global->acts[act];
    return acts > 0 ? acts : global->acts[PICKLE_NAMES];
}

/* ---- pickles ---- */

/* The arguments of a call, in about `most` bytes. */
static void add_arguments(struct buf *to, const struct model *model, uint32_t args,
                          size_t most)
{
    const struct value *value = value_at(&model->values, args);
    const uint32_t *items = value_items(&model->values, args);
    size_t end = to->len + most;

    if (value->kind != VALUE_TUPLE) {
        if (value->kind != VALUE_NONE)
            value_show(to, model, args, most);
        return;
    }
    for (uint32_t i = 0; i < value->n; i++) {
        buf_text(to, i > 0 ? ", " : "");
        if (to->len + 1 >= end) {
            buf_text(to, "…");
            return;
        }
        value_show(to, model, items[i], end - to->len);
    }
}

/* "posix.system("curl -s http://…")", and below it
 * "archive/data.pkl, REDUCE at byte 15,410". */
static void add_global(struct buf *to, const struct model *model, uint32_t index,
                       size_t cells)
{
    const struct pickle_global *global = &model->pickle.globals[index];
    size_t begin = to->len, room;
    struct verdict_use use;

    escape_terminal(to, model_string(model, global->name));
    if (verdict_uses(model, index, &use, 1) == 0)
        return;
    if (global->acts[PICKLE_CALLS] || global->acts[PICKLE_MAKES]) {
        room = to->len - begin + 6; /* brackets, quotes, … */
        room = cells > room + 8 ? cells - room : 8;
        buf_char(to, '(');
        add_arguments(to, model, use.args, cells > 0 ? room : ARGUMENTS_SHOWN);
        buf_char(to, ')');
    }
    buf_char(to, '\n');
    escape_terminal(to, use.stream);
    buf_printf(to, ", %s at byte ", use.opcode);
    text_commas(to, use.offset);
    if (check_uses(global) > 1) {
        buf_text(to, ", ");
        text_plural(to, check_uses(global), "use", "uses");
    }
}

/* "__main__.CifarCNN 1 use, …": all that are unknown, from `first` on. */
static void add_unknown(struct buf *to, const struct model *model,
                        const struct check *check, uint32_t first)
{
    uint32_t n = 0;

    for (uint32_t i = first; i < model->pickle.n_globals; i++) {
        const struct pickle_global *global = &model->pickle.globals[i];

        if (verdict_judge(model, &check->verdict, i, NULL) != TRUST_UNKNOWN)
            continue;
        if (++n > GLOBALS_SHOWN)
            continue;
        buf_text(to, n > 1 ? ", " : "");
        escape_terminal(to, model_string(model, global->name));
        buf_char(to, ' ');
        text_plural(to, check_uses(global), "use", "uses");
    }
    if (n > GLOBALS_SHOWN) {
        buf_text(to, " and ");
        text_commas(to, n - GLOBALS_SHOWN);
        buf_text(to, " more");
    }
}

static void add_safe(struct buf *to, const struct model *model,
                     const struct check *check)
{
    const struct verdict_sum *sum = &check->verdict;

    if (model->pickle.n_streams == 0) {
        buf_text(to, "none: the format holds no code");
    } else if (sum->known == 0) {
        buf_text(to, "names nothing that a load would call");
    } else if (check->allowed > 0) {
        text_plural(to, sum->known, "global", "globals");
        buf_text(to, ", ");
        text_commas(to, check->allowed);
        buf_text(to, " of them allowed by you, the others on the allow-list");
    } else {
        text_plural(to, sum->known, "global", "globals");
        buf_text(to, ", all on the allow-list");
    }
}

/* ---- the other topics ---- */

static void add_inside(struct buf *to, const struct model *model,
                       const struct check *check)
{
    if (model->no_values) {
        text_plural(to, check->tensors, "tensor", "tensors");
        buf_printf(to, "; their %s", model->no_values);
        return;
    }
    text_commas(to, check->inside);
    buf_text(to, " of ");
    text_commas(to, check->tensors);
    buf_text(to, check->tensors == 1 ? " lies inside its storage"
                                     : " lie inside their storages");
}

static void add_well(struct buf *to, const struct model *model,
                     const struct check *check, enum check_topic topic)
{
    switch (topic) {
    case CHECK_PICKLE:
        add_safe(to, model, check);
        break;
    case CHECK_ZIP:
        text_plural(to, check->entries, "entry", "entries");
        buf_text(to, ", sizes and checksums agree");
        if (!check->data_verified && check->tensors > 0)
            buf_text(to, " (of tensor data: --values)");
        break;
    case CHECK_SHARDS:
        text_plural(to, check->entries, "shard", "shards");
        buf_text(to, ", none is missing");
        break;
    case CHECK_FILE:
        buf_printf(to, "%s, nothing is missing or left over", model->format);
        break;
    case CHECK_TENSORS:
        if (check->tensors == 0)
            buf_text(to, "there are none");
        else
            add_inside(to, model, check);
        break;
    case CHECK_VALUES:
        buf_text(to, "no NaN, no infinity in ");
        text_plural(to, check->values, "value", "values");
        break;
    case CHECK_EXPECT:
        buf_text(to, "as expected: names, shapes and dtypes of ");
        text_plural(to, check->expected, "tensor", "tensors");
        break;
    case CHECK_TOPIC_COUNT:
        break;
    }
}

static void add_count(struct buf *to, const struct model *model,
                      const struct check *check, enum check_topic topic)
{
    if (topic == CHECK_TENSORS) {
        add_inside(to, model, check);
    } else if (model->no_values && !check->stopped) {
        buf_text(to, "nothing was recorded of ");
        text_plural(to, check->unread, "tensor", "tensors");
    } else {
        buf_text(to, check->stopped ? "stopped: " : "");
        text_plural(to, check->unread, "tensor was", "tensors were");
        buf_text(to, check->stopped ? " not looked at" : " not readable");
    }
}

void check_finding(struct buf *to, const struct model *model,
                   const struct finding *finding)
{
    struct str text = str_of(finding->text);
    struct buf name = BUF_INIT;

    if (finding->place < model->n_places)
        place_path(model, finding->place, &name);
    if (name.len > 0 && str_find(text, buf_span(&name)) < 0) {
        escape_terminal(to, buf_span(&name));
        buf_text(to, ": ");
    }
    escape_terminal(to, text);
    buf_release(&name);
}

void check_sentence(struct buf *to, const struct model *model,
                    const struct check *check, const struct check_item *item,
                    size_t cells)
{
    switch ((enum check_says)item->says) {
    case CHECK_SAYS_WELL:
        add_well(to, model, check, item->topic);
        break;
    case CHECK_SAYS_GLOBAL:
        add_global(to, model, item->index, cells);
        break;
    case CHECK_SAYS_UNKNOWN:
        add_unknown(to, model, check, item->index);
        break;
    case CHECK_SAYS_UNDECIDED:
        buf_text(to, "could not be decoded to its end");
        break;
    case CHECK_SAYS_FINDING:
        check_finding(to, model, &check->findings[item->index]);
        break;
    case CHECK_SAYS_COUNT:
        add_count(to, model, check, item->topic);
        break;
    case CHECK_SAYS_NOTHING:
        buf_text(to, "not looked at (--values)");
        break;
    }
}

void check_subject(struct buf *to, const struct model *model, const struct check *check)
{
    text_plural(to, check->tensors, "tensor", "tensors");
    buf_printf(to, ", %s, ", model->format);
    text_bytes(to, model->file_bytes);
}
