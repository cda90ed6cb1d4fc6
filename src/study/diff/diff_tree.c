/* Builds one tree of both models: the right model's tree; left-only places go below what
 * their module became, after the sibling they follow on the left. Branches are created
 * parents first, so a scan from the end meets children before parents. */
#include "study/diff/diff_in.h"

struct branch {
    uint32_t parent, first, last, next; /* branches, or DIFF_NONE */
    uint32_t place[2];
    uint32_t tensors; /* at and below it */
    uint32_t node;    /* its index in diff.nodes */
};

struct growing {
    struct diffing *d;
    struct branch *at;
    uint32_t n, room;
    uint32_t *of[2]; /* by place: its branch, or DIFF_NONE */
    uint32_t *image; /* diffing_images() */
    uint32_t *last;  /* by left place: the branch of its latest child */
};

/* ---- branches ---- */

static uint32_t new_branch(struct growing *g, uint32_t parent, int s, uint32_t place)
{
    struct branch *branch;

    if (arena_room(&g->d->scratch, &g->at, g->n, &g->room, sizeof *g->at) < 0)
        return DIFF_NONE;
    branch = &g->at[g->n];
    *branch = (struct branch){
        parent, DIFF_NONE, DIFF_NONE, DIFF_NONE, {NO_PLACE, NO_PLACE}, 0, DIFF_NONE};
    branch->place[s] = place;
    branch->tensors = side_tensor(&g->d->side[s], place);
    return g->n++;
}

/* Insert `child` below its parent after the sibling `after`; first if DIFF_NONE. */
static void hang(struct growing *g, uint32_t child, uint32_t after)
{
    struct branch *parent = &g->at[g->at[child].parent];

    if (after == DIFF_NONE) {
        g->at[child].next = parent->first;
        parent->first = child;
    } else {
        g->at[child].next = g->at[after].next;
        g->at[after].next = child;
    }
    if (parent->last == after)
        parent->last = child;
}

static int grow_right(struct growing *g)
{
    const struct side *right = &g->d->side[RIGHT];
    const struct model *model = right->model;
    uint32_t p, branch, parent;

    if (new_branch(g, DIFF_NONE, RIGHT, right->base) == DIFF_NONE)
        return -1;
    for (p = 0; p < model->n_places; p++) {
        g->of[RIGHT][p] = p == 0 || p == right->base ? 0 : DIFF_NONE;
        if (g->of[RIGHT][p] == 0 || right->tensors[p] == 0)
            continue;
        parent = g->of[RIGHT][model->parent[p]];
        branch = new_branch(g, parent, RIGHT, p);
        if (branch == DIFF_NONE)
            return -1;
        hang(g, branch, g->at[parent].last);
        g->of[RIGHT][p] = branch;
    }
    return 0;
}

/* By right place: does it hold matched tensors? */
static uint8_t *find_claimed(struct diffing *d)
{
    const struct side *right = &d->side[RIGHT];
    uint32_t p, n = right->model->n_places;
    uint8_t *claimed = arena_array(&d->scratch, n, 1);

    for (p = n; claimed && p-- > 0;) {
        claimed[p] |= right->match[p] != NO_PLACE;
        if (p > 0)
            claimed[right->model->parent[p]] |= claimed[p];
    }
    return claimed;
}

/* A tensor became its match. A module became the right module of the same name if
 * something in it stayed there; else the parent of what its first child became; else the
 * module of the same name, unless something else became it. */
uint32_t *diffing_images(struct diffing *d)
{
    const struct side *left = &d->side[LEFT], *right = &d->side[RIGHT];
    const struct model *model = left->model;
    uint32_t p, same, up, n = model->n_places;
    uint32_t *image = arena_array(&d->scratch, n, sizeof *image);
    uint8_t *home = arena_array(&d->scratch, n, sizeof *home);
    uint8_t *claimed = find_claimed(d);

    if (!home || !image || !claimed)
        return NULL;
    for (p = 0; p < n; p++)
        image[p] = NO_PLACE;
    for (p = n; p-- > 0;) {
        same = d->spots[left->spot[p]].place[RIGHT];
        if (side_tensor(left, p)) {
            image[p] = left->match[p];
            home[p] = image[p] != NO_PLACE && image[p] == same;
        } else if (same != NO_PLACE && !side_tensor(right, same) &&
                   right->tensors[same] > 0 &&
                   (home[p] || (image[p] == NO_PLACE && !claimed[same]))) {
            image[p] = same;
        }
        if (p == 0)
            break;
        home[model->parent[p]] |= home[p];
        /* Children come last to first, so the first child wins. */
        if (image[p] == NO_PLACE || image[p] == 0)
            continue;
        up = right->model->parent[image[p]];
        if (!side_tensor(right, up))
            image[model->parent[p]] = up;
    }
    return image;
}

/* Add a left place without an image below what its parent became. */
static uint32_t graft(struct growing *g, uint32_t place)
{
    uint32_t above = g->d->side[LEFT].model->parent[place];
    uint32_t parent = g->of[LEFT][above], after = g->last[above], branch;

    branch = new_branch(g, parent, LEFT, place);
    if (branch == DIFF_NONE)
        return DIFF_NONE;
    if (after != DIFF_NONE && g->at[after].parent != parent)
        after = g->at[parent].last;
    hang(g, branch, after);
    return branch;
}

static int grow_left(struct growing *g)
{
    const struct side *left = &g->d->side[LEFT];
    const struct model *model = left->model;
    uint32_t p, branch, image;

    for (p = 0; p < model->n_places; p++)
        g->last[p] = DIFF_NONE;
    for (p = 0; p < model->n_places; p++) {
        g->of[LEFT][p] = DIFF_NONE;
        if (left->tensors[p] == 0 && p != 0)
            continue;
        image = g->image[p];
        branch = image == NO_PLACE ? DIFF_NONE : g->of[RIGHT][image];
        if (p == 0 || p == left->base)
            branch = 0;
        else if (branch == DIFF_NONE)
            branch = graft(g, p);
        if (branch == DIFF_NONE)
            return -1;
        g->of[LEFT][p] = branch;
        if (p == left->base || (branch != 0 && g->at[branch].place[LEFT] == NO_PLACE))
            g->at[branch].place[LEFT] = p;
        if (p != 0)
            g->last[model->parent[p]] = branch;
    }
    return 0;
}

/* ---- numbering ---- */

static struct str branch_name(const struct growing *g, const struct branch *branch)
{
    int s = branch->place[RIGHT] != NO_PLACE ? RIGHT : LEFT;

    return place_name(g->d->side[s].model, branch->place[s]);
}

/* Is a place of this side the one tensor of a join, not one of many? */
static bool is_whole(const struct diff_join *join, int s)
{
    return join->fused == (s == RIGHT);
}

static bool is_integer(const struct side *side, uint32_t place)
{
    const struct dtype_info *info = dtype_info((enum dtype)side_at(side, place)->dtype);

    return !info->quantised &&
           (info->kind == DTYPE_KIND_INT || info->kind == DTYPE_KIND_UINT);
}

/* The values of one tensor of a stack, or of all. */
static void take_stack(const struct diffing *d, struct diff_pair *pair, int s,
                       uint32_t place)
{
    const struct diff_join *join = &d->diff->joins[pair->join];
    bool whole = is_whole(join, s);
    uint64_t before = 0;

    for (uint32_t i = 0; join->stacked && i < join->n; i++) {
        const struct diff_known *known =
            join->fused ? diffing_known(d, join->many[i], join->one)
                        : diffing_known(d, join->one, join->many[i]);
        struct compared by;

        if (!known || known->why || (!whole && join->many[i] != place))
            continue;
        by = known->by;
        by.max_at += whole ? before : 0;
        before += by.count;
        compared_merge(&pair->by, &by);
    }
}

static void put_pair(struct growing *g, const struct branch *branch,
                     struct diff_node *node)
{
    struct diffing *d = g->d;
    struct diff_pair *pair = &d->diff->pairs[d->diff->n_pairs];
    const struct side *left = &d->side[LEFT], *right = &d->side[RIGHT];
    int s = branch->place[RIGHT] != NO_PLACE ? RIGHT : LEFT;
    uint32_t place = branch->place[s];
    uint8_t role;

    node->pair = DIFF_NONE;
    if (!side_tensor(&d->side[s], place))
        return;
    *pair = (struct diff_pair){.left = NO_PLACE, .right = NO_PLACE, .join = DIFF_NONE};
    if (s == LEFT)
        pair->left = place;
    else
        pair->right = place;
    if (s == RIGHT && right->match[place] != NO_PLACE)
        pair->left = right->match[place];
    node->left = pair->left;
    node->pair = d->diff->n_pairs++;

    role =
        pair->left != NO_PLACE ? side_role(left, pair->left) : side_role(right, place);
    if (role == ROLE_BUFFER)
        pair->flags |= DIFF_BUFFER;
    else if (role != ROLE_PARAMETER)
        pair->flags |= DIFF_OTHER;
    if (is_integer(&d->side[s], place))
        pair->flags |= DIFF_INTEGER;
    pair->join = d->side[s].join[place];
    if (pair->left != NO_PLACE && pair->right != NO_PLACE) {
        pair->flags |= d->flags[pair->left];
        if (left->match[pair->left] != pair->right)
            pair->flags |= DIFF_ALIAS;
        else if (left->spot[pair->left] != right->spot[pair->right])
            pair->flags |= DIFF_RENAMED;
        diffing_judge(d, pair);
    } else if (pair->join != DIFF_NONE) {
        pair->state = DIFF_JOINED;
        take_stack(d, pair, s, place);
    } else {
        pair->state = s == LEFT ? DIFF_LEFT : DIFF_RIGHT;
        pair->flags |= d->side[s].beside[place] ? DIFF_BESIDE : 0;
    }
}

static void put_node(struct growing *g, uint32_t index)
{
    struct diff *diff = g->d->diff;
    struct branch *branch = &g->at[index];
    struct diff_node *node = &diff->nodes[diff->n_nodes];

    branch->node = diff->n_nodes++;
    node->parent = index == 0 ? DIFF_NONE : g->at[branch->parent].node;
    node->end = branch->node + 1;
    node->name = index == 0 ? STR("") : branch_name(g, branch);
    node->left = branch->place[LEFT];
    node->right = branch->place[RIGHT];
    put_pair(g, branch, node);
}

/* Number the branches in pre-order, without those that hold no tensors. */
static void number(struct growing *g)
{
    uint32_t at = 0, next;

    for (;;) {
        if (at == 0 || g->at[at].tensors > 0) {
            put_node(g, at);
            next = g->at[at].first;
        } else {
            next = DIFF_NONE;
        }
        while (next == DIFF_NONE && at != 0) {
            next = g->at[at].next;
            at = g->at[at].parent;
        }
        if (next == DIFF_NONE)
            return;
        at = next;
    }
}

/* ---- sums ---- */

static bool pair_differs(const struct diff_pair *pair)
{
    return pair->state != DIFF_SAME && pair->state != DIFF_CLOSE &&
           pair->state != DIFF_UNREAD;
}

static void take_largest(struct diff_sums *sums, double max_abs, uint32_t pair)
{
    if (pair == DIFF_NONE || (sums->max_pair != DIFF_NONE && max_abs <= sums->max_abs))
        return;
    sums->max_abs = max_abs;
    sums->max_pair = pair;
}

static void sums_add_pair(struct diff_sums *sums, const struct diff *diff,
                          uint32_t index)
{
    const struct diff_pair *pair = &diff->pairs[index];
    /* A stack counts by its parts. */
    bool part =
        pair->state == DIFF_JOINED &&
        !is_whole(&diff->joins[pair->join], pair->left == NO_PLACE ? RIGHT : LEFT);
    bool moved = pair->by.different > 0 &&
                 (pair->state == DIFF_CHANGED || pair->state == DIFF_RETYPED || part);

    sums->tensors++;
    sums->states[pair->state]++;
    sums->renamed += (pair->flags & DIFF_RENAMED) != 0;
    if (pair->flags & DIFF_BUFFER) {
        sums->buffers++;
        sums->buffers_differ += pair_differs(pair);
    } else if (!(pair->flags & DIFF_OTHER)) {
        sums->params++;
        sums->params_differ += pair_differs(pair);
        sums->unrelated += diff_unrelated(pair);
        if (moved)
            compared_merge(&sums->params_by, &pair->by);
    }
    if (moved && pair->flags & (DIFF_BUFFER | DIFF_OTHER) &&
        !(pair->flags & DIFF_INTEGER))
        compared_merge(&sums->rest_by, &pair->by);
    if (moved)
        take_largest(sums, pair->by.max_abs, index);
}

static void sums_add(struct diff_sums *sums, const struct diff_sums *more)
{
    sums->tensors += more->tensors;
    for (int i = 0; i < DIFF_STATE_COUNT; i++)
        sums->states[i] += more->states[i];
    sums->renamed += more->renamed;
    sums->buffers += more->buffers;
    sums->buffers_differ += more->buffers_differ;
    sums->params += more->params;
    sums->params_differ += more->params_differ;
    sums->unrelated += more->unrelated;
    for (int i = 0; i < DIFF_FACT_KINDS; i++)
        sums->others[i] += more->others[i];
    if (more->params_by.count > 0)
        compared_merge(&sums->params_by, &more->params_by);
    if (more->rest_by.count > 0)
        compared_merge(&sums->rest_by, &more->rest_by);
    take_largest(sums, more->max_abs, more->max_pair);
}

static void add_up(struct diff *diff)
{
    uint32_t i;

    for (i = 0; i < diff->n_nodes; i++) {
        diff->nodes[i].sums.max_pair = DIFF_NONE;
        if (diff->nodes[i].pair != DIFF_NONE)
            sums_add_pair(&diff->nodes[i].sums, diff, diff->nodes[i].pair);
    }
    for (i = diff->n_nodes; i-- > 1;) {
        struct diff_node *parent = &diff->nodes[diff->nodes[i].parent];

        sums_add(&parent->sums, &diff->nodes[i].sums);
        if (parent->end < diff->nodes[i].end)
            parent->end = diff->nodes[i].end;
    }
    diff->total = diff->nodes[0].sums;
}

/* ---- ties ---- */

/* Flag the pairs of tensors whose places on one side match several tensors on the other.
 */
static int mark_ties(struct diffing *d, int s, unsigned flag)
{
    const struct side *one = &d->side[s], *other = &d->side[!s];
    uint32_t *first =
        arena_array(&d->scratch, (size_t)one->model->n_tensors + 1, sizeof *first);
    uint32_t i;

    if (!first)
        return -1;
    /* Per tensor: 0 none yet, DIFF_NONE several, else the other tensor and one. */
    for (i = 0; i < one->model->n_places; i++) {
        uint32_t *seen, partner;

        if (!side_tensor(one, i) || one->match[i] == NO_PLACE)
            continue;
        seen = &first[one->model->object[i]];
        partner = other->model->object[one->match[i]] + 1;
        *seen = *seen == 0 || *seen == partner ? partner : DIFF_NONE;
    }
    for (i = 0; i < d->diff->n_pairs; i++) {
        struct diff_pair *pair = &d->diff->pairs[i];
        uint32_t place = s == LEFT ? pair->left : pair->right;

        if (pair->left != NO_PLACE && pair->right != NO_PLACE &&
            first[one->model->object[place]] == DIFF_NONE)
            pair->flags |= (uint16_t)flag;
    }
    return 0;
}

int diffing_make_tree(struct diffing *d)
{
    struct growing g = {.d = d};
    size_t left = d->side[LEFT].model->n_places, right = d->side[RIGHT].model->n_places;
    uint32_t i;

    g.of[LEFT] = arena_array(&d->scratch, left, sizeof(uint32_t));
    g.of[RIGHT] = arena_array(&d->scratch, right, sizeof(uint32_t));
    g.image = diffing_images(d);
    g.last = arena_array(&d->scratch, left, sizeof(uint32_t));
    if (!g.of[LEFT] || !g.of[RIGHT] || !g.image || !g.last || grow_right(&g) < 0 ||
        grow_left(&g) < 0)
        return -1;
    for (i = g.n; i-- > 1;)
        g.at[g.at[i].parent].tensors += g.at[i].tensors;
    d->diff->nodes = arena_array(d->arena, g.n, sizeof *d->diff->nodes);
    d->diff->pairs =
        arena_array(d->arena, (size_t)g.at[0].tensors + 1, sizeof *d->diff->pairs);
    if (!d->diff->nodes || !d->diff->pairs)
        return -1;
    number(&g);
    add_up(d->diff);
    return mark_ties(d, LEFT, DIFF_UNTIED) < 0 || mark_ties(d, RIGHT, DIFF_TIED) < 0
               ? -1
               : 0;
}
