/* Calls and operations are merged in the order of time. Forward operations have a call;
 * the others get a chain of open boxes for the modules that they belong to. */
#include "study/timeline.h"

#include <inttypes.h>

#include "study/timeline_in.h"

#define DEEPEST 64 /* depth of nested modules in backward */

const char *timeline_kind_name(enum timeline_kind kind)
{
    static const char *const names[] = {"phase", "call", "backward", "op"};

    return names[kind & 3];
}

const char *timeline_phase_name(enum timeline_phase phase)
{
    static const char *const names[TIMELINE_PHASES] = {
        "forward", "backward", "recompute", "optimizer", "loss", "outside"};

    return phase < TIMELINE_PHASES ? names[phase] : "";
}

struct timeline_making {
    struct timeline *to;
    const struct run *run;
    struct arena *arena;
    struct arena scratch;
    struct work *work;
    uint64_t from, until; /* by the clock of the recording */
    uint32_t *box_of;     /* by call: its box + 1; 0: none */
    bool *called;         /* by place: it has a box of a call */
    bool began;           /* the pass */

    /* The open box of a phase, and the modules open in it. */
    uint32_t phase_box;
    uint32_t chain[DEEPEST];
    uint32_t n_chain;
};

/* ---- which pass ---- */

static bool is_pass(const struct run_call *call)
{
    return call->parent == RUN_NONE && !(call->flags & RUN_RECOMPUTED);
}

/* Prefers a complete pass to one that raised or was merged; then the newest. */
static bool is_better(const struct run_call *call, const struct run_call *than)
{
    const unsigned odd = RUN_RAISED | RUN_ABORTED | RUN_LIGHT;

    return !(call->flags & odd) || than->flags & odd;
}

static int choose_pass(struct timeline_making *m, uint32_t pass, struct err *err)
{
    const struct run *run = m->run;
    uint32_t n = 0, found = RUN_NONE;

    for (uint32_t i = 0; i < run->n_calls; i++) {
        if (!is_pass(&run->calls[i]))
            continue;
        if (n == pass ||
            (pass == TIMELINE_NEWEST &&
             (found == RUN_NONE || is_better(&run->calls[i], &run->calls[found])))) {
            found = i;
            m->to->pass = n;
        }
        n++;
    }
    m->to->passes = n;
    m->to->call = found;
    if (n == 0)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s: the model was not called in this recording, so it has no "
                       "times",
                       run->model->path ? run->model->path : "recording");
    if (found == RUN_NONE)
        return err_set(err, ERR_NOT_FOUND, "the recording has no pass %" PRIu32, pass);
    return 0;
}

/* From the start of the pass to that of the next one; the first pass includes
 * everything before it. */
static void find_window(struct timeline_making *m)
{
    const struct run *run = m->run;

    m->from = m->to->pass == 0 ? 0 : run->calls[m->to->call].start_ns;
    m->until = UINT64_MAX;
    for (uint32_t i = m->to->call + 1; i < run->n_calls; i++)
        if (is_pass(&run->calls[i]) && run->calls[i].start_ns < m->until)
            m->until = run->calls[i].start_ns;
}

static bool is_in(const struct timeline_making *m, uint64_t ns)
{
    return ns >= m->from && ns < m->until;
}

/* ---- boxes ---- */

static uint32_t add_box(struct timeline_making *m, struct timeline_box box)
{
    struct timeline *to = m->to;

    if (arena_room(m->arena, &to->boxes, to->n, &to->room, sizeof *to->boxes) < 0)
        return RUN_NONE;
    to->boxes[to->n] = box;
    return to->n++;
}

/* A box that begins with its first child. */
static uint32_t open_box(struct timeline_making *m, enum timeline_kind kind,
                         enum timeline_phase phase, uint32_t parent, uint32_t place,
                         const struct timeline_box *first)
{
    return add_box(m, (struct timeline_box){.kind = kind,
                                            .phase = phase,
                                            .parent = parent,
                                            .index = RUN_NONE,
                                            .place = place,
                                            .thread = first->thread,
                                            .from = first->from,
                                            .to = first->to});
}

/* Extends all boxes around a box to its end. */
static void stretch(struct timeline *to, uint32_t box)
{
    uint64_t end = to->boxes[box].to;

    for (uint32_t up = to->boxes[box].parent; up != RUN_NONE;
         up = to->boxes[up].parent) {
        if (to->boxes[up].kind == TIMELINE_CALL)
            break;
        if (to->boxes[up].to < end)
            to->boxes[up].to = end;
    }
}

/* ---- outside of calls ---- */

static int open_phase(struct timeline_making *m, enum timeline_phase phase,
                      const struct timeline_box *first)
{
    if (m->phase_box != RUN_NONE && m->to->boxes[m->phase_box].phase == phase)
        return 0;
    m->n_chain = 0;
    m->phase_box = open_box(m, TIMELINE_PHASE, phase, RUN_NONE, NO_PLACE, first);
    return m->phase_box == RUN_NONE ? -1 : 0;
}

static void close_phase(struct timeline_making *m)
{
    m->phase_box = RUN_NONE;
    m->n_chain = 0;
}

/* The modules around an operation, the outermost first: those of its forward call, else
 * those above its place. Returns their number. */
static uint32_t modules_around(const struct timeline_making *m, uint32_t call,
                               uint32_t place, uint32_t to[DEEPEST])
{
    const struct run *run = m->run;
    const struct model *model = run->model;
    uint32_t n = 0;

    for (; call < run->n_calls && n < DEEPEST; call = run->calls[call].parent) {
        if (run->calls[call].flags & RUN_RECOMPUTED)
            break;
        to[n++] = run->calls[call].place;
    }
    if (n == 0) /* merged, or recomputed */
        for (; place < model->n_places && n < DEEPEST; place = model->parent[place])
            if (m->called[place])
                to[n++] = place;
    for (uint32_t i = 0; i < n / 2; i++) {
        uint32_t swap = to[i];

        to[i] = to[n - 1 - i];
        to[n - 1 - i] = swap;
    }
    return n;
}

/* Open the boxes of these modules unless they are open. Returns the innermost. */
static uint32_t open_chain(struct timeline_making *m, const uint32_t *places,
                           uint32_t n, const struct timeline_box *first)
{
    const struct timeline_box *boxes = m->to->boxes;
    uint32_t same = 0, parent = m->phase_box;

    while (same < n && same < m->n_chain && boxes[m->chain[same]].place == places[same])
        parent = m->chain[same++];
    m->n_chain = same;
    for (uint32_t i = same; i < n; i++) {
        parent = open_box(m, TIMELINE_BACKWARD, (enum timeline_phase)first->phase,
                          parent, places[i], first);
        if (parent == RUN_NONE)
            return RUN_NONE;
        m->chain[m->n_chain++] = parent;
    }
    return parent;
}

/* ---- calls ---- */

static int add_call(struct timeline_making *m, uint32_t number)
{
    const struct run_call *call = &m->run->calls[number];
    bool again = call->flags & RUN_RECOMPUTED;
    struct timeline_box box = {.kind = TIMELINE_CALL,
                               .phase = again ? TIMELINE_RECOMPUTE : TIMELINE_FORWARD,
                               .parent = RUN_NONE,
                               .index = number,
                               .place = call->place,
                               .thread = call->thread,
                               .from = call->start_ns,
                               .to = call->end_ns,
                               .ns = run_inclusive(call)};
    uint32_t around[DEEPEST], n, at;

    if (call->parent < m->run->n_calls && m->box_of[call->parent]) {
        box.parent = m->box_of[call->parent] - 1;
    } else if (again) {
        if (open_phase(m, TIMELINE_BACK, &box) < 0)
            return -1;
        n = modules_around(m, RUN_NONE, m->run->model->parent[call->place], around);
        box.parent = open_chain(m, around, n, &box);
        if (box.parent == RUN_NONE)
            return -1;
    } else {
        close_phase(m);
        m->began |= number == m->to->call;
    }
    at = add_box(m, box);
    if (at == RUN_NONE)
        return -1;
    m->box_of[number] = at + 1;
    m->called[call->place] = true;
    stretch(m->to, at);
    return 0;
}

/* ---- operations ---- */

static int place_op(struct timeline_making *m, const struct run_op *op,
                    struct timeline_box *box)
{
    bool inside = op->call < m->run->n_calls && m->box_of[op->call];
    uint32_t around[DEEPEST], n;

    if (inside &&
        (op->phase == OP_FORWARD || (op->phase == OP_RECOMPUTE &&
                                     m->run->calls[op->call].flags & RUN_RECOMPUTED))) {
        box->parent = m->box_of[op->call] - 1;
        return 0;
    }
    if (op->phase == OP_FORWARD)
        box->phase = m->began ? TIMELINE_LOSS : TIMELINE_OUTSIDE;
    if (open_phase(m,
                   op->phase == OP_RECOMPUTE ? TIMELINE_BACK
                                             : (enum timeline_phase)box->phase,
                   box) < 0)
        return -1;
    box->parent = m->phase_box;
    if (op->phase != OP_BACKWARD && op->phase != OP_RECOMPUTE)
        return 0;
    n = modules_around(m, op->call, op->place, around);
    box->parent = open_chain(m, around, n, box);
    return box->parent == RUN_NONE ? -1 : 0;
}

static int add_op(struct timeline_making *m, uint32_t number)
{
    const struct run_op *op = &m->run->ops->ops[number];
    struct timeline_box box = {.kind = TIMELINE_OP,
                               .phase = op->phase < OP_PHASES ? op->phase : OP_FORWARD,
                               .index = number,
                               .place = op->place,
                               .thread = op->thread,
                               .from = op->start_ns,
                               .to = op->start_ns + op->ns,
                               .ns = op->ns};
    uint32_t at;

    if (place_op(m, op, &box) < 0)
        return -1;
    at = add_box(m, box);
    if (at == RUN_NONE)
        return -1;
    stretch(m->to, at);
    op_sum_op(&m->to->sums[box.phase].ops, m->run, op);
    return 0;
}

/* ---- in the order of time ---- */

/* The operations of the window are contiguous: they are numbered in the order of
 * execution. */
static void find_ops(struct timeline_making *m)
{
    const struct run_ops *ops = m->run->ops;
    uint32_t n = ops ? ops->n_ops : 0, first = 0, end;

    while (first < n && ops->ops[first].start_ns < m->from)
        first++;
    for (end = first; end < n && ops->ops[end].start_ns < m->until; end++)
        ;
    m->to->first_op = first;
    m->to->end_op = end;
}

static int add_all(struct timeline_making *m, struct err *err)
{
    const struct run *run = m->run;
    uint32_t op = m->to->first_op;

    for (uint32_t call = 0; call <= run->n_calls; call++) {
        bool in = call < run->n_calls && is_in(m, run->calls[call].start_ns);
        uint64_t now = call < run->n_calls ? run->calls[call].start_ns : UINT64_MAX;

        for (; op < m->to->end_op && (run->ops->ops[op].start_ns < now); op++) {
            if (op % 4096 == 0 && !work_step(m->work, 0))
                return err_set(err, ERR_CANCELLED, "stopped");
            if (add_op(m, op) < 0)
                return arena_err(m->arena, "the timeline", err);
        }
        if (in && add_call(m, call) < 0)
            return arena_err(m->arena, "the timeline", err);
    }
    return 0;
}

int timeline_of(struct timeline *ret_timeline, const struct run *run, uint32_t pass,
                struct arena *arena, struct work *work, struct err *err)
{
    struct timeline timeline = {0};
    struct timeline_making m = {.to = &timeline,
                                .run = run,
                                .arena = arena,
                                .work = work,
                                .phase_box = RUN_NONE};
    int status = -1;

    arena_init(&m.scratch, 0);
    if (choose_pass(&m, pass, err) < 0)
        goto out;
    find_window(&m);
    find_ops(&m);
    timeline.backward_ns = run->calls[timeline.call].backward_ns;
    m.box_of = arena_array(&m.scratch, (size_t)run->n_calls + 1, sizeof *m.box_of);
    m.called =
        arena_array(&m.scratch, (size_t)run->model->n_places + 1, sizeof *m.called);
    if (!m.box_of || !m.called) {
        arena_err(&m.scratch, "the timeline", err);
        goto out;
    }
    if (add_all(&m, err) < 0 || timeline_lay_out(&timeline, run, &m.scratch, err) < 0)
        goto out;
    *ret_timeline = timeline;
    status = 0;

out:
    arena_release(&m.scratch);
    return status;
}
