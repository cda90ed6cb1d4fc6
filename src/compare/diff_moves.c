#include "compare/diff_moves_in.h"

/* ---- names in a state_dict ---- */

/* The state_dict with most tensors; the root if the model has none. */
static uint32_t find_root(const struct model *model)
{
    uint32_t best = 0, most = 0;

    for (uint32_t p = 0; p < model->n_places; p++) {
        uint32_t tensors = 0;

        if (!(model->flags[p] & PLACE_STATE_DICT))
            continue;
        for (uint32_t below = p; below < model->end[p]; below++)
            tensors += model->kind[below] == PLACE_TENSOR;
        if (tensors > most) {
            most = tensors;
            best = p;
        }
        p = model->end[p] - 1;
    }
    return best;
}

static const struct model *side(const struct diff_moves *moves, bool right)
{
    return right ? moves->diff->right : moves->diff->left;
}

/* The key of a tensor in its state_dict. `at` is NULL if the tensor is not in it, or if
 * the arena is spent. */
static struct str state_name(struct diff_moves *moves, bool right, uint32_t place)
{
    const struct model *model = side(moves, right);
    uint32_t root = moves->roots[right];
    struct str name = {NULL, 0};
    struct buf path = BUF_INIT;
    size_t skip;

    if (place == NO_PLACE || place <= root || place >= model->end[root] ||
        model->kind[model->parent[place]] == PLACE_TENSOR ||
        model->flags[place] & (PLACE_BUFFER_TEMP | PLACE_ATTRIBUTE) ||
        place_tensor(model, place)->flags & TENSOR_DERIVED)
        return name;
    if (!moves->whole[right] && place_tensor(model, place)->role > ROLE_BUFFER)
        return name;
    place_path(model, root, &path);
    skip = path.len > 0 ? path.len + 1 : 0;
    buf_clear(&path);
    place_path(model, place, &path);
    name = arena_str(moves->arena, str_from(buf_span(&path), skip));
    buf_release(&path);
    return name;
}

/* ---- lists ---- */

static void add_tuple(struct diff_moves *moves, struct name_tuple *list, uint32_t *n,
                      struct str a, struct str b)
{
    uint32_t count = b.at ? 2 : 1;
    struct str *names = arena_array(moves->arena, count, sizeof *names);

    if (!names)
        return;
    names[0] = a;
    if (b.at)
        names[1] = b;
    list[(*n)++] = (struct name_tuple){names, count, 0};
}

static int make_room(struct diff_moves *moves)
{
    size_t n = (size_t)moves->diff->n_pairs + 1;
    struct arena *arena = moves->arena;

    moves->names = arena_array(arena, n, sizeof *moves->names);
    moves->transpose = arena_array(arena, n, sizeof *moves->transpose);
    moves->edits = arena_array(arena, n, sizeof *moves->edits);
    moves->edited = arena_array(arena, n, sizeof *moves->edited);
    moves->drop = arena_array(arena, n, sizeof *moves->drop);
    moves->copy = arena_array(arena, n, sizeof *moves->copy);
    moves->missing = arena_array(arena, n, sizeof *moves->missing);
    moves->reshaped = arena_array(arena, n, sizeof *moves->reshaped);
    n = (size_t)moves->diff->n_joins + 1;
    moves->joins = arena_array(arena, n, sizeof *moves->joins);
    return arena->spent ? -1 : 0;
}

/* By tensor of the right model: a key of it that has a source on the left, or NULL. */
static struct str *list_sources(struct diff_moves *moves)
{
    const struct diff *diff = moves->diff;
    struct str *sources =
        arena_array(moves->arena, (size_t)diff->right->n_tensors + 1, sizeof *sources);

    for (uint32_t i = 0; sources && i < diff->n_pairs; i++) {
        const struct diff_pair *pair = &diff->pairs[i];

        if (pair->right != NO_PLACE && pair->left != NO_PLACE)
            sources[diff->right->object[pair->right]] =
                state_name(moves, true, pair->right);
    }
    return sources;
}

/* Tensors with another shape on the right are assigned in one loop only if it is the
 * same shape. */
static uint64_t shape_tag(const struct diff_moves *moves, const struct diff_pair *pair)
{
    const struct tensor *tensor = place_tensor(moves->diff->right, pair->right);

    return (uint64_t)tensor->numel << 40;
}

/* A tensor that is on both sides. */
static void add_move(struct diff_moves *moves, uint32_t index, struct str left,
                     struct str right)
{
    const struct diff_pair *pair = &moves->diff->pairs[index];

    moves->names[moves->n_names++] = (struct rename_pair){left, right};
    moves->renames |= !str_eq(left, right);
    if (pair->flags & DIFF_TRANSPOSED)
        add_tuple(moves, moves->transpose, &moves->n_transpose, right,
                  (struct str){NULL, 0});
    else if (pair->state == DIFF_RESHAPED)
        moves->reshaped[moves->n_reshaped++] = index;
    if (pair->edit.kind != EDIT_NONE && pair->edit.kind != EDIT_TRANSPOSED &&
        pair->edit.kind != EDIT_SLICE) {
        moves->edited[moves->n_edits] = index;
        add_tuple(moves, moves->edits, &moves->n_edits, right, (struct str){NULL, 0});
        if (!moves->arena->spent)
            moves->edits[moves->n_edits - 1].tag =
                (uint64_t)pair->edit.kind << 32 | pair->edit.n | shape_tag(moves, pair);
    }
}

static void add_pair(struct diff_moves *moves, uint32_t index,
                     const struct str *sources)
{
    const struct diff_pair *pair = &moves->diff->pairs[index];
    struct str left = state_name(moves, false, pair->left);
    struct str right = state_name(moves, true, pair->right);

    if (pair->state == DIFF_JOINED || pair->flags & DIFF_ALIAS)
        return;
    if (left.at && right.at) {
        add_move(moves, index, left, right);
    } else if (left.at) {
        add_tuple(moves, moves->drop, &moves->n_drop, left, (struct str){NULL, 0});
    } else if (right.at) {
        struct str source = sources[moves->diff->right->object[pair->right]];

        if (source.at)
            add_tuple(moves, moves->copy, &moves->n_copy, right, source);
        else
            moves->missing[moves->n_missing++] = right;
    }
}

static void add_join(struct diff_moves *moves, const struct diff_join *join)
{
    const struct model *many = side(moves, !join->fused);
    struct str *names = arena_array(moves->arena, (size_t)join->n + 1, sizeof *names);
    struct name_tuple *tuple = &moves->joins[moves->n_joins++];

    *tuple = (struct name_tuple){names, names ? join->n + 1 : 0, join->dim};
    tuple->tag = hash_mix(tuple->tag, join->fused);
    tuple->tag = hash_mix(tuple->tag, join->stacked);
    if (!names)
        return;
    names[0] = state_name(moves, join->fused, join->one);
    for (uint32_t i = 0; i < join->n; i++) {
        const struct tensor *part = place_tensor(many, join->many[i]);

        names[i + 1] = state_name(moves, !join->fused, join->many[i]);
        if (!join->fused && part->rank > join->dim)
            tuple->tag =
                hash_mix(tuple->tag, (uint64_t)tensor_shape(many, part)[join->dim]);
        if (!names[i + 1].at)
            tuple->n = 0;
    }
    if (!names[0].at)
        tuple->n = 0;
}

/* Do these rules rename everything correctly? */
static bool rules_fit(const struct diff_moves *moves, const struct rename_rules *rules)
{
    struct buf renamed = BUF_INIT;
    bool fit = true;

    for (uint32_t i = 0; fit && i < moves->n_names; i++) {
        buf_clear(&renamed);
        rename_apply(rules, moves->names[i].from, &renamed);
        fit = str_eq(buf_span(&renamed), moves->names[i].to);
    }
    buf_release(&renamed);
    return fit;
}

/* Uses the rules of the diff, unless they are for full names: if only one side is a
 * checkpoint, keys are relative to its state_dict. */
static int find_rules(struct diff_moves *moves)
{
    if (!moves->renames)
        return 0;
    moves->rules = moves->diff->rules;
    if (rules_fit(moves, &moves->rules))
        return 0;
    return rename_find(moves->names, moves->n_names, moves->arena, &moves->rules, NULL);
}

int diff_moves_find(struct diff_moves *moves, const struct diff *diff,
                    struct arena *arena)
{
    struct str *sources;

    *moves = (struct diff_moves){.diff = diff, .arena = arena};
    for (int right = 0; right < 2; right++) {
        const struct model *model = side(moves, right);

        moves->roots[right] = find_root(model);
        moves->whole[right] = model->flags[moves->roots[right]] & PLACE_STATE_DICT;
    }
    if (make_room(moves) < 0)
        return -1;
    sources = list_sources(moves);
    for (uint32_t i = 0; sources && i < diff->n_pairs; i++)
        add_pair(moves, i, sources);
    for (uint32_t i = 0; i < diff->n_joins; i++)
        add_join(moves, &diff->joins[i]);
    if (arena->spent)
        return -1;
    return find_rules(moves);
}
