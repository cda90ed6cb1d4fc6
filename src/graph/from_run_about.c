/* The title of a recording's diagram: its path, facts, and what is missing. */
#include "graph/from_run_in.h"

#include "study/op_use.h"
#include "text/number.h"

static int set_path(struct from_run *from)
{
    const struct model *model = from->model;
    uint32_t place = from->run->calls[from->call].place, n = 0;
    struct str *path;
    struct str name = from->run->name ? str_of(from->run->name) : STR("");

    for (uint32_t p = place; p != NO_PLACE && p != 0; p = model->parent[p])
        n++;
    path = arena_array(from->parts->arena, (size_t)n + 1, sizeof *path);
    if (!path)
        return -1;
    if (name.len == 0)
        name = class_short(place_class(model, 0));
    path[0] = parts_text(from->parts, name.len > 0 ? name : STR("model"));
    from->about->path = path;
    from->about->n_path = n + 1;
    for (uint32_t p = place; p != NO_PLACE && p != 0; p = model->parent[p])
        path[n--] = parts_text(from->parts, place_name(model, p));
    return 0;
}

/* "8.2G FLOPs by 54 of 175 ops, all matrix work" */
static void flops_fact(struct buf *to, const struct from_run *from)
{
    struct op_sum sums[OP_PHASES];

    if (from->about->flops_ops == 0)
        return;
    op_use_call(from->run, from->call, sums);
    buf_text(to, " · ");
    text_flops(to, from->about->total[DIAGRAM_FLOPS]);
    buf_printf(to, " FLOPs by %u of %u ops", from->about->flops_ops,
               from->about->flops_of);
    if (sums[OP_FORWARD].matrix > 0 && sums[OP_FORWARD].matrix_unknown == 0)
        buf_text(to, ", all matrix work");
}

static void calls_fact(struct buf *to, const struct from_run *from)
{
    uint32_t n_calls = 0, n_ops = 0;

    for (uint32_t i = 1; i < from->parts->n; i++) {
        const struct graph_part *part = &from->parts->at[i];

        n_calls += part->box.kind == DIAGRAM_MODULE && part->n_inside == 0;
        n_ops += part->box.kind == DIAGRAM_OP || part->box.kind == DIAGRAM_VIEW;
    }
    buf_text(to, " · ");
    if (n_calls > 0)
        text_plural(to, n_calls, "module call", "module calls");
    if (n_calls > 0 && n_ops > 0)
        buf_text(to, " and ");
    if (n_ops > 0 || n_calls == 0)
        text_plural(to, n_ops, "operation", "operations");
}

static void set_facts(struct from_run *from)
{
    uint32_t place = from->run->calls[from->call].place;
    struct str class_name = class_short(place_class(from->model, place));
    struct buf text = BUF_INIT;

    if (class_name.len > 0 && !str_eq(class_name, from->about->path[0])) {
        buf_str(&text, class_name);
        buf_text(&text, " · ");
    }
    text_count(&text, from->about->total[DIAGRAM_PARAMS]);
    buf_text(&text,
             from->about->total[DIAGRAM_PARAMS] == 1 ? " parameter" : " parameters");
    flops_fact(&text, from);
    calls_fact(&text, from);
    from->about->facts = parts_text(from->parts, buf_span(&text));
    buf_release(&text);
}

static void sentence(struct buf *to)
{
    if (to->len > 0)
        buf_text(to, " ");
}

/* Modules below the drawn one that no pass called; those that have no forward do not
 * count. */
static uint32_t count_not_called(const struct from_run *from)
{
    const struct model *model = from->model;
    const struct activities *all = from->show.activity;
    uint32_t place = from->run->calls[from->call].place, n = 0;

    for (uint32_t p = place + 1; all && p < model->end[place] && p < all->n; p++)
        n += model->kind[p] == PLACE_MODULE && !(model->flags[p] & PLACE_AGAIN) &&
             all->at[p].calls == 0 && !(all->at[p].flags & ACTIVITY_CONTAINER) &&
             model->object[p] < model->n_objects &&
             run_count_calls(from->run, model->object[p]) == 0;
    return n;
}

static void set_note(struct from_run *from)
{
    const struct run_call *call = &from->run->calls[from->call];
    uint32_t missing = count_not_called(from);
    struct buf text = BUF_INIT;

    if (!from->graph.exact)
        buf_text(&text, "Lines show only which call took what another returned: this "
                        "recording has no operations. Record with record(model, "
                        "ops=True) or trace(model, ...).");
    if (call->flags & RUN_RAISED) {
        sentence(&text);
        buf_text(&text, "This pass raised an exception: the picture ends there.");
    }
    if (from->run->ops && from->run->ops->lost > 0) {
        sentence(&text);
        text_plural(&text, from->run->ops->lost, "operation ran", "operations ran");
        buf_text(&text, " beyond the limit of the recording.");
    }
    if (from->n_left_out > 0) {
        sentence(&text);
        buf_text(&text, "Not drawn: ");
        text_plural(&text, from->n_left_out, "result", "results");
        buf_text(&text, " in ");
        buf_str(&text, from->left_out);
        buf_char(&text, '.');
    }
    if (missing > 0) {
        sentence(&text);
        text_plural(&text, missing, "module was", "modules were");
        buf_text(&text, " not called.");
    }
    from->about->note = parts_text(from->parts, buf_span(&text));
    buf_release(&text);
}

int from_run_about(struct from_run *from)
{
    from->about->place = from->run->calls[from->call].place;
    if (set_path(from) < 0)
        return -1;
    tree_link(from->parts);
    set_facts(from);
    set_note(from);
    return 0;
}
