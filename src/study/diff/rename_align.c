#include "study/diff/rename_in.h"

/* The cost of changing, inserting or removing a component. Changing a number is cheap: a
 * shift does that. Changing a word costs less than removing and inserting, and less if
 * the words look alike. */
#define COST_ALONE  4u
#define COST_NUMBER 4u
#define COST_ALIKE  5u
#define COST_WORD   6u
#define COST_FAR    1000u /* different names with too many components */

void rename_split(struct str name, struct rename_parts *ret_parts)
{
    size_t begin = 0, i;
    bool number = true;

    ret_parts->n = 0;
    for (i = 0; i <= name.len; i++) {
        struct str part;

        if (i < name.len && name.at[i] != '.') {
            number = number && name.at[i] >= '0' && name.at[i] <= '9';
            continue;
        }
        if (ret_parts->n == RENAME_PARTS) {
            ret_parts->n = 0;
            return;
        }
        part = str_head(str_from(name, begin), i - begin);
        ret_parts->at[ret_parts->n] = part;
        ret_parts->number[ret_parts->n++] = number && part.len > 0;
        begin = i + 1;
        number = true;
    }
}

static void hash_parts(struct rename_parts *parts)
{
    uint32_t i;

    for (i = 0; i < parts->n; i++)
        parts->hash[i] = str_hash(parts->at[i]);
}

static uint32_t cost_of(const struct rename_parts *a, uint32_t i,
                        const struct rename_parts *b, uint32_t j)
{
    struct str x = a->at[i], y = b->at[j];

    if (str_eq(x, y))
        return 0;
    if (a->number[i] != b->number[j])
        return 2 * COST_ALONE;
    if (a->number[i])
        return COST_NUMBER;
    if (x.len > 0 && y.len > 0 &&
        (x.at[0] == y.at[0] || x.at[x.len - 1] == y.at[y.len - 1]))
        return COST_ALIKE;
    return COST_WORD;
}

/* The least costs for the components between equal heads and tails. */
struct rename_align_table {
    uint32_t head, a_n, b_n; /* equal components at the front; those between */
    uint16_t cost[RENAME_PARTS + 1][RENAME_PARTS + 1];
};

static void strip_equal(struct rename_align_table *table, const struct rename_parts *a,
                        const struct rename_parts *b)
{
    uint32_t head = 0, tail = 0, least = a->n < b->n ? a->n : b->n;

    while (head < least && str_eq(a->at[head], b->at[head]))
        head++;
    while (tail < least - head &&
           str_eq(a->at[a->n - 1 - tail], b->at[b->n - 1 - tail]))
        tail++;
    table->head = head;
    table->a_n = a->n - head - tail;
    table->b_n = b->n - head - tail;
}

/* cost[i][j] is for what follows i components of a and j of b, so that the path can be
 * read from the front. */
static void fill_table(struct rename_align_table *table, const struct rename_parts *a,
                       const struct rename_parts *b)
{
    uint32_t i, j;

    for (i = table->a_n + 1; i-- > 0;)
        for (j = table->b_n + 1; j-- > 0;) {
            uint32_t best = UINT32_MAX;

            if (i == table->a_n && j == table->b_n)
                best = 0;
            if (i < table->a_n)
                best = table->cost[i + 1][j] + COST_ALONE;
            if (j < table->b_n && table->cost[i][j + 1] + COST_ALONE < best)
                best = table->cost[i][j + 1] + COST_ALONE;
            if (i < table->a_n && j < table->b_n) {
                uint32_t both = table->cost[i + 1][j + 1] +
                                cost_of(a, table->head + i, b, table->head + j);

                best = both < best ? both : best;
            }
            table->cost[i][j] = (uint16_t)best;
        }
}

uint32_t rename_distance(struct str a, struct str b)
{
    struct rename_parts x, y;
    struct rename_align_table table;

    if (str_eq(a, b))
        return 0;
    rename_split(a, &x);
    rename_split(b, &y);
    if (x.n == 0 || y.n == 0)
        return COST_FAR;
    strip_equal(&table, &x, &y);
    if (table.a_n == 0 || table.b_n == 0)
        return (table.a_n + table.b_n) * COST_ALONE;
    fill_table(&table, &x, &y);
    return table.cost[0][0];
}

static void set_partners(struct rename_aligned *all, uint32_t a, uint32_t b)
{
    all->in_b[a] = (uint8_t)b;
    all->in_a[b] = (uint8_t)a;
}

/* Read a cheapest path from the table. Partners come first, so that cases such as "x" ->
 * "y.x" always give the same one. */
static void read_way(struct rename_aligned *all, const struct rename_align_table *table)
{
    uint32_t i = 0, j = 0, head = table->head;

    while (i < table->a_n || j < table->b_n) {
        uint32_t here = table->cost[i][j];

        if (i < table->a_n && j < table->b_n &&
            here == table->cost[i + 1][j + 1] +
                        cost_of(&all->a, head + i, &all->b, head + j) &&
            cost_of(&all->a, head + i, &all->b, head + j) < 2 * COST_ALONE) {
            set_partners(all, head + i++, head + j++);
        } else if (i < table->a_n && here == table->cost[i + 1][j] + COST_ALONE) {
            all->in_b[head + i++] = RENAME_ALONE;
        } else {
            all->in_a[head + j++] = RENAME_ALONE;
        }
    }
}

static bool equal_partners(const struct rename_aligned *all, uint32_t a, uint32_t b)
{
    return a < all->a.n && b < all->b.n && all->in_b[a] == b &&
           all->a.hash[a] == all->b.hash[b] && str_eq(all->a.at[a], all->b.at[b]);
}

static bool number_changed(const struct rename_aligned *all, uint32_t a, uint32_t b)
{
    return a < all->a.n && b < all->b.n && all->in_b[a] == b && all->a.number[a] &&
           !equal_partners(all, a, b);
}

/* Skip one component, or two partners. */
static void step(const struct rename_aligned *all, uint32_t *a, uint32_t *b)
{
    bool a_alone = *a < all->a.n && all->in_b[*a] == RENAME_ALONE;
    bool b_alone = *b < all->b.n && all->in_a[*b] == RENAME_ALONE;

    *a += a_alone || !b_alone;
    *b += !a_alone;
}

/* A changed number is a separate hunk: it may have been shifted. */
static void find_hunks(struct rename_aligned *all)
{
    uint32_t a = 0, b = 0;

    all->n = 0;
    while (a < all->a.n || b < all->b.n) {
        struct rename_hunk *hunk = &all->hunks[all->n];

        if (equal_partners(all, a, b)) {
            step(all, &a, &b);
            continue;
        }
        *hunk = (struct rename_hunk){a, a, b, b};
        if (number_changed(all, a, b))
            step(all, &a, &b);
        else
            while ((a < all->a.n || b < all->b.n) && !equal_partners(all, a, b) &&
                   !number_changed(all, a, b))
                step(all, &a, &b);
        hunk->a_end = a;
        hunk->b_end = b;
        all->n++;
    }
}

bool rename_align(struct str a, struct str b, struct rename_aligned *ret_aligned)
{
    struct rename_aligned *all = ret_aligned;
    struct rename_align_table table;
    uint32_t i, tail_a, tail_b;

    rename_split(a, &all->a);
    rename_split(b, &all->b);
    if (all->a.n == 0 || all->b.n == 0)
        return false;
    hash_parts(&all->a);
    hash_parts(&all->b);
    strip_equal(&table, &all->a, &all->b);
    fill_table(&table, &all->a, &all->b);
    for (i = 0; i < table.head; i++)
        set_partners(all, i, i);
    read_way(all, &table);
    tail_a = table.head + table.a_n;
    tail_b = table.head + table.b_n;
    for (i = 0; tail_a + i < all->a.n; i++)
        set_partners(all, tail_a + i, tail_b + i);
    find_hunks(all);
    return true;
}

uint32_t rename_cost(const struct rename_aligned *aligned, struct rename_hunk at)
{
    uint32_t cost = 0, i;

    for (i = at.a; i < at.a_end; i++) {
        uint32_t b = aligned->in_b[i];

        cost += b == RENAME_ALONE || b < at.b || b >= at.b_end
                    ? COST_ALONE
                    : cost_of(&aligned->a, i, &aligned->b, b);
    }
    for (i = at.b; i < at.b_end; i++) {
        uint32_t a = aligned->in_a[i];

        if (a == RENAME_ALONE || a < at.a || a >= at.a_end)
            cost += COST_ALONE;
    }
    return cost;
}
