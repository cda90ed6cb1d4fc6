/* Totals of the time and memory of a pass: by phase, over time, by module. */
#include "export/json/json_timeline_in.h"

#include "base/base.h"
#include "facts/ops_text.h"
#include "facts/run_text.h"
#include "rows/args.h"
#include "text/text.h"

#define MOST_POINTS  2000u /* of the curve of memory */
#define MOST_MODULES 1000u

/* ---- phases ---- */

/* "1.52ms"; "0s" below a microsecond, as in facts. */
static void add_time(struct buf *to, uint64_t ns)
{
    struct facts facts = {0};

    fact_time(&facts, "time", ns);
    buf_str(to, buf_span(&facts.text));
    facts_release(&facts);
}

static void put_sum(struct timeline_writing *w, unsigned phase)
{
    const struct timeline_sum *sum = &w->timeline.sums[phase];
    struct buf text = BUF_INIT;

    json_object(w->json, NULL);
    json_text(w->json, "phase", timeline_phase_name((enum timeline_phase)phase));
    json_u64(w->json, "ns", sum->ns);
    add_time(&text, sum->ns);
    json_str(w->json, "text", buf_span(&text));
    json_u64(w->json, "ops", sum->ops.count);
    json_u64(w->json, "ops_ns", sum->ops.ns);
    json_u64(w->json, "flops", sum->ops.flops);
    json_object_end(w->json);
    buf_release(&text);
}

/* "forward 222.75ms, loss 2.40ms, backward 455.65ms; torchoscope's own cost of 6.10ms is
 * not in these times" */
static void put_sentence(struct timeline_writing *w)
{
    static const uint8_t order[] = {TIMELINE_OUTSIDE, TIMELINE_FORWARD, TIMELINE_LOSS,
                                    TIMELINE_BACK, TIMELINE_OPTIMIZER};
    uint64_t cost = w->run->own_ns;

    for (size_t i = 0; i < COUNT_OF(order); i++) {
        const struct timeline_sum *sum = &w->timeline.sums[order[i]];

        if (sum->ns == 0)
            continue;
        buf_text(&w->spare, w->spare.len > 0 ? ", " : "");
        buf_printf(&w->spare, "%s ",
                   order[i] == TIMELINE_OUTSIDE
                       ? "before the model"
                       : timeline_phase_name((enum timeline_phase)order[i]));
        add_time(&w->spare, sum->ns);
    }
    if (cost > 0) {
        buf_text(&w->spare, "; torchoscope's own cost of ");
        add_time(&w->spare, cost);
        buf_text(&w->spare, w->timeline.passes > 1 ? " in the recording" : "");
        buf_text(&w->spare, " is not in these times");
    }
    json_str(w->json, "sentence", buf_span(&w->spare));
    buf_clear(&w->spare);
}

void timeline_writing_sums(struct timeline_writing *w)
{
    struct facts facts = {0};

    json_u64(w->json, "cost_ns", w->run->own_ns);
    put_sentence(w);
    json_array(w->json, "phases");
    for (unsigned phase = 0; phase < TIMELINE_PHASES; phase++)
        if (w->timeline.sums[phase].ns > 0 || w->timeline.sums[phase].ops.count > 0)
            put_sum(w, phase);
    json_array_end(w->json);
    if (!w->run->ops)
        return;
    ops_text_flops(&facts, &w->timeline.sums[TIMELINE_FORWARD].ops);
    json_str(w->json, "flops_text", buf_span(&facts.text));
    facts_release(&facts);
}

/* ---- memory ---- */

/* The maximum of each stretch of operations, and its position. */
static uint32_t find_points(const struct timeline_writing *w,
                            const struct memory_use *memory, uint32_t *points)
{
    const struct timeline *t = &w->timeline;
    uint32_t ops = t->end_op - t->first_op;
    uint32_t n = ops < MOST_POINTS ? ops : MOST_POINTS;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t from = t->first_op + (uint32_t)((uint64_t)i * ops / n);
        uint32_t to = t->first_op + (uint32_t)((uint64_t)(i + 1) * ops / n);

        points[i] = from;
        for (uint32_t op = from + 1; op < to; op++)
            if (memory->live[op] > memory->live[points[i]])
                points[i] = op;
    }
    return n;
}

static void put_peak(struct timeline_writing *w, const struct memory_use *memory,
                     const uint64_t *start, const uint32_t *points, uint32_t n)
{
    uint32_t peak = points[0];

    for (uint32_t i = 1; i < n; i++)
        if (memory->live[points[i]] > memory->live[peak])
            peak = points[i];
    json_u64(w->json, "peak_bytes", memory->live[peak]);
    text_bytes(&w->spare, memory->live[peak]);
    json_str(w->json, "peak_text", buf_span(&w->spare));
    buf_clear(&w->spare);
    json_u64(w->json, "peak_op", peak);
    json_u64(w->json, "peak_ns", start[peak - w->timeline.first_op]);
    export_flag(w->json, "partial", memory->partial);
}

static void put_curve(struct timeline_writing *w, const struct memory_use *memory,
                      const uint64_t *start, const uint32_t *points, uint32_t n)
{
    json_object(w->json, "memory");
    json_column(w->json, "at_ns");
    for (uint32_t i = 0; i < n; i++)
        json_u64(w->json, NULL, start[points[i] - w->timeline.first_op]);
    json_array_end(w->json);
    json_column(w->json, "bytes");
    for (uint32_t i = 0; i < n; i++)
        json_u64(w->json, NULL, memory->live[points[i]]);
    json_array_end(w->json);
    put_peak(w, memory, start, points, n);
    json_object_end(w->json);
}

int timeline_writing_memory(struct timeline_writing *w)
{
    const struct memory_use *memory = w->show.memory;
    const struct timeline *t = &w->timeline;
    uint32_t ops = t->end_op - t->first_op, *points;
    uint64_t *start;

    if (!memory || ops == 0) {
        json_null(w->json, "memory");
        json_text(w->json, "memory_why",
                  w->run->ops ? "no operation ran in this pass"
                              : "memory follows from operations, which were not "
                                "recorded");
        return 0;
    }
    points = arena_array(&w->arena, MOST_POINTS, sizeof *points);
    start = arena_array(&w->arena, ops, sizeof *start);
    if (!points || !start)
        return arena_err(&w->arena, "the memory", w->err);
    for (uint32_t i = 0; i < t->n; i++)
        if (t->boxes[i].kind == TIMELINE_OP)
            start[t->boxes[i].index - t->first_op] = t->boxes[i].start;
    put_curve(w, memory, start, points, find_points(w, memory, points));
    return 0;
}

/* ---- where the time goes ---- */

static uint32_t module_name(struct timeline_writing *w, const struct timeline_place *at)
{
    if (at->place == NO_PLACE)
        buf_text(&w->spare, timeline_phase_name((enum timeline_phase)at->phase));
    else
        run_place(&w->spare, &w->show, at->place);
    return timeline_writing_text(w);
}

/* "Conv2d 7×7, 3→64" */
static uint32_t module_class(struct timeline_writing *w,
                             const struct timeline_place *at)
{
    const struct model *model = w->run->model;
    const struct object *object;
    size_t begin;

    if (at->place != NO_PLACE) {
        escape_terminal(&w->spare, class_short(place_class(model, at->place)));
        object = place_object(model, at->place);
        begin = w->spare.len;
        if (object) {
            buf_char(&w->spare, ' ');
            args_show(&w->spare, model, object);
            if (w->spare.len == begin + 1)
                w->spare.len = begin;
        }
    }
    return timeline_writing_text(w);
}

static uint32_t time_text(struct timeline_writing *w, uint64_t ns, bool known)
{
    if (known)
        add_time(&w->spare, ns);
    else
        buf_text(&w->spare, "–");
    return timeline_writing_text(w);
}

static uint32_t flops_text(struct timeline_writing *w, const struct op_sum *sum,
                           bool module)
{
    if (!w->run->ops || !module)
        buf_text(&w->spare, "–");
    else if (sum->unknown == sum->count)
        buf_text(&w->spare, sum->matrix > 0 ? "unknown" : "not counted");
    else {
        buf_text(&w->spare, sum->matrix_unknown > 0 ? "≥" : "");
        text_flops(&w->spare, sum->flops);
    }
    return timeline_writing_text(w);
}

/* Shares of the whole step. Without operations, backward is not on its axis. */
static uint64_t whole_of(const struct timeline_writing *w)
{
    const struct timeline_sum *back = &w->timeline.sums[TIMELINE_BACK];

    return w->timeline.ns + (back->boxes == 0 ? back->ns : 0);
}

static uint32_t share_text(struct timeline_writing *w, uint64_t ns)
{
    if (whole_of(w) > 0)
        run_share(&w->spare, ns, whole_of(w));
    else
        buf_text(&w->spare, "–");
    return timeline_writing_text(w);
}

enum module_text {
    MODULE_NAME,
    MODULE_CLASS,
    MODULE_FORWARD,
    MODULE_BACKWARD,
    MODULE_TOTAL,
    MODULE_SHARE,
    MODULE_FLOPS,
    MODULE_TEXTS
};

/* Operations outside of calls have one time: that of their phase. */
static uint32_t one_text(struct timeline_writing *w, const struct timeline_place *at,
                         enum module_text which)
{
    bool module = at->place != NO_PLACE;
    uint64_t total = at->forward + at->backward;

    switch (which) {
    case MODULE_NAME:
        return module_name(w, at);
    case MODULE_CLASS:
        return module_class(w, at);
    case MODULE_FORWARD:
        return time_text(w, at->forward, at->phase != TIMELINE_OPTIMIZER);
    case MODULE_BACKWARD:
        return time_text(w, at->backward, at->has_backward);
    case MODULE_TOTAL:
        return time_text(w, total, true);
    case MODULE_SHARE:
        return share_text(w, total);
    default:
        return flops_text(w, &at->ops, module);
    }
}

static void put_texts(struct timeline_writing *w, const struct timeline_places *places,
                      uint32_t n)
{
    static const char *const keys[MODULE_TEXTS] = {
        "name",       "class",      "forward_text", "backward_text",
        "total_text", "share_text", "flops_text"};

    for (int which = 0; which < MODULE_TEXTS; which++) {
        json_column(w->json, keys[which]);
        for (uint32_t i = 0; i < n; i++)
            json_u64(w->json, NULL,
                     one_text(w, &places->at[i], (enum module_text)which));
        json_array_end(w->json);
    }
}

static void put_numbers(struct timeline_writing *w,
                        const struct timeline_places *places, uint32_t n)
{
    json_column(w->json, "place");
    for (uint32_t i = 0; i < n; i++)
        export_number(w->json, NULL, places->at[i].place);
    json_array_end(w->json);
    json_column(w->json, "family");
    for (uint32_t i = 0; i < n; i++)
        json_u64(w->json, NULL, timeline_writing_family(w, places->at[i].place));
    json_array_end(w->json);
    json_column(w->json, "forward_ns");
    for (uint32_t i = 0; i < n; i++)
        json_u64(w->json, NULL, places->at[i].forward);
    json_array_end(w->json);
    json_column(w->json, "backward_ns");
    for (uint32_t i = 0; i < n; i++)
        if (places->at[i].has_backward)
            json_u64(w->json, NULL, places->at[i].backward);
        else
            json_null(w->json, NULL);
    json_array_end(w->json);
    json_column(w->json, "flops");
    for (uint32_t i = 0; i < n; i++)
        if (w->run->ops && places->at[i].ops.unknown < places->at[i].ops.count)
            json_u64(w->json, NULL, places->at[i].ops.flops);
        else
            json_null(w->json, NULL);
    json_array_end(w->json);
}

int timeline_writing_modules(struct timeline_writing *w)
{
    struct timeline_places places;
    uint32_t n;

    if (timeline_places_of(&places, &w->timeline, w->run, &w->arena, w->err) < 0)
        return -1;
    n = places.n < MOST_MODULES ? places.n : MOST_MODULES;
    json_object(w->json, "modules");
    json_u64(w->json, "n", n);
    json_u64(w->json, "left_out", places.n - n);
    json_u64(w->json, "whole_ns", whole_of(w));
    put_texts(w, &places, n);
    put_numbers(w, &places, n);
    json_object_end(w->json);
    return 0;
}
