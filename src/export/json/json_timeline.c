/* One pass of a recording as boxes in time, in columns. */
#include "export/json/json_timeline_in.h"

#include <inttypes.h>

#include "base/base.h"
#include "rows/op_words.h"
#include "rows/run_words.h"
#include "study/family.h"
#include "text/text.h"

uint32_t timeline_writing_text(struct timeline_writing *w)
{
    uint32_t id = intern_add(&w->texts, buf_span(&w->spare));

    buf_clear(&w->spare);
    return id;
}

uint8_t timeline_writing_family(const struct timeline_writing *w, uint32_t place)
{
    return (uint8_t)(place < w->run->model->n_places
                         ? family_of_place(w->run->model, place)
                         : FAMILY_NONE);
}

/* ---- columns ---- */

/* The last part of a module's name; the class of the root. */
static void add_place(struct timeline_writing *w, uint32_t place)
{
    if (place == 0)
        run_place(&w->spare, &w->show, place);
    else
        escape_terminal(&w->spare, place_name(w->run->model, place));
}

static uint32_t name_of(struct timeline_writing *w, const struct timeline_box *box)
{
    if (box->kind == TIMELINE_PHASE)
        buf_text(&w->spare, timeline_phase_name((enum timeline_phase)box->phase));
    else if (box->kind == TIMELINE_OP)
        op_title(&w->spare, w->run, &w->run->ops->ops[box->index]);
    else
        add_place(w, box->place);
    return timeline_writing_text(w);
}

static uint32_t family_of(struct timeline_writing *w, const struct timeline_box *box)
{
    const struct run_op *op;

    if (box->kind == TIMELINE_PHASE)
        return FAMILY_NONE;
    if (box->kind != TIMELINE_OP)
        return timeline_writing_family(w, box->place);
    op = &w->run->ops->ops[box->index];
    if (op_is_view(w->run, op))
        return FAMILY_VIEW;
    return family_of_op((enum op_family)w->run->ops->kinds[op->kind].family);
}

static uint32_t kind_of(struct timeline_writing *w, const struct timeline_box *box)
{
    (void)w;
    return box->kind;
}

static uint32_t phase_of(struct timeline_writing *w, const struct timeline_box *box)
{
    (void)w;
    return box->phase;
}

static uint32_t place_of(struct timeline_writing *w, const struct timeline_box *box)
{
    return box->place < w->run->model->n_places ? box->place : JSON_NONE;
}

/* The distance to the enclosing box, in boxes; 0: none. */
static uint32_t up_of(struct timeline_writing *w, const struct timeline_box *box)
{
    uint32_t at = (uint32_t)(box - w->timeline.boxes);

    return box->parent == RUN_NONE ? 0 : at - box->parent;
}

static uint32_t thread_of(struct timeline_writing *w, const struct timeline_box *box)
{
    (void)w;
    return box->thread;
}

typedef uint32_t box_member(struct timeline_writing *w, const struct timeline_box *box);

static void put_column(struct timeline_writing *w, const char *key, box_member *member)
{
    for (uint32_t i = 0; i < w->timeline.n; i++)
        w->list[i] = member(w, &w->timeline.boxes[i]);
    json_u32s(w->json, key, w->list, w->timeline.n);
}

/* Times may not fit into 32 bits, so each is written as the difference to the previous
 * one. */
static void put_times(struct timeline_writing *w)
{
    const struct timeline *t = &w->timeline;
    uint64_t before = 0;

    json_column(w->json, "after_ns");
    for (uint32_t i = 0; i < t->n; i++) {
        json_i64(w->json, NULL, (int64_t)(t->boxes[i].start - before));
        before = t->boxes[i].start;
    }
    json_array_end(w->json);
    json_column(w->json, "ns");
    for (uint32_t i = 0; i < t->n; i++)
        json_u64(w->json, NULL, t->boxes[i].ns);
    json_array_end(w->json);
    json_column(w->json, "own_ns");
    for (uint32_t i = 0; i < t->n; i++)
        if (t->boxes[i].kind != TIMELINE_OP)
            json_u64(w->json, NULL, t->boxes[i].own);
    json_array_end(w->json);
}

/* Few operations have FLOPs. */
static void put_flops(struct timeline_writing *w)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < w->timeline.n; i++) {
        const struct timeline_box *box = &w->timeline.boxes[i];

        if (box->kind == TIMELINE_OP &&
            w->run->ops->ops[box->index].flops != OP_NO_FLOPS)
            w->list[n++] = i;
    }
    json_u32s(w->json, "flops_box", w->list, n);
    json_column(w->json, "flops");
    for (uint32_t i = 0; i < n; i++)
        json_i64(w->json, NULL,
                 w->run->ops->ops[w->timeline.boxes[w->list[i]].index].flops);
    json_array_end(w->json);
}

static void put_calls(struct timeline_writing *w)
{
    json_column(w->json, "call");
    for (uint32_t i = 0; i < w->timeline.n; i++)
        if (w->timeline.boxes[i].kind == TIMELINE_CALL)
            json_u64(w->json, NULL, w->timeline.boxes[i].index);
    json_array_end(w->json);
}

static bool has_threads(const struct timeline *timeline)
{
    for (uint32_t i = 1; i < timeline->n; i++)
        if (timeline->boxes[i].thread != timeline->boxes[0].thread)
            return true;
    return false;
}

static void put_boxes(struct timeline_writing *w)
{
    json_object(w->json, "boxes");
    json_u64(w->json, "n", w->timeline.n);
    put_column(w, "kind", kind_of);
    put_column(w, "phase", phase_of);
    put_column(w, "name", name_of);
    put_column(w, "place", place_of);
    put_column(w, "family", family_of);
    put_column(w, "up", up_of);
    if (has_threads(&w->timeline))
        put_column(w, "thread", thread_of);
    put_times(w);
    put_flops(w);
    put_calls(w);
    json_object_end(w->json);
}

/* ---- what is missing ---- */

static void put_why(struct timeline_writing *w)
{
    const struct run *run = w->run;
    struct err err = {0};

    json_array(w->json, "why");
    if (export_has_ops(w->session, &err) < 0) {
        buf_text(&w->spare, "only calls of modules have a place in time; the loss, "
                            "backward and the optimizer consist of operations, ");
        if (run->ops_damaged)
            buf_text(&w->spare, "and its operations are damaged");
        else
            buf_text(&w->spare,
                     w->session->history
                         ? "which were not recorded"
                         : "which torchoscope.record(model, ops=True) records");
        json_str(w->json, NULL, buf_span(&w->spare));
    } else if (run->ops->n_ops > 0 && w->timeline.end_op > w->timeline.first_op) {
        uint64_t ns = 0;

        for (uint32_t i = w->timeline.first_op; i < w->timeline.end_op; i++)
            ns += run->ops->ops[i].ns;
        if (ns == 0)
            json_text(w->json, NULL,
                      "how long operations took was not measured in this recording");
    }
    buf_clear(&w->spare);
    if (run->ops && run->ops->lost > 0) {
        text_plural(&w->spare, run->ops->lost, "operation", "operations");
        buf_text(&w->spare, " beyond the limit of the recording are not shown");
        json_str(w->json, NULL, buf_span(&w->spare));
    }
    buf_clear(&w->spare);
    if (run->n_merged > 0)
        json_text(w->json, NULL,
                  "calls beyond the first 64 of a module are merged, and not shown");
    json_array_end(w->json);
}

/* ---- the document ---- */

static void put_words(struct timeline_writing *w)
{
    json_column(w->json, "kinds");
    for (int i = 0; i <= TIMELINE_OP; i++)
        json_text(w->json, NULL, timeline_kind_name((enum timeline_kind)i));
    json_array_end(w->json);
    json_column(w->json, "phase_names");
    for (int i = 0; i < TIMELINE_PHASES; i++)
        json_text(w->json, NULL, timeline_phase_name((enum timeline_phase)i));
    json_array_end(w->json);
    json_column(w->json, "families");
    for (int i = 0; i < FAMILY_COUNT; i++)
        json_text(w->json, NULL, family_name((enum family)i));
    json_array_end(w->json);
}

static void put_head(struct timeline_writing *w)
{
    const struct timeline *t = &w->timeline;

    json_u64(w->json, "torchoscope", 1);
    json_text(w->json, "kind", "timeline");
    json_u64(w->json, "pass", t->pass);
    json_u64(w->json, "passes", t->passes);
    json_u64(w->json, "step", w->run->calls[t->call].step);
    json_u64(w->json, "first_op", t->first_op);
    json_u64(w->json, "ns", t->ns);
    run_time(&w->spare, t->ns);
    json_str(w->json, "text", buf_span(&w->spare));
    buf_clear(&w->spare);
}

static void put_texts(struct timeline_writing *w)
{
    json_column(w->json, "texts");
    for (uint32_t i = 0; i < w->texts.n; i++)
        json_str(w->json, NULL, intern_str(&w->texts, i));
    json_array_end(w->json);
}

static int write_timeline(struct timeline_writing *w)
{
    json_object(w->json, NULL);
    put_head(w);
    put_why(w);
    timeline_writing_sums(w);
    put_words(w);
    put_boxes(w);
    if (timeline_writing_memory(w) < 0 || timeline_writing_modules(w) < 0)
        return -1;
    put_texts(w);
    json_object_end(w->json);
    return w->arena.spent ? arena_err(&w->arena, "the timeline", w->err) : 0;
}

static int prepare(struct timeline_writing *w, uint32_t pass, struct work *work)
{
    if (!w->run)
        return err_set(w->err, ERR_UNSUPPORTED,
                       "%s: this is not a recording, so it has no times; "
                       "torchoscope.record() makes one",
                       w->session->model->path);
    if (show_init(&w->show, w->session, &w->arena, w->err) < 0 ||
        timeline_of(&w->timeline, w->run, pass, &w->arena, work, w->err) < 0)
        return -1;
    w->list = arena_array(&w->arena, (size_t)w->timeline.n + 1, sizeof *w->list);
    if (!w->list || intern_init(&w->texts, &w->arena) < 0)
        return arena_err(&w->arena, "the timeline", w->err);
    return 0;
}

int export_timeline_json(struct json *json, const struct session *session,
                         uint32_t pass, struct work *work, struct err *err)
{
    struct timeline_writing w = {
        .json = json, .session = session, .run = session->run, .err = err};
    int status;

    arena_init(&w.arena, 0);
    status = prepare(&w, pass, work);
    if (status == 0)
        status = write_timeline(&w);
    buf_release(&w.spare);
    arena_release(&w.arena);
    return status;
}
