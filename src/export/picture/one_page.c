/* One readable page by default: closes groups until the picture is not larger. This
 * needs sizes, so it runs after placing; graph/opening.c chooses what opens first, by
 * count. Pictures from left to right open the same groups as those from top to bottom:
 * boxes are wider than high, so few would fit in a row. */
#include "export/picture/picture_in.h"

#define PAGE_WIDTH  1200
#define PAGE_HEIGHT 2400

/* A group that could close. */
struct one_candidate {
    uint32_t box;
    uint32_t depth;
    int32_t saves; /* of the height, or of the width */
};

struct one_excess {
    int32_t by;
    bool high; /* too high, else too wide */
};

/* The excess of the page over its limits. */
static struct one_excess excess_of(const struct picture *picture)
{
    int32_t wide = picture->width - PAGE_WIDTH, high = picture->height - PAGE_HEIGHT;

    return high >= wide ? (struct one_excess){high, true}
                        : (struct one_excess){wide, false};
}

/* The frame of the drawn call stays open. */
static bool may_close(const struct picture *picture, uint32_t box)
{
    const struct diagram *diagram = picture->diagram;

    return picture_is_frame(picture, box) &&
           !(diagram->plan.boxes[box].parent == 0 &&
             diagram->boxes[box].kind == DIAGRAM_MODULE &&
             diagram->boxes[box].call != RUN_NONE &&
             diagram->boxes[box].call == diagram->boxes[0].call);
}

static struct one_candidate candidate_of(const struct picture *picture, uint32_t box,
                                         struct one_excess excess)
{
    const struct plan_box *boxes = picture->diagram->plan.boxes;
    struct one_candidate ret = {.box = box};

    /* A repeat that would only show its first block closed is useless: it closes
     * too. */
    if (picture->diagram->boxes[boxes[box].parent].kind == DIAGRAM_REPEAT)
        ret.box = boxes[box].parent;
    for (uint32_t at = box; at > 0; at = boxes[at].parent)
        ret.depth++;
    ret.saves = excess.high ? boxes[ret.box].h - boxes[ret.box].height
                            : boxes[ret.box].w - boxes[ret.box].width;
    return ret;
}

/* If one is enough, the smallest of those, so that an opened example of a block stays;
 * else the deepest ones first, and of these the largest. */
static bool is_better(const struct one_candidate *a, const struct one_candidate *b,
                      int32_t excess)
{
    bool enough = a->saves >= excess;

    if (enough != (b->saves >= excess))
        return enough;
    if (enough && a->saves != b->saves)
        return a->saves < b->saves;
    if (a->depth != b->depth)
        return a->depth > b->depth;
    return a->saves > b->saves;
}

/* The group to close, one without open groups inside; PLAN_NONE. */
static uint32_t choose(const struct picture *picture, struct one_excess excess,
                       bool *has_frames)
{
    const struct plan *plan = &picture->diagram->plan;
    struct one_candidate best = {.box = PLAN_NONE};

    for (uint32_t i = plan->n_boxes; i-- > 1;) {
        if (!may_close(picture, i))
            continue;
        if (!has_frames[i]) {
            struct one_candidate one = candidate_of(picture, i, excess);

            if (best.box == PLAN_NONE || is_better(&one, &best, excess.by))
                best = one;
        }
        has_frames[plan->boxes[i].parent] = true;
    }
    return best.box;
}

static uint32_t count_nodes(const struct picture *picture, uint32_t group)
{
    uint32_t n = 0;

    for (uint32_t i = group + 1; i < picture->diagram->plan.boxes[group].end; i++)
        n += picture_is_node(picture, i);
    return n;
}

bool picture_close_one(struct picture *picture)
{
    struct plan *plan = &picture->diagram->plan;
    struct one_excess excess = excess_of(picture);
    bool *has_frames;
    uint32_t box;

    if (picture->diagram->wanted.depth != GRAPH_AUTO || excess.by <= 0)
        return false;
    has_frames = arena_array(&picture->places, plan->n_boxes, sizeof *has_frames);
    box = has_frames ? choose(picture, excess, has_frames) : PLAN_NONE;
    if (box == PLAN_NONE ||
        arena_room(&picture->arena, &picture->closed, picture->n_closed,
                   &picture->closed_room, sizeof *picture->closed) < 0)
        return false;
    picture->closed[picture->n_closed++] = box;
    picture->hidden += count_nodes(picture, box) - 1;
    picture->diagram->n_shown -= count_nodes(picture, box) - 1;
    plan->boxes[box].flags &= (uint8_t)~PLAN_OPEN;
    return true;
}

void picture_reopen(struct picture *picture)
{
    for (uint32_t i = 0; i < picture->n_closed; i++)
        picture->diagram->plan.boxes[picture->closed[i]].flags |= PLAN_OPEN;
    picture->diagram->n_shown += picture->hidden;
    picture->n_closed = picture->hidden = 0;
}
