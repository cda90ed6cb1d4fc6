/* Keeps a neighbourhood of a place, or the paths between two places. The groups around
 * the kept parts are kept too. */
#include "graph/parts_in.h"

enum { FORWARD = 1, BACKWARD = 2 };

struct focus {
    struct parts *parts;
    const struct model *model;
    uint32_t *next_out, *first_out; /* links by source */
    uint32_t *next_in, *first_in;   /* links by target */
    uint32_t *queue;
};

static uint32_t real_part(const struct parts *parts, uint32_t part)
{
    while (parts->at[part].into != PART_NONE)
        part = parts->at[part].into;
    return part;
}

/* Marks all parts at or below a place. Parts come after those around them. */
static bool mark_place(const struct focus *focus, uint32_t place, uint8_t *mark)
{
    const struct parts *parts = focus->parts;
    uint32_t end = focus->model->end[place];
    bool some = false;

    for (uint32_t i = 1; i < parts->n; i++) {
        const struct graph_part *part = &parts->at[i];
        bool at = part->box.place >= place && part->box.place < end &&
                  (part->box.kind == DIAGRAM_MODULE || place > 0);

        mark[i] = at || mark[part->parent];
        some |= mark[i] && !part->dropped;
    }
    return some;
}

static void spread_from(struct focus *focus, uint32_t part, uint8_t *reached, int ways,
                        uint32_t *n)
{
    const struct parts *parts = focus->parts;

    for (uint32_t l = ways & FORWARD ? focus->first_out[part] : PART_NONE;
         l != PART_NONE; l = focus->next_out[l]) {
        uint32_t other = real_part(parts, parts->links[l].target);

        if (!reached[other]) {
            reached[other] = 1;
            focus->queue[(*n)++] = other;
        }
    }
    for (uint32_t l = ways & BACKWARD ? focus->first_in[part] : PART_NONE;
         l != PART_NONE; l = focus->next_in[l]) {
        uint32_t other = real_part(parts, parts->links[l].source);

        if (!reached[other]) {
            reached[other] = 1;
            focus->queue[(*n)++] = other;
        }
    }
}

/* Add to `reached` everything at most `steps` links away. */
static void spread(struct focus *focus, uint8_t *reached, int ways, uint32_t steps)
{
    uint32_t n = 0, at = 0;

    for (uint32_t i = 1; i < focus->parts->n; i++)
        if (reached[i] && !focus->parts->at[i].dropped)
            focus->queue[n++] = i;
    for (uint32_t end = n; steps > 0 && at < end; steps--, end = n)
        for (; at < end; at++)
            spread_from(focus, focus->queue[at], reached, ways, &n);
}

static void index_links(struct focus *focus)
{
    const struct parts *parts = focus->parts;

    for (uint32_t i = 0; i < parts->n; i++)
        focus->first_out[i] = focus->first_in[i] = PART_NONE;
    for (uint32_t i = parts->n_links; i-- > 0;) {
        uint32_t source = real_part(parts, parts->links[i].source);
        uint32_t target = real_part(parts, parts->links[i].target);

        focus->next_out[i] = focus->first_out[source];
        focus->first_out[source] = i;
        focus->next_in[i] = focus->first_in[target];
        focus->first_in[target] = i;
    }
}

static int prepare(struct focus *focus)
{
    struct arena *scratch = focus->parts->scratch;
    size_t n = (size_t)focus->parts->n + 1, links = (size_t)focus->parts->n_links + 1;

    focus->first_out = arena_array(scratch, n, sizeof(uint32_t));
    focus->first_in = arena_array(scratch, n, sizeof(uint32_t));
    focus->next_out = arena_array(scratch, links, sizeof(uint32_t));
    focus->next_in = arena_array(scratch, links, sizeof(uint32_t));
    focus->queue = arena_array(scratch, n, sizeof(uint32_t));
    if (!focus->first_out || !focus->first_in || !focus->next_out || !focus->next_in ||
        !focus->queue)
        return -1;
    index_links(focus);
    return 0;
}

/* Drop unmarked parts, and groups that become empty. */
static void keep_marked(struct parts *parts, uint8_t *mark)
{
    for (uint32_t i = parts->n; i-- > 1;)
        if (mark[i] && !parts->at[i].dropped)
            mark[parts->at[i].parent] = 1;
    for (uint32_t i = 1; i < parts->n; i++)
        parts->at[i].dropped |= !mark[i];
    tree_link(parts);
}

static int not_drawn(const struct focus *focus, uint32_t place, struct err *err)
{
    struct buf path = BUF_INIT;

    place_path(focus->model, place, &path);
    err_set(err, ERR_NOT_FOUND, "%s is not in this graph: it was not called there",
            buf_cstr(&path));
    buf_release(&path);
    return -1;
}

/* Keep the paths from one place to the other, including both. */
static int keep_path(struct focus *focus, uint8_t *from, uint32_t place,
                     struct err *err)
{
    struct parts *parts = focus->parts;
    uint8_t *to = arena_array(parts->scratch, parts->n, 1);
    uint8_t *ends = arena_array(parts->scratch, parts->n, 1);
    bool some = false;

    if (!to || !ends)
        return arena_err(parts->scratch, "the graph", err);
    if (!mark_place(focus, place, to))
        return not_drawn(focus, place, err);
    for (uint32_t i = 0; i < parts->n; i++)
        ends[i] = from[i] | to[i];
    spread(focus, from, FORWARD, UINT32_MAX);
    spread(focus, to, BACKWARD, UINT32_MAX);
    for (uint32_t i = 0; i < parts->n; i++) {
        some |= from[i] && to[i];
        ends[i] |= from[i] & to[i];
    }
    if (!some)
        return err_set(err, ERR_NOT_FOUND,
                       "no value goes from the one place to the other; try them in the "
                       "other order");
    keep_marked(parts, ends);
    return 0;
}

int focus_apply(struct parts *parts, const struct session *session,
                const struct graph_wanted *wanted, struct err *err)
{
    struct focus focus = {.parts = parts, .model = session->model};
    uint8_t *mark;

    if (wanted->focus == NO_PLACE)
        return 0;
    if (wanted->focus >= session->model->n_places ||
        (wanted->to != NO_PLACE && wanted->to >= session->model->n_places))
        return err_set(err, ERR_NOT_FOUND, "the model has no such place");
    mark = arena_array(parts->scratch, parts->n, 1);
    if (!mark || prepare(&focus) < 0)
        return arena_err(parts->scratch, "the graph", err);
    if (!mark_place(&focus, wanted->focus, mark))
        return not_drawn(&focus, wanted->focus, err);
    if (wanted->to != NO_PLACE)
        return keep_path(&focus, mark, wanted->to, err);
    spread(&focus, mark, FORWARD | BACKWARD,
           wanted->neighbours ? wanted->neighbours : 1);
    keep_marked(parts, mark);
    return 0;
}
