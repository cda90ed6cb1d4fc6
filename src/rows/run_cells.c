/* Cells about a run: shapes, calls and times of a row. A row of several equal modules
 * has the sums of all and the shapes of the first. */
#include "rows/cells_in.h"

#include <math.h>

#include "rows/below.h"
#include "rows/run_words.h"
#include "text/number.h"

#define MANY 256 /* sums over more siblings than this are cached */

uint64_t row_run(const struct show *show, const struct row *row, enum run_amount what)
{
    uint32_t place = row->place;
    uint64_t sum = 0;

    if (!show->activity || row->flags & ROW_MORE)
        return 0;
    if (row->count > MANY &&
        below_known(show, BELOW_RUN + what, row->place, row->count, &sum))
        return sum;
    for (uint32_t i = 0; i < row->count; i++, place = show->model->end[place]) {
        const struct activity *at = &show->activity->at[place];
        static const struct op_sum none;
        const struct op_sum *ops = show->ops ? &show->ops[place] : &none;

        switch (what) {
        case RUN_CALLS:
            sum += at->calls;
            break;
        case RUN_TOTAL:
            sum += at->total_ns;
            break;
        case RUN_SELF:
            sum += at->self_ns;
            break;
        case RUN_BACKWARD:
            sum += at->backward_ns;
            break;
        case RUN_DEVICE:
            sum += at->device_ns;
            break;
        case RUN_NAN:
            sum += at->nan;
            break;
        case RUN_INF:
            sum += at->inf;
            break;
        case RUN_SAVED:
            sum += show->memory ? show->memory->saved_here[place] : 0;
            break;
        case RUN_OPS:
            sum += ops->count;
            break;
        case RUN_FLOPS:
            sum += ops->flops;
            break;
        case RUN_MATRIX:
            sum += ops->matrix;
            break;
        case RUN_UNCOUNTED:
            sum += ops->matrix_unknown;
            break;
        }
    }
    if (row->count > MANY)
        below_learn(show, BELOW_RUN + what, row->place, row->count, sum);
    return sum;
}

bool row_flops(const struct show *show, const struct row *row, bool *ret_least)
{
    uint64_t uncounted = row_run(show, row, RUN_UNCOUNTED);

    if (ret_least)
        *ret_least = uncounted > 0;
    return row_run(show, row, RUN_FLOPS) > 0 ||
           row_run(show, row, RUN_MATRIX) > uncounted;
}

/* The row's first place, if it was called; else NULL. */
static const struct activity *called(const struct show *show, const struct row *row)
{
    if (!show->activity || row->flags & ROW_MORE ||
        show->activity->at[row->place].calls == 0)
        return NULL;
    return &show->activity->at[row->place];
}

static uint32_t value_of(const struct show *show, const struct row *row,
                         enum run_io_kind kind)
{
    const struct activity *at = called(show, row);

    return at && at->newest != RUN_NONE
               ? activity_value(show->session->run, at->newest, kind)
               : RUN_NONE;
}

/* ---- what went in and came out ---- */

static void add_shape(struct figure *to, const struct show *show, const struct row *row,
                      enum run_io_kind kind)
{
    const struct run *run = show->session->run;
    uint32_t value = value_of(show, row, kind);
    unsigned varies = kind == RUN_IN ? ACTIVITY_IN_VARIES : ACTIVITY_OUT_VARIES;

    if (value == RUN_NONE)
        return;
    figure_shape(to, run->dims + run->values[value].shape, run->values[value].rank);
    to->varied = show->activity->at[row->place].flags & varies;
    if (to->varied)
        buf_char(to->text, '*');
}

static const char *gap_of(const struct show *show, const struct row *row)
{
    if (!show->activity || row->flags & ROW_MORE)
        return NULL;
    return run_gap_word(show, row->place);
}

void cell_in(struct figure *to, const struct show *show, const struct row *row)
{
    add_shape(to, show, row, RUN_IN);
}

void cell_out(struct figure *to, const struct show *show, const struct row *row)
{
    add_shape(to, show, row, RUN_OUT);
    if (show->gaps_in_out && gap_of(show, row))
        figure_text(to, gap_of(show, row));
}

/* Counts all values; a value listed twice counts once. */
static void add_memory(struct figure *to, const struct show *show,
                       const struct row *row, enum run_io_kind kind)
{
    const struct run *run = show->session->run;
    const struct activity *at = called(show, row);

    if (at && value_of(show, row, kind) != RUN_NONE)
        figure_bytes(to, run_io_bytes(run, at->newest, kind));
}

void cell_in_memory(struct figure *to, const struct show *show, const struct row *row)
{
    add_memory(to, show, row, RUN_IN);
}

void cell_out_memory(struct figure *to, const struct show *show, const struct row *row)
{
    add_memory(to, show, row, RUN_OUT);
}

/* Empty unless there was a backward. */
void cell_saved(struct figure *to, const struct show *show, const struct row *row)
{
    uint64_t bytes;

    if (!show->memory || show->memory->saved_op == RUN_NONE || row->flags & ROW_MORE ||
        show->model->kind[row->place] != PLACE_MODULE)
        return;
    bytes = row_run(show, row, RUN_SAVED);
    if (bytes > 0 || called(show, row))
        figure_bytes(to, bytes);
}

void cell_nan(struct figure *to, const struct show *show, const struct row *row)
{
    figure_not_finite(to, row_run(show, row, RUN_NAN), row_run(show, row, RUN_INF));
}

static const struct stats *out_stats(const struct show *show, const struct row *row)
{
    const struct run *run = show->session->run;
    uint32_t value = value_of(show, row, RUN_OUT);

    if (value == RUN_NONE || run->values[value].stats == RUN_NONE)
        return NULL;
    return &run->stats[run->values[value].stats];
}

void cell_out_mean(struct figure *to, const struct show *show, const struct row *row)
{
    const struct stats *stats = out_stats(show, row);

    if (stats)
        figure_real(to, stats->mean);
}

void cell_out_std(struct figure *to, const struct show *show, const struct row *row)
{
    const struct stats *stats = out_stats(show, row);

    if (stats && stats_finite(stats) > 1)
        figure_real(to, stats_std(stats));
}

void cell_out_zeros(struct figure *to, const struct show *show, const struct row *row)
{
    const struct stats *stats = out_stats(show, row);

    if (stats && stats_measured(stats) && stats->count > 0)
        figure_share(to, (double)stats->zeros, (double)stats->count);
}

static void add_dtype(struct figure *to, const struct show *show, const struct row *row,
                      enum run_io_kind kind)
{
    uint32_t value = value_of(show, row, kind);

    if (value == RUN_NONE)
        return;
    to->kind = FIGURE_DTYPE;
    to->n = show->session->run->values[value].dtype;
    buf_text(to->text, dtype_name((enum dtype)to->n));
}

void cell_in_dtype(struct figure *to, const struct show *show, const struct row *row)
{
    add_dtype(to, show, row, RUN_IN);
}

void cell_out_dtype(struct figure *to, const struct show *show, const struct row *row)
{
    add_dtype(to, show, row, RUN_OUT);
}

/* ---- at a step of a training run ---- */

bool row_at_step(const struct show *show, const struct row *row, enum step_number which,
                 double *ret_value)
{
    struct step_numbers sum = {.known = 0};
    uint32_t place = row->place;

    if (!show->step || row->flags & ROW_MORE)
        return false;
    if (!(row->flags & ROW_RUN))
        return step_number(&show->step->at[place], which, ret_value);
    for (uint32_t i = 0; i < row->count; i++, place = show->model->end[place])
        step_numbers_add(&sum, &show->step->at[place]);
    return step_number(&sum, which, ret_value);
}

static void add_at_step(struct figure *to, const struct show *show,
                        const struct row *row, enum step_number which)
{
    double value;

    if (row_at_step(show, row, which, &value))
        figure_real(to, value);
}

void cell_weight(struct figure *to, const struct show *show, const struct row *row)
{
    add_at_step(to, show, row, STEP_WEIGHT);
}

void cell_update(struct figure *to, const struct show *show, const struct row *row)
{
    add_at_step(to, show, row, STEP_RATIO);
}

void cell_dead(struct figure *to, const struct show *show, const struct row *row)
{
    double share;

    if (row_at_step(show, row, STEP_DEAD, &share))
        figure_share(to, share, 1);
}

/* The combined gradient norm of all parameters at and below the row. */
void cell_gradient(struct figure *to, const struct show *show, const struct row *row)
{
    struct below below;

    if (show->step) {
        add_at_step(to, show, row, STEP_GRADIENT);
        return;
    }
    if (!show->activity || row->flags & (ROW_MORE | ROW_RUN))
        return;
    below_sum(show, row->place, &below);
    if (below.n_gradients > 0)
        figure_real(to, sqrt(below.gradient));
}

/* ---- calls and times ---- */

void cell_calls(struct figure *to, const struct show *show, const struct row *row)
{
    if (called(show, row))
        figure_count(to, row_run(show, row, RUN_CALLS));
}

void cell_time(struct figure *to, const struct show *show, const struct row *row)
{
    if (called(show, row))
        figure_time(to, row_run(show, row, RUN_TOTAL));
    else if (gap_of(show, row))
        figure_text(to, gap_of(show, row));
}

/* The share of its caller's time: of the nearest module above it that was called,
 * because lists of modules are not called. In a flat list, the share of the run. */
void cell_time_percent(struct figure *to, const struct show *show,
                       const struct row *row)
{
    uint32_t above = show->model->parent[row->place];
    uint64_t whole;

    if (!called(show, row))
        return;
    while (above != NO_PLACE && show->activity->at[above].calls == 0)
        above = show->model->parent[above];
    whole = row->above == NO_ROW || above == NO_PLACE
                ? show->activity->total_ns
                : show->activity->at[above].total_ns;
    if (whole > 0)
        figure_share(to, (double)row_run(show, row, RUN_TOTAL), (double)whole);
}

void cell_self(struct figure *to, const struct show *show, const struct row *row)
{
    if (called(show, row))
        figure_time(to, row_run(show, row, RUN_SELF));
}

void cell_average(struct figure *to, const struct show *show, const struct row *row)
{
    if (called(show, row))
        figure_time(to, row_run(show, row, RUN_TOTAL) / row_run(show, row, RUN_CALLS));
}

void cell_self_average(struct figure *to, const struct show *show,
                       const struct row *row)
{
    if (called(show, row))
        figure_time(to, row_run(show, row, RUN_SELF) / row_run(show, row, RUN_CALLS));
}

void cell_backward(struct figure *to, const struct show *show, const struct row *row)
{
    if (called(show, row))
        figure_time(to, row_run(show, row, RUN_BACKWARD));
}

void cell_device_time(struct figure *to, const struct show *show, const struct row *row)
{
    uint64_t ns = row_run(show, row, RUN_DEVICE);

    if (ns > 0)
        figure_time(to, ns);
}

/* ---- operations ---- */

/* "≥8.2G": some matrix work was not counted. "unknown": none of it was. Empty: there is
 * none, or operations were not recorded. */
static void add_flops(struct figure *to, const struct show *show, const struct row *row,
                      uint64_t unit)
{
    bool least, known = row_flops(show, row, &least);

    if (!known) {
        if (least)
            figure_text(to, "unknown");
        return;
    }
    buf_text(to->text, least ? "≥" : "");
    figure_flops(to, row_run(show, row, RUN_FLOPS) / unit);
}

void cell_flops(struct figure *to, const struct show *show, const struct row *row)
{
    add_flops(to, show, row, 1);
}

void cell_macs(struct figure *to, const struct show *show, const struct row *row)
{
    add_flops(to, show, row, 2);
}

void cell_ops(struct figure *to, const struct show *show, const struct row *row)
{
    if (row_run(show, row, RUN_OPS) > 0)
        figure_count(to, row_run(show, row, RUN_OPS));
}

/* Solid: own time; light: time of the modules it called. */
void cell_time_bar(struct figure *to, const struct show *show, const struct row *row)
{
    double whole;

    if (!called(show, row) || show->activity->total_ns == 0)
        return;
    whole = (double)show->activity->total_ns;
    to->real = (double)row_run(show, row, RUN_TOTAL) / whole;
    to->real = to->real > 1 ? 1 : to->real;
    to->solid = (double)row_run(show, row, RUN_SELF) / whole;
}
