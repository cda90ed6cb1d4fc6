/* Radix select. Every finite element has a key, an unsigned integer in the same order as
 * the elements. The wanted ranks are found digit by digit from the highest: each pass
 * counts the next digit among the keys with the same leading digits. */
#include "measure/quantile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/decode_in.h"
#include "measure/elements_in.h"
#include "measure/quantile_in.h"

#define DIGIT 11 /* bits; keys of 16 bits and fewer are one digit */
#define NONE  UINT16_MAX
#define MOST  1000u /* quantiles at once */

/* The keys with the same known digits as some rank. */
struct quantile_node {
    uint64_t *counts;   /* by next digit, while counting */
    uint16_t *children; /* by next digit: the node of the next level, or NONE */
};

/* A wanted rank: the element with `below` others of its node before it. */
struct rank {
    uint64_t below;
    uint64_t key; /* its known digits */
    uint16_t node;
};

struct select {
    struct keys keys;
    unsigned width; /* bits of all digits, at least those of a key */
    unsigned shift; /* bit position of the digit being counted */
    unsigned digit; /* its bits */
    struct quantile_node *nodes;
    uint32_t n_nodes, nodes_room;
    uint32_t level; /* nodes from here on are being counted */
    struct rank *ranks;
    uint32_t n_ranks;
};

static uint64_t digit_of(const struct select *select, uint64_t key, unsigned shift)
{
    return key >> shift & (((uint64_t)1 << select->digit) - 1);
}

static int add_node(struct select *select, struct err *err)
{
    struct quantile_node *node = &select->nodes[select->n_nodes];
    size_t n = (size_t)1 << select->digit;

    node->counts = calloc(n, sizeof *node->counts);
    node->children = malloc(n * sizeof *node->children);
    if (!node->counts || !node->children) {
        free(node->counts);
        free(node->children);
        return err_set(err, ERR_LIMIT, "no memory for quantiles");
    }
    memset(node->children, 0xff, n * sizeof *node->children);
    select->n_nodes++;
    return 0;
}

/* Follow a key from the root to the level being counted, and count it there. */
static void count_key(struct select *select, uint64_t key)
{
    unsigned shift = select->width - select->digit;
    uint16_t node = 0;

    for (; shift > select->shift; shift -= select->digit) {
        node = select->nodes[node].children[digit_of(select, key, shift)];
        if (node == NONE)
            return;
    }
    select->nodes[node].counts[digit_of(select, key, shift)]++;
}

/* One pass over the tensor. */
static int count_keys(struct select *select, const struct model *model,
                      const struct tensor *tensor, uint64_t *ret_times,
                      struct work *work, struct err *err)
{
    struct elements *elements = elements_open_distinct(model, tensor, ret_times, err);
    uint64_t keys[2 * 512];
    const void *at;
    size_t n;
    int more;

    if (!elements)
        return -1;
    for (;;) {
        more = elements_next(elements, work, &at, &n, err);
        if (more <= 0)
            break;
        for (size_t done = 0; done < n; done += 512) {
            size_t part = n - done < 512 ? n - done : 512;
            size_t kept = keys_of(&select->keys, at, done, part, keys);

            for (size_t i = 0; i < kept; i++)
                count_key(select, keys[i]);
        }
    }
    elements_close(elements);
    return more;
}

/* Find the next digit of each rank from the counts of its node. */
static int settle_ranks(struct select *select, struct err *err)
{
    uint32_t next = select->n_nodes;

    for (uint32_t i = 0; i < select->n_ranks; i++) {
        struct rank *rank = &select->ranks[i];
        struct quantile_node *node = &select->nodes[rank->node];
        uint64_t digit = 0;

        for (; rank->below >= node->counts[digit]; digit++)
            rank->below -= node->counts[digit];
        rank->key |= digit << select->shift;
        if (select->shift == 0)
            continue;
        if (node->children[digit] == NONE) {
            node->children[digit] = (uint16_t)select->n_nodes;
            if (add_node(select, err) < 0)
                return -1;
        }
        rank->node = node->children[digit];
    }
    for (uint32_t i = select->level; i < next; i++) {
        free(select->nodes[i].counts);
        select->nodes[i].counts = NULL;
    }
    select->level = next;
    return 0;
}

static uint64_t root_total(const struct select *select)
{
    uint64_t total = 0;

    for (size_t i = 0; i < (size_t)1 << select->digit; i++)
        total += select->nodes[0].counts[i];
    return total;
}

/* Two ranks per quantile: the elements on both sides of its position. Each of the `total`
 * elements counts `times` times. */
static void set_ranks(struct select *select, const double *q, uint32_t n,
                      uint64_t total, uint64_t times)
{
    double last = (double)total * (double)times - 1;

    for (uint32_t i = 0; i < n; i++) {
        double position = q[i] * last;
        uint64_t low = (uint64_t)floor(position) / times;
        uint64_t high = (uint64_t)ceil(position) / times;

        select->ranks[2 * i].below = low < total ? low : total - 1;
        select->ranks[2 * i + 1].below = high < total ? high : total - 1;
    }
}

/* Like torch.lerp: exact at both ends. */
static double between(double low, double high, double weight)
{
    if (low == high)
        return low;
    return weight < 0.5 ? low + weight * (high - low)
                        : high - (high - low) * (1 - weight);
}

static int select_init(struct select *select, enum dtype dtype, uint32_t n,
                       struct err *err)
{
    unsigned levels;

    *select = (struct select){.n_ranks = 2 * n};
    keys_init(&select->keys, dtype);
    select->digit = select->keys.bits <= 16 ? select->keys.bits : DIGIT;
    levels = (select->keys.bits + select->digit - 1) / select->digit;
    select->width = levels * select->digit;
    select->shift = select->width - select->digit;
    select->nodes_room = 1 + 2 * n * (levels - 1);
    select->nodes = calloc(select->nodes_room, sizeof *select->nodes);
    select->ranks = calloc(2 * (size_t)n, sizeof *select->ranks);
    if (!select->nodes || !select->ranks)
        return err_set(err, ERR_LIMIT, "no memory for quantiles");
    return add_node(select, err);
}

static void select_release(struct select *select)
{
    for (uint32_t i = 0; i < select->n_nodes; i++) {
        free(select->nodes[i].counts);
        free(select->nodes[i].children);
    }
    free(select->nodes);
    free(select->ranks);
}

/* All passes: complete the keys of the ranks. *ret_total is the number of elements. */
static int select_keys(struct select *select, const struct model *model,
                       const struct tensor *tensor, const double *q, uint32_t n,
                       double *ret_total, struct work *work, struct err *err)
{
    uint64_t times, total = 0;

    for (bool first = true;; first = false) {
        if (count_keys(select, model, tensor, &times, work, err) < 0)
            return -1;
        if (first) {
            total = root_total(select);
            *ret_total = (double)total * (double)times;
            if (total == 0)
                return 0;
            set_ranks(select, q, n, total, times);
        }
        if (settle_ranks(select, err) < 0)
            return -1;
        if (select->shift == 0)
            return 0;
        select->shift -= select->digit;
    }
}

int quantile_exact(const struct model *model, const struct tensor *tensor,
                   const double *q, double *ret_values, uint32_t n, struct work *work,
                   struct err *err)
{
    struct select select;
    double total = 0;
    int result = -1;

    if (!decode_has_values(tensor->dtype))
        return err_set(err, ERR_UNSUPPORTED, "%s holds no numbers",
                       dtype_name(tensor->dtype));
    for (uint32_t i = 0; i < n; i++)
        if (n > MOST || !(q[i] >= 0 && q[i] <= 1))
            return err_set(err, ERR_USAGE, "quantiles: at most %u, from 0 to 1", MOST);
    if (n == 0)
        return 0;
    if (select_init(&select, elements_dtype(tensor->dtype), n, err) < 0)
        goto out;
    if (select_keys(&select, model, tensor, q, n, &total, work, err) < 0)
        goto out;
    for (uint32_t i = 0; i < n; i++) {
        double position = q[i] * (total - 1);
        double low = keys_value(&select.keys, select.ranks[2 * i].key);
        double high = keys_value(&select.keys, select.ranks[2 * i + 1].key);

        ret_values[i] =
            total > 0 ? between(low, high, position - floor(position)) : NAN;
    }
    result = 0;

out:
    select_release(&select);
    return result;
}
