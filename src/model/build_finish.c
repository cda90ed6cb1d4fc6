/* Makes a model from a build: numbers nodes in pre-order, finds ties and guesses. */
#include <string.h>

#include "base/base.h"
#include "model/build_in.h"

/* Were the nodes added in pre-order, as in most files? Then the parent of each is the
 * node before it or an ancestor of that, and siblings are linked in the order of
 * adding. */
static bool in_order(const struct build *build)
{
    const uint32_t *parent = build->model->parent;

    for (uint32_t node = 1; node < build->n_nodes; node++) {
        uint32_t above = node - 1;

        while (above > parent[node])
            above = parent[above];
        if (above != parent[node])
            return false;
        above = node_next(build, node);
        if (above < node)
            return false;
    }
    return true;
}

/* Numbers the nodes in pre-order, along the links: fills place_of[node]. */
static void number_nodes(const struct build *build, uint32_t *place_of)
{
    uint32_t node = 0, place = 0, next;

    for (;;) {
        place_of[node] = place++;
        next = node_first(build, node);
        while (next == NO_PLACE) {
            next = node_next(build, node);
            node = build->model->parent[node];
            if (next == NO_PLACE && node == NO_PLACE)
                return;
        }
        node = next;
    }
}

/* Reorders a column; `spare` is a column that is no longer needed. */
static void order_column(uint32_t *column, uint32_t *spare, const uint32_t *place_of,
                         uint32_t n)
{
    for (uint32_t node = 0; node < n; node++)
        spare[place_of[node]] = column[node];
    memcpy(column, spare, n * sizeof *column);
}

/* Turns nodes into places, and updates everything that refers to them. */
static int order_nodes(struct build *build)
{
    struct model *model = build->model;
    uint32_t n = build->n_nodes, *place_of, i;
    struct pickle_log *log = &model->pickle;

    place_of = arena_array(&build->own, n, sizeof *place_of);
    if (!place_of)
        return -1;
    number_nodes(build, place_of);
    for (i = 1; i < n; i++)
        model->parent[i] = place_of[model->parent[i]];
    order_column(model->parent, build->next, place_of, n);
    order_column(model->name, build->next, place_of, n);
    order_column(model->object, build->next, place_of, n);
    for (i = 0; i < n; i++)
        memcpy(&build->next[place_of[i]], &build->nodes[i], sizeof *build->nodes);
    memcpy(build->nodes, build->next, n * sizeof *build->nodes);
    for (i = 0; i < model->n_findings; i++)
        if (model->findings[i].place < n)
            model->findings[i].place = place_of[model->findings[i].place];
    for (i = 0; i < log->n_events; i++)
        if (log->events[i].place < n)
            log->events[i].place = place_of[log->events[i].place];
    build_program_places(build, place_of, n);
    return 0;
}

/* Makes the columns that only a finished model has. */
static int make_columns(struct build *build)
{
    struct model *model = build->model;
    uint32_t n = build->n_nodes, place;

    model->kind = arena_array(&model->arena, n, sizeof *model->kind);
    model->flags = arena_array(&model->arena, n, sizeof *model->flags);
    if (!model->kind || !model->flags)
        return -1;
    model->n_places = n;
    memset(model->end, 0, n * sizeof *model->end);
    for (place = n; place-- > 0;) {
        uint32_t parent = model->parent[place];

        model->kind[place] = build->nodes[place].kind;
        model->flags[place] = build->nodes[place].flags;
        /* Children were visited before and have set the end of their parent. */
        if (model->end[place] == 0)
            model->end[place] = place + 1;
        if (parent != NO_PLACE && model->end[parent] == 0)
            model->end[parent] = model->end[place];
    }
    return 0;
}

static void find_first_places(struct model *model)
{
    for (uint32_t t = 0; t < model->n_tensors; t++) {
        model->tensors[t].place = NO_PLACE;
        model->tensors[t].places = 0;
    }
    for (uint32_t i = 0; i < model->n_objects; i++)
        model->objects[i].place = NO_PLACE;
    for (uint32_t p = 0; p < model->n_places; p++) {
        uint32_t id = model->object[p];

        if (model->kind[p] == PLACE_TENSOR && id < model->n_tensors) {
            if (model->tensors[id].places++ == 0)
                model->tensors[id].place = p;
        } else if (model->kind[p] == PLACE_TENSOR) { /* no memory was left for it */
            model->kind[p] = PLACE_VALUE;
            model->object[p] = VALUE_ID_NONE;
        } else if (model->kind[p] <= PLACE_GROUP && id < model->n_objects &&
                   !(model->flags[p] & PLACE_AGAIN)) {
            model->objects[id].place = p;
        }
    }
}

/* If all places of an object are PLACE_AGAIN (in a damaged file), one becomes its first
 * place. An object without a place gets the root. */
static void mend_objects(struct model *model)
{
    for (uint32_t p = 0; p < model->n_places; p++) {
        uint32_t id = model->object[p];

        if (model->kind[p] > PLACE_GROUP || !(model->flags[p] & PLACE_AGAIN))
            continue;
        if (id < model->n_objects && model->objects[id].place != NO_PLACE)
            continue;
        model->flags[p] &= (uint8_t)~PLACE_AGAIN;
        if (id < model->n_objects)
            model->objects[id].place = p;
    }
    for (uint32_t i = 0; i < model->n_objects; i++)
        if (model->objects[i].place == NO_PLACE)
            model->objects[i].place = 0;
}

static bool is_in_module(const struct model *model, uint32_t place)
{
    uint32_t up = model->parent[place];

    while (up != NO_PLACE && model->kind[up] != PLACE_MODULE &&
           !(model->flags[up] & PLACE_STATE_DICT))
        up = model->parent[up];
    return up != NO_PLACE;
}

/* Quantised layers store packed weights in an object that is not a parameter. */
static void find_packed_weights(struct model *model)
{
    for (uint32_t t = 0; t < model->n_tensors; t++) {
        struct tensor *tensor = &model->tensors[t];

        if (tensor->role == ROLE_PLAIN && tensor->place != NO_PLACE &&
            dtype_info((enum dtype)tensor->dtype)->quantised &&
            is_in_module(model, tensor->place))
            tensor->role = ROLE_PARAMETER;
    }
}

/* Raises the limit if needed: even a partial model must have its tree. */
static void allow(struct arena *arena, size_t more)
{
    if (arena->limit < arena->used + more)
        arena->limit = arena->used + more;
}

const struct model *build_finish(struct build *build, struct err *err)
{
    struct model *model = build->model;
    size_t n = build->n_nodes;

    if (build_spent(build)) {
        allow(&build->own, n * sizeof(uint32_t) + 64 * KIB);
        allow(&model->arena, n * 2 + 512 * KIB);
        build_finding(build, FINDING_LIMIT, SEVERITY_ALARM, 0,
                      "the file needs more memory than its size allows; what came "
                      "after that is left out");
    }
    build_sort_siblings(build);
    if ((!in_order(build) && order_nodes(build) < 0) || make_columns(build) < 0) {
        arena_err(&model->arena, model->path, err);
        return NULL;
    }
    find_first_places(model);
    mend_objects(model);
    find_packed_weights(model);
    build->model = NULL;
    build_release(build); /* before guessing allocates as much again */
    if (build->guess)
        build_guess_layers(model);
    intern_seal(
        &model->strings); /* no further strings: drop the table that finds them */
    arena_release(&model->table);
    return model;
}
