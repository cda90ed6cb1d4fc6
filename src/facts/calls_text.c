#include "facts/calls_text.h"

#include "facts/run_text.h"
#include "facts/statistics.h"
#include "study/op_use.h"
#include "text/text.h"

#define PATH_CELLS  10 /* minimum; grows for names up to PATH_MOST */
#define PATH_MOST   28
#define MOST_SHAPES 3 /* of merged calls */
#define SHAPE_CELLS 16

/* ---- a value ---- */

static void add_stats(struct facts *to, const struct stats *stats)
{
    if (stats_finite(stats) > 0) {
        buf_text(&to->text, "  min ");
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
        buf_text(&to->text, "  ");
        statistics_not_finite(to, stats->nan, stats->pos_inf + stats->neg_inf);
    }
}

/* Append unusual properties of a value. */
static void add_remarks(struct buf *to, const struct run *run, const struct run_io *io,
                        const struct run_value *value)
{
    struct str device = run->n_devices > value->device
                            ? run_string(run, run->devices[value->device])
                            : STR("");

    if (device.len > 0 && !str_is(device, "cpu")) {
        buf_text(to, "  ");
        escape_terminal(to, device);
    }
    if (value->class_name) {
        buf_text(to, "  ");
        escape_terminal(to, run_string(run, value->class_name));
    }
    if (value->flags & RUN_SAMPLED)
        buf_text(to, "  (1 of 8 blocks)");
    if (value->flags & RUN_PARAMETER)
        buf_text(to, "  a parameter");
    if (value->kept != RUN_NONE)
        buf_text(to, "  kept");
    if (io->flags & RUN_IO_REPLACED)
        buf_text(to, "  overwritten in place");
    if (io->flags & RUN_IO_SUMMED)
        buf_text(to, "  a sum over equal arguments");
}

static void end_value(struct facts *to, unsigned kind, enum colour role)
{
    static const char *const ids[] = {"in", "out", "grad_out", "grad_in"};
    static const char *const labels[] = {"  in", "  out", "  grad out", "  grad in"};

    fact_end_as(to, ids[kind & 3], labels[kind & 3], role);
}

/* Pad with blanks until the text from byte `begin` on is `cells` wide. */
static void pad_from(struct facts *to, size_t begin, size_t cells)
{
    size_t width = text_width(str_span(to->text.at + begin, to->text.len - begin));

    if (width < cells)
        buf_fill(&to->text, ' ', cells - width);
}

static void add_path(struct facts *to, const struct run *run, uint32_t path,
                     size_t cells)
{
    size_t begin = to->text.len;

    fact_text(to, "path", run_string(run, path));
    pad_from(to, begin, cells);
    buf_char(&to->text, ' ');
}

static enum colour stats_role(const struct run *run, uint32_t stats)
{
    return stats != RUN_NONE &&
                   stats_finite(&run->stats[stats]) < run->stats[stats].count
               ? COLOUR_ALARM
               : COLOUR_NONE;
}

/* "  in  x  1×64×56×56  float32  min -2.1  max 3.0  mean 0.01  std 1.2" */
static void value_fact(struct facts *to, const struct run *run, const struct run_io *io,
                       size_t path_cells, bool before)
{
    const struct run_value *value;
    size_t begin;

    add_path(to, run, io->path, path_cells);
    if (io->value == RUN_NONE) {
        buf_text(&to->text, "no tensor");
        end_value(to, io->kind, COLOUR_NONE);
        return;
    }
    value = &run->values[io->value];
    begin = to->text.len;
    fact_run_shape(to, "shape", run, io->value);
    pad_from(to, begin, SHAPE_CELLS);
    buf_char(&to->text, ' ');
    fact_dtype(to, value->dtype);
    if (before) {
        buf_text(&to->text, "  the same as above");
    } else if (value->stats != RUN_NONE) {
        add_stats(to, &run->stats[value->stats]);
    } else if (value->why) {
        buf_text(&to->text, "  ");
        escape_terminal(&to->text, run_string(run, value->why));
    }
    add_remarks(&to->text, run, io, value);
    end_value(to, io->kind, before ? COLOUR_NONE : stats_role(run, value->stats));
}

/* ---- a call ---- */

static void add_time(struct facts *to, const char *name, const char *word, uint64_t ns)
{
    if (ns < 1000)
        return;
    buf_printf(&to->text, "  %s", word);
    fact_time(to, name, ns);
}

static void add_flags(struct buf *to, unsigned flags)
{
    static const struct {
        unsigned flag;
        const char *name;
    } names[] = {
        {RUN_RECOMPUTED, "recomputed"},
        {RUN_COMPILED, "compiled"},
        {RUN_FUSED, "fused"},
        {RUN_SCRIPTED, "scripted"},
        {RUN_AUTOCAST, "autocast"},
        {RUN_DIRECT, "forward() called directly"},
        {RUN_BACKWARD_GAP, "backward time not known"},
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (flags & names[i].flag)
            buf_printf(to, "  %s", names[i].name);
}

#define MOST_BEFORE 64 /* number of ios compared; beyond it, statistics may repeat */

/* Does an earlier line show the same value? Lines are in the order of kinds. */
static bool shown_before(const struct run *run, const struct run_call *call, uint32_t i)
{
    uint32_t end = call->n_ios < MOST_BEFORE ? call->n_ios : MOST_BEFORE;

    for (uint32_t k = call->ios; k < call->ios + end; k++)
        if (run->ios[k].value == run->ios[i].value &&
            (run->ios[k].kind < run->ios[i].kind ||
             (run->ios[k].kind == run->ios[i].kind && k < i)))
            return true;
    return false;
}

/* The width of the name column, so that shapes line up. */
static size_t path_cells(const struct run *run, const struct run_call *call)
{
    size_t most = PATH_CELLS;
    struct buf cell = BUF_INIT;

    for (uint32_t i = call->ios; i < call->ios + call->n_ios; i++) {
        size_t cells;

        buf_clear(&cell);
        escape_terminal(&cell, run_string(run, run->ios[i].path));
        cells = text_width(buf_span(&cell));
        if (cells > most)
            most = cells;
    }
    buf_release(&cell);
    return most < PATH_MOST ? most : PATH_MOST;
}

/* "  5 operations  at least 294.9K FLOPs": forward, or of a recomputation. */
static void add_ops(struct facts *to, const struct run *run, uint32_t c)
{
    struct op_sum sums[OP_PHASES];
    const struct op_sum *sum =
        &sums[run->calls[c].flags & RUN_RECOMPUTED ? OP_RECOMPUTE : OP_FORWARD];
    struct figure figure;

    op_use_call(run, c, sums);
    if (sum->count == 0)
        return;
    buf_text(&to->text, "  ");
    fact_plural(to, "operations", sum->count, "operation", "operations");
    if (sum->flops == 0)
        return;
    buf_text(&to->text, sum->matrix_unknown > 0 ? "  at least " : "  ");
    figure = fact_figure(to);
    figure_flops(&figure, sum->flops);
    fact_value(to, "flops", &figure);
    buf_text(&to->text, " FLOPs");
}

/* "call 2 (net.py:12) 1.52ms self 1.52ms backward 3.48ms", then its values. `ops`: also
 * its operations; omitted for the only call of a module, which has the module's
 * operations. */
static void call_facts(struct facts *to, const struct run *run, uint32_t c, bool ops)
{
    const struct run_call *call = &run->calls[c];
    size_t cells = path_cells(run, call);
    struct buf *text = &to->text;

    buf_text(text, "call ");
    text_commas(text, (uint64_t)call->number + 1);
    fact_named(to, "call", FIGURE_CALL, c);
    if (call->line) {
        buf_text(text, " (");
        fact_text(to, "line", run_string(run, call->line));
        buf_char(text, ')');
    }
    add_time(to, "time", "", run_inclusive(call));
    if (call->children_ns > 0)
        add_time(to, "self", "self ", run_exclusive(call));
    add_time(to, "backward", "backward ", call->backward_ns);
    add_time(to, "device", "device ", call->device_ns);
    if (ops && run->ops)
        add_ops(to, run, c);
    buf_text(text, call->flags & RUN_TRAINING ? "  train" : "  eval");
    add_flags(text, call->flags);
    fact_end_as(to, "call", NULL, COLOUR_NONE);
    for (unsigned kind = RUN_IN; kind <= RUN_GRAD_IN; kind++)
        for (uint32_t i = call->ios; i < call->ios + call->n_ios; i++)
            if (run->ios[i].kind == kind)
                value_fact(to, run, &run->ios[i], cells, shown_before(run, call, i));
    if (!(call->flags & RUN_RAISED))
        return;
    buf_text(text, "  ✗ ");
    if (call->error) {
        buf_text(text, "raised ");
        fact_text(to, "error", run_string(run, call->error));
    } else {
        buf_text(text, "did not come back");
    }
    fact_end_as(to, "raised", NULL, COLOUR_ALARM);
}

/* ---- merged calls ---- */

/* " in x 4×2, 8×2 min 0 max 3 mean 1 std 1", of all of them together */
static void merged_fact(struct facts *to, const struct run *run,
                        const struct run_merged_io *io, size_t cells)
{
    const int64_t *shape = run->dims + io->shapes;
    size_t begin;

    add_path(to, run, io->path, cells);
    begin = to->text.len;
    for (uint32_t i = 0; i < io->n_shapes; i++, shape += 1 + shape[0]) {
        buf_text(&to->text, i > 0 ? ", " : "");
        if (i == MOST_SHAPES) {
            buf_text(&to->text, "…");
            break;
        }
        fact_shape(to, "shape", shape + 1, (int)shape[0]);
    }
    if (io->n_shapes == 0)
        buf_text(&to->text, "no tensor");
    pad_from(to, begin, SHAPE_CELLS);
    if (io->stats != RUN_NONE)
        add_stats(to, &run->stats[io->stats]);
    end_value(to, io->kind, stats_role(run, io->stats));
}

/* "236 calls are merged, 27.47μs to 8.16ms each", then their values. */
static void merged_facts(struct facts *to, const struct run *run,
                         const struct run_merged *merged)
{
    size_t cells = merged->newest < run->n_calls
                       ? path_cells(run, &run->calls[merged->newest])
                       : PATH_CELLS;

    fact_plural(to, "calls", merged->calls, "call is", "calls are");
    buf_text(&to->text, " merged");
    if (merged->most_ns >= 1000) {
        buf_text(&to->text, ", ");
        fact_time(to, "least", merged->least_ns);
        buf_text(&to->text, " to ");
        fact_time(to, "most", merged->most_ns);
        buf_text(&to->text, " each");
    }
    fact_end_as(to, "merged", NULL, COLOUR_NONE);
    for (unsigned kind = RUN_IN; kind <= RUN_GRAD_IN; kind++)
        for (uint32_t i = merged->ios; i < merged->ios + merged->n_ios; i++)
            if (run->merged_ios[i].kind == kind)
                merged_fact(to, run, &run->merged_ios[i], cells);
}

/* ---- all calls ---- */

/* "3 calls, 8.37ms in all, 2.79ms each; 8.37ms by itself, 2% of run" */
static void title_fact(struct facts *to, const struct show *show, uint32_t place)
{
    const struct activity *at = &show->activity->at[place];

    fact_plural(to, "calls", at->calls, "call", "calls");
    buf_text(&to->text, ", ");
    fact_time(to, "time", at->total_ns);
    if (at->calls > 1) {
        buf_text(&to->text, " in all, ");
        fact_time(to, "each", at->total_ns / at->calls);
        buf_text(&to->text, " each");
    }
    buf_text(&to->text, "; ");
    fact_time(to, "self", at->self_ns);
    buf_text(&to->text, " by itself");
    if (show->activity->total_ns > 0) {
        buf_text(&to->text, ", ");
        fact_share(to, "share", at->self_ns, show->activity->total_ns);
        buf_text(&to->text, " of run");
    }
    fact_end_as(to, "calls", NULL, COLOUR_NONE);
}

bool calls_none(struct buf *to, const struct show *show, uint32_t place)
{
    const struct activity *at = &show->activity->at[place];
    const struct object *object = place_object(show->model, place);

    if (at->flags & ACTIVITY_NOT_REACHED) {
        buf_text(to, "not reached: an exception came first");
    } else if (at->flags & ACTIVITY_CONTAINER) {
        buf_text(to, "defines no forward");
    } else if (at->gap != RUN_NONE) {
        const struct run_gap *gap = &show->session->run->gaps[at->gap];

        escape_terminal(to, run_string(show->session->run, gap->text));
    } else if (show->model->flags[place] & PLACE_AGAIN && object) {
        buf_text(to, "its calls are listed at ");
        run_place(to, show, object->place);
    } else {
        return false;
    }
    return true;
}

void calls_facts(struct facts *to, const struct show *show, uint32_t place,
                 uint32_t most)
{
    const struct run *run = show->session->run;
    const struct activity *at = &show->activity->at[place];
    const struct run_merged *merged;
    uint32_t shown = 0, more, c;

    if (at->calls == 0) {
        calls_none(&to->text, show, place);
        fact_end_as(to, "not_called", NULL, COLOUR_NONE);
        return;
    }
    title_fact(to, show, place);
    for (c = run_first_call(run, show->model->object[place]);
         c != RUN_NONE && shown + 1 < most; c = run_next_call(run, c)) {
        if (run->calls[c].place != place || c == at->newest)
            continue;
        call_facts(to, run, c, true);
        shown++;
    }
    merged = run_merged_with(run, at->newest);
    more = at->calls - shown - (merged ? merged->calls : 1);
    if (more > 0) {
        buf_text(&to->text, "… ");
        fact_count(to, "more", more);
        buf_text(&to->text, " more");
        fact_end_as(to, "more", NULL, COLOUR_NONE);
    }
    if (merged)
        merged_facts(to, run, merged);
    call_facts(to, run, at->newest, at->calls > 1);
}
