/* The cost of each part of a recording, and its NaN, Inf and exceptions. */
#include "graph/from_in.h"

#include <math.h>

#include "rows/op_words.h"
#include "run/op_table.h"

/* ---- operations ---- */

static void add_to(double *metric, double amount)
{
    *metric = isnan(*metric) ? amount : *metric + amount;
}

/* The part that contains an operation; PART_NONE: not drawn. */
static uint32_t part_of_op(const struct from *from, uint32_t op)
{
    uint32_t call = from->run->ops->ops[op].call;

    if (from->op_part[op] != PART_NONE)
        return from->op_part[op];
    return call < from->run->n_calls && from->inside[call] ? from->group_part[call]
                                                           : PART_NONE;
}

static void add_op(struct from *from, uint32_t number)
{
    const struct run_op *op = &from->run->ops->ops[number];
    uint32_t part = part_of_op(from, number);
    struct diagram_box *box;

    if (op->phase != OP_FORWARD || part == PART_NONE)
        return;
    box = &from->parts->at[part].box;
    box->n_ops++;
    add_to(&box->metric[DIAGRAM_MEMORY], (double)op->new_bytes);
    if (box->kind != DIAGRAM_MODULE)
        add_to(&box->metric[DIAGRAM_TIME], (double)op->ns);
    from->about->flops_of++;
    if (op->flops != OP_NO_FLOPS) {
        add_to(&box->metric[DIAGRAM_FLOPS], (double)op->flops);
        from->about->flops_ops++;
    }
}

/* ---- places ---- */

/* The place below which a module's tensors are found. */
static uint32_t place_of(const struct from *from, const struct run_call *call)
{
    uint32_t first = call->object < from->model->n_objects
                         ? from->model->objects[call->object].place
                         : NO_PLACE;

    return first < from->model->n_places ? first : call->place;
}

/* ---- gradients ---- */

/* By place: the squared norm of the newest gradients of the parameters at and below it;
 * negative: unknown. */
static double *gradient_squares(const struct from *from)
{
    const struct run *run = from->run;
    const struct model *model = from->model;
    struct arena *scratch = from->parts->scratch;
    double *squares =
        arena_array(scratch, (size_t)model->n_places + 1, sizeof *squares);
    double *by_tensor =
        arena_array(scratch, (size_t)model->n_tensors + 1, sizeof *by_tensor);

    if (!squares || !by_tensor)
        return NULL;
    for (uint32_t i = 0; i < model->n_tensors; i++)
        by_tensor[i] = -1;
    for (uint32_t i = 0; i < run->n_params; i++) {
        const struct run_param *param = &run->params[i];
        uint32_t stats = param->gradient && param->value < run->n_values
                             ? run->values[param->value].stats
                             : RUN_NONE;

        if (stats < run->n_stats && stats_measured(&run->stats[stats]) &&
            param->tensor < model->n_tensors)
            by_tensor[param->tensor] = pow(stats_l2(&run->stats[stats]), 2);
    }
    for (uint32_t i = 0; i < model->n_places; i++) {
        squares[i] = -1;
        if (model->kind[i] == PLACE_TENSOR && model->object[i] < model->n_tensors &&
            counts_here(model, i))
            squares[i] = by_tensor[model->object[i]];
    }
    for (uint32_t i = model->n_places; i-- > 1;)
        if (squares[i] >= 0 && model->parent[i] != NO_PLACE) {
            double *up = &squares[model->parent[i]];

            *up = (*up > 0 ? *up : 0) + squares[i];
        }
    return squares;
}

/* ---- alarms ---- */

static bool call_is_finite(const struct run *run, const struct run_call *call)
{
    for (uint32_t i = call->ios; i < call->ios + call->n_ios; i++) {
        const struct run_io *io = &run->ios[i];
        const struct stats *stats;

        if (io->kind != RUN_OUT || io->value >= run->n_values ||
            run->values[io->value].stats >= run->n_stats)
            continue;
        stats = &run->stats[run->values[io->value].stats];
        if (stats->nan + stats->pos_inf + stats->neg_inf > 0)
            return false;
    }
    return true;
}

static void mark_call(const struct from *from, struct diagram_box *box)
{
    const struct activities *all = from->show.activity;
    const struct run_call *call = &from->run->calls[box->call];

    if (call_is_finite(from->run, call))
        return;
    if (all &&
        (all->producing_call == box->call ||
         (!from->inside[all->producing_call < from->run->n_calls ? all->producing_call
                                                                 : from->call] &&
          all->at[call->place].flags & ACTIVITY_PRODUCER)))
        box->flags |= DIAGRAM_MADE;
    else
        box->flags |= DIAGRAM_CARRIES;
}

static void mark_op(const struct from *from, struct diagram_box *box)
{
    const struct run *run = from->run;
    const struct run_op *op = &run->ops->ops[box->op];
    const struct run_op_io *io;
    uint64_t nan, inf;
    bool given = false;

    op_not_finite(run, op, &nan, &inf);
    if (nan + inf == 0)
        return;
    for (uint32_t at = 0; (io = op_next(run, op, OP_IN, &at));) {
        uint32_t stats = run->ops->values[io->value].stats;

        given |= stats < run->n_stats && run->stats[stats].nan +
                                                 run->stats[stats].pos_inf +
                                                 run->stats[stats].neg_inf >
                                             0;
    }
    /* An infinity without NaN is normal: masks contain it. */
    if (!given && nan > 0)
        box->flags |= DIAGRAM_MADE;
    else if (given)
        box->flags |= DIAGRAM_CARRIES;
}

/* ---- all of it ---- */

static void call_metrics(struct from *from, struct diagram_box *box,
                         const double *squares)
{
    const struct run_call *call = &from->run->calls[box->call];
    uint32_t place = place_of(from, call);

    box->metric[DIAGRAM_TIME] = (double)run_inclusive(call);
    if (!from->run->ops)
        box->metric[DIAGRAM_MEMORY] = (double)call->new_bytes;
    from_params(from, box, place);
    if (place < from->model->n_places && squares[place] >= 0)
        box->metric[DIAGRAM_GRADIENT] = sqrt(squares[place]);
    mark_call(from, box);
}

static void add_totals(struct from *from, const double *squares)
{
    const struct run_call *call = &from->run->calls[from->call];
    struct diagram_box root = from->parts->at[PART_ROOT].box;
    uint64_t *total = from->about->total;
    uint32_t place = place_of(from, call);

    root.call = from->call;
    root.flags = 0;
    from_params(from, &root, place);
    total[DIAGRAM_PARAMS] =
        isnan(root.metric[DIAGRAM_PARAMS]) ? 0 : (uint64_t)root.metric[DIAGRAM_PARAMS];
    total[DIAGRAM_TIME] = run_inclusive(call);
    if (!isnan(root.metric[DIAGRAM_MEMORY]))
        total[DIAGRAM_MEMORY] = (uint64_t)root.metric[DIAGRAM_MEMORY];
    if (!isnan(root.metric[DIAGRAM_FLOPS]))
        total[DIAGRAM_FLOPS] = (uint64_t)root.metric[DIAGRAM_FLOPS];
    if (squares[place] >= 0 && squares[place] < 1e36)
        total[DIAGRAM_GRADIENT] = (uint64_t)sqrt(squares[place]);
    from->parts->at[PART_ROOT].box.metric[DIAGRAM_PARAMS] = root.metric[DIAGRAM_PARAMS];
    from->parts->at[PART_ROOT].box.metric[DIAGRAM_TIME] = (double)total[DIAGRAM_TIME];
}

int from_run_costs(struct from *from)
{
    struct parts *parts = from->parts;
    double *squares = gradient_squares(from);

    if (!squares)
        return -1;
    for (uint32_t i = 0; from->run->ops && i < from->run->ops->n_ops; i++)
        add_op(from, i);
    from_add_up(from);
    for (uint32_t i = 1; i < parts->n; i++) {
        struct diagram_box *box = &parts->at[i].box;

        if (box->kind == DIAGRAM_MODULE)
            call_metrics(from, box, squares);
        else if (box->op != RUN_NONE)
            mark_op(from, box);
    }
    add_totals(from, squares);
    return 0;
}
