/* Positions of boxes without the recording overhead. The length of a call is measured;
 * its time outside of inner boxes is distributed over the gaps between them. Outside of
 * calls, the time between operations shrinks by the overhead that is not in calls. */
#include "study/timeline_in.h"

/* The inside of a box; element 0 is that of the timeline. */
struct timeline_inside {
    uint64_t last;  /* the end of the latest box, by the clock of the recording */
    uint64_t gaps;  /* the time between the boxes */
    uint64_t boxes; /* their lengths */
    uint64_t calls; /* lengths of boxes that are not operations */
    double shrink;  /* how much of a gap remains */
    uint64_t begin; /* where the box begins */
    uint64_t at;    /* where the next gap begins */
    bool some;
};

static struct timeline_inside *inside_of(struct timeline_inside *list, uint32_t parent)
{
    return &list[parent == RUN_NONE ? 0 : parent + 1];
}

static double ratio(uint64_t part, uint64_t whole)
{
    return whole == 0 || part >= whole ? 1 : (double)part / (double)whole;
}

/* In the whole recording, the share of the time outside of calls and operations that is
 * not recording overhead. */
static double outside_shrink(const struct run *run)
{
    uint64_t cost = run->own_ns, busy = 0;
    double gaps;

    for (uint32_t i = 0; i < run->n_calls; i++) {
        const struct run_call *call = &run->calls[i];

        if (call->parent != RUN_NONE || call->flags & RUN_RECOMPUTED)
            continue;
        cost -= call->own_ns < cost ? call->own_ns : cost;
        busy += call->end_ns > call->start_ns ? call->end_ns - call->start_ns : 0;
    }
    for (uint32_t i = 0; run->ops && i < run->ops->n_ops; i++)
        if (run->ops->ops[i].call == RUN_NONE || run->ops->ops[i].phase != OP_FORWARD)
            busy += run->ops->ops[i].ns;
    if (run->wall_ns <= busy || cost == 0)
        return 1;
    gaps = (double)(run->wall_ns - busy);
    return (double)cost < gaps ? 1 - (double)cost / gaps : 0;
}

/* The gaps before and between the boxes inside each box. */
static void find_gaps(struct timeline *timeline, struct timeline_inside *list)
{
    for (uint32_t i = 0; i < timeline->n; i++) {
        const struct timeline_box *box = &timeline->boxes[i];
        struct timeline_inside *around = inside_of(list, box->parent);

        if (!around->some) /* the timeline begins with its first box */
            around->last =
                box->parent == RUN_NONE ? box->from : timeline->boxes[box->parent].from;
        around->some = true;
        if (box->from > around->last)
            around->gaps += box->from - around->last;
        if (box->to > around->last)
            around->last = box->to;
    }
    for (uint32_t i = 0; i < timeline->n; i++)
        if (list[i + 1].some && timeline->boxes[i].to > list[i + 1].last)
            list[i + 1].gaps += timeline->boxes[i].to - list[i + 1].last;
}

/* The same for backward, if its time was measured and it is one box. */
static double backward_shrink(const struct timeline *timeline,
                              const struct timeline_inside *list, double outside)
{
    uint64_t gaps = 0, busy = 0;
    uint32_t pieces = 0;

    for (uint32_t i = 0; i < timeline->n; i++) {
        const struct timeline_box *box = &timeline->boxes[i];

        if (box->phase != TIMELINE_BACK && box->phase != TIMELINE_RECOMPUTE)
            continue;
        pieces += box->kind == TIMELINE_PHASE;
        if (box->kind == TIMELINE_PHASE || box->kind == TIMELINE_BACKWARD)
            gaps += list[i + 1].gaps;
        else if (box->parent == RUN_NONE ||
                 timeline->boxes[box->parent].kind != TIMELINE_CALL)
            busy += box->ns;
    }
    if (timeline->backward_ns == 0 || pieces != 1 || gaps == 0)
        return outside;
    if (timeline->backward_ns <= busy)
        return 0;
    return ratio(timeline->backward_ns - busy, gaps);
}

/* Sets lengths, from the inside out. */
static void find_lengths(struct timeline *timeline, const struct run *run,
                         struct timeline_inside *list, double outside, double backward)
{
    for (uint32_t i = timeline->n; i-- > 0;) {
        struct timeline_box *box = &timeline->boxes[i];
        struct timeline_inside *inside = &list[i + 1], *around;

        if (box->kind == TIMELINE_CALL) {
            uint64_t left = box->ns > inside->boxes ? box->ns - inside->boxes : 0;

            inside->shrink = ratio(left, inside->gaps);
        } else if (box->kind != TIMELINE_OP) {
            bool back = box->phase == TIMELINE_BACK || box->phase == TIMELINE_RECOMPUTE;

            inside->shrink = back ? backward : outside;
            box->ns = inside->boxes + (uint64_t)((double)inside->gaps * inside->shrink);
        }
        box->own = box->ns > inside->calls ? box->ns - inside->calls : 0;
        if (box->kind == TIMELINE_CALL)
            box->own = run_exclusive(&run->calls[box->index]);
        around = inside_of(list, box->parent);
        around->boxes += box->ns;
        around->calls += box->kind == TIMELINE_OP ? 0 : box->ns;
    }
    list[0].shrink = outside;
}

/* Starts after the previous box; or at the same time, if another thread ran it in
 * parallel. */
static void place_box(struct timeline_box *box, struct timeline_inside *around)
{
    uint64_t overlap = around->last > box->from ? around->last - box->from : 0;

    if (box->from > around->last)
        around->at += (uint64_t)((double)(box->from - around->last) * around->shrink);
    box->start =
        around->at -
        (overlap < around->at - around->begin ? overlap : around->at - around->begin);
    if (box->start + box->ns > around->at)
        around->at = box->start + box->ns;
    if (box->to > around->last)
        around->last = box->to;
}

static void find_starts(struct timeline *timeline, struct timeline_inside *list)
{
    for (uint32_t i = 0; i <= timeline->n; i++)
        list[i].some = false;
    for (uint32_t i = 0; i < timeline->n; i++) {
        struct timeline_box *box = &timeline->boxes[i];
        struct timeline_inside *around = inside_of(list, box->parent);

        if (!around->some) {
            around->last =
                box->parent == RUN_NONE ? box->from : timeline->boxes[box->parent].from;
            around->begin = around->at =
                box->parent == RUN_NONE ? 0 : timeline->boxes[box->parent].start;
            around->some = true;
        }
        place_box(box, around);
        if (box->start + box->ns > timeline->ns)
            timeline->ns = box->start + box->ns;
    }
}

int timeline_lay_out(struct timeline *timeline, const struct run *run,
                     struct arena *scratch, struct err *err)
{
    struct timeline_inside *list =
        arena_array(scratch, (size_t)timeline->n + 1, sizeof *list);
    double outside = outside_shrink(run);

    if (!list)
        return arena_err(scratch, "the timeline", err);
    find_gaps(timeline, list);
    find_lengths(timeline, run, list, outside,
                 backward_shrink(timeline, list, outside));
    find_starts(timeline, list);
    for (uint32_t i = 0; i < timeline->n; i++) {
        const struct timeline_box *box = &timeline->boxes[i];

        if (box->parent != RUN_NONE)
            continue;
        timeline->sums[box->phase].ns += box->ns;
        timeline->sums[box->phase].boxes++;
    }
    if (timeline->backward_ns > 0)
        timeline->sums[TIMELINE_BACK].ns = timeline->backward_ns;
    return 0;
}
