#include "study/op_use.h"

#include <stdlib.h>

#include "base/map.h"
#include "run/op_table.h"

/* ---- sums ---- */

void op_sum_add(struct op_sum *sum, const struct op_sum *more)
{
    sum->count += more->count;
    sum->ns += more->ns;
    sum->new_bytes += more->new_bytes;
    sum->flops += more->flops;
    sum->unknown += more->unknown;
    sum->matrix += more->matrix;
    sum->matrix_unknown += more->matrix_unknown;
}

double op_sum_coverage(const struct op_sum *sum)
{
    if (sum->matrix == 0)
        return 1;
    return (double)(sum->matrix - sum->matrix_unknown) / (double)sum->matrix;
}

static struct op_sum sum_of(const struct run_ops *ops, const struct run_op_total *total)
{
    bool matrix = op_family_is_matrix(ops->kinds[total->kind].family);

    return (struct op_sum){.count = total->count,
                           .ns = total->ns,
                           .new_bytes = total->new_bytes,
                           .flops = total->flops,
                           .unknown = total->unknown,
                           .matrix = matrix ? total->count : 0,
                           .matrix_unknown = matrix ? total->unknown : 0};
}

void op_sum_op(struct op_sum *sum, const struct run *run, const struct run_op *op)
{
    bool known = op->flops != OP_NO_FLOPS;
    struct run_op_total total = {.kind = op->kind,
                                 .count = 1,
                                 .ns = op->ns,
                                 .new_bytes = op->new_bytes,
                                 .flops = known ? (uint64_t)op->flops : 0,
                                 .unknown = !known};
    struct op_sum one = sum_of(run->ops, &total);

    op_sum_add(sum, &one);
}

/* Is an operation inside the module at `place`? NO_PLACE: all are. */
static bool is_at(const struct run *run, const struct run_op_total *total,
                  uint32_t place)
{
    return place == NO_PLACE || (total->place != NO_PLACE && total->place >= place &&
                                 total->place < run->model->end[place]);
}

void op_use_phases(const struct run *run, struct op_sum ret_sums[OP_PHASES])
{
    op_use_phases_at(run, NO_PLACE, ret_sums);
}

void op_use_phases_at(const struct run *run, uint32_t place,
                      struct op_sum ret_sums[OP_PHASES])
{
    const struct run_ops *ops = run->ops;

    for (int phase = 0; phase < OP_PHASES; phase++)
        ret_sums[phase] = (struct op_sum){0};
    for (uint32_t i = 0; i < ops->n_totals; i++) {
        struct op_sum sum = sum_of(ops, &ops->totals[i]);

        if (is_at(run, &ops->totals[i], place))
            op_sum_add(&ret_sums[ops->totals[i].phase], &sum);
    }
}

/* Is call `inner` the call `outer`, or inside it? Calls come after their parents. */
static bool is_inside(const struct run *run, uint32_t inner, uint32_t outer)
{
    while (inner != RUN_NONE && inner > outer)
        inner = run->calls[inner].parent;
    return inner == outer;
}

void op_use_call(const struct run *run, uint32_t call,
                 struct op_sum ret_sums[OP_PHASES])
{
    const struct run_ops *ops = run->ops;

    for (int phase = 0; phase < OP_PHASES; phase++)
        ret_sums[phase] = (struct op_sum){0};
    for (uint32_t i = 0; i < ops->n_ops; i++) {
        const struct run_op *op = &ops->ops[i];

        if (op->call != RUN_NONE && is_inside(run, op->call, call))
            op_sum_op(&ret_sums[op->phase], run, op);
    }
}

struct op_sum *op_use_below(const struct run *run, unsigned phases, struct arena *arena,
                            struct err *err)
{
    const struct run_ops *ops = run->ops;
    const struct model *model = run->model;
    struct op_sum *sums = arena_array(arena, (size_t)model->n_places + 1, sizeof *sums);

    if (!sums) {
        arena_err(arena, "the sums of operations", err);
        return NULL;
    }
    for (uint32_t i = 0; i < ops->n_totals; i++) {
        const struct run_op_total *total = &ops->totals[i];
        struct op_sum sum = sum_of(ops, total);

        if (total->place != NO_PLACE && phases & 1u << total->phase)
            op_sum_add(&sums[total->place], &sum);
    }
    /* A place comes after its parent, so each sum is complete when it is added. */
    for (uint32_t place = model->n_places; place-- > 1;)
        op_sum_add(&sums[model->parent[place]], &sums[place]);
    return sums;
}

/* ---- lists ---- */

static uint64_t key_of(const struct run *run, const struct run_op_total *total,
                       enum op_use_by by)
{
    const struct run_op_kind *kind = &run->ops->kinds[total->kind];

    switch (by) {
    case OP_USE_BY_NAME:
        return kind->name;
    case OP_USE_BY_OVERLOAD:
        return (uint64_t)kind->name << 32 | kind->overload;
    case OP_USE_BY_MODULE:
        return total->place;
    case OP_USE_BY_LINE:
        break;
    }
    return (uint64_t)total->place << 32 | total->line;
}

static int add_total(struct op_use_list *list, struct map *map, const struct run *run,
                     const struct run_op_total *total, uint64_t key)
{
    struct op_sum sum = sum_of(run->ops, total);
    struct op_use *use;
    uint32_t row;

    if (!map_find(map, key, &row)) {
        row = list->n;
        if (map_put(map, key, row) < 0)
            return -1;
        list->at[list->n++].first = RUN_NONE;
    }
    use = &list->at[row];
    if (use->sum.count == 0 || total->first < use->first) {
        use->kind = total->kind;
        use->name = run_string(run, run->ops->kinds[total->kind].name);
        use->overload = run_string(run, run->ops->kinds[total->kind].overload);
        use->place = total->place;
        use->line = total->line;
        use->first = total->first;
    }
    op_sum_add(&use->sum, &sum);
    op_sum_add(&list->sum, &sum);
    return 0;
}

int op_use_of(struct op_use_list *ret_list, const struct run *run, enum op_use_by by,
              unsigned phases, struct arena *arena, struct err *err)
{
    return op_use_at(ret_list, run, NO_PLACE, by, phases, arena, err);
}

int op_use_at(struct op_use_list *ret_list, const struct run *run, uint32_t place,
              enum op_use_by by, unsigned phases, struct arena *arena, struct err *err)
{
    const struct run_ops *ops = run->ops;
    struct op_use_list list = {0};
    struct map map;

    map_init(&map, arena);
    list.at = arena_array(arena, (size_t)ops->n_totals + 1, sizeof *list.at);
    if (!list.at)
        return arena_err(arena, "the list of operations", err);
    for (uint32_t i = 0; i < ops->n_totals; i++) {
        const struct run_op_total *total = &ops->totals[i];

        if (phases & 1u << total->phase && is_at(run, total, place) &&
            add_total(&list, &map, run, total, key_of(run, total, by)) < 0)
            return arena_err(arena, "the list of operations", err);
    }
    op_use_sort(&list, OP_USE_TIME);
    *ret_list = list;
    return 0;
}

/* ---- order ---- */

const char *op_use_order_name(enum op_use_order order)
{
    static const char *const names[OP_USE_ORDERS] = {"time",   "count", "flops",
                                                     "memory", "name",  "first"};

    return order < OP_USE_ORDERS ? names[order] : "";
}

static int larger_first(uint64_t a, uint64_t b)
{
    return a > b ? -1 : a < b;
}

/* Ties are broken by the order of execution, so that all views show the same order. */
static int by_time(const struct op_use *x, const struct op_use *y)
{
    int order = larger_first(x->sum.ns, y->sum.ns);

    if (order == 0)
        order = larger_first(y->first, x->first);
    if (order == 0)
        order = larger_first(y->kind, x->kind);
    return order ? order : larger_first(y->place, x->place);
}

static int compare_keys(const void *a, const void *b)
{
    const struct op_use *x = a, *y = b;
    int order = larger_first(x->key, y->key);

    return order ? order : by_time(x, y);
}

static int compare_names(const void *a, const void *b)
{
    const struct op_use *x = a, *y = b;
    int order = str_cmp(x->name, y->name);

    if (order == 0)
        order = str_cmp(x->overload, y->overload);
    return order ? order : by_time(x, y);
}

static uint64_t sort_key(const struct op_use *use, enum op_use_order order)
{
    switch (order) {
    case OP_USE_COUNT:
        return use->sum.count;
    case OP_USE_FLOPS:
        return use->sum.flops;
    case OP_USE_MEMORY:
        return use->sum.new_bytes;
    case OP_USE_FIRST:
        return UINT64_MAX - use->first;
    case OP_USE_TIME:
    case OP_USE_NAME:
    case OP_USE_ORDERS:
        break;
    }
    return use->sum.ns;
}

void op_use_sort(struct op_use_list *list, enum op_use_order order)
{
    for (uint32_t i = 0; i < list->n; i++)
        list->at[i].key = sort_key(&list->at[i], order);
    if (list->n == 0)
        return; /* qsort() must not be given NULL */
    qsort(list->at, list->n, sizeof *list->at,
          order == OP_USE_NAME ? compare_names : compare_keys);
}
