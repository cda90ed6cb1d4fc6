/* Rows about values: dtypes, changed tensors by part, plain values. */
#include <math.h>

#include "base/map.h"
#include "compare/diff_rows_in.h"
#include "rows/value_text.h"
#include "text/text.h"

#define MOST_VALUE 40 /* bytes of a plain value */
#define MOST_CODE  80 /* bytes of a line of code */
#define MOST_WHYS  8

void diff_relative(struct buf *to, const struct compared *by)
{
    double percent = compared_relative(by) * 100;

    if (!isfinite(percent))
        buf_text(to, "from 0");
    else if (percent >= 10)
        buf_printf(to, "%.0f%%", percent);
    else
        buf_printf(to, "%.2g%%", percent);
}

/* "  3 values finite on one side only" */
static void add_one_sided(struct buf *to, uint64_t n)
{
    if (n == 0)
        return;
    buf_text(to, "  ");
    text_plural(to, n, "value", "values");
    buf_text(to, " finite on one side only");
}

/* "60 of 257" */
static void add_of(struct buf *to, uint64_t n, uint64_t all)
{
    text_commas(to, n);
    buf_text(to, " of ");
    text_commas(to, all);
}

/* ---- dtypes ---- */

struct retyped {
    uint8_t left, right;
    uint32_t n, rounding;
    bool quantised; /* one of them has blocks with scales */
    struct compared by;
};

static void add_retyped(struct diff_rows_maker *maker, const struct retyped *retyped)
{
    struct buf *rest = &maker->rest;

    buf_printf(&maker->what, "%s → %s", dtype_name(retyped->left),
               dtype_name(retyped->right));
    add_of(&maker->amount, retyped->n, maker->diff->total.tensors);
    if (!maker->diff->values) {
        diff_row_add(maker, "~", COLOUR_NONE);
        return;
    }
    if (retyped->by.different == 0 && retyped->rounding == 0)
        buf_text(rest, "all values equal");
    else if (retyped->rounding == retyped->n)
        buf_text(rest, retyped->by.different ? "rounding only, rel "
                                             : "rounding only, all values equal");
    else if (retyped->quantised)
        buf_text(rest, "quantised, rel ");
    else
        buf_text(rest, "more than rounding, rel ");
    if (retyped->by.different)
        diff_relative(rest, &retyped->by);
    add_one_sided(rest, retyped->by.one_sided);
    diff_row_add(maker, "~", COLOUR_NONE);
}

void diff_dtype_rows(struct diff_rows_maker *maker)
{
    const struct diff *diff = maker->diff;
    struct retyped *table =
        arena_array(maker->rows->arena, DTYPE_COUNT * DTYPE_COUNT, sizeof *table);

    diff_list_begin(maker);
    for (uint32_t i = 0; table && i < diff->n_pairs; i++) {
        const struct diff_pair *pair = &diff->pairs[i];
        struct retyped *one;
        uint8_t left, right;

        if (pair->state != DIFF_RETYPED)
            continue;
        left = place_tensor(diff->left, pair->left)->dtype;
        right = place_tensor(diff->right, pair->right)->dtype;
        one = &table[left * DTYPE_COUNT + right];
        one->left = left;
        one->right = right;
        one->quantised = diff_quantised(diff, pair) != DTYPE_UNKNOWN;
        one->n++;
        one->rounding += pair->by.rounding;
        compared_merge(&one->by, &pair->by);
    }
    for (uint32_t i = 0; table && i < DTYPE_COUNT * DTYPE_COUNT; i++)
        if (table[i].n > 0)
            add_retyped(maker, &table[i]);
    diff_list_end(maker);
}

/* ---- changed values, by part ---- */

/* Values of changed tensors at and below a node that are finite on one side only. */
static uint64_t count_one_sided(const struct diff *diff, uint32_t node)
{
    uint64_t n = 0;

    for (uint32_t below = node; below < diff->nodes[node].end; below++) {
        uint32_t pair = diff->nodes[below].pair;

        if (pair != DIFF_NONE && diff->pairs[pair].state == DIFF_CHANGED)
            n += diff->pairs[pair].by.one_sided;
    }
    return n;
}

/* "rel 4.1%, unrelated values  max 0.01718  layer4.0.conv2.weight" */
static void add_apart(struct buf *to, const struct diff *diff, uint32_t node,
                      bool unrelated)
{
    const struct diff_sums *sums = &diff->nodes[node].sums;
    const struct compared *by = diff_apart(sums);

    if (!by)
        return;
    buf_text(to, "rel ");
    diff_relative(to, by);
    if (unrelated || (sums->params_differ > 0 && by->finite >= COMPARED_FEW &&
                      compared_unrelated(by)))
        buf_text(to, ", unrelated values");
    if (by->max_abs > 0) {
        buf_text(to, "  max ");
        text_real(to, by->max_abs);
        if (diff->nodes[node].pair == DIFF_NONE) {
            buf_text(to, "  ");
            diff_write_pair(to, diff, diff_largest(diff, node, by));
        }
    }
}

/* `unrelated`: the node is, or is inside, a part with unrelated values. */
static void add_changed(struct diff_rows_maker *maker, uint32_t node, bool unrelated)
{
    const struct diff *diff = maker->diff;
    const struct diff_sums *sums = &diff->nodes[node].sums;

    if (sums->states[DIFF_CHANGED] == 0 || diff_buffers_only(diff, sums))
        return;
    if (node == 0)
        buf_text(&maker->what, "(all)");
    else
        diff_write_node(&maker->what, diff, node);
    add_of(&maker->amount, sums->states[DIFF_CHANGED], sums->tensors);
    add_apart(&maker->rest, diff, node, unrelated);
    add_one_sided(&maker->rest, count_one_sided(diff, node));
    diff_row_add(maker, "~", COLOUR_NONE);
}

/* The only child that holds tensors, or the node itself. */
static uint32_t only_child(const struct diff *diff, uint32_t node)
{
    for (;;) {
        uint32_t only = DIFF_NONE, n = 0;

        for (uint32_t c = node + 1; c < diff->nodes[node].end; c = diff->nodes[c].end) {
            if (diff->nodes[c].sums.tensors == 0)
                continue;
            only = c;
            if (++n > 1)
                return node;
        }
        if (n == 0 || diff->nodes[only].pair != DIFF_NONE)
            return node;
        node = only;
    }
}

static bool is_state_dict(const struct diff *diff, uint32_t node)
{
    uint32_t left = diff->nodes[node].left, right = diff->nodes[node].right;

    return (left != NO_PLACE && diff->left->flags[left] & PLACE_STATE_DICT) ||
           (right != NO_PLACE && diff->right->flags[right] & PLACE_STATE_DICT);
}

/* The root and a checkpoint's state_dict are listed by their children: their own names
 * are of no interest. */
static void add_part(struct diff_rows_maker *maker, const struct diff_part *part)
{
    const struct diff *diff = maker->diff;
    uint32_t node = part->node, end = diff->nodes[node].end, c;
    bool unrelated = part->fate == FATE_UNRELATED;

    if (node == 0)
        node = only_child(diff, node);
    else if (!is_state_dict(diff, node) ||
             diff_buffers_only(diff, &diff->nodes[node].sums)) {
        add_changed(maker, node, unrelated);
        return;
    }
    for (c = node + 1; c < end; c++) {
        if (is_state_dict(diff, c))
            continue;
        add_changed(maker, c, unrelated && diff->nodes[c].sums.params_differ > 0);
        c = diff->nodes[c].end - 1;
    }
}

/* The distinct last names of changed buffers: "running_mean, running_var". */
static void add_buffer_words(struct diff_rows_maker *maker)
{
    const struct diff *diff = maker->diff;
    struct str words[5];
    uint32_t n = 0, k;

    for (uint32_t i = 0; i < diff->n_pairs && n < 5; i++) {
        const struct diff_pair *pair = &diff->pairs[i];
        struct str word;

        if (!(pair->flags & DIFF_BUFFER) || pair->state != DIFF_CHANGED)
            continue;
        word = place_name(diff->left, pair->left);
        for (k = 0; k < n && !str_eq(words[k], word); k++)
            ;
        if (k == n)
            words[n++] = word;
    }
    for (k = 0; k < n && k < 4; k++) {
        buf_text(&maker->rest, k > 0 ? ", " : "");
        escape_terminal(&maker->rest, words[k]);
    }
    if (n == 5)
        buf_text(&maker->rest, ", …");
}

/* One row for all parts in which only buffers differ. */
static void add_buffers(struct diff_rows_maker *maker)
{
    const struct diff *diff = maker->diff;
    struct arena *arena = maker->rows->arena;
    struct str *names = arena_array(arena, (size_t)diff->n_parts + 1, sizeof *names);
    uint64_t changed = 0, tensors = 0;
    uint32_t n = 0;

    for (uint32_t i = 0; names && i < diff->n_parts; i++) {
        const struct diff_sums *sums = &diff->nodes[diff->parts[i].node].sums;

        if (!diff_buffers_only(diff, sums))
            continue;
        names[n++] = diff_keep_node(arena, diff, diff->parts[i].node, STR("(all)"));
        changed += sums->states[DIFF_CHANGED];
        tensors += sums->tensors;
    }
    if (n == 0)
        return;
    names_write(&maker->what, names, n, &names_in_column);
    add_of(&maker->amount, changed, tensors);
    buf_text(&maker->rest, "buffers only: ");
    add_buffer_words(maker);
    diff_row_add(maker, "~", COLOUR_NONE);
}

void diff_value_rows(struct diff_rows_maker *maker)
{
    diff_list_begin(maker);
    for (uint32_t i = 0; i < maker->diff->n_parts; i++)
        add_part(maker, &maker->diff->parts[i]);
    diff_list_end(maker);
    add_buffers(maker);
}

/* ---- plain values, arguments, classes ---- */

static void add_value(struct buf *to, const struct model *model, uint32_t place)
{
    value_show(to, model, model->object[place], MOST_VALUE);
}

static void add_class(struct buf *to, const struct model *model, uint32_t place)
{
    escape_terminal(to, class_short(place_class(model, place)));
}

/* For two classes of the same name in different modules. */
static void add_full_class(struct buf *to, const struct model *model, uint32_t place)
{
    escape_terminal(to, place_class(model, place));
}

static bool same_short_class(const struct diff *diff, const struct diff_other *other)
{
    return str_eq(class_short(place_class(diff->left, other->left)),
                  class_short(place_class(diff->right, other->right)));
}

static uint32_t args_of(const struct model *model, uint32_t place)
{
    const struct object *object = place_object(model, place);

    return object ? object->args : VALUE_ID_NONE;
}

/* Appends the value of an argument as text, for comparison; false: no such argument. */
static bool add_argument(struct buf *to, const struct model *model, uint32_t args,
                         struct str key)
{
    const struct values *values = &model->values;
    const uint32_t *items = value_items(values, args);

    if (value_at(values, args)->kind != VALUE_DICT)
        return false;
    for (uint32_t i = 0; i + 1 < value_at(values, args)->n; i += 2)
        if (str_eq(value_text(values, items[i]), key)) {
            value_show(to, model, items[i + 1], MOST_VALUE);
            return true;
        }
    return false;
}

static void add_argument_row(struct diff_rows_maker *maker, struct str key,
                             const char *left, const char *right)
{
    buf_text(&maker->rest, maker->rest.len > 0 ? ", " : "");
    escape_terminal(&maker->rest, key);
    buf_printf(&maker->rest, " %s → %s", left, right);
}

/* "stride (1, 1) → (2, 2), bias True → (absent)": the arguments of one side that differ
 * on the other; with `lone`, only those that the other side lacks. */
static void add_arguments_of(struct diff_rows_maker *maker,
                             const struct diff_other *other, bool right, bool lone)
{
    const struct model *one = right ? maker->diff->right : maker->diff->left;
    const struct model *two = right ? maker->diff->left : maker->diff->right;
    uint32_t args = args_of(one, right ? other->right : other->left);
    uint32_t others = args_of(two, right ? other->left : other->right);
    const uint32_t *items = value_items(&one->values, args);
    struct buf a = BUF_INIT, b = BUF_INIT;

    if (value_at(&one->values, args)->kind != VALUE_DICT)
        return;
    for (uint32_t i = 0; i + 1 < value_at(&one->values, args)->n; i += 2) {
        struct str key = value_text(&one->values, items[i]);
        bool found;

        buf_clear(&a);
        buf_clear(&b);
        value_show(&a, one, items[i + 1], MOST_VALUE);
        found = add_argument(&b, two, others, key);
        if (!found)
            buf_text(&b, "(absent)");
        if (found && (lone || str_eq(buf_span(&a), buf_span(&b))))
            continue;
        add_argument_row(maker, key, buf_cstr(right ? &b : &a),
                         buf_cstr(right ? &a : &b));
    }
    buf_release(&a);
    buf_release(&b);
}

static void add_arguments(struct diff_rows_maker *maker, const struct diff_other *other)
{
    add_arguments_of(maker, other, false, false);
    add_arguments_of(maker, other, true, true);
    if (maker->rest.len == 0)
        buf_text(&maker->rest, "other arguments");
}

static void add_fact(struct buf *to, const struct model *model, uint32_t index)
{
    value_show(to, model, model->metadata[index].value, MOST_VALUE);
}

/* "left → right", or the only side that has it. */
static void add_sides(struct diff_rows_maker *maker, const struct diff_other *other,
                      void (*add)(struct buf *, const struct model *, uint32_t))
{
    bool left = other->left != NO_PLACE, right = other->right != NO_PLACE;

    if (left)
        add(&maker->rest, maker->diff->left, other->left);
    if (left && right)
        buf_text(&maker->rest, " → ");
    if (right)
        add(&maker->rest, maker->diff->right, other->right);
}

static void add_metadata(struct diff_rows_maker *maker, const struct diff_other *other)
{
    const struct diff *diff = maker->diff;
    bool left = other->left != DIFF_NONE;
    const struct model *model = left ? diff->left : diff->right;

    buf_text(&maker->what, "metadata ");
    escape_terminal(
        &maker->what,
        model_string(model, model->metadata[left ? other->left : other->right].key));
    add_sides(maker, other, add_fact);
}

/* How many equal bytes to skip at the start of two lines, to show the difference. */
static size_t equal_start(struct str a, struct str b)
{
    size_t n = 0;

    while (n < a.len && n < b.len && a.at[n] == b.at[n])
        n++;
    if (n <= MOST_CODE / 2)
        return 0;
    n -= MOST_CODE / 4;
    while (n > 0 && ((unsigned char)a.at[n] & 0xc0) == 0x80)
        n--;
    return n;
}

/* "code: y = torch.relu(x) → y = torch.tanh(x)": the first line that differs. */
static void add_code(struct diff_rows_maker *maker, const struct diff_other *other)
{
    struct buf *rest = &maker->rest, lines[2] = {BUF_INIT, BUF_INIT};
    size_t skip;

    escape_terminal(&lines[0], other->code[0]);
    escape_terminal(&lines[1], other->code[1]);
    skip = equal_start(buf_span(&lines[0]), buf_span(&lines[1]));
    if (lines[0].len + lines[1].len == 0)
        buf_text(rest, "code of functions that it calls");
    else
        buf_text(rest, "code: ");
    for (int i = 0; i < 2 && lines[0].len + lines[1].len > 0; i++) {
        struct str line = str_from(buf_span(&lines[i]), skip);

        buf_text(rest, i == 1 ? " → " : "");
        buf_text(rest, line.len == 0 ? "(its end)" : skip > 0 ? "…" : "");
        text_cut(rest, line, MOST_CODE, "…");
    }
    buf_release(&lines[0]);
    buf_release(&lines[1]);
}

static void add_place(struct diff_rows_maker *maker, const struct diff_other *other)
{
    const struct diff *diff = maker->diff;
    bool left = other->left != NO_PLACE, right = other->right != NO_PLACE;
    void (*add)(struct buf * to, const struct model *model, uint32_t place) =
        other->kind == DIFF_CLASS ? add_class : add_value;

    diff_write_place(&maker->what, diff, right, right ? other->right : other->left);
    if (maker->what.len == 0)
        buf_text(&maker->what, "(root)");
    if (other->kind == DIFF_CODE) {
        add_code(maker, other);
        return;
    }
    if (other->kind == DIFF_ARGS && left && right) {
        add_arguments(maker, other);
        return;
    }
    if (other->kind == DIFF_CLASS && left && right && same_short_class(diff, other))
        add = add_full_class;
    add_sides(maker, other, add);
}

void diff_other_rows(struct diff_rows_maker *maker)
{
    const struct diff *diff = maker->diff;

    diff_list_begin(maker);
    for (uint32_t i = 0; i < diff->n_others; i++) {
        const struct diff_other *other = &diff->others[i];

        if (other->kind == DIFF_METADATA)
            add_metadata(maker, other);
        else
            add_place(maker, other);
        if (other->left == NO_PLACE)
            diff_row_add(maker, "+", COLOUR_GOOD);
        else if (other->right == NO_PLACE)
            diff_row_add(maker, "-", COLOUR_ALARM);
        else
            diff_row_add(maker, "~", COLOUR_NONE);
    }
    diff_list_end(maker);
}

/* ---- tensors that could not be compared ---- */

/* One row for each reason, with the name of its first tensor. */
void diff_unread_rows(struct diff_rows_maker *maker)
{
    const struct diff *diff = maker->diff;
    const char *whys[MOST_WHYS];
    uint32_t n = 0, k;

    diff_list_begin(maker);
    for (uint32_t i = 0; i < diff->n_pairs && n < MOST_WHYS; i++) {
        const struct diff_pair *pair = &diff->pairs[i];
        uint32_t same = 0;

        if (pair->state != DIFF_UNREAD || !pair->why)
            continue;
        for (k = 0; k < n && strcmp(whys[k], pair->why) != 0; k++)
            ;
        if (k < n)
            continue;
        whys[n++] = pair->why;
        for (uint32_t j = i; j < diff->n_pairs; j++)
            same += diff->pairs[j].state == DIFF_UNREAD && diff->pairs[j].why &&
                    strcmp(diff->pairs[j].why, pair->why) == 0;
        diff_write_pair(&maker->what, diff, i);
        if (same > 1)
            buf_printf(&maker->what, " and %u more", (unsigned)(same - 1));
        buf_text(&maker->rest, "values not compared: ");
        escape_terminal(&maker->rest, str_of(pair->why));
        diff_row_add(maker, "?", COLOUR_WARNING);
    }
    diff_list_end(maker);
}
