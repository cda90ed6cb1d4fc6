/* The content of panel 7: curves as one line of columns each, a histogram over steps as
 * a heat map, alarms. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "explorer/training_in.h"
#include "facts/notes.h"
#include "text/text.h"

#define NAME_CELLS   12
#define VALUE_CELLS  12
#define AXIS_CELLS   10 /* "   2^-16… │" */
#define BESIDE       96 /* from this width on, the heat map is at the right */
#define LEAST        8  /* minimum number of columns */
#define WIDE_SCALE   20 /* a curve that spans more than this factor is logarithmic */
#define ALARM_INDENT 15

struct training_room training_room_of(const struct panel_room *room, bool plain)
{
    struct training_room to = {.width = room->width, .rows = room->zoomed ? 12 : 7};
    unsigned left = room->width, right = room->width;

    if (room->width >= BESIDE) {
        to.aside = room->width / 2;
        left = to.aside - 2;
        right = room->width - to.aside;
    }
    left = left > NAME_CELLS + VALUE_CELLS ? left - NAME_CELLS - VALUE_CELLS : 0;
    right = right > AXIS_CELLS + 1 ? right - AXIS_CELLS - 1 : 0;
    to.columns = left < right ? left : right;
    if (to.columns > CURVES_COLUMNS)
        to.columns = CURVES_COLUMNS;
    if (to.columns < LEAST)
        to.columns = to.rows = 0;
    if (plain) {
        to.rows = to.aside = 0;
        to.columns = 0;
    }
    return to;
}

/* ---- curves ---- */

/* The step number for a role; STEP_NUMBERS: a scalar. */
static enum step_number number_of(enum curve_role role)
{
    static const uint8_t numbers[] = {
        [CURVE_LOSS] = STEP_NUMBERS,  [CURVE_GRADIENT] = STEP_GRADIENT,
        [CURVE_WEIGHT] = STEP_WEIGHT, [CURVE_RATIO] = STEP_RATIO,
        [CURVE_OUTPUT] = STEP_OUTPUT, [CURVE_GRAD_OUTPUT] = STEP_GRAD_OUTPUT,
        [CURVE_RATE] = STEP_NUMBERS,  [CURVE_SCALAR] = STEP_NUMBERS};

    return (enum step_number)numbers[role];
}

static void add_name(struct buf *to, const struct curve *curve)
{
    enum step_number number = number_of((enum curve_role)curve->role);
    struct buf name = BUF_INIT;

    if (number != STEP_NUMBERS)
        buf_text(to, step_words[number].word);
    else if (curve->role != CURVE_SCALAR)
        buf_text(to, curve->role == CURVE_LOSS ? "loss" : "lr");
    else
        escape_terminal(&name, str_of(curve->name));
    text_cut(to, buf_span(&name), NAME_CELLS - 2, "…");
    buf_release(&name);
}

struct curve_scale {
    double low, high; /* logarithms if log */
    bool log, any;
};

static struct curve_scale scale_of(const struct curve *curve, uint32_t columns,
                                   bool log)
{
    struct curve_scale scale = {INFINITY, -INFINITY, log, false};

    for (uint32_t i = 0; i < columns; i++) {
        if (curve->state[i] != CURVE_FINITE)
            continue;
        scale.any = true;
        /* Zero has no logarithm. */
        if (log && curve->at[i] <= 0)
            continue;
        scale.low = fmin(scale.low, curve->at[i]);
        scale.high = fmax(scale.high, curve->at[i]);
    }
    if (!log && scale.low > 0 && scale.high > WIDE_SCALE * scale.low)
        scale.log = true;
    if (scale.log && scale.low < INFINITY) {
        scale.low = log10(scale.low);
        scale.high = log10(scale.high);
    }
    return scale;
}

static int height_of(const struct curve_scale *scale, double value)
{
    double at = scale->log ? (value > 0 ? log10(value) : scale->low) : value;
    double span = scale->high - scale->low;
    double most = fmax(fabs(scale->high), fabs(scale->low));
    /* Means of equal values differ in their last digits. */
    int height = span > 1e-9 * most ? 1 + (int)((at - scale->low) / span * 8) : 1;

    return height < 1 ? 1 : height > 8 ? 8 : height;
}

static void add_column(struct lines *to, const struct curve *curve, uint32_t i,
                       const struct curve_scale *scale, bool chosen)
{
    unsigned flags = chosen ? SPAN_REVERSE : 0;

    if (curve->state[i] == CURVE_BAD)
        lines_add(to, COLOUR_ALARM, flags, STR("×"));
    else if (curve->state[i] == CURVE_FINITE)
        lines_add(to, COLOUR_NONE, flags,
                  str_of(glyph_column(height_of(scale, curve->at[i]), false)));
    else
        lines_add(to, COLOUR_NONE, flags, STR(" "));
}

/* The value at the selected step, or at the newest. */
static uint8_t value_at_step(const struct training_look *look,
                             const struct curve *curve, double *ret_value)
{
    enum step_number number = number_of((enum curve_role)curve->role);
    bool known;

    *ret_value = curve->now;
    if (!look->at)
        return look->column == TRAINING_NOW ? curve->now_state : CURVE_NOTHING;
    /* The gradient norm of a large model is a scalar. */
    known = *curve->name || number == STEP_NUMBERS
                ? at_step_scalar(look->at, curve->name, ret_value)
                : step_number(&look->at->at[look->place], number, ret_value);
    if (!known) {
        *ret_value = curve->now; /* logged earlier, or one of many scalars */
        return look->column == TRAINING_NOW ? curve->now_state : CURVE_NOTHING;
    }
    return isfinite(*ret_value) ? CURVE_FINITE : CURVE_BAD;
}

static void add_value(struct lines *to, const struct training_look *look,
                      const struct curve *curve, size_t end)
{
    struct buf text = BUF_INIT;
    double value;
    uint8_t state = value_at_step(look, curve, &value);
    size_t cells;

    if (look->column != TRAINING_NOW && !look->at)
        buf_text(&text, "…");
    else if (state == CURVE_NOTHING)
        buf_char(&text, '-');
    else
        text_real(&text, value);
    if (state == CURVE_BAD)
        buf_text(&text, " ×");
    cells = text_width(buf_span(&text));
    lines_pad(to, end > cells ? end - cells : 0);
    lines_add(to, state == CURVE_BAD ? COLOUR_ALARM : COLOUR_NONE, 0, buf_span(&text));
    buf_release(&text);
}

static size_t value_end(const struct training_look *look)
{
    return NAME_CELLS + look->room->columns + VALUE_CELLS - 1;
}

static void curve_line(struct lines *to, const struct training_look *look,
                       const struct curve *curve)
{
    const struct curves *curves = look->curves;
    struct curve_scale scale = scale_of(curve, curves->columns, look->log);
    struct buf name = BUF_INIT;

    add_name(&name, curve);
    lines_text(to, COLOUR_NONE, " ");
    lines_add(to, COLOUR_DIM, 0, buf_span(&name));
    lines_pad(to, NAME_CELLS);
    for (uint32_t i = 0; look->room->columns > 0 && i < curves->columns; i++)
        add_column(to, curve, i, &scale, i == look->column);
    add_value(to, look, curve, value_end(look));
    lines_end(to);
    buf_release(&name);
}

static void add_step(struct buf *to, const struct training_look *look)
{
    if (look->column == TRAINING_NOW)
        buf_text(to, "now");
    else
        buf_printf(to, "step %" PRIu64, look->step);
}

/* "            step 0        ▾          step 315        now" */
static void header_line(struct lines *to, const struct training_look *look)
{
    const struct curves *curves = look->curves;
    struct buf first = BUF_INIT, last = BUF_INIT, value = BUF_INIT;
    size_t mark = look->column, columns = curves->columns, end;

    buf_printf(&first, "step %" PRIu64, curves->first[0]);
    buf_printf(&last, "step %" PRIu64, curves->last[columns - 1]);
    add_step(&value, look);
    lines_pad(to, NAME_CELLS);
    if (look->room->columns > 0) {
        if (mark == TRAINING_NOW || mark > first.len)
            lines_add(to, COLOUR_DIM, 0, buf_span(&first));
        if (mark != TRAINING_NOW) {
            lines_pad(to, NAME_CELLS + mark);
            lines_text(to, COLOUR_FOCUS, "▾");
        }
        end = NAME_CELLS + (columns > last.len ? columns - last.len : 0);
        if (columns > 1 && lines_width(to) + 1 < end) {
            lines_pad(to, end);
            lines_add(to, COLOUR_DIM, 0, buf_span(&last));
        }
    }
    end = value_end(look);
    lines_pad(to, end > value.len ? end - value.len : 0);
    lines_add(to, look->column == TRAINING_NOW ? COLOUR_DIM : COLOUR_FOCUS, 0,
              buf_span(&value));
    lines_end(to);
    buf_release(&first);
    buf_release(&last);
    buf_release(&value);
}

/* "× not finite   log10 if wide   9 steps/column" */
static void footer_line(struct lines *to, const struct training_look *look)
{
    const struct curves *curves = look->curves;
    uint64_t steps = curves->last[curves->columns - 1] - curves->first[0] + 1;
    struct buf text = BUF_INIT;
    bool bad = false;

    for (uint32_t k = 0; k < curves->n; k++)
        for (uint32_t i = 0; i < curves->columns; i++)
            bad |= curves->at[k].state[i] == CURVE_BAD;
    if (bad)
        buf_text(&text, "× not finite   ");
    buf_text(&text, look->log ? "all log10" : "log10 if wide");
    if (steps >= 2 * (uint64_t)curves->columns)
        buf_printf(&text, "   %" PRIu64 " steps/column",
                   (steps + curves->columns / 2) / curves->columns);
    if (curves->each > 0)
        buf_printf(&text, ", %" PRIu32 " read for tensors", curves->each);
    lines_pad(to, NAME_CELLS);
    lines_wrap(to, COLOUR_DIM, buf_span(&text),
               look->room->aside ? look->room->aside - 1 : look->room->width,
               NAME_CELLS);
    buf_release(&text);
}

/* For screen readers: " loss  0.1072; first 2.3, least 0.1072, most 2.3" */
static void words_line(struct lines *to, const struct training_look *look,
                       const struct curve *curve)
{
    struct buf text = BUF_INIT;
    double least = INFINITY, most = -INFINITY, value;
    uint8_t state = value_at_step(look, curve, &value);

    for (uint32_t i = 0; i < look->curves->columns; i++) {
        if (curve->state[i] != CURVE_FINITE)
            continue;
        least = fmin(least, curve->at[i]);
        most = fmax(most, curve->at[i]);
    }
    add_name(&text, curve);
    buf_text(&text, ": ");
    if (state == CURVE_NOTHING)
        buf_text(&text, "not logged");
    else
        text_real(&text, value);
    if (least <= most) {
        buf_text(&text, ", from ");
        text_real(&text, least);
        buf_text(&text, " to ");
        text_real(&text, most);
    }
    lines_text(to, COLOUR_NONE, " ");
    lines_wrap(to, state == CURVE_BAD ? COLOUR_ALARM : COLOUR_NONE, buf_span(&text),
               look->room->width, 2);
    buf_release(&text);
}

void training_curves(struct lines *to, const struct training_look *look)
{
    const struct curves *curves = look->curves;

    if (look->plain) {
        struct buf steps = BUF_INIT;

        add_step(&steps, look);
        lines_printf(to, COLOUR_NONE, " at %s", buf_cstr(&steps));
        lines_end(to);
        buf_release(&steps);
        for (uint32_t i = 0; i < curves->n; i++)
            words_line(to, look, &curves->at[i]);
        return;
    }
    header_line(to, look);
    for (uint32_t i = 0; i < curves->n; i++)
        curve_line(to, look, &curves->at[i]);
    if (look->room->columns > 0)
        footer_line(to, look);
}

/* ---- the heat map ---- */

void training_heat_title(struct buf *to, const struct curves_heat *heat, unsigned cells)
{
    static const char *const kinds[HISTORY_KINDS] = {
        [HISTORY_INPUT] = "inputs of ",
        [HISTORY_OUTPUT] = "outputs of ",
        [HISTORY_GRAD_INPUT] = "gradient of ",
        [HISTORY_GRAD_OUTPUT] = "gradient of ",
        [HISTORY_PARAM] = "values of ",
        [HISTORY_GRAD_PARAM] = "gradient of ",
        [HISTORY_UPDATE] = "update of ",
        [HISTORY_GRAD_INPUT_NORM] = "gradient norms of ",
        [HISTORY_GRAD_OUTPUT_NORM] = "gradient norms of "};
    static const char *const ends[] = {" over steps (rows: magnitude)", " over steps"};

    if (heat->kind >= HISTORY_KINDS)
        return;
    buf_text(to, kinds[heat->kind]);
    escape_terminal(to, str_of(*heat->name ? heat->name : "the model"));
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        if (text_width(buf_span(to)) + strlen(ends[i]) > cells)
            continue;
        buf_text(to, ends[i]);
        return;
    }
}

static void heat_axis(struct lines *to, const struct curves_heat *heat, uint32_t row)
{
    char text[24];
    size_t cells;

    if (heat->zeros && row + 1 == heat->rows)
        snprintf(text, sizeof text, "0");
    else
        snprintf(text, sizeof text, "2^%d…", heat->top - (int)(row * heat->each));
    cells = text_width(str_of(text));
    lines_pad(to, cells + 2 < AXIS_CELLS ? AXIS_CELLS - 2 - cells : 0);
    lines_printf(to, COLOUR_DIM, "%s │", text);
}

static int shade_of(float share)
{
    return share <= 0 ? 0 : share < 0.02f ? 1 : share < 0.1f ? 2 : share < 0.3f ? 3 : 4;
}

void training_heat(struct lines *to, const struct training_look *look)
{
    const struct curves_heat *heat = &look->curves->heat;

    for (uint32_t row = 0; row < heat->rows; row++) {
        heat_axis(to, heat, row);
        for (uint32_t i = 0; i < look->curves->columns; i++) {
            int shade = shade_of(heat->share[row][i]);
            unsigned flags = i == look->column ? SPAN_REVERSE : 0;

            if (shade == 0 && heat->state[i] == CURVE_BAD)
                lines_add(to, COLOUR_ALARM, flags, STR("×"));
            else
                lines_add(to,
                          shade ? (enum colour)(COLOUR_HEAT + 2 * shade - 1)
                                : COLOUR_NONE,
                          flags, str_of(glyph_shade(shade, false)));
        }
        lines_end(to);
    }
}

/* ---- alarms ---- */

static void alarms_rule(struct lines *to, const struct training_look *look)
{
    const struct curves *curves = look->curves;

    lines_printf(to, COLOUR_DIM, "── alarms (%" PRIu32 ") ",
                 curves->earlier_alarms + curves->n_alarms);
    while (!look->plain && lines_width(to) < look->room->width)
        lines_text(to, COLOUR_DIM, "─");
    lines_end(to);
}

/* "✗  step 315   layer1.1 first Inf: 3,392 of 32,768 outputs, in aten::batch_norm" */
static void alarm_lines(struct lines *to, const struct curves_alarm *alarm,
                        unsigned width)
{
    enum colour role = note_role((enum severity)alarm->severity);
    struct buf text = BUF_INIT;
    bool narrow = width < 3 * ALARM_INDENT;

    lines_printf(to, role, " %s  ", note_sign(role));
    lines_printf(to, COLOUR_NONE, "step %" PRIu64, alarm->step);
    if (narrow)
        lines_text(to, COLOUR_NONE, " ");
    else
        lines_pad(to, ALARM_INDENT);
    escape_terminal(&text, str_of(*alarm->name ? alarm->name : alarm->kind));
    buf_text(&text, "  ");
    escape_terminal(&text, str_of(alarm->text));
    if (*alarm->line) {
        buf_text(&text, "; in ");
        escape_terminal(&text, str_of(alarm->line));
    }
    lines_wrap(to, COLOUR_NONE, buf_span(&text), width, narrow ? 4 : ALARM_INDENT);
    buf_release(&text);
}

void training_alarms(struct lines *to, const struct training_look *look,
                     uint32_t ret_lines[CURVES_ALARMS])
{
    const struct curves *curves = look->curves;

    if (curves->n_alarms == 0) {
        lines_printf(to, COLOUR_GOOD, " %s", note_sign(COLOUR_GOOD));
        lines_text(to, COLOUR_NONE, "  no alarms");
        lines_end(to);
        return;
    }
    alarms_rule(to, look);
    if (curves->earlier_alarms > 0) {
        lines_printf(to, COLOUR_DIM, "    %" PRIu32 " earlier", curves->earlier_alarms);
        lines_end(to);
    }
    for (uint32_t i = 0; i < curves->n_alarms; i++) {
        ret_lines[i] = to->n;
        alarm_lines(to, &curves->alarms[i], look->room->width);
    }
}
