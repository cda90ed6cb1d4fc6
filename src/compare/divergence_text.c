#include "compare/divergence_text.h"

#include <math.h>

#include "base/base.h"
#include "facts/statistics.h"
#include "rows/value_text.h"
#include "text/text.h"

#define MOST_INPUTS 8

void divergence_distance(struct buf *to, double distance)
{
    if (isnan(distance))
        buf_text(to, "unknown");
    else if (isinf(distance))
        buf_text(to, "infinite");
    else
        buf_printf(to, "%.2g", distance);
}

/* The same as a value of a fact. */
static void add_distance(struct facts *to, const char *name, double distance)
{
    struct figure figure = fact_figure(to);

    divergence_distance(figure.text, distance);
    figure.kind = FIGURE_REAL;
    figure.real = distance;
    fact_value(to, name, &figure);
}

/* ---- names ---- */

/* The full name of a module or parameter; the root has its class. */
static void add_place(struct buf *to, const struct run *run, uint32_t place)
{
    struct buf path = BUF_INIT;
    struct str class = class_short(place_class(run->model, place));

    place_path(run->model, place, &path);
    if (path.len > 0)
        escape_terminal(to, buf_span(&path));
    else
        escape_terminal(to, class.len > 0 ? class : str_of(run->name));
    buf_release(&path);
}

static void add_op(struct buf *to, const struct run *run, const struct run_op *op)
{
    escape_terminal(to, op_name(run, op));
    if (op->place == NO_PLACE)
        return;
    buf_text(to, " in ");
    add_place(to, run, op->place);
}

/* The position among several: x, [0]. */
static void add_path(struct buf *to, const struct run *run, uint32_t path)
{
    struct str text = run_string(run, path);

    if (text.len > 0 && text.at[0] != '[')
        buf_char(to, ' ');
    escape_terminal(to, text);
}

void divergence_subject(struct buf *to, const struct divergence *divergence,
                        const struct divergence_result *result, bool right)
{
    const struct run *run = divergence->run[right];

    switch ((enum divergence_what)result->what) {
    case DIVERGENCE_OP:
        add_op(to, run, &run->ops->ops[result->at[right]]);
        break;
    case DIVERGENCE_INPUT:
        buf_text(to, "argument");
        add_path(to, run, result->path[right]);
        buf_text(to, " of ");
        add_place(to, run, result->place[right]);
        break;
    case DIVERGENCE_CALL:
        add_place(to, run, result->place[right]);
        add_path(to, run, result->path[right]);
        break;
    case DIVERGENCE_GRADIENT:
        buf_text(to, "the backward of ");
        add_place(to, run, result->place[right]);
        break;
    case DIVERGENCE_PARAMETER:
        buf_text(to, "the gradient of ");
        add_place(to, run, result->place[right]);
        break;
    }
}

struct str divergence_line(const struct divergence *divergence,
                           const struct divergence_result *result, bool right)
{
    const struct run *run = divergence->run[right];

    if (result->what == DIVERGENCE_OP)
        return run_string(run, run->ops->ops[result->at[right]].line);
    if (result->what == DIVERGENCE_PARAMETER)
        return STR("");
    return run_string(run, run->calls[result->at[right]].line);
}

/* "relu", and if the other side calls it otherwise " → gelu"; classes likewise. */
static void add_both_names(struct buf *to, const struct divergence *divergence,
                           const struct divergence_result *result)
{
    struct buf left = BUF_INIT, right = BUF_INIT;

    divergence_subject(&left, divergence, result, false);
    divergence_subject(&right, divergence, result, true);
    buf_str(to, buf_span(&left));
    if (!str_eq(buf_span(&left), buf_span(&right))) {
        buf_text(to, " → ");
        buf_str(to, buf_span(&right));
    }
    buf_release(&left);
    buf_release(&right);
}

static void add_classes(struct facts *to, const struct divergence *divergence,
                        const struct divergence_result *result)
{
    struct str class[2];

    if (result->what != DIVERGENCE_CALL && result->what != DIVERGENCE_GRADIENT)
        return;
    for (int side = 0; side < 2; side++)
        class[side] =
            class_short(place_class(divergence->run[side]->model, result->place[side]));
    if (class[0].len == 0 && class[1].len == 0)
        return;
    buf_text(&to->text, "  ");
    escape_terminal(&to->text, class[0]);
    if (!str_eq(class[0], class[1])) {
        buf_text(&to->text, " → ");
        escape_terminal(&to->text, class[1]);
    }
}

/* ---- the first ---- */

static uint32_t call_number(const struct divergence *divergence,
                            const struct divergence_result *result)
{
    if (result->what == DIVERGENCE_OP || result->what == DIVERGENCE_PARAMETER)
        return 0;
    return divergence->run[0]->calls[result->at[0]].number;
}

/* The node of the diff at a left place, or at the nearest one around it: modules without
 * tensors have none. */
static uint32_t node_at(const struct diff *diff, uint32_t place)
{
    uint32_t nearest = 0, found = 0;

    for (uint32_t i = 0; i < diff->n_nodes; i++) {
        uint32_t left = diff->nodes[i].left;

        if (left != NO_PLACE && left <= place && place < diff->left->end[left] &&
            left >= nearest) {
            nearest = left;
            found = i;
        }
    }
    return found;
}

static uint32_t link_of(const struct divergence_words *words, uint32_t place)
{
    return words->diff ? node_at(words->diff, place) : place;
}

static void first_fact(struct facts *to, const struct divergence_words *words,
                       const struct divergence_result *result)
{
    const struct divergence *divergence = words->divergence;
    struct str line = divergence_line(divergence, result, false);
    uint32_t number = call_number(divergence, result);

    add_both_names(&to->text, divergence, result);
    if (result->place[0] != NO_PLACE)
        fact_named(to, "name", FIGURE_PLACE, link_of(words, result->place[0]));
    add_classes(to, divergence, result);
    if (line.len > 0) {
        buf_text(&to->text, "  ");
        escape_terminal(&to->text, line);
    }
    if (number > 0)
        buf_printf(&to->text, "  call %u", (unsigned)number + 1);
    if (result->what == DIVERGENCE_OP && result->phase != OP_FORWARD)
        buf_printf(&to->text, "  %s", op_phase_name((enum op_phase)result->phase));
    if (result->step > 0)
        buf_printf(&to->text, "  step %u", (unsigned)result->step);
    fact_end(to, "first", COLOUR_WARNING);
}

void divergence_numbers(struct facts *to, const struct stats *stats)
{
    if (stats_finite(stats) > 0 && stats_measured(stats)) {
        buf_text(&to->text, "min ");
        statistics_min(to, stats);
        buf_text(&to->text, "  max ");
        statistics_max(to, stats);
        buf_text(&to->text, "  mean ");
        statistics_real(to, "mean", stats->mean);
        if (stats_finite(stats) > 1) {
            buf_text(&to->text, "  std ");
            statistics_real(to, "std", stats_std(stats));
        }
    }
    if (stats_finite(stats) < stats->count) {
        buf_text(&to->text, stats_finite(stats) > 0 ? "  " : "");
        statistics_not_finite(to, stats->nan, stats->pos_inf + stats->neg_inf);
    }
}

static void side_fact(struct facts *to, const struct divergence *divergence,
                      const struct divergence_result *result, bool right)
{
    const struct run *run = divergence->run[right];
    const struct stats *stats = divergence_stats(run, result->value[right]);
    int rank;
    const int64_t *shape = divergence_shape(run, result->value[right], &rank);

    fact_shape(to, "shape", shape, rank);
    buf_text(&to->text, " ");
    fact_dtype(to, divergence_dtype(run, result->value[right]));
    if (stats) {
        buf_text(&to->text, "  ");
        divergence_numbers(to, stats);
    }
    fact_end(to, right ? "right" : "left",
             stats && stats_finite(stats) < stats->count ? COLOUR_ALARM : COLOUR_NONE);
}

static void apart_fact(struct facts *to, const struct divergence_result *result)
{
    const struct divergence_amount *by = &result->by;

    if (by->how == DIVERGENCE_SHAPE) {
        buf_text(&to->text, "another number of elements");
    } else if (by->not_finite) {
        buf_text(&to->text, "NaN or infinities on one side");
    } else {
        if (by->how == DIVERGENCE_STATISTICS)
            buf_text(&to->text, "at least ");
        add_distance(to, "distance", by->distance);
        buf_text(&to->text, " of the RMS, tolerance ");
        add_distance(to, "tolerance", result->tolerance);
    }
    if (by->max_abs > 0) {
        buf_text(&to->text, by->how == DIVERGENCE_STATISTICS ? "  max |Δ| at least "
                                                             : "  max |Δ| ");
        add_distance(to, "max_abs", by->max_abs);
    }
    if (!isnan(by->mean) && by->how == DIVERGENCE_ELEMENTS) {
        buf_text(&to->text, "  typical |Δ| ");
        add_distance(to, "mean", by->mean);
    }
    if (by->how == DIVERGENCE_STATISTICS)
        buf_text(&to->text, "  (by statistics)");
    fact_end(to, "apart", COLOUR_NONE);
}

static void begin_words(struct buf *to, const struct divergence_result *result)
{
    if (result->parameters > result->tolerance)
        buf_text(to, ", its parameters do not");
    if (result->inside)
        buf_text(to, ": the error begins inside, where calls could not be matched");
    else if (result->calls)
        buf_text(to, ", the modules inside too: the error begins in its own code");
    else
        buf_text(to, ": the error begins here");
}

void divergence_verdict(struct buf *to, const struct divergence_result *result)
{
    if (result->what == DIVERGENCE_INPUT) {
        buf_text(to, "the runs got different inputs");
    } else if (isnan(result->inputs)) {
        buf_text(to, "its inputs were not compared");
    } else if (result->begins) {
        if (result->inputs == 0)
            buf_text(to, "its inputs agree");
        else
            buf_printf(to, "its inputs agree to %.2g", result->inputs);
        begin_words(to, result);
    } else if (isinf(result->inputs)) {
        buf_text(to, "its inputs differ already");
    } else if (result->inputs > result->tolerance) {
        buf_printf(to, "its inputs are %.2g apart already", result->inputs);
    } else if (result->differs) {
        buf_text(to, "its inputs agree, results inside it do not");
    } else {
        buf_printf(to, "its inputs are %.2g apart: the error grew beyond the tolerance",
                   result->inputs);
    }
    if (result->random)
        buf_text(to, "; it draws random numbers: give both runs the same seed");
}

static int input_facts(struct facts *to, const struct divergence *divergence,
                       struct err *err)
{
    struct arena arena;
    struct divergence_input *inputs;
    uint32_t n;

    arena_init(&arena, GIB);
    inputs = divergence_inputs(divergence, divergence->first, &arena, &n);
    if (arena.spent) {
        arena_release(&arena);
        return arena_err(&arena, "a comparison", err);
    }
    for (uint32_t i = 0; i < n && i < MOST_INPUTS; i++) {
        if (inputs[i].parameter)
            buf_text(&to->text, "parameter ");
        escape_terminal(&to->text, inputs[i].name.len > 0 ? inputs[i].name : STR("in"));
        if (inputs[i].by.how == DIVERGENCE_NOT) {
            buf_text(&to->text, " not compared");
        } else if (inputs[i].by.distance == 0) {
            buf_text(&to->text, " agrees");
        } else {
            buf_char(&to->text, ' ');
            add_distance(to, "distance", inputs[i].by.distance);
            buf_text(&to->text, " apart");
        }
        fact_part(to, COLOUR_NONE);
    }
    if (n > MOST_INPUTS)
        buf_printf(&to->text, "%u more", (unsigned)(n - MOST_INPUTS));
    fact_end(to, "inputs", COLOUR_NONE);
    arena_release(&arena);
    return 0;
}

/* ---- attributes ---- */

#define MOST_ATTRIBUTE 60

static bool read_attribute(const struct run *const run[2],
                           const struct run_op *const op[2], uint32_t key,
                           struct divergence_attribute *to)
{
    struct str name = value_text(&run[0]->plain, key);
    uint32_t value;

    buf_clear(&to->name);
    buf_clear(&to->left);
    buf_clear(&to->right);
    escape_terminal(&to->name, name);
    for (int side = 0; side < 2; side++)
        if (name.len > 0 &&
            value_get(&run[side]->plain, op[side]->attributes, name.at, &value))
            value_show_in(side ? &to->right : &to->left, &run[side]->plain,
                          run[side]->model, value, MOST_ATTRIBUTE);
    return !str_eq(buf_span(&to->left), buf_span(&to->right));
}

bool divergence_next_attribute(const struct divergence *divergence,
                               const struct divergence_result *result, uint32_t *at,
                               struct divergence_attribute *to)
{
    const struct run *const run[2] = {divergence->run[0], divergence->run[1]};
    const struct run_op *op[2];
    const struct value *dict;

    if (result->what != DIVERGENCE_OP)
        return false;
    for (int side = 0; side < 2; side++)
        op[side] = &run[side]->ops->ops[result->at[side]];
    dict = value_at(&run[0]->plain, op[0]->attributes);
    if (dict->kind != VALUE_DICT ||
        !str_eq(op_name(run[0], op[0]), op_name(run[1], op[1])))
        return false;
    while (*at + 1 < dict->n) {
        const uint32_t *items = value_items(&run[0]->plain, op[0]->attributes);

        *at += 2;
        if (read_attribute(run, op, items[*at - 2], to))
            return true;
    }
    return false;
}

void divergence_attribute_release(struct divergence_attribute *attribute)
{
    buf_release(&attribute->name);
    buf_release(&attribute->left);
    buf_release(&attribute->right);
}

static void attributes_fact(struct facts *to, const struct divergence *divergence,
                            const struct divergence_result *result)
{
    struct divergence_attribute one = {.name = BUF_INIT};

    for (uint32_t at = 0; divergence_next_attribute(divergence, result, &at, &one);) {
        buf_str(&to->text, buf_span(&one.name));
        buf_char(&to->text, ' ');
        buf_str(&to->text, one.left.len > 0 ? buf_span(&one.left) : STR("none"));
        buf_text(&to->text, " → ");
        buf_str(&to->text, one.right.len > 0 ? buf_span(&one.right) : STR("none"));
        fact_part(to, COLOUR_NONE);
    }
    fact_end(to, "attributes", COLOUR_WARNING);
    divergence_attribute_release(&one);
}

/* ---- the others ---- */

static void later_facts(struct facts *to, const struct divergence_words *words)
{
    const struct divergence *divergence = words->divergence;
    uint32_t n = divergence->n_later < words->most ? divergence->n_later : words->most;

    for (uint32_t i = 0; i < n; i++) {
        const struct divergence_result *result =
            &divergence->results[divergence->later[i]];

        add_both_names(&to->text, divergence, result);
        if (result->place[0] != NO_PLACE)
            fact_named(to, "name", FIGURE_PLACE, link_of(words, result->place[0]));
        buf_text(&to->text, "  ");
        if (result->by.not_finite)
            buf_text(&to->text, "NaN or Inf");
        else if (result->by.how == DIVERGENCE_SHAPE)
            buf_text(&to->text, "another shape");
        else
            add_distance(to, "distance", result->by.distance);
        buf_text(&to->text, "  ");
        if (result->begins) {
            buf_text(&to->text, "(an error begins here too)");
        } else if (isinf(result->inputs)) {
            buf_text(&to->text, "(inputs differ)");
        } else if (!isnan(result->inputs)) {
            buf_text(&to->text, "(inputs ");
            add_distance(to, "inputs", result->inputs);
            buf_char(&to->text, ')');
        }
        fact_end_as(to, "later", i == 0 ? "later" : "", COLOUR_NONE);
    }
    if (divergence->n_later > n && words->all) {
        text_commas(&to->text, divergence->n_later - n);
        buf_printf(&to->text, " more (%s)", words->all);
        fact_end_as(to, "later", n == 0 ? "later" : "", COLOUR_DIM);
    }
}

/* ---- how it was compared ---- */

static void compared_fact(struct facts *to, const struct divergence *divergence)
{
    uint32_t n = divergence->n_results;

    fact_plural(to, "results", n, "result", "results");
    if (n > 0) {
        buf_text(&to->text, ": ");
        fact_count(to, "elements", divergence->elements);
        buf_text(&to->text, " by elements, ");
        fact_count(to, "statistics", n - divergence->elements);
        buf_text(&to->text, " by statistics, which may miss a difference");
    }
    if (divergence->unmeasured > 0) {
        buf_text(&to->text, "; ");
        fact_count(to, "unmeasured", divergence->unmeasured);
        buf_text(&to->text, " more have no statistics that can be compared");
    }
    fact_end(to, "compared", COLOUR_DIM);
}

/* The first that only one side has: "; only right: aten::add in Net  net.py:10". */
static void add_alone(struct facts *to, const struct divergence *divergence, bool ops)
{
    for (int right = 0; right < 2; right++) {
        const struct run *run = divergence->run[right];
        uint32_t at = divergence_next_alone(divergence, ops, right, 0);
        uint32_t line;

        if (at == RUN_NONE)
            continue;
        buf_text(&to->text, right ? "; only on the right: " : "; only on the left: ");
        if (ops)
            add_op(&to->text, run, &run->ops->ops[at]);
        else
            add_place(&to->text, run, run->calls[at].place);
        line = ops ? run->ops->ops[at].line : run->calls[at].line;
        if (line != 0) {
            buf_char(&to->text, ' ');
            escape_terminal(&to->text, run_string(run, line));
        }
        if (divergence_next_alone(divergence, ops, right, at + 1) != RUN_NONE)
            buf_text(&to->text, " and others");
    }
}

static void matched_fact(struct facts *to, const struct divergence *divergence,
                         bool ops)
{
    const struct divergence_matched *matched =
        ops ? &divergence->ops : &divergence->calls;
    uint32_t pairs = divergence_pairs(matched);

    fact_count(to, "pairs", pairs);
    buf_text(&to->text, " of ");
    fact_count(to, "left", matched->n[0]);
    buf_text(&to->text, " and ");
    fact_count(to, "right", matched->n[1]);
    buf_text(&to->text, " belong together: ");
    fact_count(to, "by_name", matched->by_name);
    buf_text(&to->text, ops ? " by data flow" : " by name");
    if (matched->by_rule > 0) {
        buf_text(&to->text, ", ");
        fact_count(to, "by_rule", matched->by_rule);
        buf_text(&to->text, " renamed");
    }
    if (matched->by_order > 0) {
        buf_text(&to->text, ", ");
        fact_count(to, "by_order", matched->by_order);
        buf_text(&to->text, " by order and shape");
    }
    add_alone(to, divergence, ops);
    if (!ops && divergence->merged[0] + divergence->merged[1] > 0)
        buf_printf(&to->text, "; %u and %u calls were merged: not compared",
                   (unsigned)divergence->merged[0], (unsigned)divergence->merged[1]);
    if (ops && divergence->lost[0] + divergence->lost[1] > 0)
        buf_printf(&to->text, "; %llu and %llu were not kept",
                   (unsigned long long)divergence->lost[0],
                   (unsigned long long)divergence->lost[1]);
    fact_end(to, ops ? "operations" : "calls", COLOUR_DIM);
}

/* ---- all of it ---- */

void divergence_sentence(struct facts *to, const struct divergence *divergence)
{
    if (divergence->first != RUN_NONE) {
        fact_count(to, "beyond", divergence->beyond);
        buf_text(&to->text, " of ");
        fact_plural(to, "results", divergence->n_results, "result", "results");
        buf_text(&to->text, divergence->beyond == 1 ? " differs" : " differ");
        if (divergence->begins > 1)
            buf_printf(&to->text, "; an error begins at %u of them",
                       (unsigned)divergence->begins);
        fact_end(to, "results", COLOUR_ALARM);
    } else if (divergence_agrees(divergence)) {
        buf_text(&to->text,
                 divergence->n_results == 1 ? "the only result agrees" : "all ");
        if (divergence->n_results > 1) {
            fact_count(to, "results", divergence->n_results);
            buf_text(&to->text, " results agree");
        }
        buf_text(&to->text, "; the largest distance is ");
        add_distance(to, "closest", divergence->closest);
        fact_end(to, "results", COLOUR_GOOD);
    } else {
        buf_text(&to->text, "no result could be compared");
        fact_end(to, "results", COLOUR_WARNING);
    }
}

void divergence_node(struct facts *to, const struct divergence_words *words,
                     uint32_t node)
{
    const struct divergence *divergence = words->divergence;
    const struct model *model = divergence->run[0]->model;
    uint32_t place = words->diff->nodes[node].left, n = 0, beyond = 0;
    const struct divergence_result *first = NULL;

    if (place == NO_PLACE)
        return;
    for (uint32_t i = 0; i < divergence->n_results; i++) {
        const struct divergence_result *result = &divergence->results[i];

        if (result->place[0] < place || result->place[0] >= model->end[place])
            continue;
        n++;
        if (result->beyond && beyond++ == 0)
            first = result;
    }
    if (n == 0)
        return;
    if (first) {
        fact_count(to, "beyond", beyond);
        buf_text(&to->text, " of ");
        fact_count(to, "results", n);
        buf_text(&to->text,
                 beyond == 1 ? " differs, it is " : " differ, the first is ");
        add_both_names(&to->text, divergence, first);
        buf_text(&to->text, ", ");
        add_distance(to, "distance", first->by.distance);
        buf_text(&to->text, " apart");
    } else {
        fact_plural(to, "results", n, "agrees", "agree");
    }
    fact_end(to, "results", first ? COLOUR_WARNING : COLOUR_NONE);
    if (first) {
        divergence_verdict(&to->text, first);
        fact_end_as(to, "verdict", "", COLOUR_NONE);
    }
}

int divergence_facts(struct facts *to, const struct divergence_words *words,
                     struct err *err)
{
    const struct divergence *divergence = words->divergence;

    divergence_sentence(to, divergence);
    if (divergence->first != RUN_NONE) {
        const struct divergence_result *first = &divergence->results[divergence->first];

        first_fact(to, words, first);
        divergence_verdict(&to->text, first);
        fact_end_as(to, "verdict", "", first->begins ? COLOUR_WARNING : COLOUR_NONE);
        attributes_fact(to, divergence, first);
        side_fact(to, divergence, first, false);
        side_fact(to, divergence, first, true);
        apart_fact(to, first);
        if (input_facts(to, divergence, err) < 0)
            return -1;
        later_facts(to, words);
    }
    compared_fact(to, divergence);
    matched_fact(to, divergence, false);
    if (divergence->op_match[0])
        matched_fact(to, divergence, true);
    return 0;
}
