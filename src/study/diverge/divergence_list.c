/* Lists the results to compare, in the order of execution. */
#include <stdlib.h>
#include <string.h>

#include "run/op_table.h"
#include "study/diverge/divergence_in.h"

/* The order of results is that of the left run. Gradients of modules have no time: they
 * come after the operations of their backward, the last module first. */
enum result_rank {
    RANK_FORWARD,
    RANK_BACKWARD,
    RANK_GRADIENT,
    RANK_PARAMETER,
    RANK_OPTIMIZER
};

struct ordered {
    uint32_t step;
    uint32_t rank;
    uint64_t position, tie;
    struct divergence_result result;
};

struct result_list {
    struct diverging *d;
    struct ordered *at;
    uint32_t n, room;
    uint64_t *begin, *end; /* by left call: its position */
    bool *read;            /* by left value of operations: a forward one reads it */
    bool spent;
};

/* ---- the order of calls ---- */

struct call_end {
    uint64_t end_ns, start_ns;
    uint32_t call;
};

static int by_end(const void *a, const void *b)
{
    const struct call_end *x = a, *y = b;

    if (x->end_ns != y->end_ns)
        return x->end_ns < y->end_ns ? -1 : 1;
    if (x->start_ns != y->start_ns) /* the inner call ends first */
        return x->start_ns > y->start_ns ? -1 : 1;
    return x->call > y->call ? -1 : 1;
}

/* Operation i is at position 2i + 2. A call ends after its last operation, and begins
 * before the first. */
static void place_among_ops(struct result_list *list, const struct call_end *ends)
{
    const struct run *run = list->d->run[0];
    uint64_t most = 1;

    for (uint32_t i = 0; i < run->n_calls; i++)
        list->begin[i] = UINT64_MAX;
    for (uint32_t i = 0; i < run->ops->n_ops; i++) {
        const struct run_op *op = &run->ops->ops[i];

        if (op->phase != OP_FORWARD || op->call >= run->n_calls)
            continue;
        list->end[op->call] = 2ull * i + 3;
        if (list->begin[op->call] == UINT64_MAX)
            list->begin[op->call] = 2ull * i + 1;
    }
    for (uint32_t i = run->n_calls; i-- > 0;) { /* children come after their parent */
        uint32_t parent = run->calls[i].parent;

        if (parent == RUN_NONE)
            continue;
        if (list->end[i] > list->end[parent])
            list->end[parent] = list->end[i];
        if (list->begin[i] < list->begin[parent])
            list->begin[parent] = list->begin[i];
    }
    for (uint32_t i = 0; i < run->n_calls; i++) {
        uint64_t *end = &list->end[ends[i].call];

        if (list->begin[ends[i].call] == UINT64_MAX)
            list->begin[ends[i].call] = most;
        if (*end < most)
            *end = most;
        most = *end;
    }
}

static int place_calls(struct result_list *list)
{
    const struct run *run = list->d->run[0];
    struct arena *scratch = &list->d->scratch;
    size_t n = (size_t)run->n_calls + 1;
    struct call_end *ends = arena_array(scratch, n, sizeof *ends);

    list->begin = arena_array(scratch, n, sizeof *list->begin);
    list->end = arena_array(scratch, n, sizeof *list->end);
    if (!ends || !list->begin || !list->end)
        return -1;
    for (uint32_t i = 0; i < run->n_calls; i++) {
        const struct run_call *call = &run->calls[i];

        ends[i] = (struct call_end){call->end_ns, call->start_ns, i};
        list->begin[i] = call->start_ns;
        list->end[i] = call->end_ns;
    }
    qsort(ends, run->n_calls, sizeof *ends, by_end);
    if (run->ops) {
        memset(list->end, 0, n * sizeof *list->end);
        place_among_ops(list, ends);
    }
    return 0;
}

/* ---- what is compared ---- */

static void append(struct result_list *list, const struct ordered *item)
{
    const struct divergence *divergence = list->d->divergence;
    const struct divergence_value *value = item->result.value;

    if (!diverging_measured(divergence, 0, value[0]) ||
        !diverging_measured(divergence, 1, value[1])) {
        list->d->divergence->unmeasured++;
        return;
    }
    if (arena_room(&list->d->scratch, &list->at, list->n, &list->room,
                   sizeof *list->at) < 0)
        list->spent = true;
    else
        list->at[list->n++] = *item;
}

static bool is_random_call(const struct run *run, const struct run_call *call)
{
    struct str class = class_short(place_class(run->model, call->place));

    return call->flags & RUN_TRAINING && str_find(class, STR("Dropout")) >= 0;
}

/* The io of the right call at the same path, or else at the same position. */
static uint32_t right_io(const struct run *run, const struct run_call *call,
                         enum run_io_kind kind, struct str path, uint32_t nth)
{
    uint32_t there = RUN_NONE, n = 0;

    for (uint32_t i = call->ios; i < call->ios + call->n_ios; i++) {
        if (run->ios[i].kind != kind || run->ios[i].value == RUN_NONE)
            continue;
        if (str_eq(run_string(run, run->ios[i].path), path))
            return i;
        if (n++ == nth)
            there = i;
    }
    return there;
}

static struct ordered call_item(const struct result_list *list,
                                enum divergence_what what, uint32_t left,
                                uint32_t right)
{
    const struct run *run = list->d->run[0];
    const struct run_call *call = &run->calls[left];
    struct ordered item = {.step = call->step, .tie = UINT32_MAX - left};

    item.result = (struct divergence_result){
        .what = (uint8_t)what,
        .phase = what == DIVERGENCE_GRADIENT ? OP_BACKWARD : OP_FORWARD,
        .random = is_random_call(run, call),
        .at = {left, right},
        .place = {call->place, list->d->run[1]->calls[right].place},
        .step = call->step,
    };
    item.position = what == DIVERGENCE_INPUT ? list->begin[left] : list->end[left];
    if (what == DIVERGENCE_GRADIENT) { /* inside a module, before that of the module */
        item.rank = RANK_GRADIENT;
        item.position = UINT64_MAX - list->begin[left];
    }
    return item;
}

/* The values of one kind of a pair of calls. */
static void list_ios(struct result_list *list, enum divergence_what what,
                     enum run_io_kind kind, uint32_t left, uint32_t right)
{
    const struct run *const *run = (const struct run *const *)list->d->run;
    const struct run_call *a = &run[0]->calls[left], *b = &run[1]->calls[right];
    struct ordered item = call_item(list, what, left, right);
    uint32_t nth = 0;

    for (uint32_t i = a->ios; i < a->ios + a->n_ios; i++) {
        const struct run_io *io = &run[0]->ios[i];
        uint32_t other;

        if (io->kind != kind || io->value == RUN_NONE)
            continue;
        other = right_io(run[1], b, kind, run_string(run[0], io->path), nth++);
        if (other == RUN_NONE || io->flags & RUN_IO_SAME)
            continue;
        item.result.path[0] = io->path;
        item.result.path[1] = run[1]->ios[other].path;
        item.result.value[0] = (struct divergence_value){false, io->value};
        item.result.value[1] =
            (struct divergence_value){false, run[1]->ios[other].value};
        append(list, &item);
    }
}

static void list_calls(struct result_list *list)
{
    const struct divergence *divergence = list->d->divergence;

    for (uint32_t i = 0; i < list->d->run[0]->n_calls; i++) {
        uint32_t right = divergence->call_match[0][i];

        if (right == RUN_NONE)
            continue;
        if (list->d->run[0]->calls[i].parent == RUN_NONE)
            list_ios(list, DIVERGENCE_INPUT, RUN_IN, i, right);
        list_ios(list, DIVERGENCE_CALL, RUN_OUT, i, right);
        list_ios(list, DIVERGENCE_GRADIENT, RUN_GRAD_IN, i, right);
    }
}

/* One operation matches several of the other side: it does not read what the last of
 * them reads. Its module tells more. */
static bool stands_for_several(const struct result_list *list, uint32_t left,
                               uint32_t right)
{
    const struct divergence *divergence = list->d->divergence;
    const struct run *run = list->d->run[0];
    const struct run_op_io *io;

    if (diverging_same_name(divergence, left, right))
        return false;
    for (uint32_t at = 0; (io = op_next(run, &run->ops->ops[left], OP_IN, &at));)
        if (divergence->value_match[0][io->value] == RUN_NONE)
            return true;
    return false;
}

/* A result that a norm or an attention saves for its backward, such as the mean: it is
 * near zero by nature, and no other operation reads it. */
static bool is_for_backward(const struct result_list *list, const struct run_op *op,
                            const struct run_op_io *result)
{
    const struct run *run = list->d->run[0];
    uint8_t family = run->ops->kinds[op->kind].family;

    return result->arg > 0 && op->phase == OP_FORWARD &&
           (family == OP_FAMILY_NORM || family == OP_FAMILY_ATTENTION) &&
           list->d->divergence->module_value[0][result->value] == RUN_NONE &&
           !list->read[result->value];
}

static void list_results(struct result_list *list, uint32_t left, uint32_t right,
                         enum op_io_kind kind)
{
    static const enum result_rank ranks[OP_PHASES] = {RANK_FORWARD, RANK_BACKWARD,
                                                      RANK_FORWARD, RANK_OPTIMIZER};
    const struct run *const *run = (const struct run *const *)list->d->run;
    const struct run_op *a = &run[0]->ops->ops[left], *b = &run[1]->ops->ops[right];
    const struct run_op_io *x, *y;
    uint32_t at[2] = {0, 0};
    bool several = stands_for_several(list, left, right);
    struct ordered item = {
        .step = a->step, .rank = ranks[a->phase], .position = 2ull * left + 2};

    while ((x = op_next(run[0], a, kind, &at[0])) &&
           (y = op_next(run[1], b, kind, &at[1]))) {
        if ((several && list->d->divergence->module_value[0][x->value] != RUN_NONE) ||
            is_for_backward(list, a, x))
            continue;
        item.tie = x->arg;
        item.result = (struct divergence_result){
            .what = DIVERGENCE_OP,
            .phase = a->phase,
            .random = run[0]->ops->kinds[a->kind].flags & OP_RANDOM ||
                      (a->call != RUN_NONE &&
                       is_random_call(run[0], &run[0]->calls[a->call])),
            .at = {left, right},
            .place = {a->place, b->place},
            .output = x->arg,
            .step = a->step,
            .value = {{true, x->value}, {true, y->value}},
        };
        append(list, &item);
    }
}

static int find_read(struct result_list *list)
{
    const struct run *run = list->d->run[0];
    const struct run_op_io *io;

    list->read = arena_array(&list->d->scratch, (size_t)run->ops->n_values + 1,
                             sizeof *list->read);
    if (!list->read)
        return -1;
    for (uint32_t i = 0; i < run->ops->n_ops; i++)
        for (uint32_t at = 0; run->ops->ops[i].phase == OP_FORWARD &&
                              (io = op_next(run, &run->ops->ops[i], OP_IN, &at));)
            list->read[io->value] = true;
    return 0;
}

static void list_ops(struct result_list *list)
{
    const struct run_ops *ops = list->d->run[0]->ops;

    if (find_read(list) < 0) {
        list->spent = true;
        return;
    }
    for (uint32_t i = 0; i < ops->n_ops; i++) {
        uint32_t right = list->d->divergence->op_match[0][i];
        uint8_t flags = ops->kinds[ops->ops[i].kind].flags;

        /* A view computes nothing; empty() has no content. */
        if (right == RUN_NONE || ops->ops[i].phase == OP_RECOMPUTE ||
            flags & (OP_VIEW | OP_MAKES))
            continue;
        list_results(list, i, right, OP_OUT);
        list_results(list, i, right, OP_WRITTEN);
    }
}

/* ---- parameters ---- */

/* Values before a step are inputs of modules; gradients are results. */
static int index_parameters(struct diverging *d, struct map gradients[2])
{
    for (int side = 0; side < 2; side++) {
        map_init(&d->divergence->parameters[side], d->arena);
        map_init(&gradients[side], &d->scratch);
        for (uint32_t i = 0; i < d->run[side]->n_params; i++) {
            const struct run_param *param = &d->run[side]->params[i];
            struct map *map =
                param->gradient ? &gradients[side] : &d->divergence->parameters[side];

            if (param->value != RUN_NONE &&
                map_put(map, (uint64_t)param->tensor << 32 | param->step, i) < 0)
                return -1;
        }
    }
    return 0;
}

static void list_gradients(struct result_list *list, const struct map gradients[2])
{
    const struct diff *diff = list->d->diff;
    const struct run *const *run = (const struct run *const *)list->d->run;
    struct map right; /* by left tensor: the pair */

    map_init(&right, &list->d->scratch);
    for (uint32_t i = 0; i < diff->n_pairs; i++)
        if (diff->pairs[i].left != NO_PLACE && diff->pairs[i].right != NO_PLACE &&
            map_put(&right, run[0]->model->object[diff->pairs[i].left], i) < 0)
            list->spent = true;
    for (uint32_t i = 0; i < run[0]->n_params; i++) {
        const struct run_param *param = &run[0]->params[i];
        const struct diff_pair *pair;
        struct ordered item;
        uint32_t at, other;

        if (!param->gradient || param->value == RUN_NONE ||
            !map_find(&right, param->tensor, &at))
            continue;
        pair = &diff->pairs[at];
        if (!map_find(&gradients[1],
                      (uint64_t)run[1]->model->object[pair->right] << 32 | param->step,
                      &other))
            continue;
        item = (struct ordered){
            .step = param->step, .rank = RANK_PARAMETER, .position = UINT32_MAX - i};
        item.result = (struct divergence_result){
            .what = DIVERGENCE_PARAMETER,
            .phase = OP_BACKWARD,
            .at = {i, other},
            .place = {pair->left, pair->right},
            .step = param->step,
            .value = {{false, param->value}, {false, run[1]->params[other].value}},
        };
        append(list, &item);
    }
}

/* ---- the list ---- */

static int by_order(const void *a, const void *b)
{
    const struct ordered *x = a, *y = b;

    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->position != y->position)
        return x->position < y->position ? -1 : 1;
    if (x->tie != y->tie)
        return x->tie < y->tie ? -1 : 1;
    return x->result.value[0].at < y->result.value[0].at ? -1 : 1;
}

/* One number for a value, whether modules or operations name it. */
static uint64_t identity(const struct divergence *divergence, int side,
                         struct divergence_value value)
{
    const struct run *run = divergence->run[side];

    if (!value.of_op && run->values[value.at].op_value != RUN_NONE && run->ops)
        value = (struct divergence_value){true, run->values[value.at].op_value};
    return (uint64_t)value.at << 1 | value.of_op;
}

/* Keeps the first of those with the same values: a container returns what its last
 * module returned. */
static int take_once(struct result_list *list)
{
    struct divergence *divergence = list->d->divergence;
    struct map seen;

    map_init(&seen, &list->d->scratch);
    divergence->results =
        arena_array(list->d->arena, (size_t)list->n + 1, sizeof *divergence->results);
    if (!divergence->results)
        return -1;
    for (uint32_t i = 0; i < list->n; i++) {
        const struct divergence_result *result = &list->at[i].result;
        uint64_t key = hash_mix(hash_u64(identity(divergence, 0, result->value[0])),
                                identity(divergence, 1, result->value[1]));
        uint32_t before;

        if (map_find(&seen, key, &before))
            continue;
        if (map_put(&seen, key, i) < 0)
            return -1;
        divergence->results[divergence->n_results++] = *result;
    }
    return 0;
}

int diverging_list(struct diverging *d)
{
    struct result_list list = {.d = d};
    struct map gradients[2];

    if (index_parameters(d, gradients) < 0 || place_calls(&list) < 0)
        return -1;
    list_calls(&list);
    if (d->divergence->op_match[0])
        list_ops(&list);
    list_gradients(&list, gradients);
    if (list.spent)
        return -1;
    if (list.n > 1)
        qsort(list.at, list.n, sizeof *list.at, by_order);
    return take_once(&list);
}
