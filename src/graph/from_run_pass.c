/* Chooses the call of a recording to draw. */
#include "graph/from_in.h"

#include <inttypes.h>

static bool is_pass(const struct run_call *call)
{
    return call->parent == RUN_NONE && !(call->flags & RUN_RECOMPUTED);
}

/* Ranks passes for a picture: complete before raised, whole model before a part, with
 * operations before merged. */
static unsigned quality(const struct run *run, const uint32_t *n_ops, uint32_t pass)
{
    const struct run_call *call = &run->calls[pass];
    unsigned good = 0;

    good |= n_ops[pass] > 0 ? 8u : 0u;
    good |= call->flags & RUN_LIGHT ? 0u : 4u;
    good |= call->flags & (RUN_RAISED | RUN_ABORTED) ? 0u : 2u;
    good |= call->place == 0 ? 1u : 0u;
    return good;
}

static uint32_t *count_ops(const struct run *run, struct arena *arena)
{
    size_t n = (size_t)run->n_calls + 1;
    uint32_t *n_ops = arena_array(arena, n, sizeof *n_ops);

    if (!n_ops)
        return NULL;
    for (uint32_t i = 0; run->ops && i < run->ops->n_ops; i++)
        if (run->ops->ops[i].phase == OP_FORWARD &&
            run->ops->ops[i].call < run->n_calls)
            n_ops[run->ops->ops[i].call]++;
    for (uint32_t i = run->n_calls; i-- > 0;)
        if (run->calls[i].parent < i)
            n_ops[run->calls[i].parent] += n_ops[i];
    return n_ops;
}

static uint32_t best_pass(const struct run *run, const uint32_t *n_ops)
{
    uint32_t best = RUN_NONE;

    for (uint32_t i = 0; i < run->n_calls; i++)
        if (is_pass(&run->calls[i]) &&
            (best == RUN_NONE || quality(run, n_ops, i) >= quality(run, n_ops, best)))
            best = i;
    return best;
}

static uint32_t find_pass(const struct run *run, uint32_t number)
{
    for (uint32_t i = 0; i < run->n_calls; i++)
        if (is_pass(&run->calls[i]) && number-- == 0)
            return i;
    return RUN_NONE;
}

/* The newest call at a place in the pass; or of its module, if that was called under
 * another name. */
static uint32_t call_at(const struct from *from, uint32_t place)
{
    const struct run *run = from->run;
    uint32_t object = from->model->object[place], there = RUN_NONE, other = RUN_NONE;

    for (uint32_t i = from->pass; i < run->n_calls; i++) {
        if (!from->inside[i] || run->calls[i].flags & RUN_RECOMPUTED)
            continue;
        if (run->calls[i].place == place)
            there = i;
        if (from->model->kind[place] == PLACE_MODULE && run->calls[i].object == object)
            other = i;
    }
    return there != RUN_NONE ? there : other;
}

static void mark_inside(struct from *from, uint32_t call)
{
    const struct run_call *calls = from->run->calls;

    for (uint32_t i = 0; i < from->run->n_calls; i++)
        from->inside[i] = i == call || (i > call && calls[i].parent < i &&
                                        from->inside[calls[i].parent]);
}

/* Number each call within its module and pass. */
static int count_calls(struct from *from)
{
    struct arena *scratch = from->parts->scratch;
    const struct run *run = from->run;

    from->number = arena_array(scratch, (size_t)run->n_calls + 1, sizeof(uint32_t));
    from->n_numbers =
        arena_array(scratch, (size_t)from->model->n_objects + 1, sizeof(uint32_t));
    if (!from->number || !from->n_numbers)
        return -1;
    for (uint32_t i = from->pass; i < run->n_calls; i++)
        if (from->inside[i] && !(run->calls[i].flags & RUN_RECOMPUTED))
            from_count_call(from, i, run->calls[i].object);
    return 0;
}

/* Does the drawn call call no other module? */
static bool is_leaf(const struct from *from)
{
    for (uint32_t i = from->call + 1; i < from->run->n_calls; i++)
        if (from->inside[i])
            return false;
    return true;
}

static int not_called(const struct from *from, uint32_t place, struct err *err)
{
    struct str class_name = class_short(place_class(from->model, place));
    struct buf path = BUF_INIT;

    place_path(from->model, place, &path);
    if (place < from->show.activity->n &&
        from->show.activity->at[place].flags & ACTIVITY_CONTAINER)
        err_set(
            err, ERR_NOT_FOUND,
            "%s is a %.*s, which is never called; name a module inside or around it",
            buf_cstr(&path), STR_ARG(class_name));
    else
        err_set(err, ERR_NOT_FOUND, "%s was not called in this pass of the recording",
                buf_cstr(&path));
    buf_release(&path);
    return -1;
}

/* The pass in which a call ran. */
static uint32_t pass_of(const struct run *run, uint32_t call)
{
    while (run->calls[call].parent < call)
        call = run->calls[call].parent;
    return call;
}

/* The pass to draw; RUN_NONE: none. */
static uint32_t choose_pass(const struct from *from, const uint32_t *n_ops)
{
    const struct graph_wanted *wanted = from->wanted;

    if (wanted->call > 0 && wanted->call <= from->run->n_calls)
        return pass_of(from->run, wanted->call - 1);
    return wanted->pass == GRAPH_AUTO ? best_pass(from->run, n_ops)
                                      : find_pass(from->run, wanted->pass);
}

static uint32_t choose_call(const struct from *from)
{
    const struct graph_wanted *wanted = from->wanted;

    if (wanted->call > 0 && wanted->call <= from->run->n_calls)
        return wanted->call - 1;
    return wanted->root == 0 ? from->pass : call_at(from, wanted->root);
}

int from_run_choose(struct from *from, struct err *err)
{
    const struct run *run = from->run;
    struct arena *scratch = from->parts->scratch;
    uint32_t *n_ops = count_ops(run, scratch), root = from->wanted->root;

    from->inside = arena_array(scratch, (size_t)run->n_calls + 1, sizeof(bool));
    if (!n_ops || !from->inside)
        return arena_err(scratch, "the graph", err);
    from->pass = choose_pass(from, n_ops);
    if (from->pass == RUN_NONE && from->wanted->pass != GRAPH_AUTO)
        return err_set(err, ERR_NOT_FOUND, "the recording has no pass %" PRIu32,
                       from->wanted->pass);
    if (from->pass == RUN_NONE)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s: the model was not called in this recording, so there is "
                       "nothing to draw; call it inside record()",
                       from->model->path ? from->model->path : "recording");
    mark_inside(from, from->pass);
    if (count_calls(from) < 0)
        return arena_err(scratch, "the graph", err);
    if (root >= from->model->n_places)
        return err_set(err, ERR_NOT_FOUND, "the model has no place %" PRIu32, root);
    from->call = choose_call(from);
    if (from->call == RUN_NONE)
        return not_called(from, root, err);
    mark_inside(from, from->call);
    from->framed = run->calls[from->call].place != 0 ||
                   (from->wanted->level == GRAPH_MODULES && is_leaf(from));
    return 0;
}
