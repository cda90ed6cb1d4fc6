/* Measures, copies and fingerprints the elements of a tensor. */
#include <string.h>

#include "ext/torch/team.h"
#include "ext/torch/tensor.h"

#include "base/str.h"
#include "measure/elements.h"
#include "measure/memory.h"

/* From this size on, the GIL is released while measuring. */
#define LARGE 65536

/* Minimum elements per part when threads share a tensor: a part must be worth waking
 * a thread. Sampling restarts with each part. */
#define PART  131072u
#define PARTS 64

bool tensor_in_c_order(const struct live_tensor *tensor)
{
    int64_t stride = 1;

    for (int i = tensor->rank - 1; i >= 0; i--) {
        if (tensor->shape[i] != 1 && tensor->strides[i] != stride)
            return false;
        stride *= tensor->shape[i];
    }
    return !(tensor->flags & (LIVE_CONJ | LIVE_NEG));
}

struct memory tensor_memory(const struct live_tensor *tensor)
{
    return (struct memory){
        .at = tensor->at,
        .dtype = (enum dtype)tensor->dtype,
        .rank = tensor->rank,
        .shape = tensor->shape,
        .strides = tensor->strides,
        .conj = tensor->flags & LIVE_CONJ,
        .neg = tensor->flags & LIVE_NEG,
    };
}

/* A tensor in C order, measured by several threads. */
struct sharing {
    const struct live_tensor *tensor;
    enum measure_mode mode;
    uint64_t part; /* elements per part; the last one also has the remainder */
    size_t n;
    struct stats stats[PARTS];
    int failed[PARTS];
};

static void measure_part(void *user, size_t i)
{
    struct sharing *sharing = user;
    const struct live_tensor *tensor = sharing->tensor;
    size_t first = (size_t)(i * sharing->part);
    int64_t n = (int64_t)(i + 1 < sharing->n ? sharing->part : tensor->numel - first);
    const int64_t step = 1;
    struct memory memory = {
        .at =
            (const char *)tensor->at + elements_size((enum dtype)tensor->dtype, first),
        .dtype = (enum dtype)tensor->dtype,
        .rank = 1,
        .shape = &n,
        .strides = &step,
    };

    sharing->failed[i] =
        stats_memory(&memory, sharing->mode, NULL, &sharing->stats[i], NULL);
}

/* Whether sharing is worth it and torch has other threads. */
static bool can_share(const struct live_tensor *tensor, enum measure_mode mode)
{
    /* Sampling reads one block in eight, too little to share. */
    return mode != MEASURE_SAMPLED && tensor->numel >= 2 * PART &&
           dtype_info((enum dtype)tensor->dtype)->block == 1 &&
           tensor_in_c_order(tensor) && team_size() > 1;
}

/* The parts do not depend on the number of threads and are merged in order, so the
 * statistics do not either. */
static int share(const struct live_tensor *tensor, enum measure_mode mode,
                 struct stats *ret_stats)
{
    struct sharing sharing = {.tensor = tensor, .mode = mode};

    sharing.part = (tensor->numel / PARTS / PART + 1) * PART;
    sharing.n = (size_t)(tensor->numel / sharing.part);
    team_run(measure_part, &sharing, sharing.n, (double)tensor->numel);
    stats_init(ret_stats, (enum dtype)tensor->dtype);
    for (size_t i = 0; i < sharing.n; i++) {
        if (sharing.failed[i])
            return -1;
        stats_merge(ret_stats, &sharing.stats[i], i * sharing.part);
    }
    return 0;
}

bool tensor_stats(struct live_tensor *tensor, enum measure_mode mode,
                  struct stats *ret_stats)
{
    struct memory memory = tensor_memory(tensor);
    PyThreadState *thread = NULL;
    int failed;

    if (!(tensor->flags & LIVE_READABLE))
        return false;
    if (dtype_info(memory.dtype)->kind == DTYPE_KIND_NONE) {
        tensor->why = "no numbers in this type";
        return false;
    }
    if (tensor->numel >= LARGE)
        thread = PyEval_SaveThread();
    if (thread && can_share(tensor, mode))
        failed = share(tensor, mode, ret_stats);
    else
        failed = stats_memory(&memory, mode, NULL, ret_stats, NULL);
    if (thread)
        PyEval_RestoreThread(thread);
    if (failed)
        tensor->why = "could not be measured";
    return !failed;
}

bool tensor_copy(const struct live_tensor *tensor, void *to, size_t size)
{
    struct memory memory = tensor_memory(tensor);

    return (tensor->flags & LIVE_READABLE) && memory_copy(&memory, to, size, NULL) == 0;
}

/* --- fingerprints */

#define WORDS 64u /* words sampled */

static uint64_t add_bytes(uint64_t print, const char *at, size_t n)
{
    uint64_t word = 0;

    memcpy(&word, at, n);
    return hash_mix(print, word);
}

static uint64_t print_dense(const char *at, size_t size)
{
    size_t words = size / 8 < WORDS ? size / 8 : WORDS;
    size_t step = words < WORDS ? 8 : (size - 8) / WORDS;
    size_t last = size < 8 ? size : 8;
    uint64_t print = size;

    for (size_t i = 0; i < words; i++)
        print = add_bytes(print, at + i * step, 8);
    return add_bytes(print, at + size - last, last);
}

/* The offset of an element, in elements, by its index in C order. */
static int64_t offset_of(const struct live_tensor *tensor, uint64_t index)
{
    int64_t offset = 0;

    for (int i = tensor->rank - 1; i >= 0; i--) {
        offset += (int64_t)(index % (uint64_t)tensor->shape[i]) * tensor->strides[i];
        index /= (uint64_t)tensor->shape[i];
    }
    return offset;
}

static uint64_t print_strided(const struct live_tensor *tensor)
{
    size_t item = elements_size((enum dtype)tensor->dtype, 1);
    uint64_t n = tensor->numel < WORDS ? tensor->numel : WORDS, print = tensor->numel;

    for (uint64_t i = 0; i < n; i++) {
        uint64_t index = n < WORDS ? i : (tensor->numel - 1) / (WORDS - 1) * i;
        const char *at =
            (const char *)tensor->at + offset_of(tensor, index) * (int64_t)item;

        print = add_bytes(print, at, item < 8 ? item : 8);
        if (item > 8) /* complex numbers */
            print = add_bytes(print, at + item - 8, 8);
    }
    return print;
}

uint64_t tensor_print(const struct live_tensor *tensor)
{
    uint64_t print;

    if (!(tensor->flags & LIVE_READABLE) || tensor->numel == 0 ||
        tensor->layout != LAYOUT_STRIDED)
        return 0;
    if (tensor_in_c_order(tensor))
        print = print_dense(tensor->at, elements_size((enum dtype)tensor->dtype,
                                                      (size_t)tensor->numel));
    else if (dtype_info((enum dtype)tensor->dtype)->block == 1)
        print = print_strided(tensor);
    else
        return 0;
    return print ? print : 1;
}
