/* Describes the differences of two matched parts in words. The class comes first, then
 * the differences, because a narrow box drops the last words first. */
#include "base/buf.h"
#include "graph/merge_in.h"
#include "text/number.h"

#define WORDS_MOST 32 /* number of words compared; further ones are only copied */

struct merge_pair {
    struct parts *to;
    uint32_t part;
    const struct parts *side[MERGE_SIDES];
    const struct diagram_box *box[MERGE_SIDES];
    uint32_t n[MERGE_SIDES];
    uint32_t mate[MERGE_SIDES][WORDS_MOST]; /* the word of the other side; PART_NONE */
    bool changed;
};

static struct str word_at(const struct merge_pair *pair, int side, uint32_t i)
{
    return pair->side[side]->words[pair->box[side]->words + i];
}

/* The key of a word: "stride" of "stride 2", "→" of "64→128"; "" if it has none. */
static struct str key_of(struct str word)
{
    ptrdiff_t blank = str_find_last_char(word, ' ');

    if (blank > 0 && ((word.at[0] >= 'a' && word.at[0] <= 'z') || word.at[0] == '_'))
        return str_head(word, (size_t)blank);
    return str_find(word, STR("→")) >= 0 ? STR("→") : STR("");
}

static void pair_words(struct merge_pair *pair, bool (*fit)(struct str a, struct str b))
{
    for (uint32_t i = 0; i < pair->n[MERGE_NEW]; i++)
        for (uint32_t k = 0; k < pair->n[MERGE_OLD]; k++)
            if (pair->mate[MERGE_NEW][i] == PART_NONE &&
                pair->mate[MERGE_OLD][k] == PART_NONE &&
                fit(word_at(pair, MERGE_OLD, k), word_at(pair, MERGE_NEW, i))) {
                pair->mate[MERGE_NEW][i] = k;
                pair->mate[MERGE_OLD][k] = i;
            }
}

static bool same_key(struct str a, struct str b)
{
    return str_eq(key_of(a), key_of(b));
}

static void find_mates(struct merge_pair *pair)
{
    bool class_first = pair->box[MERGE_NEW]->kind == DIAGRAM_MODULE &&
                       pair->n[MERGE_OLD] > 0 && pair->n[MERGE_NEW] > 0;

    for (int s = 0; s < MERGE_SIDES; s++)
        for (uint32_t i = 0; i < WORDS_MOST; i++)
            pair->mate[s][i] = PART_NONE;
    if (class_first)
        pair->mate[MERGE_OLD][0] = pair->mate[MERGE_NEW][0] = 0;
    pair_words(pair, str_eq);
    pair_words(pair, same_key);
}

static int add(struct merge_pair *pair, struct str word)
{
    return parts_word(pair->to, pair->part, word);
}

static bool is_same(const struct merge_pair *pair, uint32_t i)
{
    uint32_t mate = i < pair->n[MERGE_NEW] ? pair->mate[MERGE_NEW][i] : PART_NONE;

    if (i >= pair->n[MERGE_NEW])
        return true; /* beyond the compared words */
    return mate != PART_NONE &&
           str_eq(word_at(pair, MERGE_NEW, i), word_at(pair, MERGE_OLD, mate));
}

/* "64→128 (was 64→64)", "stride 2 (was 1)", "in place (new)" */
static int add_changed(struct merge_pair *pair, uint32_t i)
{
    struct str new = word_at(pair, MERGE_NEW, i), old, key;
    uint32_t mate = pair->mate[MERGE_NEW][i];

    pair->changed = true;
    if (mate == PART_NONE)
        return add(pair, parts_printf(pair->to, "%.*s (new)", STR_ARG(new)));
    old = word_at(pair, MERGE_OLD, mate);
    key = key_of(old);
    if (str_starts(old, key) && key.len > 0)
        old = str_from(old, key.len + 1);
    return add(pair,
               parts_printf(pair->to, "%.*s (was %.*s)", STR_ARG(new), STR_ARG(old)));
}

static int add_name(struct merge_pair *pair)
{
    struct str old = pair->box[MERGE_OLD]->name, new = pair->box[MERGE_NEW]->name;
    bool op = pair->box[MERGE_NEW]->kind == DIAGRAM_OP ||
              pair->box[MERGE_NEW]->kind == DIAGRAM_VIEW;

    if (str_eq(old, new))
        return 0;
    pair->changed = true;
    return add(pair, parts_printf(pair->to, op ? "was %.*s" : "renamed from %.*s",
                                  STR_ARG(old)));
}

static int add_words(struct merge_pair *pair)
{
    uint32_t n = pair->box[MERGE_NEW]->n_words, first = 0;

    if (pair->box[MERGE_NEW]->kind == DIAGRAM_MODULE && n > 0) {
        if ((is_same(pair, 0) ? add(pair, word_at(pair, MERGE_NEW, 0))
                              : add_changed(pair, 0)) < 0)
            return -1;
        first = 1;
    }
    if (add_name(pair) < 0)
        return -1;
    for (uint32_t i = first; i < n; i++)
        if (!is_same(pair, i) && add_changed(pair, i) < 0)
            return -1;
    for (uint32_t k = 0; k < pair->n[MERGE_OLD]; k++)
        if (pair->mate[MERGE_OLD][k] == PART_NONE) {
            pair->changed = true;
            if (add(pair, parts_printf(pair->to, "was %.*s",
                                       STR_ARG(word_at(pair, MERGE_OLD, k)))) < 0)
                return -1;
        }
    for (uint32_t i = first; i < n; i++)
        if (is_same(pair, i) && add(pair, word_at(pair, MERGE_NEW, i)) < 0)
            return -1;
    return 0;
}

/* ---- what words do not say ---- */

static struct str result_text(const struct merge_side *side, uint32_t part,
                              bool with_dtype, struct parts *to)
{
    const struct part_value *value =
        &side->parts
             ->values[side->parts->links[side->out[side->first_out[part]]].value];

    if (!with_dtype)
        return value->shape;
    return parts_printf(to, "%.*s %.*s", STR_ARG(value->shape), STR_ARG(value->dtype));
}

/* "result 1×128 (was 1×64)" */
static int add_result(struct merge_pair *pair, const struct merge *merge, uint32_t old,
                      uint32_t new)
{
    const struct merge_side *sides = merge->side;
    bool dtype = str_eq(result_text(&sides[MERGE_OLD], old, false, pair->to),
                        result_text(&sides[MERGE_NEW], new, false, pair->to));
    struct str was = result_text(&sides[MERGE_OLD], old, dtype, pair->to);
    struct str is = result_text(&sides[MERGE_NEW], new, dtype, pair->to);

    pair->changed = true;
    return add(pair, parts_printf(pair->to, "result %.*s (was %.*s)", STR_ARG(is),
                                  STR_ARG(was)));
}

/* A module may have parameters that its arguments do not show. */
static int add_params(struct merge_pair *pair)
{
    double old = pair->box[MERGE_OLD]->metric[DIAGRAM_PARAMS];
    double new = pair->box[MERGE_NEW]->metric[DIAGRAM_PARAMS];
    struct buf text = BUF_INIT;
    int status;

    if (pair->box[MERGE_NEW]->kind != DIAGRAM_MODULE || !(old >= 0) || !(new >= 0) ||
        old == new)
        return 0;
    pair->changed = true;
    text_count(&text, (uint64_t) new);
    buf_text(&text, " parameters (was ");
    text_count(&text, (uint64_t)old);
    buf_char(&text, ')');
    status = add(pair, parts_text(pair->to, buf_span(&text)));
    buf_release(&text);
    return status;
}

int merge_words(struct parts *to, uint32_t part, const struct merge *merge,
                uint32_t old, uint32_t new, bool *ret_changed)
{
    struct merge_pair pair = {.to = to, .part = part};
    const uint32_t parts_of[MERGE_SIDES] = {old, new};

    for (int s = 0; s < MERGE_SIDES; s++) {
        pair.side[s] = merge->side[s].parts;
        pair.box[s] = &pair.side[s]->at[parts_of[s]].box;
        pair.n[s] =
            pair.box[s]->n_words < WORDS_MOST ? pair.box[s]->n_words : WORDS_MOST;
    }
    find_mates(&pair);
    if (add_words(&pair) < 0)
        return -1;
    if (merge_is_leaf(&merge->side[MERGE_NEW], new) && !pair.changed) {
        if (merge_other_results(merge, old, new) &&
            add_result(&pair, merge, old, new) < 0)
            return -1;
        if (!pair.changed && add_params(&pair) < 0)
            return -1;
    }
    *ret_changed = pair.changed;
    return 0;
}
