/* Reads the elements that a spread counts: all of them, or a sample. */
#include "measure/spread.h"

#include "measure/decode_in.h"
#include "measure/elements_in.h"
#include "measure/memory_in.h"
#include "measure/small_float_in.h"
#include "measure/spread_counter_in.h"
#include "measure/stats_in.h"

/* Is every number of this type a float32? */
static bool fits_float(enum dtype dtype)
{
    enum load load = stats_load(dtype);

    return small_float_bits(dtype) || (load != LOAD_COUNT && load <= LOAD_U16);
}

/* Elements first to first + n, at most SPREAD_PART, as doubles in reals[]. Returns how
 * many. */
static size_t decode_part(struct spread_counter *c, enum dtype dtype, const void *at,
                          size_t first, size_t n)
{
    enum load load = stats_load(dtype);
    const char *bytes = at;

    if (load != LOAD_COUNT && c->kernels->widen[load]) {
        c->kernels->widen[load](bytes + elements_size(dtype, first), n, c->reals);
        return n;
    }
    decode_reals(dtype, at, first, n, c->reals);
    return n * dtype_info(dtype)->values;
}

/* Types whose numbers fit into a float32 are counted as such, which is faster. */
static void add_floats(struct spread_counter *c, enum dtype dtype, const void *at,
                       size_t n)
{
    size_t held = 0;

    for (size_t done = 0; done < n; done += SPREAD_PART) {
        size_t part = n - done < SPREAD_PART ? n - done : SPREAD_PART;

        part = decode_part(c, dtype, at, done, part);
        for (size_t i = 0; i < part; i++)
            c->floats[held + i] = (float)c->reals[i];
        held += part;
        if (held + 2 * SPREAD_PART > SPREAD_CHUNK) {
            spread_count_floats(c, c->floats, held);
            held = 0;
        }
    }
    if (held > 0)
        spread_count_floats(c, c->floats, held);
}

/* Count n dense elements. */
static void add(struct spread_counter *c, enum dtype dtype, const void *at, size_t n)
{
    const char *bytes = at;

    c->seen += n * dtype_info(dtype)->values;
    if (dtype == DTYPE_FLOAT32) {
        for (size_t done = 0; done < n; done += SPREAD_CHUNK)
            spread_count_floats(c, bytes + 4 * done,
                                n - done < SPREAD_CHUNK ? n - done : SPREAD_CHUNK);
    } else if (fits_float(dtype)) {
        add_floats(c, dtype, at, n);
    } else {
        for (size_t done = 0; done < n; done += SPREAD_PART) {
            size_t part = n - done < SPREAD_PART ? n - done : SPREAD_PART;

            spread_count_reals(c, decode_part(c, dtype, at, done, part));
        }
    }
}

#define PICK(size)                                                                     \
    for (size_t i = 0; i < n; i++)                                                     \
        memcpy(to + i * (size), from + sample_places_next(&places) * (size), size);    \
    break

/* Copy the next n elements of the sample. */
static void pick(struct sample_places *sample, const uint8_t *from, size_t size,
                 size_t n, uint8_t *to)
{
    struct sample_places places = *sample; /* a copy, for registers */

    switch (size) {
    case 1:
        PICK(1);
    case 2:
        PICK(2);
    case 4:
        PICK(4);
    case 8:
        PICK(8);
    default:
        PICK(size);
    }
    *sample = places;
}

uint64_t spread_places(uint64_t n, uint64_t *to)
{
    uint64_t m = n < SPREAD_SAMPLE ? n : SPREAD_SAMPLE;
    struct sample_places places;

    if (m > 0)
        places = sample_places_begin(n, m);
    for (uint64_t i = 0; i < m; i++)
        to[i] = sample_places_next(&places);
    return m;
}

/* A sample of n > SPREAD_SAMPLE elements in C order. */
static void add_sample(struct spread_counter *c, enum dtype dtype, const void *at,
                       uint64_t n)
{
    struct sample_places places = sample_places_begin(n, SPREAD_SAMPLE);
    size_t size = dtype_info(dtype)->bytes;

    if (dtype == DTYPE_FLOAT32) {
        pick(&places, at, 4, SPREAD_SAMPLE, (uint8_t *)c->floats);
        add(c, dtype, c->floats, SPREAD_SAMPLE);
        return;
    }
    for (size_t done = 0; done < SPREAD_SAMPLE; done += SPREAD_PART) {
        pick(&places, at, size, SPREAD_PART, c->raw);
        add(c, dtype, c->raw, SPREAD_PART);
    }
}

int spread_of(struct spread_counter *c, enum dtype dtype, const void *at, uint64_t n,
              enum spread_choice choice, struct spread *ret_spread, struct err *err)
{
    const int64_t shape = n <= INT64_MAX ? (int64_t)n : -1, stride = 1;
    const struct memory memory = {
        .at = at, .dtype = dtype, .rank = 1, .shape = &shape, .strides = &stride};

    return spread_memory(c, &memory, choice, ret_spread, err);
}

/* Elements that are not plain, through an iteration. */
static int add_all(struct spread_counter *c, const struct memory_model *wrapped,
                   uint64_t *ret_times, struct err *err)
{
    struct elements *elements =
        elements_open_distinct(&wrapped->model, &wrapped->tensor, ret_times, err);
    const void *at;
    size_t n;
    int more;

    if (!elements)
        return -1;
    for (;;) {
        more = elements_next(elements, NULL, &at, &n, err);
        if (more <= 0)
            break;
        add(c, wrapped->tensor.dtype, at, n);
    }
    elements_close(elements);
    return more;
}

static int add_some(struct spread_counter *c, const struct memory_model *wrapped,
                    struct err *err)
{
    struct elements *elements =
        elements_open(&wrapped->model, &wrapped->tensor, 0, UINT64_MAX, false, err);
    struct elements_sample sample;
    int status = -1;

    if (!elements)
        return -1;
    if (elements_sample_begin(&sample, elements, SPREAD_SAMPLE, err) < 0)
        goto out;
    for (size_t done = 0; done < SPREAD_SAMPLE; done += SPREAD_PART) {
        if (elements_sample_next(&sample, SPREAD_PART, c->raw, err) < 0)
            goto out;
        add(c, wrapped->tensor.dtype, c->raw, SPREAD_PART);
    }
    status = 0;

out:
    elements_close(elements);
    return status;
}

/* Count the elements; fails only before any is counted, or with memory for strides. */
static int add_memory(struct spread_counter *c, const struct memory *memory,
                      enum spread_choice choice, uint64_t *ret_numel,
                      uint64_t *ret_times, struct err *err)
{
    struct memory_model wrapped;

    if (memory_plain(memory, ret_numel)) {
        if (choice == SPREAD_SOME && *ret_numel > SPREAD_SAMPLE)
            add_sample(c, memory->dtype, memory->at, *ret_numel);
        else
            add(c, memory->dtype, memory->at, (size_t)*ret_numel);
        return 0;
    }
    if (memory_wrap(&wrapped, memory, err) < 0)
        return -1;
    *ret_numel = wrapped.tensor.numel;
    if (choice == SPREAD_SOME && *ret_numel > SPREAD_SAMPLE)
        return add_some(c, &wrapped, err);
    return add_all(c, &wrapped, ret_times, err);
}

int spread_memory(struct spread_counter *c, const struct memory *memory,
                  enum spread_choice choice, struct spread *ret_spread, struct err *err)
{
    uint64_t numel, times = 1;

    if (!decode_has_values(memory->dtype))
        return err_set(err, ERR_UNSUPPORTED, "%s holds no numbers",
                       dtype_name(memory->dtype));
    if (add_memory(c, memory, choice, &numel, &times, err) < 0) {
        spread_count_drop(c);
        return -1;
    }
    return spread_count_finish(c, times, numel * dtype_info(memory->dtype)->values,
                               ret_spread, err);
}
