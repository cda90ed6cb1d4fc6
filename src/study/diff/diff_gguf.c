/* Matches a model with its GGUF: other names, other orders of rows, experts in one
 * tensor. Rounded values do not identify tensors, so a table of names does
 * (gguf_names.h). */
#include "study/diff/diff_in.h"

#include <stdlib.h>

#include "study/diff/gguf_names.h"

/* One tensor of a stack of experts. */
struct gguf_part {
    uint32_t whole, expert, part;
};

struct pairing {
    struct diffing *d;
    int gguf, other; /* the sides */
    struct gguf_model model;
    struct name_map names; /* of the tensors of the GGUF */
    uint32_t *places;      /* by index in `names` */
    struct gguf_part *parts;
    uint32_t n_parts, parts_room;
    struct buf path, name;
};

static int list_names(struct pairing *g)
{
    const struct side *side = &g->d->side[g->gguf];
    uint32_t p, index, n = 0;

    name_map_init(&g->names, &g->d->scratch);
    g->places =
        arena_array(&g->d->scratch, (size_t)side->tensors[0] + 1, sizeof *g->places);
    for (p = 0; g->places && p < side->model->n_places; p++) {
        if (!side_tensor(side, p))
            continue;
        buf_clear(&g->path);
        place_path(side->model, p, &g->path);
        if (name_map_find(&g->names, buf_span(&g->path), &index))
            continue;
        if (name_map_add(&g->names, arena_str(&g->d->scratch, buf_span(&g->path)),
                         &index) < 0)
            return -1;
        g->places[index] = p;
        n++;
    }
    return g->places && !g->d->scratch.spent && n <= side->tensors[0] ? 0 : -1;
}

/* ---- one tensor ---- */

/* Can it become this tensor of the GGUF? Vocabularies are sometimes padded. */
static bool fits(const struct pairing *g, uint32_t place, uint32_t in_gguf,
                 struct compare_edit *edit)
{
    const struct side *left = &g->d->side[g->other], *right = &g->d->side[g->gguf];
    const struct tensor *a = side_at(left, place), *b = side_at(right, in_gguf);
    const int64_t *x = tensor_shape(left->model, a), *y = tensor_shape(right->model, b);
    struct compare_side side = {left->model, a}, whole = {right->model, b};

    if (edit->kind == EDIT_SLICE)
        return b->rank == a->rank + 1 && compare_editable(whole, *edit) &&
               (a->rank == 0 || memcmp(x, y + 1, a->rank * sizeof *x) == 0);
    if (edit->kind == EDIT_EXPONENT || edit->kind == EDIT_RESHAPED) {
        if (edit->kind == EDIT_RESHAPED && side_same_shape(left, a, right, b))
            edit->kind = EDIT_NONE;
        return a->numel == b->numel;
    }
    if (a->rank != b->rank || a->rank == 0)
        return false;
    if (edit->kind == EDIT_TRANSPOSED && a->rank == 2 && x[0] == y[1] && x[1] == y[0])
        return true;
    if (edit->kind == EDIT_TRANSPOSED || !compare_editable(side, *edit))
        edit->kind = EDIT_NONE;
    return a->rank == 1 ? x[0] == y[0] || edit->kind == EDIT_NONE
                        : memcmp(x + 1, y + 1, (a->rank - 1u) * sizeof *x) == 0;
}

static int add_part(struct pairing *g, uint32_t place, uint32_t whole, uint32_t expert)
{
    if (arena_room(&g->d->scratch, &g->parts, g->n_parts, &g->parts_room,
                   sizeof *g->parts) < 0)
        return -1;
    g->parts[g->n_parts++] = (struct gguf_part){whole, expert, place};
    return 0;
}

/* 1: matched, 0: not to this tensor. */
static int try_match(struct pairing *g, const struct gguf_name *name, uint32_t place,
                     uint32_t in_gguf)
{
    struct side *other = &g->d->side[g->other], *gguf = &g->d->side[g->gguf];
    struct diff_conversion *way = &g->d->conversions[place];
    struct compare_edit edit = gguf_edit(name, &g->model, &way->usual);
    uint32_t match = gguf->match[in_gguf];

    if (!fits(g, place, in_gguf, &edit))
        return 0;
    edit.right = (edit.kind == EDIT_SLICE) == (g->gguf == RIGHT);
    way->edit = edit;
    way->obstacle = gguf_obstacle(name, &g->model);
    if (edit.kind == EDIT_SLICE)
        return add_part(g, place, in_gguf, edit.n) < 0 ? -1 : 1;
    if (match == NO_PLACE)
        diffing_match(g->d, g->gguf == RIGHT ? place : in_gguf,
                      g->gguf == RIGHT ? in_gguf : place);
    else if (other->model->object[match] == other->model->object[place])
        other->match[place] = in_gguf; /* tied: another name of its match */
    else
        return 0;
    return 1;
}

static int match_one(struct pairing *g, uint32_t place)
{
    struct side *other = &g->d->side[g->other];
    struct gguf_name name;
    uint32_t index;
    int found = 0;

    if (!gguf_name_split(&name,
                         diffing_name(g->d, g->other, place, other->base, &g->path)))
        return 0;
    if (other->match[place] != NO_PLACE)
        return 0;
    while (found == 0 && gguf_name_next(&name, g->model.architecture, &g->name))
        if (name_map_find(&g->names, buf_span(&g->name), &index))
            found = try_match(g, &name, place, g->places[index]);
    return found;
}

/* ---- stacks ---- */

static int by_whole(const void *a, const void *b)
{
    const struct gguf_part *x = a, *y = b;

    if (x->whole != y->whole)
        return x->whole < y->whole ? -1 : 1;
    if (x->expert != y->expert)
        return x->expert < y->expert ? -1 : 1;
    return x->part < y->part ? -1 : x->part > y->part;
}

/* A stack needs each of its tensors once. */
static int make_stack(struct pairing *g, const struct gguf_part *parts, uint32_t n)
{
    const struct side *gguf = &g->d->side[g->gguf];
    const struct tensor *whole = side_at(gguf, parts[0].whole);
    uint32_t i, *many;

    if ((int64_t)n != tensor_shape(gguf->model, whole)[0] ||
        gguf->match[parts[0].whole] != NO_PLACE)
        return 0;
    for (i = 0; i < n; i++)
        if (parts[i].expert != i)
            return 0;
    many = arena_array(g->d->arena, n, sizeof *many);
    for (i = 0; many && i < n; i++)
        many[i] = parts[i].part;
    return many ? diffing_add_join(g->d, &(struct diff_join){.fused = g->gguf == RIGHT,
                                                             .stacked = true,
                                                             .one = parts[0].whole,
                                                             .many = many,
                                                             .n = n})
                : -1;
}

static int make_stacks(struct pairing *g)
{
    uint32_t i, end;

    if (g->n_parts > 0)
        qsort(g->parts, g->n_parts, sizeof *g->parts, by_whole);
    for (i = 0; i < g->n_parts; i = end) {
        for (end = i; end < g->n_parts && g->parts[end].whole == g->parts[i].whole;)
            end++;
        if (make_stack(g, g->parts + i, end - i) < 0)
            return -1;
    }
    return 0;
}

/* ---- all ---- */

/* Flag tensors that only one side has by design. */
static void flag_beside(struct pairing *g, int s)
{
    struct side *side = &g->d->side[s];
    struct gguf_name name;

    for (uint32_t p = 0; p < side->model->n_places; p++)
        if (side_tensor(side, p) && side->match[p] == NO_PLACE &&
            gguf_name_split(&name, diffing_name(g->d, s, p, side->base, &g->path)) &&
            gguf_name_beside(&name, s == g->gguf))
            side->beside[p] = true;
}

static int match_all(struct pairing *g)
{
    const struct side *other = &g->d->side[g->other];

    if (list_names(g) < 0)
        return -1;
    for (uint32_t p = 0; p < other->model->n_places; p++)
        if (side_tensor(other, p) && match_one(g, p) < 0)
            return -1;
    flag_beside(g, LEFT);
    flag_beside(g, RIGHT);
    return g->path.bad || g->name.bad ? -1 : make_stacks(g);
}

int diffing_match_gguf(struct diffing *d)
{
    struct pairing g = {.d = d};
    bool left = gguf_model_read(&g.model, d->side[LEFT].model);
    struct gguf_model second;
    int status;

    if (left == gguf_model_read(&second, d->side[RIGHT].model))
        return 0;
    if (!left)
        g.model = second;
    g.gguf = left ? LEFT : RIGHT;
    g.other = !g.gguf;
    d->diff->gguf = true;
    d->diff->gguf_left = left;
    d->converted = g.other;
    d->conversions = arena_array(&d->scratch, d->side[g.other].model->n_places,
                                 sizeof *d->conversions);
    if (!d->conversions)
        return -1;
    status = match_all(&g);
    buf_release(&g.path);
    buf_release(&g.name);
    return status;
}

/* ---- values ---- */

struct diff_conversion diffing_conversion(const struct diffing *d, uint32_t left,
                                          uint32_t right)
{
    struct diff_conversion none = {.usual = true};

    if (!d->conversions)
        return none;
    return d->conversions[d->converted == LEFT ? left : right];
}

int diffing_compare_stacks(struct diffing *d)
{
    if (!d->wanted->values)
        return 0;
    for (uint32_t i = 0; i < d->diff->n_joins; i++) {
        const struct diff_join *join = &d->diff->joins[i];

        for (uint32_t k = 0; join->stacked && k < join->n; k++)
            diffing_expect(d, join->fused ? join->many[k] : join->one,
                           join->fused ? join->one : join->many[k]);
    }
    for (uint32_t i = 0; i < d->diff->n_joins; i++) {
        const struct diff_join *join = &d->diff->joins[i];

        for (uint32_t k = 0; join->stacked && k < join->n && !d->stopped; k++)
            if (!diffing_know(d, join->fused ? join->many[k] : join->one,
                              join->fused ? join->one : join->many[k]) &&
                !d->stopped)
                return -1;
    }
    return 0;
}
