#include "measure/update.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/decode_in.h"
#include "measure/elements_in.h"
#include "measure/memory_in.h"

#define PART 1024u

void update_release(struct update *update)
{
    free(update->values);
    *update = (struct update){0};
}

/* n of all elements of a dense tensor, as doubles. */
static void pick_plain(const struct memory *memory, uint64_t of, uint64_t n, double *to)
{
    size_t size = dtype_info(memory->dtype)->bytes;
    const uint8_t *from = memory->at;
    struct sample_places places = sample_places_begin(of, n);
    uint8_t raw[8 * PART];

    for (uint64_t done = 0; done < n; done += PART) {
        size_t part = n - done < PART ? (size_t)(n - done) : PART;

        for (size_t i = 0; i < part; i++)
            memcpy(raw + i * size, from + sample_places_next(&places) * size, size);
        decode_reals(memory->dtype, raw, 0, part, to + done);
    }
}

static int pick_strided(const struct memory_model *wrapped, uint64_t n, double *to,
                        struct err *err)
{
    struct elements *elements =
        elements_open(&wrapped->model, &wrapped->tensor, 0, UINT64_MAX, false, err);
    struct elements_sample sample;
    uint8_t raw[8 * PART];
    int status = -1;

    if (!elements)
        return -1;
    if (elements_sample_begin(&sample, elements, n, err) < 0)
        goto out;
    for (uint64_t done = 0; done < n; done += PART) {
        size_t part = n - done < PART ? (size_t)(n - done) : PART;

        if (elements_sample_next(&sample, part, raw, err) < 0)
            goto out;
        decode_reals(wrapped->tensor.dtype, raw, 0, part, to + done);
    }
    status = 0;

out:
    elements_close(elements);
    return status;
}

/* At most `most` elements of a tensor on the heap; *ret_of are its elements. NULL:
 * failed. */
static double *pick(const struct memory *memory, uint64_t most, uint64_t *ret_of,
                    struct err *err)
{
    const struct dtype_info *info = dtype_info(memory->dtype);
    struct memory_model wrapped;
    bool plain = memory_plain(memory, ret_of);
    uint64_t n;
    double *to;

    if (info->kind != DTYPE_KIND_FLOAT || info->block != 1 || info->values != 1) {
        err_set(err, ERR_UNSUPPORTED, "updates of %s are not measured",
                dtype_name(memory->dtype));
        return NULL;
    }
    if (!plain) {
        if (memory_wrap(&wrapped, memory, err) < 0)
            return NULL;
        *ret_of = wrapped.tensor.numel;
    }
    n = *ret_of < most ? *ret_of : most;
    to = malloc((size_t)n * sizeof *to + 1);
    if (!to) {
        err_set(err, ERR_LIMIT, "no memory to keep a parameter");
        return NULL;
    }
    if (n > 0 && plain)
        pick_plain(memory, *ret_of, n, to);
    if (n > 0 && !plain && pick_strided(&wrapped, n, to, err) < 0) {
        free(to);
        return NULL;
    }
    return to;
}

int update_keep(struct update *update, const struct memory *memory,
                enum spread_choice choice, struct err *err)
{
    uint64_t most = choice == SPREAD_ALL ? UINT64_MAX : SPREAD_SAMPLE, of = 0;
    double *values = pick(memory, most, &of, err);

    if (!values)
        return -1;
    update_release(update);
    update->values = values;
    update->of = of;
    update->n = of < most ? of : most;
    return 0;
}

/* Each element is multiplied by a different odd factor, so changing one always changes
 * the sum. */
uint64_t update_checksum(const struct update *update)
{
    uint64_t sum = update->of, bits;

    for (uint64_t i = 0; i < update->n; i++) {
        memcpy(&bits, &update->values[i], sizeof bits);
        sum += bits * (i * 0x9e3779b97f4a7c16u | 1);
    }
    sum = (sum ^ sum >> 30) * 0xbf58476d1ce4e5b9u;
    return sum ^ sum >> 31;
}

/* Replaces the values by the differences; returns the ratio of the norms. */
static double subtract(struct update *update, const double *now)
{
    double before = 0, change = 0;

    for (uint64_t i = 0; i < update->n; i++) {
        double was = update->values[i], by = now[i] - was;

        before += was * was;
        change += by * by;
        update->values[i] = by;
    }
    return before > 0 ? sqrt(change / before) : (double)NAN;
}

int update_measure(struct update *update, const struct memory *memory,
                   struct spread_counter *counter, struct spread *ret_spread,
                   struct update_change *ret_change, struct err *err)
{
    struct update_change change;
    uint64_t of = 0;
    double *now = pick(memory, update->n, &of, err);

    if (!now)
        return -1;
    if (of != update->of) {
        free(now);
        return err_set(err, ERR_USAGE, "the parameter was replaced in its step");
    }
    change.ratio = subtract(update, now);
    free(now);
    stats_init(&change.stats, DTYPE_FLOAT64);
    stats_add(&change.stats, NULL, DTYPE_FLOAT64, update->values, (size_t)update->n, 0,
              MEASURE_FULL);
    change.stats.sampled = update->n < update->of;
    if (spread_of(counter, DTYPE_FLOAT64, update->values, update->n, SPREAD_ALL,
                  ret_spread, err) < 0)
        return -1;
    ret_spread->of = update->of;
    *ret_change = change;
    return 0;
}
