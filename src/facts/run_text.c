#include "facts/run_text.h"

#include <math.h>

#include "text/text.h"

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
        run_share(to, (uint64_t)(share * 1e6 + 0.5), 1000000);
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
    bool least;
    uint64_t backward = run_backward(show, 0, &least);

    text_plural(to, all->passes, "pass", "passes");
    if (left_out > 0) {
        buf_text(to, " (");
        text_commas(to, left_out);
        buf_text(to, " more not recorded)");
    }
    add_warm_up(to, show->session->run);
    buf_text(to, ", forward ");
    text_time(to, (double)all->total_ns / 1e9);
    if (backward > 0) {
        buf_text(to, least ? ", backward at least " : ", backward ");
        text_time(to, (double)backward / 1e9);
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
