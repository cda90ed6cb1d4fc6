#include "facts/run_text.h"

#include <math.h>

#include "text/number.h"

void run_cost(struct facts *to, const struct show *show)
{
    const struct run *run = show->session->run;
    double share = run_cost_share(run);

    /* A training keeps one step in full; its cost says nothing about the others. */
    if (show->session->history_path) {
        buf_text(&to->text, "recording this step added ");
        fact_time(to, "cost", run->own_ns + run->hooks_ns);
        buf_text(&to->text, ", once");
        return;
    }
    buf_text(&to->text, "recording added ");
    fact_time(to, "cost", run->own_ns + run->hooks_ns);
    if (isnan(share))
        return;
    buf_text(&to->text, ", ");
    if (share > 1)
        buf_printf(&to->text, "%.0f%%", share * 100);
    else
        fact_share(to, "share", (uint64_t)(share * 1e6 + 0.5), 1000000);
    if (run_fact_id(run, "budget_cost") != VALUE_ID_NONE) {
        buf_text(&to->text, " of all passes");
    } else {
        buf_text(&to->text, " of ");
        fact_time(to, "passes", run_passes_ns(run));
    }
}

/* Times are host times: on a device, the time to launch the work. */
static void add_device(struct facts *to, const struct show *show)
{
    struct str times = {0};

    run_fact(show->session->run, "times", &times);
    if (show->activity->device_ns > 0) {
        buf_text(&to->text, ", forward on the device ");
        fact_time(to, "device", show->activity->device_ns);
    } else if (times.len > 0) {
        buf_text(&to->text, " (host times only)");
    }
}

/* Whether the model ran once before without recording, if known. */
static void add_warm_up(struct facts *to, const struct run *run)
{
    uint64_t ns = run_fact(run, "warm_up_ns", NULL);

    if (ns > 0) {
        buf_text(&to->text, " after a warm-up of ");
        fact_time(to, "warm_up", ns);
    } else if (run_fact_id(run, "warm_up_ns") != VALUE_ID_NONE) {
        buf_text(&to->text, " without a warm-up");
    }
}

void run_passes(struct facts *to, const struct show *show)
{
    const struct activities *all = show->activity;
    uint64_t left_out = run_fact(show->session->run, "passes_left_out", NULL);
    bool least;
    uint64_t backward = run_backward(show, 0, &least);

    fact_plural(to, "passes", all->passes, "pass", "passes");
    if (left_out > 0) {
        buf_text(&to->text, " (");
        fact_count(to, "left_out", left_out);
        buf_text(&to->text, " more not recorded)");
    }
    add_warm_up(to, show->session->run);
    buf_text(&to->text, ", forward ");
    fact_time(to, "forward", all->total_ns);
    if (backward > 0) {
        buf_text(&to->text, least ? ", backward at least " : ", backward ");
        fact_time(to, "backward", backward);
    }
    add_device(to, show);
}

bool run_capsule(struct facts *to, const struct run *run)
{
    struct str about = {0};

    run_fact(run, RUN_CAPSULE_FACT, &about);
    if (about.len == 0)
        return false;
    fact_text(to, "about", about);
    return true;
}

void run_ran(struct facts *to, const struct show *show)
{
    if (run_capsule(to, show->session->run)) {
        buf_text(&to->text, "; torchoscope replay runs it again");
        fact_end(to, "capsule", COLOUR_ALARM);
        return;
    }
    fact_place(to, "model", show, 0);
    buf_text(&to->text, ": ");
    run_passes(to, show);
    buf_text(&to->text, "; ");
    run_cost(to, show);
    fact_end(to, "ran", COLOUR_NONE);
}
