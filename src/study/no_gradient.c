/* One backward scan over the operations of forward. It finds what happens to the
 * gradient of each value (its *fate*): the fate of the results of its readers, or the
 * operation that cut it off. The fate of a parameter is that of its values. No
 * recursion: operations are in the order of execution, so the scan meets all readers of
 * a value before its producer. */
#include "study/no_gradient.h"

#include <string.h>

#include "base/base.h"

/* From bad to good: the fate of a value is the best one of all paths. */
enum fate_rank {
    FATE_NONE,   /* not read */
    FATE_LOOSE,  /* its results are not part of the loss; `op`: the last one */
    FATE_CUT,    /* cut off at `op`, before the loss */
    FATE_INTACT, /* backward reached `op` */
};

struct fate {
    uint8_t rank, why;
    uint32_t op;
};

struct gradient_scan {
    const struct run *run;
    const struct run_ops *ops;
    const struct model *model;
    bool *has;           /* by tensor: it got a gradient */
    bool *caused;        /* by operation: backward reached it */
    bool *leads;         /* by value: the loss depends on it */
    uint8_t *read;       /* by value: how forward read it, enum op_value_flag */
    uint32_t *reader;    /* by value: the first operation that read it without
                            gradient */
    struct fate *fates;  /* by value */
    struct fate *inside; /* by value without gradient, in a region without autograd: its
                            fate if the region's result has one (a custom function) */
    struct fate *of;     /* by tensor */
    bool any_backward, any_gradient, raised, any_region;
};

const char *no_gradient_name(enum no_gradient_why why)
{
    static const char *const names[NO_GRADIENT_WHYS] = {
        "detached",    "not_differentiable", "no_grad", "data",
        "not_in_loss", "not_read",           "intact"};

    return why < NO_GRADIENT_WHYS ? names[why] : "";
}

/* Of equal fates the earliest operation; for FATE_LOOSE the last. */
static struct fate better(struct fate a, struct fate b)
{
    if (a.rank != b.rank)
        return a.rank > b.rank ? a : b;
    return (a.rank == FATE_LOOSE ? a.op > b.op : a.op < b.op) ? a : b;
}

/* ---- what operations did ---- */

static bool is_forward(const struct run_op *op)
{
    return op->phase == OP_FORWARD || op->phase == OP_RECOMPUTE;
}

/* The loss is what ones_like() reads when backward() begins. */
static bool begins_backward(const struct run *run, const struct run_op *op)
{
    return op->phase == OP_BACKWARD && op->cause == RUN_NONE &&
           op->gradient == RUN_NONE && str_is(op_name(run, op), "aten::ones_like");
}

static void scan_backward(struct gradient_scan *scan, const struct run_op *op)
{
    const struct run_op_io *io;

    scan->any_backward = true;
    scan->raised |= op->flags & OP_RAISED;
    if (op->cause < scan->ops->n_ops)
        scan->caused[op->cause] = true;
    if (op->gradient < scan->model->n_tensors)
        scan->has[op->gradient] = scan->any_gradient = true;
    if (begins_backward(scan->run, op))
        for (uint32_t at = 0; (io = op_next(scan->run, op, OP_IN, &at));)
            scan->leads[io->value] = true;
}

static void scan_forward(struct gradient_scan *scan, uint32_t number)
{
    const struct run_op *op = &scan->ops->ops[number];
    const struct run_op_io *io;

    scan->any_region |= scan->ops->kinds[op->kind].flags & OP_REGION;
    if (op_only_shape(scan->run, op))
        return;
    for (uint32_t at = 0; (io = op_next(scan->run, op, OP_IN, &at));) {
        scan->read[io->value] |= io->flags;
        if (io->flags & OP_VALUE_NO_GRAD && scan->reader[io->value] == RUN_NONE)
            scan->reader[io->value] = number;
    }
}

static void scan_ops(struct gradient_scan *scan)
{
    for (uint32_t i = 0; i < scan->ops->n_ops; i++) {
        const struct run_op *op = &scan->ops->ops[i];

        if (op->phase == OP_BACKWARD)
            scan_backward(scan, op);
        else if (is_forward(op))
            scan_forward(scan, i);
    }
    /* Measured gradients may be older than the recording. */
    for (uint32_t i = 0; i < scan->run->n_params && !scan->any_gradient; i++)
        if (scan->run->params[i].gradient)
            scan->has[scan->run->params[i].tensor] = true;
    for (uint32_t i = 0; i < scan->ops->n_storages; i++) {
        const struct run_op_storage *storage = &scan->ops->storages[i];

        if (storage->role == OP_STORAGE_GRADIENT &&
            storage->tensor < scan->model->n_tensors)
            scan->has[storage->tensor] = true;
    }
}

/* ---- fates ---- */

/* Without autograd an operation may write to a parameter: no gradient flows through
 * that. */
static bool updates(const struct gradient_scan *scan, const struct run_op *op,
                    const struct run_op_io *io)
{
    uint32_t storage = scan->ops->values[io->value].storage;

    return io->kind != OP_IN && !(op->flags & OP_GRAD_MODE) &&
           scan->ops->kinds[op->kind].flags & OP_WRITES &&
           storage < scan->ops->n_storages &&
           scan->ops->storages[storage].role == OP_STORAGE_PARAMETER;
}

static bool is_real(const struct gradient_scan *scan, uint32_t value)
{
    const struct run_op_type *type = &scan->ops->types[scan->ops->values[value].type];
    enum dtype_kind kind = dtype_info((enum dtype)type->dtype)->kind;

    return kind == DTYPE_KIND_FLOAT || kind == DTYPE_KIND_COMPLEX;
}

/* A result was read, but without gradient: finds the operation that cut it off. */
static struct fate cut_fate(const struct gradient_scan *scan, uint32_t number,
                            uint32_t value)
{
    const struct run_op *op = &scan->ops->ops[number];
    struct fate fate = {.rank = FATE_CUT, .op = number};

    if (scan->ops->kinds[op->kind].flags & OP_DETACHES) {
        fate.why = NO_GRADIENT_DETACHED;
    } else if (!(op->flags & OP_GRAD_MODE)) {
        if (scan->inside[value].rank != FATE_NONE)
            return scan->inside[value];
        fate.why = NO_GRADIENT_NO_GRAD;
    } else if (is_real(scan, value) && scan->reader[value] != RUN_NONE) {
        fate.why = NO_GRADIENT_DATA;
        fate.op = scan->reader[value];
    } else {
        fate.why = NO_GRADIENT_NOT_SMOOTH;
    }
    if (!scan->leads[value])
        fate = (struct fate){.rank = FATE_LOOSE, .op = number};
    return fate;
}

/* The results of an operation that a gradient can flow through. */
static const struct run_op_io *next_result(const struct gradient_scan *scan,
                                           const struct run_op *op, uint32_t *at)
{
    while (*at < op->n_ios) {
        const struct run_op_io *io = &scan->ops->ios[op->ios + (*at)++];

        if (io->kind != OP_IN && !updates(scan, op, io))
            return io;
    }
    return NULL;
}

/* The fate of a gradient that should pass through this operation. If one of its results
 * carries gradients, the others (indices, running means) do not matter. */
static struct fate fate_of(const struct gradient_scan *scan, uint32_t number,
                           bool *ret_carried, bool *ret_leads)
{
    const struct run_op *op = &scan->ops->ops[number];
    struct fate carried = {0}, other = {.rank = FATE_LOOSE, .op = number};
    bool detaches = scan->ops->kinds[op->kind].flags & OP_DETACHES;
    const struct run_op_io *io;

    /* Autograd detaches results that it saves: that is not a use. */
    if (detaches)
        other.rank = FATE_NONE;
    *ret_carried = false;
    *ret_leads = scan->caused[number];
    for (uint32_t at = 0; (io = next_result(scan, op, &at));) {
        *ret_leads |= scan->leads[io->value];
        if (scan->read[io->value] & OP_VALUE_GRAD && !detaches) {
            *ret_carried = true;
            carried = better(carried, scan->fates[io->value]);
        } else if (scan->read[io->value]) { /* also x.detach().requires_grad_() */
            other = better(other, cut_fate(scan, number, io->value));
        } else if (scan->leads[io->value]) { /* the loss itself */
            other = better(other, (struct fate){.rank = FATE_INTACT, .op = number});
        }
    }
    if (scan->caused[number])
        return (struct fate){.rank = FATE_INTACT, .op = number};
    if (!*ret_carried)
        return other;
    return carried.rank == FATE_NONE ? (struct fate){.rank = FATE_LOOSE, .op = number}
                                     : carried;
}

struct gradient_step {
    struct fate fate, data; /* for arguments read with and without gradient */
    bool carried, leads, no_grad;
};

static void tell_value(struct gradient_scan *scan, uint32_t value,
                       const struct gradient_step *step, uint8_t flags)
{
    scan->leads[value] |= step->leads;
    if (flags & OP_VALUE_GRAD)
        scan->fates[value] = better(scan->fates[value], step->fate);
    else
        scan->fates[value] = better(scan->fates[value], step->data);
    if (step->no_grad && step->carried && !(flags & OP_VALUE_GRAD))
        scan->inside[value] = better(scan->inside[value], step->fate);
}

static void tell_arguments(struct gradient_scan *scan, uint32_t number)
{
    const struct run_op *op = &scan->ops->ops[number];
    struct gradient_step step = {.no_grad = !(op->flags & OP_GRAD_MODE)};
    const struct run_op_io *io;

    step.fate = fate_of(scan, number, &step.carried, &step.leads);
    /* In a region without autograd the region's result decides. */
    if (step.no_grad && !step.carried)
        for (uint32_t at = 0; (io = next_result(scan, op, &at));)
            if (scan->inside[io->value].rank != FATE_NONE) {
                step.fate = scan->inside[io->value];
                step.carried = true;
            }
    step.data =
        step.leads
            ? (struct fate){.rank = FATE_CUT, .why = NO_GRADIENT_DATA, .op = number}
            : (struct fate){.rank = FATE_LOOSE, .op = number};
    for (uint32_t at = 0; (io = op_next(scan->run, op, OP_IN, &at));) {
        const struct run_op_value *value = &scan->ops->values[io->value];

        tell_value(scan, io->value, &step, io->flags);
        for (uint32_t i = 0; i < value->n_sources; i++)
            tell_value(scan, scan->ops->sources[value->sources + i], &step, io->flags);
    }
}

/* ---- parameters ---- */

/* Is the value the parameter itself, not a view of it that forward made? */
static bool is_whole(const struct gradient_scan *scan, const struct run_op_value *value)
{
    const struct run_op *producer;

    if (value->producer >= scan->ops->n_ops)
        return true;
    producer = &scan->ops->ops[value->producer];
    return !is_forward(producer) || scan->ops->kinds[producer->kind].flags & OP_WRITES;
}

static void find_parameters(struct gradient_scan *scan)
{
    for (uint32_t i = 0; i < scan->ops->n_values; i++) {
        const struct run_op_value *value = &scan->ops->values[i];
        const struct run_op_storage *storage;

        if (value->storage >= scan->ops->n_storages)
            continue;
        storage = &scan->ops->storages[value->storage];
        if (storage->role == OP_STORAGE_PARAMETER &&
            storage->tensor < scan->model->n_tensors && is_whole(scan, value))
            scan->of[storage->tensor] =
                better(scan->of[storage->tensor], scan->fates[i]);
    }
}

/* Several parameters in one storage cannot be distinguished, and operations inside
 * compiled or scripted code were not recorded. */
static bool is_known(const struct gradient_scan *scan, const uint32_t *sharers,
                     const struct tensor *tensor)
{
    if (tensor->storage < scan->model->n_storages && sharers[tensor->storage] > 1)
        return false;
    for (uint32_t i = 0; i < scan->run->n_gaps; i++) {
        enum run_gap_kind kind = scan->run->gaps[i].kind;

        if (kind == RUN_GAP_COMPILED || kind == RUN_GAP_SCRIPTED)
            return false;
    }
    return !scan->any_region;
}

static bool is_wanted(const struct gradient_scan *scan, uint32_t i)
{
    const struct tensor *tensor = &scan->model->tensors[i];

    return tensor->role == ROLE_PARAMETER && tensor->flags & TENSOR_GRAD &&
           tensor->place != NO_PLACE && !scan->has[i];
}

/* Were the model's parameters used at all? torch.func computes with copies and neither
 * reads nor changes them. */
static bool takes_part(const struct gradient_scan *scan)
{
    for (uint32_t i = 0; i < scan->model->n_tensors; i++)
        if (scan->model->tensors[i].role == ROLE_PARAMETER &&
            (scan->has[i] || scan->of[i].rank != FATE_NONE))
            return true;
    return false;
}

static struct no_gradient describe(const struct gradient_scan *scan, uint32_t tensor)
{
    struct fate fate = scan->of[tensor];
    struct no_gradient one = {.tensor = tensor, .op = fate.op};

    switch ((enum fate_rank)fate.rank) {
    case FATE_NONE:
        one.why = NO_GRADIENT_NOT_READ;
        one.op = RUN_NONE;
        break;
    case FATE_LOOSE:
        one.why = NO_GRADIENT_NOT_IN_LOSS;
        break;
    case FATE_CUT:
        one.why = (enum no_gradient_why)fate.why;
        break;
    case FATE_INTACT:
        one.why = NO_GRADIENT_INTACT;
        break;
    }
    return one;
}

static int list_parameters(const struct gradient_scan *scan, struct no_gradients *all,
                           struct arena *scratch, struct arena *arena)
{
    const struct model *model = scan->model;
    uint32_t *sharers =
        arena_array(scratch, (size_t)model->n_storages + 1, sizeof *sharers);

    all->at = arena_array(arena, (size_t)model->n_tensors + 1, sizeof *all->at);
    if (!all->at || !sharers)
        return -1;
    for (uint32_t i = 0; i < model->n_tensors; i++)
        if (model->tensors[i].storage < model->n_storages)
            sharers[model->tensors[i].storage]++;
    if (!takes_part(scan))
        return 0;
    for (uint32_t i = 0; i < model->n_tensors; i++) {
        if (!is_wanted(scan, i))
            continue;
        if (scan->of[i].rank == FATE_NONE &&
            !is_known(scan, sharers, &model->tensors[i]))
            continue;
        all->at[all->n++] = describe(scan, i);
    }
    return 0;
}

static int allocate(struct gradient_scan *scan, struct arena *scratch)
{
    size_t tensors = (size_t)scan->model->n_tensors + 1;
    size_t ops = (size_t)scan->ops->n_ops + 1;
    size_t values = (size_t)scan->ops->n_values + 1;

    scan->has = arena_array(scratch, tensors, sizeof *scan->has);
    scan->of = arena_array(scratch, tensors, sizeof *scan->of);
    scan->caused = arena_array(scratch, ops, sizeof *scan->caused);
    scan->leads = arena_array(scratch, values, sizeof *scan->leads);
    scan->read = arena_array(scratch, values, sizeof *scan->read);
    scan->reader = arena_array(scratch, values, sizeof *scan->reader);
    scan->fates = arena_array(scratch, values, sizeof *scan->fates);
    scan->inside = arena_array(scratch, values, sizeof *scan->inside);
    if (!scan->has || !scan->of || !scan->caused || !scan->leads || !scan->read ||
        !scan->reader || !scan->fates || !scan->inside)
        return -1;
    memset(scan->reader, 0xff, values * sizeof *scan->reader);
    return 0;
}

int no_gradients_of(struct no_gradients *ret_all, const struct run *run,
                    struct arena *arena, struct err *err)
{
    struct gradient_scan scan = {.run = run, .ops = run->ops, .model = run->model};
    struct no_gradients all = {0};
    struct arena scratch;
    int status = -1;

    arena_init(&scratch, 0);
    if (allocate(&scan, &scratch) < 0)
        goto out;
    scan_ops(&scan);
    status = 0;
    if (scan.any_backward && !scan.raised && run->ops->lost == 0) {
        for (uint32_t i = run->ops->n_ops; i-- > 0;)
            if (is_forward(&run->ops->ops[i]) && !op_only_shape(run, &run->ops->ops[i]))
                tell_arguments(&scan, i);
        find_parameters(&scan);
        status = list_parameters(&scan, &all, &scratch, arena);
    }
    if (status == 0)
        *ret_all = all;

out:
    if (status < 0)
        arena_err(&scratch, "the parameters without gradient", err);
    arena_release(&scratch);
    return status;
}
