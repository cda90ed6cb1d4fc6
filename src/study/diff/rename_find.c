/* Greedy: each round collects candidates for the remaining changes and takes, best
 * first, every rule that
 *   - moves each name it touches closer to its goal, so it touches no finished name,
 *   - makes no two names equal, because equal names can never be separated again.
 * The second condition orders the rules: "layers.1" becomes "layers.2" only after
 * "layers.2" has been renamed. Names left at the end get a NAME rule each. */
#include <stdlib.h>

#include "base/intern.h"
#include "study/diff/rename_in.h"

#define MOST_ROUNDS      24
#define MOST_PASSES      4
#define MOST_RULES       512
#define SAMPLE           16384 /* pairs that a round learns from */
#define COST_OF_LEARNING 6     /* from a pair, as a number of tried names */
#define LONG_NAME        512   /* bytes */
#define MOST_HEADS       32
#define MOST_EXCEPTIONS  4

#define NO_POST UINT32_MAX

/* A pair whose name has, or once had, a component. */
struct post {
    uint32_t pair, next;
};

struct rename_find_taken {
    struct rename_rule rule;
    uint32_t *pairs; /* the pairs it changed */
    uint32_t n;
};

/* The effect of the rule that is being tried. */
struct trial {
    uint32_t *pairs;
    size_t *begin; /* of the new name, in `text` */
    uint32_t *distance;
    uint32_t n;
    struct buf text;
};

struct finder {
    struct arena *arena; /* lives for one call */
    struct rename_way *ways;
    uint32_t n;
    struct map owners; /* hash of a name to the pair that has or had it */
    struct intern parts;
    uint32_t *first_post, *posts_of; /* by component id: the latest post, how many */
    uint32_t ids_room, counts_room;
    struct post *posts;
    uint32_t n_posts, posts_room;
    uint32_t *stamp, now; /* stamp[pair] == now: seen in this trial */
    struct trial trial;
    struct rename_find_taken *taken;
    uint32_t n_taken, taken_room;
    uint64_t budget; /* names that may still be tried */
    bool harmed;     /* the rule of the last trial has exceptions */
};

/* ---- index of components ---- */

static int add_post(struct finder *find, struct str part, uint32_t pair)
{
    uint32_t id = intern_add(&find->parts, part);

    if (id == INTERN_NONE)
        return -1;
    while (id >= find->ids_room || id >= find->counts_room)
        if (arena_room(find->arena, &find->first_post, find->ids_room, &find->ids_room,
                       sizeof *find->first_post) < 0 ||
            arena_room(find->arena, &find->posts_of, find->counts_room,
                       &find->counts_room, sizeof *find->posts_of) < 0)
            return -1;
    if (arena_room(find->arena, &find->posts, find->n_posts, &find->posts_room,
                   sizeof *find->posts) < 0)
        return -1;
    find->posts[find->n_posts] =
        (struct post){pair, find->posts_of[id] > 0 ? find->first_post[id] : NO_POST};
    find->first_post[id] = find->n_posts++;
    find->posts_of[id]++;
    return 0;
}

static int post_name(struct finder *find, struct str name, uint32_t pair)
{
    struct str part;

    while (str_split(&name, '.', &part))
        if (add_post(find, part, pair) < 0)
            return -1;
    return 0;
}

/* The id of the rarest component that a rule needs. False if it needs none: it may touch
 * any name. *ret_id is INTERN_NONE if no name has the component. */
static bool rarest_part(const struct finder *find, const struct rename_rule *rule,
                        struct str text, uint32_t *ret_id)
{
    bool ends_in_dot = rule->kind == RENAME_PREFIX || rule->kind == RENAME_SHIFT;
    bool any = false;
    struct str part;

    if (ends_in_dot && text.len > 0)
        text.len--;
    else if (ends_in_dot)
        return false;
    while (str_split(&text, '.', &part)) {
        uint32_t id;

        if (rule->kind != RENAME_PREFIX && str_is(part, "{}"))
            continue;
        id = intern_find(&find->parts, part);
        if (id == INTERN_NONE || !any || find->posts_of[id] < find->posts_of[*ret_id])
            *ret_id = id;
        any = true;
        if (id == INTERN_NONE)
            break;
    }
    return any;
}

/* ---- trying a rule ---- */

/* Components that follow a prefix. */
struct heads {
    struct str at[MOST_HEADS];
    uint32_t n;
};

static bool heads_have(const struct heads *heads, struct str head)
{
    uint32_t i;

    for (i = heads->n; i-- > 0;)
        if (str_eq(heads->at[i], head))
            return true;
    return false;
}

static void heads_add(struct heads *heads, struct str head)
{
    if (heads->n < MOST_HEADS && !heads_have(heads, head))
        heads->at[heads->n++] = head;
}

struct outcome {
    uint32_t nearer; /* names that got closer to their goal */
    struct heads helped, harmed;
    bool bad;
};

static struct str head_behind(struct str name, size_t at)
{
    struct str rest = str_from(name, at);
    ptrdiff_t dot = str_find_char(rest, '.');

    return dot < 0 ? rest : str_head(rest, (size_t)dot);
}

/* Only a PREFIX may have exceptions, if undoing them takes fewer rules than a rule for
 * each head it helps: "" -> "backbone." and "backbone.fc." -> "fc.". */
static void note_outcome(struct outcome *outcome, const struct rename_rule *rule,
                         struct str name, bool nearer)
{
    struct str head;

    outcome->nearer += nearer;
    if (rule->kind != RENAME_PREFIX) {
        outcome->bad = outcome->bad || !nearer;
        return;
    }
    head = head_behind(name, rule->from.len);
    heads_add(nearer ? &outcome->helped : &outcome->harmed, head);
    if (outcome->harmed.n > MOST_EXCEPTIONS)
        outcome->bad = true;
}

static bool is_good(const struct outcome *outcome)
{
    uint32_t i;

    if (outcome->bad)
        return false;
    if (outcome->harmed.n == 0)
        return true;
    for (i = 0; i < outcome->harmed.n; i++)
        if (heads_have(&outcome->helped, outcome->harmed.at[i]))
            return false;
    return outcome->harmed.n + 1 < outcome->helped.n;
}

static void try_pair(struct finder *find, const struct rename_rule *rule, uint32_t pair,
                     struct outcome *outcome)
{
    const struct rename_way *way = &find->ways[pair];
    struct trial *trial = &find->trial;
    size_t begin = trial->text.len;
    uint32_t distance;

    if (find->stamp[pair] == find->now)
        return;
    find->stamp[pair] = find->now;
    if (find->budget == 0) {
        outcome->bad = true;
        return;
    }
    find->budget--;
    if (!rename_apply_rule(rule, way->now, &trial->text))
        return;
    distance = rename_distance(str_from(buf_span(&trial->text), begin), way->to);
    trial->pairs[trial->n] = pair;
    trial->begin[trial->n] = begin;
    trial->distance[trial->n++] = distance;
    if (rule->kind == RENAME_SWAP && distance == way->distance)
        return; /* it makes room for another name */
    note_outcome(outcome, rule, way->now, distance < way->distance);
}

static void try_posts(struct finder *find, const struct rename_rule *rule, uint32_t id,
                      struct outcome *outcome)
{
    uint32_t i;

    if (id == INTERN_NONE || find->posts_of[id] == 0)
        return;
    for (i = find->first_post[id]; i != NO_POST && !outcome->bad;
         i = find->posts[i].next)
        try_pair(find, rule, find->posts[i].pair, outcome);
}

/* Fill find->trial with the changes of the rule. False: it contradicts something. */
static bool try_names(struct finder *find, const struct rename_rule *rule)
{
    struct outcome outcome = {0};
    uint32_t id, i;

    find->now++;
    find->trial.n = 0;
    buf_clear(&find->trial.text);
    if (rarest_part(find, rule, rule->from, &id)) {
        try_posts(find, rule, id, &outcome);
        if (rule->kind == RENAME_SWAP && rarest_part(find, rule, rule->to, &id))
            try_posts(find, rule, id, &outcome);
    } else {
        for (i = 0; i < find->n && !outcome.bad; i++)
            try_pair(find, rule, i, &outcome);
    }
    find->harmed = outcome.harmed.n > 0;
    return is_good(&outcome) && !find->trial.text.bad && find->trial.n > 1 &&
           outcome.nearer >= find->trial.n / 2;
}

static struct str trial_name(const struct trial *trial, uint32_t i)
{
    size_t end = i + 1 < trial->n ? trial->begin[i + 1] : trial->text.len;

    return str_span(trial->text.at + trial->begin[i], end - trial->begin[i]);
}

static bool is_owned(const struct finder *find, uint64_t hash)
{
    uint32_t pair;

    return map_find(&find->owners, hash, &pair) && find->ways[pair].hash == hash;
}

/* Remove all names of the trial, then add each new name. *ret_moved is false if a name
 * is taken; then all are restored. A hash of 0 means removed. */
static int move_all(struct finder *find, bool *ret_moved)
{
    struct trial *trial = &find->trial;
    uint32_t i, n;

    for (i = 0; i < trial->n; i++)
        find->ways[trial->pairs[i]].hash = 0;
    for (n = 0; n < trial->n; n++) {
        uint64_t hash = str_hash(trial_name(trial, n));

        if (is_owned(find, hash))
            break;
        find->ways[trial->pairs[n]].hash = hash;
        if (map_put(&find->owners, hash, trial->pairs[n]) < 0)
            return -1;
    }
    *ret_moved = n == trial->n;
    for (i = 0; i < trial->n && n < trial->n; i++) {
        struct rename_way *way = &find->ways[trial->pairs[i]];

        way->hash = str_hash(way->now);
        if (map_put(&find->owners, way->hash, trial->pairs[i]) < 0)
            return -1;
    }
    return 0;
}

/* A long name is posted as a whole: finding its new components would take longer. */
static int post_new_parts(struct finder *find, struct str before, struct str after,
                          uint32_t pair)
{
    struct str part, old;

    if (before.len > LONG_NAME)
        return post_name(find, after, pair);

    while (str_split(&after, '.', &part)) {
        struct str rest = before;
        bool known = false;

        while (!known && str_split(&rest, '.', &old))
            known = str_eq(old, part);
        if (!known && add_post(find, part, pair) < 0)
            return -1;
    }
    return 0;
}

static int keep_rule(struct finder *find, const struct rename_rule *rule)
{
    struct trial *trial = &find->trial;
    struct rename_find_taken *taken;
    uint32_t i;

    if (arena_room(find->arena, &find->taken, find->n_taken, &find->taken_room,
                   sizeof *find->taken) < 0)
        return -1;
    taken = &find->taken[find->n_taken];
    *taken = (struct rename_find_taken){.rule = *rule, .n = trial->n};
    taken->rule.from = arena_str(find->arena, rule->from);
    taken->rule.to = arena_str(find->arena, rule->to);
    taken->pairs = arena_array(find->arena, trial->n, sizeof *taken->pairs);
    if (!taken->pairs || !taken->rule.from.at || !taken->rule.to.at)
        return -1;
    for (i = 0; i < trial->n; i++) {
        struct rename_way *way = &find->ways[trial->pairs[i]];
        struct str name = arena_str(find->arena, trial_name(trial, i));

        if (!name.at || post_new_parts(find, way->now, name, trial->pairs[i]) < 0)
            return -1;
        way->now = name;
        way->distance = trial->distance[i];
        taken->pairs[i] = trial->pairs[i];
    }
    find->n_taken++;
    return 0;
}

/* By how much the trial reduces all distances. */
static uint64_t trial_gain(const struct finder *find)
{
    const struct trial *trial = &find->trial;
    uint64_t before = 0, after = 0;
    uint32_t i;

    for (i = 0; i < trial->n; i++) {
        before += find->ways[trial->pairs[i]].distance;
        after += trial->distance[i];
    }
    return before > after ? before - after : 0;
}

/* Take the rule if it is sound. A rule that helps much less than expected waits for the
 * next round: other rules have changed its names. */
static int try_rule(struct finder *find, const struct rename_candidate *one, bool stuck,
                    bool *ret_taken)
{
    const struct rename_rule *rule = &one->rule;
    bool moved;

    if (find->n_taken == MOST_RULES || find->budget == 0 || !try_names(find, rule))
        return 0;
    if (!stuck && trial_gain(find) < one->gain / 2)
        return 0;
    if (move_all(find, &moved) < 0)
        return -1;
    if (!moved)
        return 0;
    *ret_taken = true;
    return keep_rule(find, rule);
}

/* ---- rounds ---- */

static int compare_candidates(const void *x, const void *y)
{
    const struct rename_candidate *a = x, *b = y;
    size_t a_len = a->rule.from.len + a->rule.to.len;
    size_t b_len = b->rule.from.len + b->rule.to.len;

    if (a->gain != b->gain)
        return a->gain > b->gain ? -1 : 1;
    if (a->rule.kind != b->rule.kind)
        return a->rule.kind < b->rule.kind ? -1 : 1;
    if (a_len != b_len)
        return a_len < b_len ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

/* Try all candidates, and refused ones again, because a rule may have made room for
 * them. Forwards and backwards, so that a row of names in which each takes the place of
 * the next can move. */
static int try_all(struct finder *find, struct rename_candidates *all, bool *ret_any)
{
    uint32_t pass, i, left, n = all->n;
    uint64_t least = 0;

    for (pass = 0; pass < MOST_PASSES; pass++) {
        bool any = false;

        for (i = 0, left = 0; i < n; i++) {
            struct rename_candidate *one = &all->at[pass % 2 ? n - 1 - i : i];
            uint64_t gain = one->gain;
            bool taken = false;

            if (gain == 0)
                continue;
            if (gain < least) {
                n = i;
                break;
            }
            if (try_rule(find, one, all->stuck, &taken) < 0)
                return -1;
            if (taken && least == 0)
                least = gain / 2;
            if (taken)
                one->gain = 0;
            else
                left++;
            any = any || taken;
            *ret_any = *ret_any || any;
            if (taken && find->harmed)
                return 0; /* the exceptions invalidate the other candidates */
        }
        if (!any || left == 0)
            break;
    }
    return 0;
}

static int run_round(struct finder *find, uint32_t step, bool stuck, bool *ret_any)
{
    struct rename_candidates all = {.stuck = stuck};
    struct arena arena;
    int result = -1;

    arena_init(&arena, find->arena->limit);
    all.arena = &arena;
    if (rename_collect(&all, find->ways, find->n, step) == 0 &&
        rename_collect_shifts(&all, find->ways, find->n, step) == 0) {
        if (all.n > 0)
            qsort(all.at, all.n, sizeof *all.at, compare_candidates);
        result = try_all(find, &all, ret_any);
    }
    buf_release(&all.from);
    buf_release(&all.to);
    arena_release(&arena);
    return result;
}

static uint32_t count_left(const struct finder *find)
{
    uint32_t i, left = 0;

    for (i = 0; i < find->n; i++)
        left += find->ways[i].distance > 0;
    return left;
}

/* A round learns from some pairs; if that gives nothing, the next one from all pairs; if
 * that fails too, one more round runs as `stuck`. */
static int find_rules(struct finder *find)
{
    uint32_t round, left = count_left(find);
    bool all = false, stuck = false;

    for (round = 0; round < MOST_ROUNDS && left > 0; round++) {
        uint32_t step = all ? 1 : left / SAMPLE + 1;
        uint64_t cost = (uint64_t)(left / step) * COST_OF_LEARNING;
        bool any = false;

        if (find->budget < cost)
            break;
        find->budget -= cost;
        if (run_round(find, step, stuck, &any) < 0)
            return -1;
        if (!any && stuck)
            break;
        stuck = !any && step == 1;
        all = !any;
        left = count_left(find);
    }
    return 0;
}

/* ---- from pairs to rules ---- */

/* The first of two pairs with the same name counts. */
static int add_pair(struct finder *find, const struct rename_pair *pair)
{
    struct rename_way *way = &find->ways[find->n];
    uint64_t hash = str_hash(pair->from);
    uint32_t other;

    if (map_find(&find->owners, hash, &other))
        return 0;
    *way = (struct rename_way){.from = pair->from,
                               .now = pair->from,
                               .to = pair->to,
                               .hash = hash,
                               .distance = rename_distance(pair->from, pair->to)};
    if (map_put(&find->owners, hash, find->n) < 0 ||
        post_name(find, pair->from, find->n) < 0)
        return -1;
    find->n++;
    return 0;
}

static int start(struct finder *find, const struct rename_pair *pairs, uint32_t n)
{
    struct trial *trial = &find->trial;
    size_t room = n > 0 ? n : 1;
    uint32_t i;

    map_init(&find->owners, find->arena);
    find->budget = 300000 + 32 * (uint64_t)n;
    find->ways = arena_array(find->arena, room, sizeof *find->ways);
    find->stamp = arena_array(find->arena, room, sizeof *find->stamp);
    trial->pairs = arena_array(find->arena, room, sizeof *trial->pairs);
    trial->begin = arena_array(find->arena, room, sizeof *trial->begin);
    trial->distance = arena_array(find->arena, room, sizeof *trial->distance);
    if (!find->ways || !find->stamp || !trial->pairs || !trial->begin ||
        !trial->distance || intern_init(&find->parts, find->arena) < 0)
        return -1;
    for (i = 0; i < n; i++)
        if (add_pair(find, &pairs[i]) < 0)
            return -1;
    return 0;
}

/* Names that a rule brought to their goal; those with a NAME rule do not count. */
static uint32_t count_uses(const struct finder *find,
                           const struct rename_find_taken *taken)
{
    uint32_t i, uses = 0;

    for (i = 0; i < taken->n; i++)
        uses += find->ways[taken->pairs[i]].distance == 0;
    return uses;
}

static int compare_rules(const void *x, const void *y)
{
    const struct rename_rule *a = x, *b = y;

    return str_cmp(a->from, b->from);
}

static void add_names(const struct finder *find, struct rename_rules *rules)
{
    uint32_t i;

    for (i = 0; i < find->n; i++)
        if (find->ways[i].distance > 0)
            rules->at[rules->n++] = (struct rename_rule){.kind = RENAME_NAME,
                                                         .from = find->ways[i].from,
                                                         .to = find->ways[i].to,
                                                         .uses = 1};
    rules->names = rules->n;
    if (rules->n > 0)
        qsort(rules->at, rules->n, sizeof *rules->at, compare_rules);
}

static int write_rules(const struct finder *find, struct arena *arena,
                       struct rename_rules *ret_rules)
{
    struct rename_rules rules = {0};
    uint32_t i;

    rules.at = arena_array(arena, (size_t)count_left(find) + find->n_taken + 1,
                           sizeof *rules.at);
    if (!rules.at)
        return -1;
    add_names(find, &rules);
    for (i = 0; i < find->n_taken; i++) {
        struct rename_rule rule = find->taken[i].rule;

        rule.uses = count_uses(find, &find->taken[i]);
        if (rule.uses == 0)
            continue;
        rule.from = arena_str(arena, rule.from);
        rule.to = arena_str(arena, rule.to);
        if (!rule.from.at || !rule.to.at)
            return -1;
        rules.at[rules.n++] = rule;
    }
    *ret_rules = rules;
    return 0;
}

int rename_find(const struct rename_pair *pairs, uint32_t n, struct arena *arena,
                struct rename_rules *ret_rules, struct err *err)
{
    struct finder find = {0};
    struct arena scratch;
    int result = -1;

    arena_init(&scratch, arena->limit);
    find.arena = &scratch;
    if (start(&find, pairs, n) < 0 || find_rules(&find) < 0)
        arena_err(&scratch, "finding rename rules", err);
    else if (write_rules(&find, arena, ret_rules) < 0)
        arena_err(arena, "the rename rules", err);
    else
        result = 0;
    buf_release(&find.trial.text);
    arena_release(&scratch);
    return result;
}
