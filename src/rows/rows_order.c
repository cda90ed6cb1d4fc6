/* The order of siblings. Each gets a key once; keys are sorted byte by byte, in linear
 * time and without looking at the model for every comparison. */
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "rows/labels.h"
#include "rows/rows_parts.h"
#include "rows/sort.h"
#include "session/pair.h"

#define UNKNOWN UINT64_MAX /* sorts after all others */
#define FEW     48         /* up to this many are sorted by insertion */

const struct rows_order rows_orders[SORT_COUNT] = {
    [SORT_MODEL] = {"model", 'x', "as in the model", "not sorted"},
    [SORT_NAME] = {"name", 'n', "name", "layer2 before layer10"},
    [SORT_PARAMS] = {"params", 'p', "params", "most parameters first"},
    [SORT_BYTES] = {"memory", 'm', "memory", "largest first, all tensors below"},
    [SORT_TIME] = {"time", 'r', "time", "slowest first, inclusive"},
    [SORT_SELF] = {"self", 's', "self", "slowest first, excluding called modules"},
    [SORT_CALLS] = {"calls", 'c', "calls", "most calls first"},
    [SORT_FLOPS] = {"flops", 'f', "FLOPs", "most FLOPs first, forward"},
    [SORT_OPS] = {"ops", 'o', "operations", "most operations first, forward"},
    [SORT_GRAD] = {"grad", 'g', "gradient norm", "largest first"},
    [SORT_UPDATE] = {"update", 'u', "update ratio", "largest first"},
    [SORT_WEIGHT] = {"weight", 'w', "weight norm", "largest first"},
    [SORT_ZEROS] = {"zeros", 'z', "zeros", "most zeros first"},
    [SORT_NAN] = {"nan", '!', "NaN", "most NaN first"},
    [SORT_DELTA] = {"delta", 'd', "rel Δ", "most different first"},
};

enum rows_sort rows_order_find(struct str word)
{
    int sort = 0;

    if (str_is_word(word, "bytes"))
        return SORT_BYTES;
    while (sort < SORT_COUNT && !str_is_word(word, rows_orders[sort].word))
        sort++;
    return (enum rows_sort)sort;
}

/* --- Values computed for all places at once */

/* The squares of a tensor's newest gradient. */
static void find_gradients(double *column, const struct outline *outline)
{
    const struct run *run = outline->show->session->run;
    const struct model *model = outline->show->model;

    for (uint32_t i = 0; i < run->n_params; i++) { /* in order of time */
        const struct run_param *param = &run->params[i];
        uint32_t place = model->tensors[param->tensor].place;
        uint32_t stats = run->values[param->value].stats;

        if (param->gradient && place != NO_PLACE && stats != RUN_NONE) {
            double norm = stats_l2(&run->stats[stats]);

            column[place] = norm * norm;
        }
    }
}

/* A module has the sum of everything below it; unknown values add nothing. */
static void add_up(double *column, const struct outline *outline)
{
    for (uint32_t p = outline->n; p-- > 1;) {
        double *parent = &column[outline->parent[p]];

        if (!isnan(column[p]))
            *parent = isnan(*parent) ? column[p] : *parent + column[p];
    }
}

/* The count of NaN and Inf: in the results of a module that was called, else in its
 * measured values. */
static void find_bad(double *column, const struct outline *outline)
{
    const struct session *session = outline->show->session;
    const struct activities *all = outline->show->activity;
    const struct model *model = session->model;

    for (uint32_t t = 0; t < model->n_tensors; t++) {
        const struct stats *stats = session_known(session, t);

        if (stats && model->tensors[t].place != NO_PLACE)
            column[model->tensors[t].place] =
                (double)(stats->nan + stats->pos_inf + stats->neg_inf);
    }
    add_up(column, outline);
    for (uint32_t p = 0; all && p < all->n; p++)
        if (all->at[p].calls > 0)
            column[p] = (double)(all->at[p].nan + all->at[p].inf);
}

/* The share of zeros in the newest result of a module, or NaN. */
static double zeros_of_result(const struct show *show, uint32_t place)
{
    const struct run *run = show->session->run;
    uint32_t call = show->activity->at[place].newest, value = RUN_NONE;
    const struct stats *stats;

    if (call != RUN_NONE)
        value = activity_value(run, call, RUN_OUT);
    if (value == RUN_NONE || run->values[value].stats == RUN_NONE)
        return NAN;
    stats = &run->stats[run->values[value].stats];
    return stats_measured(stats) ? (double)stats->zeros / (double)stats->count : NAN;
}

/* The share of zeros: in the results of a module, else in its measured values. */
static int find_zeros(double *column, const struct outline *outline,
                      struct arena *scratch)
{
    const struct session *session = outline->show->session;
    const struct model *model = session->model;
    double *counts = arena_array(scratch, outline->n, sizeof *counts);

    if (!counts)
        return -1;
    for (uint32_t p = 0; p < outline->n; p++)
        counts[p] = NAN;
    for (uint32_t t = 0; t < model->n_tensors; t++) {
        const struct stats *stats = session_known(session, t);
        uint32_t place = model->tensors[t].place;

        if (!stats || !stats_measured(stats) || place == NO_PLACE)
            continue;
        column[place] = (double)stats->zeros;
        counts[place] = (double)stats->count;
    }
    add_up(column, outline);
    add_up(counts, outline);
    for (uint32_t p = 0; p < outline->n; p++) {
        double of_result =
            outline->show->activity ? zeros_of_result(outline->show, p) : NAN;

        column[p] = isnan(of_result) ? column[p] / counts[p] : of_result;
    }
    return 0;
}

/* For two recordings, the distance of their results. */
static void find_distances(double *column, const struct outline *outline)
{
    for (uint32_t i = 0; i < outline->n; i++) {
        const struct divergence_sum *sum = pair_results(outline->show->pair, i);

        if (sum)
            column[i] = sum->farthest;
    }
}

static void find_deltas(double *column, const struct outline *outline)
{
    const struct diff *diff = outline->diff;

    if (pair_has_results(outline->show->pair)) {
        find_distances(column, outline);
        return;
    }
    for (uint32_t i = 0; i < outline->n; i++) {
        const struct diff_node *node = &diff->nodes[i];
        const struct compared *by = node->pair == DIFF_NONE
                                        ? diff_apart(&node->sums)
                                        : &diff->pairs[node->pair].by;

        if (by && by->count > 0)
            column[i] = compared_relative(by);
    }
}

/* Fill the column; entries left unset are unknown. */
static int find_column(double *column, const struct order *order)
{
    const struct outline *outline = order->outline;

    if (order->sort == SORT_DELTA && outline->diff) {
        find_deltas(column, outline);
    } else if (outline->diff) {
        return 0;
    } else if (order->sort == SORT_GRAD && outline->show->session->run) {
        find_gradients(column, outline);
        add_up(column, outline);
    } else if (order->sort == SORT_NAN) {
        find_bad(column, outline);
    } else if (order->sort == SORT_ZEROS) {
        return find_zeros(column, outline, order->scratch);
    }
    return 0;
}

int order_begin(struct order *order, const struct outline *outline,
                const struct view *view, struct arena *scratch)
{
    double *column;

    *order = (struct order){.outline = outline,
                            .sort = view->sort,
                            .reverse = view->reverse,
                            .scratch = scratch};
    if (order->sort < SORT_GRAD)
        return 0;
    column = arena_array(scratch, outline->n, sizeof *column);
    if (!column)
        return -1;
    for (uint32_t i = 0; i < outline->n; i++)
        column[i] = NAN;
    order->column = column;
    return find_column(column, order);
}

/* --- Sort keys */

/* The first bytes of a name, encoded so that their byte order is that of sort_names():
 * the digits of a number follow their count. */
struct name_key {
    uint64_t bytes;
    unsigned n;
    bool whole; /* the key encodes the whole name */
};

static void key_byte(struct name_key *key, unsigned char byte)
{
    if (key->n < 8)
        key->bytes |= (uint64_t)byte << (56 - 8 * key->n);
    else
        key->whole = false;
    key->n++;
}

/* Encode the number at the start of `s`; returns the rest. */
static struct str key_number(struct name_key *key, struct str s)
{
    size_t n = 0;

    while (s.len > 1 && s.at[0] == '0' && s.at[1] >= '0' && s.at[1] <= '9') {
        s = str_from(s, 1);
        key->whole = false;
    }
    while (n < s.len && s.at[n] >= '0' && s.at[n] <= '9')
        n++;
    key_byte(key, (unsigned char)('0' + (n < 9 ? n : 9)));
    if (n > 9) { /* after all shorter ones; a full comparison orders them */
        key_byte(key, 0xff);
        key->n = 8;
        key->whole = false;
    }
    for (size_t i = 0; i < n && key->n < 9; i++)
        key_byte(key, (unsigned char)s.at[i]);
    return str_from(s, n);
}

static struct name_key name_key(struct str name)
{
    struct name_key key = {.whole = true};

    while (name.len > 0 && key.n < 9) {
        if (name.at[0] >= '0' && name.at[0] <= '9') {
            name = key_number(&key, name);
        } else {
            key.whole = key.whole && name.at[0] != '\0';
            key_byte(&key, (unsigned char)name.at[0]);
            name = str_from(name, 1);
        }
    }
    return key;
}

static struct row row_of(const struct unit *unit)
{
    struct row row = {.place = unit->place, .count = unit->count};

    if (unit->count > 1)
        row.flags = unit->pairs ? ROW_RUN | ROW_PAIRS : ROW_RUN;
    return row;
}

/* For a pair: use the side that has the node. */
static uint64_t node_amount(const struct order *order, uint32_t node)
{
    const struct pair *pair = order->outline->show->pair;
    uint32_t place;
    const struct model *model = outline_place(order->outline, node, &place);
    const struct session *session =
        model == pair->right->model ? pair->right : pair->left;

    if (place == NO_PLACE)
        return UNKNOWN;
    return order->sort == SORT_BYTES ? counts_bytes(&session->places, place)
                                     : counts_params(&session->places, place);
}

/* The bits of a real number sort like integers if it is not negative. */
static uint64_t real_amount(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint64_t column_amount(const struct order *order, const struct unit *unit)
{
    uint32_t place = unit->place;
    double sum = 0;

    if (!order->column)
        return UNKNOWN;
    for (uint32_t i = 0; i < unit->count; i++, place = order->outline->end[place])
        sum += order->column[place];
    return isnan(sum) ? UNKNOWN : real_amount(sum);
}

/* A number that is not finite is the largest. */
static uint64_t step_amount(const struct order *order, const struct row *row)
{
    enum step_number which = order->sort == SORT_GRAD     ? STEP_GRADIENT
                             : order->sort == SORT_UPDATE ? STEP_RATIO
                                                          : STEP_WEIGHT;
    double value;

    if (!row_at_step(order->outline->show, row, which, &value))
        return UNKNOWN;
    return real_amount(isnan(value) ? INFINITY : value);
}

/* The amount that a unit is sorted by, or UNKNOWN. */
static uint64_t amount(const struct order *order, const struct unit *unit)
{
    const struct show *show = order->outline->show;
    struct row row = row_of(unit);

    if (order->sort >= SORT_GRAD && order->sort <= SORT_WEIGHT && show->step)
        return step_amount(order, &row);
    if (order->sort >= SORT_GRAD)
        return column_amount(order, unit);
    if (order->outline->diff)
        return order->sort >= SORT_TIME ? UNKNOWN : node_amount(order, unit->place);
    if (order->sort >= SORT_TIME && row_run(show, &row, RUN_CALLS) == 0)
        return UNKNOWN; /* not called */
    switch (order->sort) {
    case SORT_TIME:
        return row_run(show, &row, RUN_TOTAL);
    case SORT_SELF:
        return row_run(show, &row, RUN_SELF);
    case SORT_CALLS:
        return row_run(show, &row, RUN_CALLS);
    case SORT_FLOPS:
        return row_flops(show, &row, NULL) ? row_run(show, &row, RUN_FLOPS) : UNKNOWN;
    case SORT_OPS:
        return show->ops ? row_run(show, &row, RUN_OPS) : UNKNOWN;
    case SORT_BYTES:
        return row_bytes(show, &row);
    default:
        return row_params(show, &row);
    }
}

/* --- Sorting */

static void insert_sorted(struct unit *units, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        struct unit unit = units[i];
        uint32_t at = i;

        for (; at > 0 && units[at - 1].key > unit.key; at--)
            units[at] = units[at - 1];
        units[at] = unit;
    }
}

/* By one byte of the key. */
static void sort_byte(const struct unit *from, struct unit *to, uint32_t n,
                      unsigned shift)
{
    uint32_t begin[256] = {0}, sum = 0;

    for (uint32_t i = 0; i < n; i++)
        begin[from[i].key >> shift & 0xff]++;
    for (unsigned b = 0; b < 256; b++) {
        uint32_t count = begin[b];

        begin[b] = sum;
        sum += count;
    }
    for (uint32_t i = 0; i < n; i++)
        to[begin[from[i].key >> shift & 0xff]++] = from[i];
}

/* By key, ascending; bytes that are equal in all keys are skipped. */
static int sort_keys(struct order *order, struct unit *units, uint32_t n)
{
    struct unit *from = units, *to;
    uint64_t varies = 0;

    if (n <= FEW) {
        insert_sorted(units, n);
        return 0;
    }
    if (n > order->merge_room) {
        order->merge = arena_array(order->scratch, n, sizeof *order->merge);
        order->merge_room = order->merge ? n : 0;
        if (!order->merge)
            return -1;
    }
    to = order->merge;
    for (uint32_t i = 1; i < n; i++)
        varies |= units[i].key ^ units[0].key;
    for (unsigned shift = 0; shift < 64; shift += 8) {
        struct unit *swap = to;

        if (!(varies >> shift & 0xff))
            continue;
        sort_byte(from, to, n, shift);
        to = from;
        from = swap;
    }
    if (from != units)
        memcpy(units, from, n * sizeof(*units));
    return 0;
}

struct rows_order_named {
    const struct order *order;
    const struct unit *units;
};

static int compare_units(const void *about, uint32_t a, uint32_t b)
{
    const struct rows_order_named *named = about;
    int cmp = sort_names(outline_name(named->order->outline, named->units[a].place),
                         outline_name(named->order->outline, named->units[b].place));

    return named->order->reverse ? -cmp : cmp;
}

/* Names with equal keys, compared in full. */
static int sort_alike(struct order *order, struct unit *units, uint32_t n)
{
    struct rows_order_named named = {order, units};
    uint32_t *ids = arena_array(order->scratch, n, sizeof *ids);
    uint32_t *scratch = arena_array(order->scratch, n, sizeof *scratch);
    struct unit *copy = arena_array(order->scratch, n, sizeof *copy);

    if (!ids || !scratch || !copy)
        return -1;
    for (uint32_t i = 0; i < n; i++)
        ids[i] = i;
    sort_ids(ids, n, scratch, compare_units, &named);
    for (uint32_t i = 0; i < n; i++)
        copy[i] = units[ids[i]];
    memcpy(units, copy, n * sizeof(*units));
    return 0;
}

static int order_names(struct order *order, struct unit *units, uint32_t n)
{
    bool all_whole = true;

    for (uint32_t i = 0; i < n; i++) {
        struct name_key key = name_key(outline_name(order->outline, units[i].place));

        units[i].key = order->reverse ? ~key.bytes : key.bytes;
        all_whole = all_whole && key.whole;
    }
    if (sort_keys(order, units, n) < 0)
        return -1;
    if (all_whole)
        return 0;
    for (uint32_t i = 0; i < n;) {
        uint32_t alike = 1;

        while (i + alike < n && units[i + alike].key == units[i].key)
            alike++;
        if (alike > 1 && sort_alike(order, units + i, alike) < 0)
            return -1;
        i += alike;
    }
    return 0;
}

static void turn_round(struct unit *units, uint32_t n)
{
    for (uint32_t a = 0, b = n; a + 1 < b; a++) {
        struct unit swap = units[a];

        units[a] = units[--b];
        units[b] = swap;
    }
}

int units_order(struct order *order, struct unit *units, uint32_t n)
{
    if (order->sort == SORT_MODEL) {
        if (order->reverse)
            turn_round(units, n);
        return 0;
    }
    if (order->sort == SORT_NAME)
        return order_names(order, units, n);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t key = amount(order, &units[i]);

        /* The biggest first. */
        units[i].key = key == UNKNOWN || order->reverse ? key : UNKNOWN - 1 - key;
    }
    return sort_keys(order, units, n);
}
