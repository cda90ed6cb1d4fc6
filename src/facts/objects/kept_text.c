#include "facts/objects/kept_text.h"

#include <inttypes.h>

#include "facts/run_text.h"
#include "text/text.h"

#define MOST_READERS 4

static void strides_fact(struct facts *to, const struct run *run,
                         const struct run_value *value)
{
    if (value->strides == RUN_NONE)
        return;
    for (int i = 0; i < value->rank; i++)
        buf_printf(&to->text, "%s%" PRId64, i > 0 ? ", " : "",
                   run->dims[value->strides + (uint32_t)i]);
    fact_end(to, "strides", COLOUR_NONE);
}

/* Is `inner` a call inside `outer`? */
static bool is_inside(const struct run *run, uint32_t inner, uint32_t outer)
{
    while (inner != RUN_NONE && inner > outer)
        inner = run->calls[inner].parent;
    return inner == outer;
}

static bool takes(const struct run *run, uint32_t call, uint32_t value)
{
    const struct run_call *c = &run->calls[call];

    for (uint32_t i = c->ios; i < c->ios + c->n_ios; i++)
        if (run->ios[i].kind == RUN_IN && run->ios[i].value == value)
            return true;
    return false;
}

/* Later calls that took it as an argument: the outermost ones that begin after it was
 * made. */
static void readers_fact(struct facts *to, const struct show *show, uint32_t call,
                         uint32_t value)
{
    const struct run *run = show->session->run;
    uint32_t n = 0, last = RUN_NONE;

    for (uint32_t c = call + 1; c < run->n_calls; c++) {
        if (is_inside(run, c, call) || (last != RUN_NONE && is_inside(run, c, last)) ||
            !takes(run, c, value))
            continue;
        last = c;
        if (n++ >= MOST_READERS)
            continue;
        buf_text(&to->text, n > 1 ? ", " : "");
        fact_place(to, "place", show, run->calls[c].place);
    }
    if (n > MOST_READERS) {
        buf_text(&to->text, " and ");
        fact_count(to, "more", n - MOST_READERS);
        buf_text(&to->text, " more");
    }
    fact_end_as(to, "read_by", "read by", COLOUR_NONE);
}

void kept_facts(struct facts *to, const struct show *show, uint32_t call,
                uint32_t value)
{
    const struct run *run = show->session->run;
    const struct run_value *v = &run->values[value];

    fact_run_shape(to, "shape", run, value);
    fact_end(to, "shape", COLOUR_NONE);
    fact_dtype(to, v->dtype);
    fact_end(to, "dtype", COLOUR_NONE);
    fact_bytes(to, "bytes", v->bytes);
    fact_end(to, "memory", COLOUR_NONE);
    strides_fact(to, run, v);
    if (v->device < run->n_devices)
        fact_text(to, "device", run_string(run, run->devices[v->device]));
    fact_end(to, "device", COLOUR_NONE);
    fact_place(to, "place", show, run->calls[call].place);
    buf_text(&to->text, ", forward");
    fact_end_as(to, "made_by", "made by", COLOUR_NONE);
    readers_fact(to, show, call, value);
    fact_figure(to);
    buf_printf(&to->text, "%" PRIu32, run->calls[call].step);
    fact_named(to, "step", FIGURE_COUNT, run->calls[call].step);
    fact_end(to, "step", COLOUR_NONE);
}
