/* The inputs of a result. */
#include <string.h>

#include "study/diverge/divergence_in.h"

struct gathering {
    const struct divergence *divergence;
    const struct divergence_result *result;
    struct divergence_input *to;
    uint32_t n;
    struct arena *arena;
};

static bool is_parameter(const struct run *run, struct divergence_value value)
{
    if (value.of_op)
        return run->ops->values[value.at].tensor != RUN_NONE;
    return run->values[value.at].flags & RUN_PARAMETER;
}

static void add(struct gathering *g, struct str name, struct divergence_value left,
                struct divergence_value right)
{
    if (g->n < DIVERGING_INPUTS)
        g->to[g->n++] = (struct divergence_input){
            .name = name,
            .parameter = is_parameter(g->divergence->run[0], left),
            .value = {left, right}};
}

/* ---- of operations ---- */

static struct str argument_name(struct gathering *g, const struct run_op *op,
                                const struct run_op_io *io)
{
    const struct run *run = g->divergence->run[0];
    const struct run_op_kind *kind = &run->ops->kinds[op->kind];
    struct str name = STR("");
    const char *text;

    if (io->arg < kind->n_args)
        name = run_string(run, run->ops->args[kind->args + io->arg]);
    if (io->item == OP_NO_ITEM)
        return name;
    text =
        arena_printf(g->arena, "%.*s[%u]", (int)name.len, name.at, (unsigned)io->item);
    return text ? str_of(text) : name;
}

/* The input of the right operation that matches one of the left: the same value, or the
 * same argument, or the same position. */
static const struct run_op_io *right_input(const struct gathering *g,
                                           const struct run_op *op,
                                           const struct run_op_io *left, uint32_t nth,
                                           bool same_name)
{
    const struct run *run = g->divergence->run[1];
    uint32_t match = g->divergence->value_match[0][left->value], n = 0;
    const struct run_op_io *io, *same = NULL, *there = NULL;

    for (uint32_t at = 0; (io = op_next(run, op, OP_IN, &at)); n++) {
        if (io->value == match)
            return io;
        if (io->arg == left->arg && io->item == left->item)
            same = io;
        if (n == nth)
            there = io;
    }
    /* Different operations read different things. */
    if (match != RUN_NONE || !same_name)
        return NULL;
    return same ? same : there;
}

static void op_inputs(struct gathering *g)
{
    const struct run *const *run = g->divergence->run;
    const struct run_op *left = &run[0]->ops->ops[g->result->at[0]];
    const struct run_op *right = &run[1]->ops->ops[g->result->at[1]];
    const struct run_op_io *io;
    bool same_name =
        diverging_same_name(g->divergence, g->result->at[0], g->result->at[1]);
    uint32_t nth = 0;

    for (uint32_t at = 0; (io = op_next(run[0], left, OP_IN, &at)); nth++) {
        const struct run_op_io *other = right_input(g, right, io, nth, same_name);

        if (other)
            add(g, argument_name(g, left, io),
                (struct divergence_value){true, io->value},
                (struct divergence_value){true, other->value});
    }
}

/* ---- of modules ---- */

static const struct run_io *nth_io(const struct run *run, const struct run_call *call,
                                   enum run_io_kind kind, uint32_t nth)
{
    for (uint32_t i = call->ios; i < call->ios + call->n_ios; i++)
        if (run->ios[i].kind == kind && run->ios[i].value != RUN_NONE && nth-- == 0)
            return &run->ios[i];
    return NULL;
}

static const struct run_io *io_at(const struct run *run, const struct run_call *call,
                                  enum run_io_kind kind, struct str path)
{
    for (uint32_t i = call->ios; i < call->ios + call->n_ios; i++)
        if (run->ios[i].kind == kind && run->ios[i].value != RUN_NONE &&
            str_eq(run_string(run, run->ios[i].path), path))
            return &run->ios[i];
    return NULL;
}

static void call_ios(struct gathering *g, const uint32_t calls[2],
                     enum run_io_kind kind, const char *prefix)
{
    const struct run *const *run = g->divergence->run;
    const struct run_call *left = &run[0]->calls[calls[0]];
    const struct run_call *right = &run[1]->calls[calls[1]];
    const struct run_io *io, *other;

    for (uint32_t nth = 0; (io = nth_io(run[0], left, kind, nth)); nth++) {
        struct str path = run_string(run[0], io->path);
        const char *name = arena_printf(g->arena, "%s%.*s", prefix, (int)path.len,
                                        path.len ? path.at : "");

        other = io_at(run[1], right, kind, path);
        if (!other)
            other = nth_io(run[1], right, kind, nth);
        if (other && !(io->flags & RUN_IO_SAME))
            add(g, name ? str_of(name) : path,
                (struct divergence_value){false, io->value},
                (struct divergence_value){false, other->value});
    }
}

/* The index in run->params of a parameter of a module, by its name; or RUN_NONE. */
static uint32_t parameter_of(const struct gathering *g, int side, uint32_t place,
                             struct str name, uint32_t step)
{
    const struct model *model = g->divergence->run[side]->model;
    uint32_t child = place_find_below(model, place, name), at;

    if (child == NO_PLACE || model->kind[child] != PLACE_TENSOR ||
        !map_find(&g->divergence->parameters[side],
                  (uint64_t)model->object[child] << 32 | step, &at))
        return RUN_NONE;
    return at;
}

static void call_parameters(struct gathering *g, const uint32_t calls[2])
{
    const struct run *const *run = g->divergence->run;
    const struct run_call *left = &run[0]->calls[calls[0]];
    const struct run_call *right = &run[1]->calls[calls[1]];
    const struct model *model = run[0]->model;

    for (uint32_t child = place_first(model, left->place); child != NO_PLACE;
         child = place_next(model, child)) {
        struct str name = place_name(model, child);
        uint32_t a, b;

        if (model->kind[child] != PLACE_TENSOR)
            continue;
        a = parameter_of(g, 0, left->place, name, left->step);
        b = parameter_of(g, 1, right->place, name, right->step);
        if (a == RUN_NONE || b == RUN_NONE || g->n == DIVERGING_INPUTS)
            continue;
        add(g, name, (struct divergence_value){false, run[0]->params[a].value},
            (struct divergence_value){false, run[1]->params[b].value});
        g->to[g->n - 1].parameter = true;
    }
}

/* The gradient of a parameter depends on the arguments of its module and on the
 * gradient of its result: those of its first call in that step. */
static bool owner_calls(const struct gathering *g, uint32_t to[2])
{
    const struct run *run = g->divergence->run[0];
    uint32_t place = g->result->place[0];
    uint32_t owner = place == NO_PLACE ? NO_PLACE : run->model->parent[place];
    uint32_t call;

    if (owner == NO_PLACE || run->model->kind[owner] != PLACE_MODULE)
        return false;
    call = run_first_call(run, run->model->object[owner]);
    while (call != RUN_NONE && run->calls[call].step != g->result->step)
        call = run_next_call(run, call);
    if (call == RUN_NONE || g->divergence->call_match[0][call] == RUN_NONE)
        return false;
    to[0] = call;
    to[1] = g->divergence->call_match[0][call];
    return true;
}

uint32_t diverging_inputs(const struct divergence *divergence,
                          const struct divergence_result *result,
                          struct divergence_input *to, struct arena *arena)
{
    struct gathering g = {divergence, result, to, 0, arena};
    uint32_t calls[2] = {result->at[0], result->at[1]};

    switch ((enum divergence_what)result->what) {
    case DIVERGENCE_INPUT:
        break;
    case DIVERGENCE_OP:
        op_inputs(&g);
        break;
    case DIVERGENCE_CALL:
        call_ios(&g, calls, RUN_IN, "");
        call_parameters(&g, calls);
        break;
    case DIVERGENCE_PARAMETER:
        if (!owner_calls(&g, calls))
            break;
        /* fall through */
    case DIVERGENCE_GRADIENT:
        call_ios(&g, calls, RUN_GRAD_OUT, "gradient");
        call_ios(&g, calls, RUN_IN, "");
        break;
    }
    return g.n;
}

struct divergence_input *divergence_inputs(const struct divergence *divergence,
                                           uint32_t result, struct arena *arena,
                                           uint32_t *ret_n)
{
    struct divergence_input *to = arena_array(arena, DIVERGING_INPUTS, sizeof *to);

    *ret_n = 0;
    if (!to)
        return NULL;
    *ret_n = diverging_inputs(divergence, &divergence->results[result], to, arena);
    for (uint32_t i = 0; i < *ret_n; i++)
        to[i].by = diverging_compare(NULL, divergence, to[i].value[0], to[i].value[1]);
    return *ret_n > 0 ? to : NULL;
}
