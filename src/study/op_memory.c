/* Each storage adds its bytes when it is allocated and subtracts them when it is freed;
 * one scan over the operations then gives the curve. The lifetimes also determine saved
 * storages: they span the first operation of a backward. */
#include "study/op_memory.h"

#include <string.h>

#include "base/base.h"

/* The lifetime of a storage: it is alive while operations from..to-1 run. */
struct memory_life {
    uint32_t from, to;
};

struct memory_scan {
    struct memory_use *use;
    const struct run *run;
    const struct run_ops *ops;
    struct arena *scratch;
    uint8_t *roles;        /* by storage: enum op_storage_role */
    bool *read_back;       /* by storage: an operation of backward read it */
    uint32_t *step_begins; /* by operation: the first one of its step */
    uint32_t *step_ends;   /* by operation: number of optimizer steps that ended */
    uint32_t *rounds;      /* the first operation of each backward */
    uint32_t n_rounds;
    uint32_t *round_of;   /* by operation: number of backwards that began so far */
    uint64_t outside_ops; /* bytes of parameters and buffers that no operation used */
    uint64_t outside_kinds[MEMORY_KINDS];
};

const char *memory_kind_name(enum memory_kind kind)
{
    static const char *const names[MEMORY_KINDS] = {
        "parameters", "buffers",    "gradients", "optimizer",
        "saved",      "recomputed", "other"};

    return kind < MEMORY_KINDS ? names[kind] : "";
}

const char *memory_kind_words(enum memory_kind kind)
{
    static const char *const words[MEMORY_KINDS] = {
        [MEMORY_OPTIMIZER] = "optimizer state",
        [MEMORY_SAVED] = "saved for backward",
    };

    return kind < MEMORY_KINDS && words[kind] ? words[kind] : memory_kind_name(kind);
}

static bool is_backward(const struct run_op *op)
{
    return op->phase == OP_BACKWARD || op->phase == OP_RECOMPUTE;
}

/* ---- preparation ---- */

static int allocate(struct memory_scan *scan, struct arena *arena)
{
    struct memory_use *use = scan->use;
    size_t ops = (size_t)scan->ops->n_ops + 1;
    size_t storages = (size_t)scan->ops->n_storages + 1;
    size_t places = (size_t)scan->run->model->n_places + 1;

    use->live = arena_array(arena, ops, sizeof *use->live);
    use->saved_own = arena_array(arena, places, sizeof *use->saved_own);
    use->saved_here = arena_array(arena, places, sizeof *use->saved_here);
    scan->roles = arena_array(scan->scratch, storages, sizeof *scan->roles);
    scan->read_back = arena_array(scan->scratch, storages, sizeof *scan->read_back);
    scan->step_begins = arena_array(scan->scratch, ops, sizeof *scan->step_begins);
    scan->step_ends = arena_array(scan->scratch, ops, sizeof *scan->step_ends);
    scan->rounds = arena_array(scan->scratch, ops, sizeof *scan->rounds);
    scan->round_of = arena_array(scan->scratch, ops, sizeof *scan->round_of);
    return use->live && use->saved_own && use->saved_here && scan->roles &&
                   scan->read_back && scan->step_begins && scan->step_ends &&
                   scan->rounds && scan->round_of
               ? 0
               : -1;
}

static void scan_reads(struct memory_scan *scan, const struct run_op *op)
{
    const struct run_op_io *io;

    for (uint32_t at = 0; (io = op_next(scan->run, op, OP_IN, &at));) {
        uint32_t storage = scan->ops->values[io->value].storage;

        if (storage < scan->ops->n_storages)
            scan->read_back[storage] = true;
    }
}

/* Where steps and backwards begin, and what backward reads. */
static void scan_ops(struct memory_scan *scan)
{
    const struct run_op *ops = scan->ops->ops;

    for (uint32_t i = 0; i < scan->ops->n_ops; i++) {
        scan->step_begins[i] =
            i > 0 && ops[i].step == ops[i - 1].step ? scan->step_begins[i - 1] : i;
        if (is_backward(&ops[i])) {
            if (i == 0 || !is_backward(&ops[i - 1]))
                scan->rounds[scan->n_rounds++] = i;
            scan_reads(scan, &ops[i]);
        }
        scan->round_of[i] = scan->n_rounds;
    }
}

/* An operation that accumulates the gradient of a parameter makes or writes that
 * gradient. */
static void find_gradients(struct memory_scan *scan)
{
    for (uint32_t i = 0; i < scan->ops->n_ops; i++) {
        const struct run_op *op = &scan->ops->ops[i];

        for (uint32_t k = 0; op->gradient != RUN_NONE && k < op->n_ios; k++) {
            const struct run_op_io *io = &scan->ops->ios[op->ios + k];
            uint32_t storage = scan->ops->values[io->value].storage;

            if (io->kind != OP_IN && storage < scan->ops->n_storages &&
                scan->roles[storage] == OP_STORAGE_OTHER)
                scan->roles[storage] = OP_STORAGE_GRADIENT;
        }
    }
}

static bool in_optimizer(const struct memory_scan *scan, uint32_t op)
{
    return op < scan->ops->n_ops && scan->ops->ops[op].phase == OP_OPTIMIZER;
}

/* Is it optimizer state: made by a step() and alive after it, or older than the
 * recording and first used by a step()? */
static bool is_state(const struct memory_scan *scan,
                     const struct run_op_storage *storage)
{
    uint32_t last;

    if (storage->born >= scan->ops->n_ops)
        return in_optimizer(scan, storage->seen);
    if (!in_optimizer(scan, storage->born))
        return false;
    if (storage->died == RUN_NONE)
        return true;
    last = storage->died > 0 ? storage->died - 1 : 0; /* alive while it ran */
    return last < scan->ops->n_ops &&
           scan->step_ends[storage->born] != scan->step_ends[last];
}

/* Sets roles: those of the recorder, and those derived from the operations. */
static void find_roles(struct memory_scan *scan)
{
    uint32_t ends = 0;

    for (uint32_t i = 0; i < scan->ops->n_storages; i++)
        scan->roles[i] = scan->ops->storages[i].role;
    for (uint32_t i = 0; i < scan->ops->n_ops; i++) {
        ends += i > 0 && in_optimizer(scan, i - 1) && !in_optimizer(scan, i);
        scan->step_ends[i] = ends;
    }
    find_gradients(scan);
    for (uint32_t i = 0; i < scan->ops->n_storages; i++)
        if (scan->roles[i] == OP_STORAGE_OTHER &&
            is_state(scan, &scan->ops->storages[i]))
            scan->roles[i] = OP_STORAGE_OPTIMIZER;
}

/* Parameters and buffers that no operation used have no storage in the run. */
static int scan_model(struct memory_scan *scan)
{
    const struct model *model = scan->run->model;
    bool *met = arena_array(scan->scratch, (size_t)model->n_storages + 1, sizeof *met);

    if (!met)
        return -1;
    for (uint32_t i = 0; i < scan->ops->n_storages; i++) {
        const struct run_op_storage *storage = &scan->ops->storages[i];

        if ((storage->role == OP_STORAGE_PARAMETER ||
             storage->role == OP_STORAGE_BUFFER) &&
            storage->tensor < model->n_tensors &&
            model->tensors[storage->tensor].storage < model->n_storages)
            met[model->tensors[storage->tensor].storage] = true;
    }
    for (uint32_t i = 0; i < model->n_tensors; i++) {
        const struct tensor *tensor = &model->tensors[i];
        uint64_t bytes;

        if (tensor->storage >= model->n_storages || met[tensor->storage] ||
            (tensor->role != ROLE_PARAMETER && tensor->role != ROLE_BUFFER))
            continue;
        met[tensor->storage] = true;
        bytes = model->storages[tensor->storage].bytes;
        scan->outside_ops += bytes;
        scan->outside_kinds[tensor->role == ROLE_PARAMETER ? MEMORY_PARAMETERS
                                                           : MEMORY_BUFFERS] += bytes;
    }
    return 0;
}

/* ---- storages ---- */

/* A storage that existed before is alive from the start if it belongs to the model or
 * its training, else (inputs) from the start of the step that first uses it. */
static struct memory_life life_of(const struct memory_scan *scan, uint32_t i)
{
    const struct run_op_storage *storage = &scan->ops->storages[i];
    uint32_t n = scan->ops->n_ops;
    struct memory_life life = {.from = storage->born, .to = storage->died};

    if (storage->seen >= n) /* only operations that were not kept used it */
        return (struct memory_life){0};
    if (storage->born >= n)
        life.from =
            scan->roles[i] == OP_STORAGE_OTHER ? scan->step_begins[storage->seen] : 0;
    if (life.to > n)
        life.to = n;
    if (life.to < life.from)
        life.to = life.from;
    return life;
}

static bool made_in(const struct memory_scan *scan,
                    const struct run_op_storage *storage, enum op_phase phase)
{
    return storage->born < scan->ops->n_ops &&
           scan->ops->ops[storage->born].phase == phase;
}

/* Can it be saved for backward? Results of no_grad code are not, unless backward reads
 * them: a custom autograd function runs without gradients. */
static bool may_be_saved(const struct memory_scan *scan, uint32_t i)
{
    const struct run_op_storage *storage = &scan->ops->storages[i];

    return scan->roles[i] == OP_STORAGE_OTHER && made_in(scan, storage, OP_FORWARD) &&
           (scan->read_back[i] || scan->ops->ops[storage->born].flags & OP_GRAD_MODE);
}

/* Was it alive when a backward began? For a storage freed before operation `to`, the
 * last operation that may begin a backward is to - 1. */
static bool spans_backward(const struct memory_scan *scan, struct memory_life life)
{
    return life.to > life.from &&
           scan->round_of[life.to - 1] > scan->round_of[life.from];
}

static enum memory_kind kind_of(const struct memory_scan *scan, uint32_t i,
                                struct memory_life life)
{
    const struct run_op_storage *storage = &scan->ops->storages[i];

    switch (scan->roles[i]) {
    case OP_STORAGE_PARAMETER:
        return MEMORY_PARAMETERS;
    case OP_STORAGE_BUFFER:
        return MEMORY_BUFFERS;
    case OP_STORAGE_GRADIENT:
        return MEMORY_GRADIENTS;
    case OP_STORAGE_OPTIMIZER:
        return MEMORY_OPTIMIZER;
    default:
        break;
    }
    if (made_in(scan, storage, OP_RECOMPUTE))
        return MEMORY_RECOMPUTED;
    return may_be_saved(scan, i) && spans_backward(scan, life) ? MEMORY_SAVED
                                                               : MEMORY_OTHER;
}

/* ---- the curve ---- */

static void note_peak(struct memory_scan *scan, uint32_t i)
{
    struct memory_use *use = scan->use;
    struct memory_phase *phase = &use->phases[scan->ops->ops[i].phase % OP_PHASES];

    phase->ops++;
    if (phase->peak_op == RUN_NONE || use->live[i] > phase->peak) {
        phase->peak = use->live[i];
        phase->peak_op = i;
    }
    if (use->peak_op == RUN_NONE || use->live[i] > use->peak) {
        use->peak = use->live[i];
        use->peak_op = i;
    }
}

/* Differences first, then their running sum; both wrap around, which cancels out. */
static void make_curve(struct memory_scan *scan)
{
    struct memory_use *use = scan->use;
    uint64_t live = scan->outside_ops;

    for (uint32_t i = 0; i < scan->ops->n_storages; i++) {
        const struct run_op_storage *storage = &scan->ops->storages[i];
        struct memory_life life = life_of(scan, i);

        if (storage->born < use->n)
            use->phases[scan->ops->ops[storage->born].phase % OP_PHASES].allocated +=
                storage->bytes;
        use->live[life.from] += storage->bytes;
        use->live[life.to] -= storage->bytes;
    }
    for (uint32_t i = 0; i < use->n; i++) {
        live += use->live[i];
        use->live[i] = live;
        note_peak(scan, i);
    }
}

static void describe_peak(struct memory_scan *scan)
{
    struct memory_use *use = scan->use;

    if (use->peak_op == RUN_NONE)
        return;
    memcpy(use->at_peak, scan->outside_kinds, sizeof use->at_peak);
    for (uint32_t i = 0; i < scan->ops->n_storages; i++) {
        struct memory_life life = life_of(scan, i);

        if (life.from <= use->peak_op && use->peak_op < life.to)
            use->at_peak[kind_of(scan, i, life)] += scan->ops->storages[i].bytes;
    }
}

/* The peak of each kind, from a separate curve. */
static int find_most(struct memory_scan *scan)
{
    struct memory_use *use = scan->use;
    size_t n = (size_t)use->n + 1;
    uint64_t *curves = arena_array(scan->scratch, n * MEMORY_KINDS, sizeof *curves);

    if (!curves)
        return -1;
    for (uint32_t i = 0; i < scan->ops->n_storages; i++) {
        struct memory_life life = life_of(scan, i);
        uint64_t *curve = curves + n * kind_of(scan, i, life);

        curve[life.from] += scan->ops->storages[i].bytes;
        curve[life.to] -= scan->ops->storages[i].bytes;
    }
    for (int kind = 0; kind < MEMORY_KINDS; kind++) {
        uint64_t live = scan->outside_kinds[kind];

        for (uint32_t i = 0; i < use->n; i++) {
            live += curves[n * (size_t)kind + i];
            if (live > use->most[kind])
                use->most[kind] = live;
        }
    }
    return 0;
}

/* ---- saved for backward ---- */

/* Finds the backward that began with the most: each storage counts for every backward
 * that it spans. */
static int largest_round(struct memory_scan *scan)
{
    uint64_t *sums =
        arena_array(scan->scratch, (size_t)scan->n_rounds + 1, sizeof *sums);
    uint64_t now = 0;

    if (!sums)
        return -1;
    for (uint32_t i = 0; i < scan->ops->n_storages; i++) {
        struct memory_life life = life_of(scan, i);

        if (!may_be_saved(scan, i) || !spans_backward(scan, life))
            continue;
        sums[scan->round_of[life.from]] += scan->ops->storages[i].bytes;
        sums[scan->round_of[life.to - 1]] -= scan->ops->storages[i].bytes;
    }
    for (uint32_t r = 0; r < scan->n_rounds; r++) {
        now += sums[r];
        if (r == 0 || now > scan->use->saved) {
            scan->use->saved = now;
            scan->use->saved_op = scan->rounds[r];
        }
    }
    return 0;
}

static void share_out(struct memory_scan *scan)
{
    struct memory_use *use = scan->use;
    const struct model *model = scan->run->model;

    for (uint32_t i = 0; i < scan->ops->n_storages && use->saved_op != RUN_NONE; i++) {
        const struct run_op_storage *storage = &scan->ops->storages[i];
        struct memory_life life = life_of(scan, i);
        uint32_t place;

        if (!may_be_saved(scan, i) || life.from >= use->saved_op ||
            life.to <= use->saved_op)
            continue;
        place = scan->ops->ops[storage->born].place;
        if (place < model->n_places)
            use->saved_own[place] += storage->bytes;
        else
            use->outside += storage->bytes;
    }
    memcpy(use->saved_here, use->saved_own, model->n_places * sizeof *use->saved_own);
    for (uint32_t p = model->n_places; p-- > 1;)
        use->saved_here[model->parent[p]] += use->saved_here[p];
}

int memory_use_of(struct memory_use *ret_use, const struct run *run,
                  struct arena *arena, struct err *err)
{
    struct memory_use use = {.n = run->ops->n_ops,
                             .peak_op = RUN_NONE,
                             .saved_op = RUN_NONE,
                             .partial = run->ops->lost > 0};
    struct arena scratch;
    struct memory_scan scan = {
        .use = &use, .run = run, .ops = run->ops, .scratch = &scratch};
    int status = -1;

    arena_init(&scratch, 0);
    for (int i = 0; i < OP_PHASES; i++)
        use.phases[i].peak_op = RUN_NONE;
    if (allocate(&scan, arena) < 0 || scan_model(&scan) < 0)
        goto out;
    find_roles(&scan);
    scan_ops(&scan);
    make_curve(&scan);
    describe_peak(&scan);
    if (find_most(&scan) < 0 || largest_round(&scan) < 0)
        goto out;
    share_out(&scan);
    *ret_use = use;
    status = 0;

out:
    if (status < 0)
        arena_err(&scratch, "the memory of the run", err);
    arena_release(&scratch);
    return status;
}
