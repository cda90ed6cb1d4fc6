/* Matches the operations of two runs. */
#include <stdlib.h>

#include "study/diverge/divergence_in.h"
#include "study/diverge/sequence.h"

struct ops_match {
    struct diverging *d;
    const struct run *run[2];
    const struct run_ops *ops[2];
    uint32_t *match[2];    /* by op */
    uint32_t *values[2];   /* by value */
    uint64_t *names[2];    /* by kind: a hash, equal for relu and relu_ */
    uint64_t *types[2];    /* by type: a hash of its shape */
    uint32_t *next;        /* by left op: the next one of the same key */
    uint32_t *last;        /* by left op that is the first of its key: the last one */
    struct arena *scratch; /* while sequences are aligned */
};

/* ---- hashes that both sides share ---- */

/* aten::relu_ is the in-place aten::relu, but __and__ is a full name. */
static struct str name_of(struct str name)
{
    if (str_ends(name, STR("_")) && !str_ends(name, STR("__")))
        name = str_head(name, name.len - 1);
    return name;
}

bool diverging_same_name(const struct divergence *divergence, uint32_t left,
                         uint32_t right)
{
    const struct run *const *run = divergence->run;

    return str_eq(name_of(op_name(run[0], &run[0]->ops->ops[left])),
                  name_of(op_name(run[1], &run[1]->ops->ops[right])));
}

static uint64_t *hash_names(struct ops_match *m, int side)
{
    const struct run_ops *ops = m->ops[side];
    uint64_t *to = arena_array(&m->d->scratch, (size_t)ops->n_kinds + 1, sizeof *to);

    for (uint32_t i = 0; to && i < ops->n_kinds; i++) {
        to[i] = str_hash(name_of(run_string(m->run[side], ops->kinds[i].name)));
    }
    return to;
}

static uint64_t *hash_types(struct ops_match *m, int side)
{
    const struct run_ops *ops = m->ops[side];
    uint64_t *to = arena_array(&m->d->scratch, (size_t)ops->n_types + 1, sizeof *to);

    for (uint32_t i = 0; to && i < ops->n_types; i++) {
        to[i] = hash_u64(ops->types[i].rank);
        for (int k = 0; k < ops->types[i].rank; k++)
            to[i] =
                hash_mix(to[i], (uint64_t)m->run[side]->dims[ops->types[i].shape + k]);
    }
    return to;
}

static uint64_t value_type(const struct ops_match *m, int side, uint32_t value)
{
    return m->types[side][m->ops[side]->values[value].type];
}

/* A hash of the shapes of its results. */
static uint64_t results_hash(const struct ops_match *m, int side,
                             const struct run_op *op)
{
    const struct run_op_io *io;
    uint64_t hash = 2;

    for (uint32_t at = 0; (io = op_next(m->run[side], op, OP_OUT, &at));)
        hash = hash_mix(hash, value_type(m, side, io->value));
    return hash;
}

static bool comes_from_outside(const struct run_op_value *value)
{
    return value->producer == RUN_NONE && value->n_sources == 0;
}

/* ---- matching ---- */

static void match_values(struct ops_match *m, uint32_t left, uint32_t right)
{
    if (left == RUN_NONE || right == RUN_NONE || m->values[0][left] != RUN_NONE ||
        m->values[1][right] != RUN_NONE ||
        value_type(m, 0, left) != value_type(m, 1, right))
        return;
    m->values[0][left] = right;
    m->values[1][right] = left;
}

static void match_each(struct ops_match *m, uint32_t left, uint32_t right,
                       enum op_io_kind kind)
{
    const struct run_op *a = &m->ops[0]->ops[left], *b = &m->ops[1]->ops[right];
    uint32_t at[2] = {0, 0};

    for (;;) {
        const struct run_op_io *x = op_next(m->run[0], a, kind, &at[0]);
        const struct run_op_io *y = op_next(m->run[1], b, kind, &at[1]);

        if (!x || !y)
            return;
        if (kind != OP_IN || (comes_from_outside(&m->ops[0]->values[x->value]) &&
                              comes_from_outside(&m->ops[1]->values[y->value])))
            match_values(m, x->value, y->value);
    }
}

static void match_ops(struct ops_match *m, uint32_t left, uint32_t right)
{
    m->match[0][left] = right;
    m->match[1][right] = left;
    match_each(m, left, right, OP_OUT);
    match_each(m, left, right, OP_WRITTEN);
}

/* ---- what is known before: parameters, and values of matched calls ---- */

static void match_ios(struct ops_match *m, uint32_t left, uint32_t right)
{
    const struct run_call *a = &m->run[0]->calls[left], *b = &m->run[1]->calls[right];
    uint32_t n = a->n_ios < b->n_ios ? a->n_ios : b->n_ios;

    for (uint32_t i = 0; i < n; i++) {
        const struct run_io *x = &m->run[0]->ios[a->ios + i];
        const struct run_io *y = &m->run[1]->ios[b->ios + i];

        if (x->kind == y->kind && x->value != RUN_NONE && y->value != RUN_NONE)
            match_values(m, m->run[0]->values[x->value].op_value,
                         m->run[1]->values[y->value].op_value);
    }
}

/* By tensor: its value from outside. */
static uint32_t *outside_values(struct ops_match *m, int side)
{
    const struct run_ops *ops = m->ops[side];
    uint32_t n_tensors = m->run[side]->model->n_tensors;
    uint32_t *to = diverging_none(&m->d->scratch, n_tensors);

    for (uint32_t i = ops->n_values; to && i-- > 0;)
        if (ops->values[i].tensor < n_tensors && comes_from_outside(&ops->values[i]))
            to[ops->values[i].tensor] = i;
    return to;
}

static int match_known(struct ops_match *m)
{
    const struct diff *diff = m->d->diff;
    uint32_t *outside[2] = {outside_values(m, 0), outside_values(m, 1)};

    if (!outside[0] || !outside[1])
        return -1;
    for (uint32_t i = 0; i < diff->n_pairs; i++) {
        const struct diff_pair *pair = &diff->pairs[i];

        if (pair->left != NO_PLACE && pair->right != NO_PLACE)
            match_values(m, outside[0][m->run[0]->model->object[pair->left]],
                         outside[1][m->run[1]->model->object[pair->right]]);
    }
    for (uint32_t i = 0; i < m->run[0]->n_calls; i++)
        if (m->d->divergence->call_match[0][i] != RUN_NONE)
            match_ios(m, i, m->d->divergence->call_match[0][i]);
    return 0;
}

/* ---- by data flow ---- */

/* The inputs that identify an operation: all of them, or the known ones. */
enum flow_inputs { FLOW_ALL, FLOW_SOME };

/* Is the matching left value known? A left value matches itself, but in FLOW_SOME both
 * sides must agree on what is known. */
static bool is_known(const struct ops_match *m, int side, uint32_t value,
                     enum flow_inputs flow)
{
    if (m->values[side][value] != RUN_NONE)
        return true;
    return flow == FLOW_ALL && side == 0 &&
           !comes_from_outside(&m->ops[0]->values[value]);
}

/* Makes the key of an operation: its name, the shapes of its results and its inputs, as
 * values of the left side. False: too little is known. */
static bool flow_key(const struct ops_match *m, int side, uint32_t index,
                     enum flow_inputs flow, uint64_t *ret_key)
{
    const struct run_op *op = &m->ops[side]->ops[index];
    uint64_t key = hash_mix(m->names[side][op->kind], op->phase);
    uint32_t known = 0, outside = 0, unknown = 0;
    const struct run_op_io *io;

    for (uint32_t at = 0; (io = op_next(m->run[side], op, OP_IN, &at));) {
        uint64_t what = 0; /* of an unknown value */

        if (is_known(m, side, io->value, flow)) {
            what = (uint64_t)(side == 0 ? io->value : m->values[1][io->value]) + 1;
            known++;
        } else if (comes_from_outside(&m->ops[side]->values[io->value])) {
            what = value_type(m, side, io->value);
            outside++;
        } else {
            unknown++;
        }
        key = hash_mix(key, what);
    }
    *ret_key = hash_mix(key, results_hash(m, side, op));
    if (flow == FLOW_SOME)
        return known > 0;
    return unknown == 0 && known + outside > 0;
}

/* Left operations without a match, by key: `map` has the first of each list. */
static int list_left(struct ops_match *m, enum flow_inputs flow, struct map *map)
{
    uint64_t key;
    uint32_t first;

    for (uint32_t i = 0; i < m->ops[0]->n_ops; i++) {
        m->next[i] = RUN_NONE;
        if (m->match[0][i] != RUN_NONE || !flow_key(m, 0, i, flow, &key))
            continue;
        if (map_find(map, key, &first)) {
            m->next[m->last[first]] = i;
            m->last[first] = i;
        } else {
            m->last[i] = i;
            if (map_put(map, key, i) < 0)
                return -1;
        }
    }
    return 0;
}

/* Takes the first operation off a list; RUN_NONE: there is none. */
static uint32_t take(struct ops_match *m, struct map *map, uint64_t key)
{
    uint32_t at;

    if (!map_find(map, key, &at) || at == RUN_NONE)
        return RUN_NONE;
    map_put(map, key, m->next[at]); /* the key is there: needs no memory */
    return at;
}

/* Matches values from outside that matched operations read at the same position. Not
 * during a pass, whose keys contain them. */
static void match_outside(struct ops_match *m)
{
    for (uint32_t i = 0; i < m->ops[0]->n_ops; i++)
        if (m->match[0][i] != RUN_NONE)
            match_each(m, i, m->match[0][i], OP_IN);
}

/* One pass over the right operations in the order of execution: a matched one makes its
 * results known, so that their readers can be matched too. */
static int match_flow(struct ops_match *m, enum flow_inputs flow)
{
    struct arena scratch;
    struct map map;
    int status;

    arena_init(&scratch, m->d->scratch.limit);
    map_init(&map, &scratch);
    status = list_left(m, flow, &map);
    for (uint32_t i = 0; status == 0 && i < m->ops[1]->n_ops; i++) {
        uint64_t key;
        uint32_t left;

        if (m->match[1][i] != RUN_NONE || !flow_key(m, 1, i, flow, &key))
            continue;
        left = take(m, &map, key);
        if (left != RUN_NONE)
            match_ops(m, left, i);
    }
    arena_release(&scratch);
    match_outside(m);
    return status;
}

/* ---- against the data flow ---- */

/* Matches the producers of two matched values, whatever their names: one operation may
 * match several of the other side. */
static void match_producers(struct ops_match *m, uint32_t left)
{
    const struct run_op_value *x = &m->ops[0]->values[left], *y;

    if (m->values[0][left] == RUN_NONE)
        return;
    y = &m->ops[1]->values[m->values[0][left]];
    if (x->producer == RUN_NONE || y->producer == RUN_NONE ||
        m->match[0][x->producer] != RUN_NONE || m->match[1][y->producer] != RUN_NONE ||
        m->ops[0]->ops[x->producer].phase != m->ops[1]->ops[y->producer].phase)
        return;
    match_ops(m, x->producer, y->producer);
}

/* Matches the values that two matched operations of one name read as the same
 * argument. */
static void match_arguments(struct ops_match *m, uint32_t left, uint32_t right)
{
    const struct run_op *a = &m->ops[0]->ops[left], *b = &m->ops[1]->ops[right];
    uint32_t at[2] = {0, 0};

    if (m->names[0][a->kind] != m->names[1][b->kind])
        return;
    for (;;) {
        const struct run_op_io *x = op_next(m->run[0], a, OP_IN, &at[0]);
        const struct run_op_io *y = op_next(m->run[1], b, OP_IN, &at[1]);

        if (!x || !y)
            return;
        if (x->arg != y->arg || x->item != y->item)
            continue;
        match_values(m, x->value, y->value);
        match_producers(m, x->value);
    }
}

/* From the last operation to the first: the readers of a value identify it. */
static void match_back(struct ops_match *m)
{
    for (uint32_t i = 0; i < m->ops[0]->n_values; i++) /* the results of modules */
        match_producers(m, i);
    for (uint32_t i = m->ops[0]->n_ops; i-- > 0;)
        if (m->match[0][i] != RUN_NONE)
            match_arguments(m, i, m->match[0][i]);
}

/* ---- the rest in order ---- */

/* The criteria, from strict to weak. */
enum tier { BY_CALL, BY_NAME, BY_SHAPE, TIERS };

static uint64_t order_signature(const struct ops_match *m, int side,
                                const struct run_op *op, enum tier tier)
{
    const struct divergence *divergence = m->d->divergence;
    uint64_t hash = hash_mix(results_hash(m, side, op), (uint64_t)op->phase);
    uint32_t call = op->call;

    /* Only operations that compute may have different names. */
    if (tier == BY_SHAPE && m->ops[side]->kinds[op->kind].flags & (OP_VIEW | OP_MAKES))
        return 0;
    if (tier != BY_SHAPE)
        hash = hash_mix(hash, m->names[side][op->kind]);
    if (tier == BY_CALL && call != RUN_NONE) {
        call = divergence->call_match[side][call];
        if (call != RUN_NONE)
            hash = hash_mix(hash, side == 0 ? op->call : call);
    }
    return hash | 1;
}

/* The operations of one phase. */
struct phase_ops {
    uint32_t *ops;
    uint64_t *signatures;
    uint32_t *match;    /* positions in the other side's `ops` */
    uint32_t *position; /* by op */
    uint32_t n;
};

static bool list_phase(struct ops_match *m, int side, enum op_phase phase,
                       struct phase_ops *to)
{
    uint32_t n_ops = m->ops[side]->n_ops;

    to->n = 0;
    to->ops = diverging_none(m->scratch, n_ops);
    to->match = diverging_none(m->scratch, n_ops);
    to->position = diverging_none(m->scratch, n_ops);
    to->signatures = arena_array(m->scratch, (size_t)n_ops + 1, sizeof *to->signatures);
    if (!to->ops || !to->match || !to->position || !to->signatures)
        return false;
    for (uint32_t i = 0; i < n_ops; i++) {
        if (m->ops[side]->ops[i].phase != phase)
            continue;
        to->position[i] = to->n;
        to->ops[to->n++] = i;
    }
    return true;
}

static void sign_phase(struct ops_match *m, struct phase_ops lists[2], enum tier tier)
{
    for (int side = 0; side < 2; side++) {
        struct phase_ops *list = &lists[side];

        for (uint32_t i = 0; i < list->n; i++) {
            uint32_t other = m->match[side][list->ops[i]];

            list->signatures[i] =
                order_signature(m, side, &m->ops[side]->ops[list->ops[i]], tier);
            list->match[i] =
                other == RUN_NONE ? SEQUENCE_NONE : lists[!side].position[other];
            /* Its match ran in another phase: it is neither a separator nor free. */
            if (other != RUN_NONE && list->match[i] == RUN_NONE)
                list->signatures[i] = 0;
        }
    }
}

static int align_phase(struct ops_match *m, enum op_phase phase, enum tier tier)
{
    struct phase_ops lists[2];
    struct sequence_side sequences[2];
    uint32_t found = 0;

    for (int side = 0; side < 2; side++)
        if (!list_phase(m, side, phase, &lists[side]))
            return -1;
    sign_phase(m, lists, tier);
    for (int side = 0; side < 2; side++)
        sequences[side] = (struct sequence_side){lists[side].signatures,
                                                 lists[side].match, lists[side].n};
    if (sequence_align(&sequences[0], &sequences[1], m->scratch) < 0)
        return -1;
    for (uint32_t i = 0; i < lists[0].n; i++) {
        if (m->match[0][lists[0].ops[i]] != RUN_NONE ||
            lists[0].match[i] == SEQUENCE_NONE)
            continue;
        match_ops(m, lists[0].ops[i], lists[1].ops[lists[0].match[i]]);
        found++;
    }
    m->d->divergence->ops.by_order += found;
    return 0;
}

static int align(struct ops_match *m, enum tier tier)
{
    static const enum op_phase phases[] = {OP_FORWARD, OP_BACKWARD, OP_OPTIMIZER};
    struct arena scratch;
    int status = 0;

    for (int i = 0; i < 3 && status == 0; i++) {
        /* Its arrays have an element per operation of the run. */
        arena_init(&scratch, m->d->scratch.limit);
        m->scratch = &scratch;
        status = align_phase(m, phases[i], tier);
        arena_release(&scratch);
    }
    return status;
}

/* ---- the whole ---- */

static bool prepare(struct ops_match *m)
{
    struct divergence *divergence = m->d->divergence;
    struct arena *arena = m->d->arena, *scratch = &m->d->scratch;

    for (int side = 0; side < 2; side++) {
        const struct run_ops *ops = m->ops[side];

        m->match[side] = divergence->op_match[side] = diverging_none(arena, ops->n_ops);
        m->values[side] = divergence->value_match[side] =
            diverging_none(arena, ops->n_values);
        m->names[side] = hash_names(m, side);
        m->types[side] = hash_types(m, side);
        if (!m->match[side] || !m->values[side] || !m->names[side] || !m->types[side])
            return false;
    }
    m->next = diverging_none(scratch, m->ops[0]->n_ops);
    m->last = diverging_none(scratch, m->ops[0]->n_ops);
    return m->next && m->last;
}

static bool is_counted(const struct run_op *op)
{
    return op->phase != OP_RECOMPUTE;
}

static void count(struct ops_match *m)
{
    struct divergence_matched *to = &m->d->divergence->ops;
    uint32_t pairs = 0;

    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < m->ops[side]->n_ops; i++)
            to->n[side] += is_counted(&m->ops[side]->ops[i]);
    for (uint32_t i = 0; i < m->ops[0]->n_ops; i++)
        pairs += m->match[0][i] != RUN_NONE && is_counted(&m->ops[0]->ops[i]);
    to->by_name = pairs > to->by_order ? pairs - to->by_order : 0;
}

int diverging_ops(struct diverging *d)
{
    struct ops_match m = {
        .d = d, .run = {d->run[0], d->run[1]}, .ops = {d->run[0]->ops, d->run[1]->ops}};

    for (int side = 0; side < 2; side++)
        d->divergence->lost[side] = m.ops[side] ? m.ops[side]->lost : 0;
    if (!m.ops[0] || !m.ops[1])
        return 0;
    if (!prepare(&m) || match_known(&m) < 0 || match_flow(&m, FLOW_ALL) < 0 ||
        match_flow(&m, FLOW_SOME) < 0 || match_flow(&m, FLOW_ALL) < 0)
        return -1;
    /* Each tier makes more values known, from which matching by data flow continues. */
    for (int tier = 0; tier < TIERS; tier++) {
        if (tier == BY_SHAPE)
            match_back(&m);
        if (align(&m, (enum tier)tier) < 0 || match_flow(&m, FLOW_ALL) < 0)
            return -1;
    }
    count(&m);
    return 0;
}
