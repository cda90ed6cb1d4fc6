/* Sums up a diff in one or two sentences, from the fates of the parts. Writes nothing if
 * most of the model changed in several ways. */
#include "base/base.h"
#include "compare/diff_rows_in.h"
#include "rows/slice.h"
#include "text/text.h"

/* What the sentence says about a part, in the order of the sentence. */
enum clause {
    CLAUSE_TRAINED,
    CLAUSE_UNRELATED,
    CLAUSE_REPLACED,
    CLAUSE_ADDED,
    CLAUSE_REMOVED,
    CLAUSE_RENAMED,
    CLAUSE_FUSED,
    CLAUSE_SPLIT,
    CLAUSE_CAST,
    CLAUSE_PARTLY, /* some of it was trained */
    CLAUSE_PARTLY_UNRELATED,
    CLAUSE_STATE, /* optimizer state and the like changed */
    CLAUSE_MIXED,
    CLAUSE_EQUAL, /* the second sentence: parameters are equal */
    CLAUSE_NONE,
};

struct telling {
    const struct diff *diff;
    struct arena arena;
    enum clause *clauses; /* by part */
    struct str *names;    /* of the parts of one clause */
};

/* ---- which clause ---- */

static enum clause joined(const struct diff *diff)
{
    for (uint32_t i = 1; i < diff->n_joins; i++)
        if (diff->joins[i].fused != diff->joins[0].fused)
            return CLAUSE_MIXED;
    return diff->n_joins == 0     ? CLAUSE_MIXED
           : diff->joins[0].fused ? CLAUSE_FUSED
                                  : CLAUSE_SPLIT;
}

/* Finds a clause for a part of mixed fate with only one kind of change. */
static enum clause mixed(const struct diff *diff, const struct diff_sums *sums)
{
    const uint32_t *n = sums->states;
    uint32_t quiet = n[DIFF_SAME] + n[DIFF_CLOSE];

    if (sums->renamed > 0)
        return CLAUSE_MIXED;
    if (n[DIFF_JOINED] > 0 && quiet + n[DIFF_JOINED] == sums->tensors)
        return joined(diff);
    if (n[DIFF_CHANGED] > 0 && quiet + n[DIFF_CHANGED] == sums->tensors)
        return sums->unrelated > 0 ? CLAUSE_PARTLY_UNRELATED : CLAUSE_PARTLY;
    return CLAUSE_MIXED;
}

static enum clause clause_of(const struct diff *diff, const struct diff_part *part)
{
    const struct diff_sums *sums = &diff->nodes[part->node].sums;

    switch (part->fate) {
    case FATE_SAME:
    case FATE_BUFFERS:
        return sums->params > 0 || sums->buffers > 0 ? CLAUSE_EQUAL : CLAUSE_NONE;
    case FATE_TRAINED:
        return sums->params > 0 || sums->buffers > 0 ? CLAUSE_TRAINED : CLAUSE_STATE;
    case FATE_UNRELATED:
        return CLAUSE_UNRELATED;
    case FATE_RETYPED:
        return CLAUSE_CAST;
    case FATE_REPLACED:
        return CLAUSE_REPLACED;
    case FATE_ADDED:
        return CLAUSE_ADDED;
    case FATE_REMOVED:
        return CLAUSE_REMOVED;
    case FATE_RENAMED:
        return CLAUSE_RENAMED;
    case FATE_JOINED:
        return joined(diff);
    case FATE_MIXED:
        break;
    }
    if (sums->params == 0 && sums->buffers == 0)
        return CLAUSE_STATE;
    return mixed(diff, sums);
}

/* ---- the first sentence ---- */

/* "cast from float32 to bfloat16", if that holds for every cast tensor. */
static void add_cast(struct buf *to, const struct diff *diff)
{
    int left = -1, right = -1;
    bool alike = true;

    for (uint32_t i = 0; i < diff->n_pairs; i++) {
        const struct diff_pair *pair = &diff->pairs[i];
        int a, b;

        if (pair->state != DIFF_RETYPED)
            continue;
        a = place_tensor(diff->left, pair->left)->dtype;
        b = place_tensor(diff->right, pair->right)->dtype;
        alike = alike && (left < 0 || (a == left && b == right));
        left = a;
        right = b;
    }
    if (alike && left >= 0)
        buf_printf(to, "cast from %s to %s", dtype_name((enum dtype)left),
                   dtype_name((enum dtype)right));
    else
        buf_text(to, "cast to other dtypes");
}

/* The names of the parts of a clause. The root has none: `all` stands for it. */
static uint32_t list_names(struct telling *t, enum clause clause, struct str all)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < t->diff->n_parts; i++) {
        if (t->clauses[i] != clause)
            continue;
        t->names[n++] = diff_keep_node(&t->arena, t->diff, t->diff->parts[i].node, all);
    }
    return n;
}

/* One clause: "layer4 was trained"; after another one "fc replaced". */
static void add_clause(struct buf *to, struct telling *t, enum clause clause,
                       bool first)
{
    static const char *const words[] = {
        [CLAUSE_TRAINED] = "trained",
        [CLAUSE_UNRELATED] = "unrelated values",
        [CLAUSE_REPLACED] = "replaced",
        [CLAUSE_ADDED] = "added",
        [CLAUSE_REMOVED] = "removed",
        [CLAUSE_RENAMED] = "renamed",
        [CLAUSE_FUSED] = "fused",
        [CLAUSE_SPLIT] = "split",
        [CLAUSE_CAST] = NULL,
        [CLAUSE_PARTLY] = "trained",
        [CLAUSE_PARTLY_UNRELATED] = "unrelated values",
        [CLAUSE_STATE] = "changed",
        [CLAUSE_MIXED] = "changed in several ways",
    };
    bool unrelated = clause == CLAUSE_UNRELATED || clause == CLAUSE_PARTLY_UNRELATED;
    bool some = clause == CLAUSE_PARTLY || clause == CLAUSE_PARTLY_UNRELATED ||
                clause == CLAUSE_FUSED || clause == CLAUSE_SPLIT;
    bool capital = first && !some;
    uint32_t n = list_names(t, clause, capital ? STR("Everything") : STR("everything"));

    buf_text(to, first ? "" : ", ");
    buf_text(to, !some ? "" : first ? "Parts of " : "parts of ");
    names_write(to, t->names, n, &names_in_prose);
    if (clause == CLAUSE_STATE || clause == CLAUSE_MIXED)
        buf_char(to, ' ');
    else if (unrelated)
        buf_text(to, n > 1 || some ? " have " : " has ");
    else
        buf_text(to, !first ? " " : n > 1 || some ? " were " : " was ");
    if (clause == CLAUSE_CAST)
        add_cast(to, t->diff);
    else
        buf_text(to, words[clause]);
}

/* ---- the second sentence ---- */

static bool is_batch_norm(struct str word)
{
    return str_is(word, "running_mean") || str_is(word, "running_var") ||
           str_is(word, "num_batches_tracked");
}

static bool read_count(const struct model *model, uint32_t place, struct arena *arena,
                       int64_t *ret_count)
{
    const struct tensor *tensor = place_tensor(model, place);
    struct slice slice;
    struct cells cells;

    if (tensor->numel != 1 ||
        slice_all(&slice, tensor_shape(model, tensor), tensor->rank, NULL) < 0 ||
        cells_read(model, tensor, &slice, arena, NULL, &cells, NULL) < 0 ||
        cells.kind != CELL_INT)
        return false;
    *ret_count = cells.integers[0];
    return true;
}

/* " (num_batches_tracked 0 → 20)", if all of them changed by the same number. */
static void add_steps(struct buf *to, struct telling *t)
{
    const struct diff *diff = t->diff;
    uint32_t first = DIFF_NONE;
    int64_t left, right;

    for (uint32_t i = 0; i < diff->n_pairs; i++) {
        const struct diff_pair *pair = &diff->pairs[i];

        if (!(pair->flags & DIFF_BUFFER) || pair->state != DIFF_CHANGED ||
            !str_is(place_name(diff->left, pair->left), "num_batches_tracked"))
            continue;
        if (first != DIFF_NONE && diff->pairs[first].by.max_abs != pair->by.max_abs)
            return;
        first = first == DIFF_NONE ? i : first;
    }
    if (first == DIFF_NONE ||
        !read_count(diff->left, diff->pairs[first].left, &t->arena, &left) ||
        !read_count(diff->right, diff->pairs[first].right, &t->arena, &right))
        return;
    buf_printf(to, " (num_batches_tracked %lld → %lld)", (long long)left,
               (long long)right);
}

/* "129 BatchNorm buffers": changed buffers of parts with equal parameters. */
static uint32_t add_buffers(struct buf *to, const struct telling *t)
{
    const struct diff *diff = t->diff;
    bool norm = true;
    uint32_t n = 0;

    for (uint32_t i = 0; i < diff->n_parts; i++)
        if (t->clauses[i] == CLAUSE_EQUAL)
            n += diff->nodes[diff->parts[i].node].sums.buffers_differ;
    for (uint32_t i = 0; i < diff->n_pairs; i++)
        if (diff->pairs[i].flags & DIFF_BUFFER && diff->pairs[i].state == DIFF_CHANGED)
            norm = norm && is_batch_norm(place_name(diff->left, diff->pairs[i].left));
    if (n == 0)
        return 0;
    text_commas(to, n);
    buf_printf(to, " %s%s", norm ? "BatchNorm " : "", n == 1 ? "buffer" : "buffers");
    return n;
}

static uint32_t count_of(const struct telling *t, enum clause clause)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < t->diff->n_parts; i++)
        n += t->clauses[i] == clause;
    return n;
}

static void add_and(struct buf *to, uint32_t n, const char *one, const char *many,
                    bool *first)
{
    if (n == 0)
        return;
    buf_text(to, *first ? "" : " and ");
    text_plural(to, n, one, many);
    *first = false;
}

/* "the code of 2 modules and 1 setting differ." Names are in the rows. */
static void add_facts(struct buf *to, const struct telling *t)
{
    const struct diff_sums *total = &t->diff->total;
    uint32_t code = total->others[DIFF_CODE], metadata = total->others[DIFF_METADATA];
    uint32_t n = diff_count_others(total), rest = n - code - metadata;
    bool first = true;

    buf_text(to, code > 0 ? "the code of " : "");
    add_and(to, code, "module", "modules", &first);
    add_and(to, rest, "setting", "settings", &first);
    add_and(to, metadata, "entry of the metadata", "entries of the metadata", &first);
    buf_text(to, n == 1 || n == code ? " differs." : " differ.");
}

static void add_equal(struct buf *to, struct telling *t)
{
    bool first = to->len == 0, close = t->diff->total.states[DIFF_CLOSE] > 0;
    struct buf moved = BUF_INIT;
    uint32_t n = list_names(t, CLAUSE_EQUAL, STR("everything"));

    add_buffers(&moved, t);
    if (first) {
        /* Nothing else changed: report buffers, or code and settings. */
        if (moved.len > 0) {
            buf_printf(to, "No parameter changed; %s moved", buf_cstr(&moved));
            add_steps(to, t);
            buf_char(to, '.');
        } else if (diff_count_others(&t->diff->total) > 0) {
            buf_text(to, close ? "All weights are equal within the tolerance; "
                               : "All weights are equal bit by bit; ");
            add_facts(to, t);
        }
        buf_release(&moved);
        return;
    }
    buf_text(to, " All weights of ");
    names_write(to, t->names, n, &names_in_prose);
    buf_text(to, close ? " are equal within the tolerance" : " are equal bit by bit");
    if (moved.len > 0) {
        buf_printf(to, "; %s there moved", buf_cstr(&moved));
        add_steps(to, t);
    }
    buf_char(to, '.');
    buf_release(&moved);
}

/* ---- all ---- */

static int choose_clauses(struct telling *t)
{
    const struct diff *diff = t->diff;
    size_t n = (size_t)diff->n_parts + 1;

    t->clauses = arena_array(&t->arena, n, sizeof *t->clauses);
    t->names = arena_array(&t->arena, n, sizeof *t->names);
    if (!t->clauses || !t->names)
        return -1;
    for (uint32_t i = 0; i < diff->n_parts; i++)
        t->clauses[i] = clause_of(diff, &diff->parts[i]);
    return 0;
}

/* Does the sentence say more than "changed in several ways"? */
static bool is_worth_saying(const struct telling *t)
{
    uint32_t mixed_parts = count_of(t, CLAUSE_MIXED);

    return t->diff->complete && t->diff->n_parts > 0 &&
           (mixed_parts == 0 || mixed_parts * 2 < t->diff->n_parts);
}

void diff_sentence(struct buf *to, const struct diff *diff)
{
    struct telling t = {.diff = diff};
    struct buf text = BUF_INIT;

    arena_init(&t.arena, GIB);
    if (choose_clauses(&t) == 0 && is_worth_saying(&t)) {
        for (enum clause c = CLAUSE_TRAINED; c < CLAUSE_EQUAL; c++)
            if (count_of(&t, c) > 0)
                add_clause(&text, &t, c, text.len == 0);
        if (text.len > 0)
            buf_char(&text, '.');
        if (diff->values && count_of(&t, CLAUSE_EQUAL) > 0)
            add_equal(&text, &t);
    }
    buf_str(to, buf_span(&text));
    buf_release(&text);
    arena_release(&t.arena);
}
