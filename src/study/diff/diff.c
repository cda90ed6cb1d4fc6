#include "study/diff/diff.h"

#include <math.h>
#include <string.h>

#include "measure/elements.h"
#include "study/diff/diff_in.h"

/* ---- one side ---- */

const struct tensor *side_at(const struct side *side, uint32_t place)
{
    return &side->model->tensors[side->model->object[place]];
}

bool side_tensor(const struct side *side, uint32_t place)
{
    const struct model *model = side->model;

    if (side->constants != 0 && place > side->constants &&
        place < model->end[side->constants])
        return false;
    return model->kind[place] == PLACE_TENSOR &&
           model->object[place] < model->n_tensors &&
           !(side->saved_only &&
             (model->flags[place] & (PLACE_ATTRIBUTE | PLACE_BUFFER_TEMP)));
}

bool side_same_shape(const struct side *left, const struct tensor *a,
                     const struct side *right, const struct tensor *b)
{
    return a->rank == b->rank &&
           (a->rank == 0 ||
            memcmp(tensor_shape(left->model, a), tensor_shape(right->model, b),
                   a->rank * sizeof(int64_t)) == 0);
}

uint64_t side_shape_hash(const struct side *side, const struct tensor *tensor)
{
    uint64_t hash = hash_u64(tensor->rank);

    for (int i = 0; i < tensor->rank; i++)
        hash = hash_mix(hash, (uint64_t)tensor_shape(side->model, tensor)[i]);
    return hash;
}

void diffing_match(struct diffing *d, uint32_t left, uint32_t right)
{
    d->side[LEFT].match[left] = right;
    d->side[RIGHT].match[right] = left;
}

void diffing_unmatch(struct diffing *d, uint32_t left)
{
    d->side[RIGHT].match[d->side[LEFT].match[left]] = NO_PLACE;
    d->side[LEFT].match[left] = NO_PLACE;
    d->flags[left] = 0;
}

uint8_t side_role(const struct side *side, uint32_t place)
{
    const struct model *model = side->model;

    while (place != 0 && side_tensor(side, model->parent[place]))
        place = model->parent[place];
    return side_at(side, place)->role;
}

/* ---- comparing ---- */

static int begin_side(struct diffing *d, int s, const struct model *model)
{
    struct side *side = &d->side[s];
    uint32_t n = model->n_places, p;

    side->model = model;
    side->spot = arena_array(&d->scratch, n, sizeof *side->spot);
    side->tensors = arena_array(&d->scratch, n, sizeof *side->tensors);
    side->match = arena_array(&d->scratch, n, sizeof *side->match);
    side->join = arena_array(&d->scratch, n, sizeof *side->join);
    side->beside = arena_array(&d->scratch, n, sizeof *side->beside);
    if (!side->spot || !side->tensors || !side->match || !side->join || !side->beside)
        return -1;
    for (p = 0; p < n; p++) {
        side->match[p] = NO_PLACE;
        side->join[p] = DIFF_NONE;
        side->tensors[p] = side_tensor(side, p);
    }
    for (p = n; p-- > 1;)
        side->tensors[model->parent[p]] += side->tensors[p];
    return 0;
}

/* Does the file record classes of modules? A state_dict does not. */
static bool tells_modules(const struct model *model)
{
    for (uint32_t p = 0; p < model->n_places; p++) {
        const struct object *object =
            model->kind[p] == PLACE_MODULE ? place_object(model, p) : NULL;

        if (object && object->class_id != NO_CLASS && !object->guessed)
            return true;
    }
    return false;
}

/* The group CONSTANTS of a TorchScript file, or 0. */
static uint32_t find_constants(const struct model *model)
{
    for (uint32_t p = place_first(model, 0); p != NO_PLACE; p = place_next(model, p)) {
        uint32_t first = place_first(model, p);

        if (str_is(place_name(model, p), "CONSTANTS") && first != NO_PLACE &&
            model->kind[first] == PLACE_TENSOR &&
            place_tensor(model, first)->role == ROLE_PLAIN)
            return p;
    }
    return 0;
}

static int begin(struct diffing *d)
{
    const struct diff *diff = d->diff;
    bool left_tells = tells_modules(diff->left);
    bool right_tells = tells_modules(diff->right);

    d->side[LEFT].saved_only = left_tells && !right_tells;
    d->side[RIGHT].saved_only = right_tells && !left_tells;
    for (int s = LEFT; s <= RIGHT; s++)
        d->side[s].constants = find_constants(s == LEFT ? diff->left : diff->right);
    if (d->side[LEFT].constants != 0 && d->side[RIGHT].constants != 0)
        d->side[LEFT].constants = d->side[RIGHT].constants = 0;
    map_init(&d->by_tensors, &d->scratch);
    d->flags = arena_array(&d->scratch, diff->left->n_places, sizeof *d->flags);
    if (!d->flags || begin_side(d, LEFT, diff->left) < 0)
        return -1;
    return begin_side(d, RIGHT, diff->right);
}

static int run(struct diffing *d)
{
    if (begin(d) < 0 || diffing_align(d) < 0 || diffing_match_gguf(d) < 0 ||
        diffing_compare(d) < 0 || diffing_compare_stacks(d) < 0 ||
        diffing_match_rest(d) < 0 || diffing_compare(d) < 0 ||
        diffing_make_tree(d) < 0 || diffing_make_others(d) < 0 ||
        diffing_make_rules(d) < 0 || diffing_make_parts(d) < 0)
        return -1;
    d->diff->complete = !d->stopped;
    return 0;
}

int diff_make(struct diff *diff, const struct model *left, const struct model *right,
              const struct diff_wanted *wanted, struct arena *arena, struct work *work,
              struct err *err)
{
    struct diffing d = {.diff = diff, .wanted = wanted, .arena = arena, .work = work};
    int status;

    *diff = (struct diff){.left = left, .right = right, .values = wanted->values};
    if (work) {
        atomic_store(&work->done, 0);
        atomic_store(&work->total, 0);
    }
    arena_init(&d.scratch, arena->limit);
    status = run(&d);
    if (status < 0)
        arena_err(arena->spent ? arena : &d.scratch, "comparing", err);
    else if (d.stopped)
        status = err_set(err, ERR_CANCELLED, "stopped");
    arena_release(&d.scratch);
    return status;
}

/* ---- results ---- */

bool diff_unrelated(const struct diff_pair *pair)
{
    return (pair->state == DIFF_CHANGED || pair->state == DIFF_RETYPED) &&
           pair->by.finite >= COMPARED_FEW && compared_unrelated(&pair->by);
}

enum dtype diff_quantised(const struct diff *diff, const struct diff_pair *pair)
{
    const struct diff_join *join =
        pair->join == DIFF_NONE ? NULL : &diff->joins[pair->join];
    uint32_t left = pair->left, right = pair->right;
    enum dtype a, b;

    if (join && left == NO_PLACE)
        left = join->fused ? join->many[0] : join->one;
    if (join && right == NO_PLACE)
        right = join->fused ? join->one : join->many[0];
    if (left == NO_PLACE || right == NO_PLACE)
        return DTYPE_UNKNOWN;
    a = (enum dtype)place_tensor(diff->left, left)->dtype;
    b = (enum dtype)place_tensor(diff->right, right)->dtype;
    if ((elements_dtype(a) == a) == (elements_dtype(b) == b))
        return DTYPE_UNKNOWN;
    return elements_dtype(a) == a ? b : a;
}

const struct tensor *diff_indexed(const struct diff *diff, const struct diff_pair *pair,
                                  const struct model **ret_model)
{
    bool right =
        pair->left == NO_PLACE ||
        (pair->right != NO_PLACE && pair->edit.kind != EDIT_NONE && !pair->edit.right);

    *ret_model = right ? diff->right : diff->left;
    return place_tensor(*ret_model, right ? pair->right : pair->left);
}

double diff_rms(const struct compared *by)
{
    return by->finite > 0 ? sqrt(by->squares / (double)by->finite) : 0;
}

bool diff_equal(const struct diff *diff)
{
    return diff->complete && diff_count_different(diff, &diff->total) == 0 &&
           diff->total.renamed == 0 && diff->n_others == 0;
}

const char *diff_state_name(enum diff_state state)
{
    static const char *const names[DIFF_STATE_COUNT] = {
        "same",      "close",      "changed", "retyped", "reshaped",
        "only_left", "only_right", "joined",  "unread"};

    return names[state];
}

const char *diff_fate_name(enum diff_fate fate)
{
    static const char *const names[] = {"same",     "buffers", "trained",  "retyped",
                                        "replaced", "added",   "removed",  "renamed",
                                        "joined",   "mixed",   "unrelated"};

    return names[fate];
}

const char *diff_fact_name(enum diff_fact_kind kind)
{
    static const char *const names[DIFF_FACT_KINDS] = {"value", "args", "class",
                                                       "metadata", "code"};

    return names[kind];
}

const struct compared *diff_apart(const struct diff_sums *sums)
{
    if (sums->params_by.count > 0)
        return &sums->params_by;
    return sums->rest_by.count > 0 ? &sums->rest_by : NULL;
}

uint32_t diff_count_others(const struct diff_sums *sums)
{
    uint32_t n = 0;

    for (int i = 0; i < DIFF_FACT_KINDS; i++)
        n += sums->others[i];
    return n;
}

uint32_t diff_count_different(const struct diff *diff, const struct diff_sums *sums)
{
    uint32_t unasked = diff->values ? 0 : sums->states[DIFF_UNREAD];

    return sums->tensors - sums->states[DIFF_SAME] - sums->states[DIFF_CLOSE] - unasked;
}

bool diff_buffers_only(const struct diff *diff, const struct diff_sums *sums)
{
    return sums->states[DIFF_CHANGED] > 0 &&
           sums->buffers_differ == diff_count_different(diff, sums);
}

void diff_name(const struct diff *diff, bool right, uint32_t place, struct buf *to)
{
    struct str prefix = right ? diff->right_prefix : diff->left_prefix;
    size_t start = to->len;
    struct str name;

    place_path(right ? diff->right : diff->left, place, to);
    if (to->bad || prefix.len == 0)
        return;
    name = str_from(buf_span(to), start);
    if (name.len == prefix.len - 1 && str_starts(prefix, name)) {
        to->len = start; /* the base itself */
        to->at[start] = 0;
    } else if (str_starts(name, prefix)) {
        to->len -= prefix.len;
        memmove(to->at + start, to->at + start + prefix.len, to->len - start + 1);
    }
}
