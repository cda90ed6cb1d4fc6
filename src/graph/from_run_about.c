/* The title of a recording's diagram: FLOPs, and what is missing. */
#include "graph/from_in.h"

#include "study/op_use.h"
#include "text/number.h"

/* "8.2G FLOPs by 54 of 175 ops, all matrix work" */
static void flops_fact(struct buf *to, const struct from *from)
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

/* Modules below the drawn one that no pass called; those without a forward do not
 * count. */
static uint32_t count_not_called(const struct from *from)
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

static void set_note(struct from *from)
{
    const struct run_call *call = &from->run->calls[from->call];
    uint32_t missing = count_not_called(from);
    struct buf text = BUF_INIT;

    if (!from->graph.exact)
        buf_text(&text,
                 "Lines show only which call took what another returned, so some "
                 "may be missing: this recording has no operations. Record with "
                 "record(model, ops=True) or trace(model, ...).");
    if (call->flags & RUN_RAISED) {
        from_sentence(&text);
        buf_text(&text, "This pass raised an exception: the picture ends there.");
    }
    if (from->run->ops && from->run->ops->lost > 0) {
        from_sentence(&text);
        text_plural(&text, from->run->ops->lost, "operation ran", "operations ran");
        buf_text(&text, " beyond the limit of the recording.");
    }
    from_note_left_out(&text, from);
    if (missing > 0) {
        from_sentence(&text);
        text_plural(&text, missing, "module was", "modules were");
        buf_text(&text, " not called.");
    }
    from->about->note = parts_text(from->parts, buf_span(&text));
    buf_release(&text);
}

int from_run_about(struct from *from)
{
    struct str name = from->run->name ? str_of(from->run->name) : STR("");
    struct buf flops = BUF_INIT;
    int status;

    flops_fact(&flops, from);
    status =
        from_about(from, from->run->calls[from->call].place, name, buf_span(&flops));
    buf_release(&flops);
    if (status == 0)
        set_note(from);
    return status;
}
