#include "show/run_text.h"

#include <math.h>

#include "text/text.h"

/* ---- small parts ---- */

void run_time(struct buf *to, uint64_t ns)
{
    if (ns >= 1000)
        text_time(to, (double)ns / 1e9);
}

void run_shape(struct buf *to, const struct run *run, uint32_t value)
{
    const struct run_value *v = &run->values[value];

    text_shape(to, run->dims + v->shape, v->rank);
    if (v->rank == 0)
        buf_text(to, "scalar");
}

bool run_finite(const struct run *run, uint32_t value)
{
    const struct stats *stats;

    if (value == RUN_NONE || run->values[value].stats == RUN_NONE)
        return true;
    stats = &run->stats[run->values[value].stats];
    return stats->nan + stats->pos_inf + stats->neg_inf == 0;
}

void run_not_finite(struct buf *to, uint64_t nan, uint64_t inf)
{
    if (nan > 0) {
        buf_text(to, "NaN ");
        text_count(to, nan);
    }
    if (inf > 0) {
        buf_text(to, nan > 0 ? " Inf " : "Inf ");
        text_count(to, inf);
    }
}

uint64_t run_io_bytes(const struct run *run, uint32_t call, enum run_io_kind kind)
{
    const struct run_call *c = &run->calls[call];
    uint32_t last = RUN_NONE;
    uint64_t sum = 0;

    for (uint32_t i = c->ios; i < c->ios + c->n_ios; i++) {
        const struct run_io *io = &run->ios[i];

        if (io->kind != kind || io->value == RUN_NONE || io->value == last)
            continue;
        last = io->value;
        sum += run->values[last].bytes;
    }
    return sum;
}

const char *run_gap_word(const struct show *show, uint32_t place)
{
    const struct activity *at = &show->activity->at[place];

    if (at->calls > 0 || show->model->kind[place] != PLACE_MODULE)
        return NULL;
    if (at->flags & ACTIVITY_NOT_REACHED)
        return "not reached";
    if (at->gap == RUN_NONE)
        return NULL;
    switch (show->session->run->gaps[at->gap].kind) {
    case RUN_GAP_FUSED:
        return "fused";
    case RUN_GAP_COMPILED:
        return "compiled region";
    case RUN_GAP_SCRIPTED:
        return "scripted";
    case RUN_GAP_DIRECT:
        return "called directly";
    default:
        return "not called";
    }
}

void run_place(struct buf *to, const struct show *show, uint32_t place)
{
    struct buf path = BUF_INIT;
    struct str class_name = class_short(place_class(show->model, place));

    if (place > 0) {
        place_path(show->model, place, &path);
        escape_terminal(to, buf_span(&path));
        buf_release(&path);
    } else if (class_name.len > 0) {
        escape_terminal(to, class_name);
    } else {
        buf_text(to, "the model");
    }
}

/* ---- what ran ---- */

/* Backward of the outermost modules of which it is known: where the model's own is not,
 * because not all of it has gradients, there was at least that much. */
static uint64_t backward_parts(const struct show *show)
{
    uint64_t sum = 0;

    for (uint32_t p = 0; p < show->activity->n;) {
        uint64_t ns = show->activity->at[p].backward_ns;

        sum += ns;
        p = ns > 0 ? show->model->end[p] : p + 1;
    }
    return sum;
}

uint64_t run_fact(const struct run *run, const char *key, struct str *ret_text)
{
    uint32_t id = run_fact_id(run, key);
    const struct value *value;

    if (id == VALUE_ID_NONE)
        return 0;
    value = value_at(&run->plain, id);
    if (ret_text && value->kind == VALUE_STR)
        *ret_text = value_text(&run->plain, id);
    return value->kind == VALUE_INT && value->integer > 0 ? (uint64_t)value->integer
                                                          : 0;
}

static void add_percent(struct buf *to, double part, double whole)
{
    struct buf percent = BUF_INIT;

    text_percent(&percent, part, whole);
    buf_str(to, str_trim(buf_span(&percent)));
    buf_release(&percent);
}

void run_share(struct buf *to, uint64_t part, uint64_t whole)
{
    add_percent(to, (double)part, (double)whole);
}

void run_cost(struct buf *to, const struct run *run)
{
    double share = run_cost_share(run);

    text_time(to, (double)(run->own_ns + run->hooks_ns) / 1e9);
    if (isnan(share))
        return;
    buf_text(to, ", ");
    if (share > 1)
        buf_printf(to, "%.0f%%", share * 100);
    else
        add_percent(to, share, 1);
    if (run_fact_id(run, "budget_cost") != VALUE_ID_NONE) {
        buf_text(to, " of all passes");
    } else {
        buf_text(to, " of ");
        text_time(to, (double)run_passes_ns(run) / 1e9);
    }
}

/* Times are those of the host: of a device that is what it took to ask for the work. */
static void add_device(struct buf *to, const struct show *show)
{
    struct str times = {0};

    run_fact(show->session->run, "times", &times);
    if (show->activity->device_ns > 0) {
        buf_text(to, ", forward on the device ");
        text_time(to, (double)show->activity->device_ns / 1e9);
    } else if (times.len > 0) {
        buf_text(to, " (host times only)");
    }
}

/* Whether the model ran once before, unrecorded; nothing where the run does not say. */
static void add_warm_up(struct buf *to, const struct run *run)
{
    uint64_t ns = run_fact(run, "warm_up_ns", NULL);

    if (ns > 0) {
        buf_text(to, " after a warm-up of ");
        text_time(to, (double)ns / 1e9);
    } else if (run_fact_id(run, "warm_up_ns") != VALUE_ID_NONE) {
        buf_text(to, " without a warm-up");
    }
}

void run_passes(struct buf *to, const struct show *show)
{
    const struct activities *all = show->activity;
    uint64_t left_out = run_fact(show->session->run, "passes_left_out", NULL);
    uint64_t parts = backward_parts(show);

    text_plural(to, all->passes, "pass", "passes");
    if (left_out > 0) {
        buf_text(to, " (");
        text_commas(to, left_out);
        buf_text(to, " more not recorded)");
    }
    add_warm_up(to, show->session->run);
    buf_text(to, ", forward ");
    text_time(to, (double)all->total_ns / 1e9);
    if (all->backward_ns > 0 || parts > 0) {
        buf_text(to, all->backward_ns > 0 ? ", backward " : ", backward at least ");
        text_time(to, (double)(all->backward_ns ? all->backward_ns : parts) / 1e9);
    }
    add_device(to, show);
}

void run_ran(struct buf *to, const struct show *show)
{
    run_place(to, show, 0);
    buf_text(to, ": ");
    run_passes(to, show);
    buf_text(to, "; recording added ");
    run_cost(to, show->session->run);
}
