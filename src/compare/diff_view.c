#include "compare/diff_view.h"

#include <math.h>
#include <stdio.h>

#include "base/base.h"
#include "compare/diff_rows_in.h"
#include "compare/divergence_text.h"
#include "session/pair.h"
#include "text/text.h"

static const struct diff *diff_of(const struct show *show)
{
    return &show->pair->diff;
}

static const struct diff_node *node_of(const struct show *show, const struct row *row)
{
    return &diff_of(show)->nodes[row->place];
}

/* ---- what differs ---- */

/* ", code, 3 settings": other differences at and below a node. */
static void add_facts(struct buf *to, const struct diff_sums *sums)
{
    uint32_t code = sums->others[DIFF_CODE], rest = diff_count_others(sums) - code;

    if (code > 0)
        buf_text(to, ", code");
    if (rest > 0) {
        buf_text(to, ", ");
        text_plural(to, rest, "setting", "settings");
    }
}

enum sign {
    SIGN_EQUAL,
    SIGN_RENAMED,
    SIGN_DIFFERENT,
    SIGN_LEFT,
    SIGN_RIGHT,
    SIGN_RESHAPED,
    SIGN_JOINED,
    SIGN_UNREAD
};

static const struct {
    const char *text;
    enum colour colour;
} signs[] = {
    [SIGN_EQUAL] = {"=", COLOUR_DIM},      [SIGN_RENAMED] = {"→", COLOUR_WARNING},
    [SIGN_DIFFERENT] = {"~", COLOUR_NONE}, [SIGN_LEFT] = {"-", COLOUR_ALARM},
    [SIGN_RIGHT] = {"+", COLOUR_GOOD},     [SIGN_RESHAPED] = {"≠", COLOUR_WARNING},
    [SIGN_JOINED] = {"⇉", COLOUR_WARNING}, [SIGN_UNREAD] = {"?", COLOUR_WARNING},
};

static enum sign sign_of(const struct diff *diff, const struct diff_sums *sums)
{
    static const struct {
        uint8_t state;
        enum sign sign;
    } whole[] = {{DIFF_RESHAPED, SIGN_RESHAPED},
                 {DIFF_JOINED, SIGN_JOINED},
                 {DIFF_UNREAD, SIGN_UNREAD}};
    uint32_t differ = diff_count_different(diff, sums);

    if (differ == 0 && diff_count_others(sums) == 0)
        return sums->renamed > 0 ? SIGN_RENAMED : SIGN_EQUAL;
    if (differ == 0)
        return SIGN_DIFFERENT;
    if (sums->states[DIFF_LEFT] == sums->tensors)
        return SIGN_LEFT;
    if (sums->states[DIFF_RIGHT] == sums->tensors)
        return SIGN_RIGHT;
    for (size_t i = 0; i < COUNT_OF(whole); i++)
        if (sums->states[whole[i].state] == differ)
            return whole[i].sign;
    return SIGN_DIFFERENT;
}

const char *diff_sign(const struct diff *diff, uint32_t node, enum colour *ret_colour)
{
    enum sign sign = sign_of(diff, &diff->nodes[node].sums);

    *ret_colour = signs[sign].colour;
    return signs[sign].text;
}

/* The difference of values at and below a node, or NULL. */
static const struct compared *compared_at(const struct diff *diff, uint32_t node)
{
    const struct diff_node *at = &diff->nodes[node];

    if (at->pair != DIFF_NONE) {
        const struct diff_pair *pair = &diff->pairs[at->pair];

        return pair->state == DIFF_CHANGED || pair->state == DIFF_RETYPED ||
                       (pair->state == DIFF_JOINED && pair->by.different > 0)
                   ? &pair->by
                   : NULL;
    }
    return diff_apart(&at->sums);
}

/* ---- columns ---- */

static void add_tensor_state(struct buf *to, const struct diff_pair *pair)
{
    static const char *const words[DIFF_STATE_COUNT] = {
        [DIFF_SAME] = "same",      [DIFF_CLOSE] = "close",
        [DIFF_RETYPED] = "dtype",  [DIFF_RESHAPED] = "shape",
        [DIFF_LEFT] = "only left", [DIFF_RIGHT] = "only right",
        [DIFF_JOINED] = "part of", [DIFF_UNREAD] = "alike",
    };

    if (pair->state == DIFF_CHANGED && pair->by.different == pair->by.count)
        buf_text(to, "all values");
    else if (pair->state == DIFF_CHANGED)
        text_plural(to, pair->by.different, "value", "values");
    else if (pair->state == DIFF_UNREAD && pair->why)
        escape_terminal(to, str_of(pair->why));
    else
        buf_text(to, words[pair->state]);
    if (diff_unrelated(pair))
        buf_text(to, ", unrelated");
    if (pair->flags & DIFF_TRANSPOSED)
        buf_text(to, ", transposed");
    if (pair->edit.kind == EDIT_PERMUTED)
        buf_text(to, ", permuted");
    if (pair->edit.kind == EDIT_PLUS_ONE)
        buf_text(to, ", 1 added");
    if (pair->edit.kind == EDIT_EXPONENT)
        buf_text(to, ", -exp");
    if (pair->edit.kind == EDIT_GROUPED)
        buf_text(to, ", q k v grouped");
    if (pair->edit.kind == EDIT_RESHAPED)
        buf_text(to, ", another shape");
    if (pair->flags & DIFF_BESIDE)
        buf_text(to, ", of the converter");
    if (pair->state == DIFF_RETYPED && pair->by.rounding)
        buf_text(to, ", rounded");
    if (pair->flags & DIFF_RENAMED)
        buf_text(to, ", renamed");
}

static void differ_cell(struct figure *to, const struct show *show,
                        const struct row *row)
{
    const struct diff *diff = diff_of(show);
    const struct diff_node *node = node_of(show, row);

    buf_printf(to->text, "%s  ", diff_sign(diff, row->place, &to->role));
    if (node->pair != DIFF_NONE) {
        add_tensor_state(to->text, &diff->pairs[node->pair]);
        return;
    }
    text_commas(to->text, diff_count_different(diff, &node->sums));
    buf_text(to->text, " of ");
    text_commas(to->text, node->sums.tensors);
    if (diff_buffers_only(diff, &node->sums))
        buf_text(to->text, ", buffers");
    if (node->sums.renamed == node->sums.tensors && node->sums.tensors > 0)
        buf_text(to->text, ", renamed");
    else if (node->sums.renamed > 0)
        buf_printf(to->text, ", %u renamed", (unsigned)node->sums.renamed);
    add_facts(to->text, &node->sums);
}

/* The shape or dtype of one side, if that is what differs. */
static void add_tensor_side(struct buf *to, const struct diff *diff,
                            const struct diff_pair *pair, bool right)
{
    const struct model *model = right ? diff->right : diff->left;
    uint32_t place = right ? pair->right : pair->left;

    if (place == NO_PLACE)
        return;
    if (pair->state == DIFF_RETYPED)
        buf_text(to, dtype_name(place_tensor(model, place)->dtype));
    else if (pair->state == DIFF_RESHAPED || pair->state == DIFF_LEFT ||
             pair->state == DIFF_RIGHT || pair->state == DIFF_JOINED)
        diff_shape(to, model, place);
}

/* For the root and for nodes on one side only: the number of parameters. */
static void add_side(struct figure *to, const struct show *show, const struct row *row,
                     bool right)
{
    const struct diff *diff = diff_of(show);
    const struct diff_node *node = node_of(show, row);
    const struct session *session = right ? show->pair->right : show->pair->left;
    uint32_t place = right ? node->right : node->left;
    enum sign sign = sign_of(diff, &node->sums);

    if (node->pair != DIFF_NONE)
        add_tensor_side(to->text, diff, &diff->pairs[node->pair], right);
    else if (place != NO_PLACE &&
             (row->place == 0 || sign == (right ? SIGN_RIGHT : SIGN_LEFT)))
        figure_count(to, counts_params(&session->places, place));
}

static void left_cell(struct figure *to, const struct show *show, const struct row *row)
{
    add_side(to, show, row, false);
}

static void right_cell(struct figure *to, const struct show *show,
                       const struct row *row)
{
    add_side(to, show, row, true);
}

static void relative_cell(struct figure *to, const struct show *show,
                          const struct row *row)
{
    const struct diff *diff = diff_of(show);
    const struct compared *by = compared_at(diff, row->place);

    if (row->place == 0)
        return;
    if (by)
        diff_relative(to->text, by);
}

static void largest_cell(struct figure *to, const struct show *show,
                         const struct row *row)
{
    const struct compared *by = compared_at(diff_of(show), row->place);

    if (row->place != 0 && by && by->max_abs > 0)
        figure_real(to, by->max_abs);
}

/* "~  3 of 4, the first": the first result that differs is here or below. */
static void results_cell(struct figure *to, const struct show *show,
                         const struct row *row)
{
    const struct divergence_sum *sum = pair_results(show->pair, row->place);

    if (!sum)
        return;
    to->role = sum->first ? COLOUR_WARNING : sum->beyond ? COLOUR_NONE : COLOUR_DIM;
    buf_text(to->text, sum->beyond ? "~  " : "=  ");
    text_commas(to->text, sum->beyond);
    buf_text(to->text, " of ");
    text_commas(to->text, sum->results);
    if (sum->first)
        buf_text(to->text, ", the first");
}

static void apart_cell(struct figure *to, const struct show *show,
                       const struct row *row)
{
    const struct divergence_sum *sum = pair_results(show->pair, row->place);

    if (sum && sum->beyond > 0)
        divergence_distance(to->text, sum->farthest);
}

/* Two recordings show the first ones, two models the last ones. */
static const struct column columns[] = {
    {"results", "   results that differ", NULL,
     "= ~: how many results differ, and where the first one is", FIGURE_TEXT, false, 10,
     0, results_cell, 0},
    {"apart", "apart", NULL, "the largest distance of two results, by their RMS",
     FIGURE_REAL, true, 5, SORT_DELTA, apart_cell, 0},
    {"differ", "   tensors that differ", NULL, "= ~ ≠ + -: how many tensors differ",
     FIGURE_TEXT, false, 9, 0, differ_cell, 0},
    {"left", "left", NULL, "the left one's shape, dtype or parameters", FIGURE_SHAPE,
     true, 2, 0, left_cell, 0},
    {"right", "right", NULL, "the right one's shape, dtype or parameters", FIGURE_SHAPE,
     true, 2, 0, right_cell, 0},
    {"rel", "rel Δ", NULL,
     "‖left - right‖ / ‖left‖ of parameters that changed, else buffers", FIGURE_REAL,
     true, 5, SORT_DELTA, relative_cell, 0},
    {"max", "max |Δ|", NULL, "the largest difference of two values", FIGURE_REAL, true,
     3, 0, largest_cell, 0},
};
#define RESULT_COLUMNS 2

const struct column *diff_columns(const struct pair *pair, size_t *ret_n)
{
    *ret_n = COUNT_OF(columns) - RESULT_COLUMNS;
    return pair_has_results(pair) ? columns : columns + RESULT_COLUMNS;
}

/* ---- the label ---- */

/* "(both, right without module.)" */
static void add_root(struct buf *to, const struct diff *diff)
{
    buf_text(to, "(both");
    if (diff->left_prefix.len > 0) {
        buf_text(to, ", left without ");
        escape_terminal(to, diff->left_prefix);
    }
    if (diff->right_prefix.len > 0) {
        buf_text(to, ", right without ");
        escape_terminal(to, diff->right_prefix);
    }
    buf_char(to, ')');
}

/* "  was encoder.0.weight" */
static void add_old_name(struct buf *to, const struct diff *diff,
                         const struct diff_pair *pair)
{
    if (!(pair->flags & DIFF_RENAMED) || pair->left == NO_PLACE)
        return;
    buf_text(to, "  was ");
    diff_write_place(to, diff, false, pair->left);
}

/* The root is "(both)". */
static void make_label(struct label *label, const struct show *show,
                       const struct row *row)
{
    const struct diff *diff = diff_of(show);
    const struct diff_node *node = node_of(show, row);

    if (row->place == 0) {
        add_root(&label->name, diff);
        label->is_path = false;
        return;
    }
    if (label->is_path)
        diff_write_node(&label->name, diff, row->place);
    else
        escape_terminal(&label->name, node->name);
    if (node->pair == DIFF_NONE)
        return;
    buf_text(&label->sign, diff->pairs[node->pair].flags & DIFF_BUFFER ? "▫ " : "▪ ");
    add_old_name(&label->tail, diff, &diff->pairs[node->pair]);
}

void diff_show(struct show *show, const struct pair *pair)
{
    show->pair = pair;
    show->pair_label = make_label;
}

/* ---- title and status ---- */

/* How detailed the title is, from wide to narrow. */
enum title_form {
    TITLE_WHOLE, /* "122 tensors   = 45 same   ~ 75 changed   0 only in one" */
    TITLE_BRIEF, /* "= 45 same   ~ 75 changed" */
    TITLE_SIGNS, /* "= 45   ~ 75   + 1" */
    TITLE_FORMS
};

static void add_title_count(struct buf *to, enum title_form form, const char *sign,
                            uint32_t n, const char *what)
{
    if (form == TITLE_SIGNS ? !*sign : !what)
        return;
    buf_printf(to, "   %s", sign);
    text_commas(to, n);
    if (form != TITLE_SIGNS)
        buf_printf(to, " %s", what);
}

static void add_title_counts(struct buf *to, const struct diff *diff,
                             enum title_form form, bool results)
{
    const uint32_t *n = diff->total.states;
    uint32_t same = diff->total.tensors - diff_count_different(diff, &diff->total);
    const struct {
        const char *sign, *what;
        uint32_t n;
        bool always;
    } counts[] = {
        {"= ", diff->values ? "same" : "alike", same, true},
        {"~ ", "changed", diff->values ? n[DIFF_CHANGED] : 0, diff->values},
        {"~ ", "retyped", n[DIFF_RETYPED], false},
        {"≠ ", "reshaped", n[DIFF_RESHAPED], true},
        {"⇉ ", "joined or split", n[DIFF_JOINED], false},
        {"", "only in one", n[DIFF_LEFT] + n[DIFF_RIGHT], true},
        {"- ", NULL, n[DIFF_LEFT], false},
        {"+ ", NULL, n[DIFF_RIGHT], false},
        {"? ", "not compared", diff->values ? n[DIFF_UNREAD] : 0, false},
        {"→ ", "renamed", diff->total.renamed, false},
    };

    if (!diff->values && !results)
        buf_text(to, "   values not compared");
    for (size_t i = 0; i < COUNT_OF(counts); i++)
        if (counts[i].n > 0 || (counts[i].always && form == TITLE_WHOLE))
            add_title_count(to, form, counts[i].sign, counts[i].n, counts[i].what);
}

/* "   6 of 10 results differ" */
static void add_title_results(struct buf *to, const struct divergence *divergence)
{
    buf_text(to, "   ");
    if (divergence->first == RUN_NONE) {
        text_plural(to, divergence->n_results, "result agrees", "results agree");
        return;
    }
    text_commas(to, divergence->beyond);
    buf_text(to, " of ");
    text_plural(to, divergence->n_results, "result differs", "results differ");
}

static void write_title(struct buf *to, const struct pair *pair, enum title_form form)
{
    const struct diff *diff = &pair->diff;

    buf_clear(to);
    buf_char(to, ' ');
    escape_terminal(to, diff_file(diff, false));
    buf_text(to, " ⇄ ");
    escape_terminal(to, diff_file(diff, true));
    if (form == TITLE_WHOLE) {
        buf_text(to, "   ");
        text_plural(to, diff->total.tensors, "tensor", "tensors");
    }
    if (pair_has_results(pair))
        add_title_results(to, pair->divergence);
    add_title_counts(to, diff, form, pair_has_results(pair));
}

void diff_title(struct lines *to, const struct pair *pair, unsigned width)
{
    const struct diff *diff = &pair->diff;
    bool equal = pair_equal(pair), results = pair_has_results(pair);
    const char *verdict = !diff->complete ? "STOPPED"
                          : results       ? (equal ? "AGREE" : "DIVERGE")
                          : !equal        ? "DIFFERENT"
                          : diff->values  ? "EQUAL"
                                          : "ALIKE";
    size_t room = width > strlen(verdict) + 2 ? width - strlen(verdict) - 2 : 0;
    struct buf left = BUF_INIT, text = BUF_INIT;

    for (int form = TITLE_WHOLE; form < TITLE_FORMS; form++) {
        write_title(&left, pair, (enum title_form)form);
        if (text_width(buf_span(&left)) <= room)
            break;
    }
    text_cut(&text, buf_span(&left), room, glyph(GLYPH_ELLIPSIS, false));
    lines_add(to, COLOUR_NONE, 0, buf_span(&text));
    lines_pad(to, width > strlen(verdict) ? width - strlen(verdict) : 0);
    if (room > 0)
        lines_text(to, equal ? COLOUR_GOOD : COLOUR_WARNING, verdict);
    lines_pad(to, width);
    lines_end(to);
    buf_release(&left);
    buf_release(&text);
}

void diff_status(struct buf *to, const struct show *show, const struct row *row)
{
    const struct diff *diff = diff_of(show);
    const struct diff_sums *sums = &node_of(show, row)->sums;
    const struct compared *by = compared_at(diff, row->place);
    const struct divergence_sum *results = pair_results(show->pair, row->place);

    if (row->place == 0)
        add_root(to, diff);
    else
        diff_write_node(to, diff, row->place);
    buf_text(to, "   ");
    if (results) {
        text_commas(to, results->beyond);
        buf_text(to, " of ");
        text_plural(to, results->results, "result differs", "results differ");
        buf_text(to, "   ");
    }
    if (node_of(show, row)->pair != DIFF_NONE) {
        const struct diff_pair *pair = &diff->pairs[node_of(show, row)->pair];

        add_tensor_state(to, pair);
        if (pair->state == DIFF_RESHAPED || pair->state == DIFF_RETYPED) {
            buf_char(to, ' ');
            add_tensor_side(to, diff, pair, false);
            buf_text(to, " → ");
            add_tensor_side(to, diff, pair, true);
        }
    } else {
        text_commas(to, diff_count_different(diff, sums));
        buf_text(to, " of ");
        text_plural(to, sums->tensors, "tensor differs", "tensors differ");
        add_facts(to, sums);
    }
    if (by && by->different > 0) {
        buf_text(to, "   rel ");
        diff_relative(to, by);
        buf_text(to, "   max ");
        text_real(to, by->max_abs);
    }
}

/* Where the largest difference is: an index in a tensor, a tensor in a module. */
static void add_where(struct buf *to, const struct diff *diff, uint32_t node,
                      const struct compared *by)
{
    const struct diff_node *at = &diff->nodes[node];

    if (at->pair != DIFF_NONE) {
        const struct model *model;
        const struct tensor *tensor =
            diff_indexed(diff, &diff->pairs[at->pair], &model);

        if (tensor->rank == 0)
            return;
        buf_text(to, " at ");
        text_index(to, tensor_shape(model, tensor), tensor->rank, by->max_at);
    } else {
        buf_text(to, " in ");
        diff_write_pair(to, diff, diff_largest(diff, node, by));
    }
}

static bool is_quantised(const struct diff *diff, uint32_t node)
{
    uint32_t pair = diff->nodes[node].pair;

    return pair != DIFF_NONE &&
           diff_quantised(diff, &diff->pairs[pair]) != DTYPE_UNKNOWN;
}

void diff_facts(struct buf *to, const struct show *show, uint32_t node)
{
    const struct diff *diff = diff_of(show);
    const struct compared *by = compared_at(diff, node);
    struct row row = {.place = node};

    column_figure(to, &columns[RESULT_COLUMNS], show, &row);
    if (by && by->different > 0) {
        buf_text(to, "   rel Δ ");
        diff_relative(to, by);
    }
    if (is_quantised(diff, node) && by) {
        buf_text(to, "   rms Δ ");
        text_real(to, diff_rms(by));
    }
    if (by && by->max_abs > 0) {
        buf_text(to, "   max |Δ| ");
        text_real(to, by->max_abs);
        add_where(to, diff, node, by);
    }
}

/* ---- the short report ---- */

/* The rows of diff_rows_make(), one per line: "~ layer4  60 of 60  rel 4.1%". */
static void add_rows(struct buf *to, const struct diff *diff)
{
    struct arena arena;
    struct diff_rows rows = {.arena = &arena};

    arena_init(&arena, GIB);
    diff_rows_make(&rows, diff, NULL);
    for (uint32_t i = 0; i < rows.n; i++) {
        const struct diff_row *row = &rows.at[i];

        buf_printf(to, "\n%s %.*s", row->sign, STR_ARG(row->what));
        if (row->amount.len > 0)
            buf_printf(to, "  %.*s", STR_ARG(row->amount));
        if (row->rest.len > 0)
            buf_printf(to, "  %.*s", STR_ARG(row->rest));
    }
    arena_release(&arena);
}

void diff_short(struct buf *to, const struct diff *diff)
{
    size_t begin = to->len;

    if (diff_equal(diff)) {
        diff_same(to, diff);
        return;
    }
    diff_sentence(to, diff);
    if (to->len == begin)
        diff_counts(to, diff);
    add_rows(to, diff);
}

void diff_short_lines(struct lines *to, struct str text, unsigned width)
{
    struct str line;
    bool first = true;

    while (str_split(&text, '\n', &line)) {
        lines_text(to, COLOUR_NONE, " ");
        lines_wrap(to, first ? COLOUR_NONE : COLOUR_DIM, line, width, first ? 1 : 3);
        first = false;
    }
}
