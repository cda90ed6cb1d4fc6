#include "measure/kernels_in.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Best first. */
static const struct kernels *const all[] = {&kernels_plain};

static bool machine_has(const struct kernels *kernels)
{
    return kernels == &kernels_plain;
}

const struct kernels *kernels_find(const char *name)
{
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i]->name, name) == 0)
            return machine_has(all[i]) ? all[i] : NULL;
    return NULL;
}

const struct kernels *kernels_best(void)
{
    static _Atomic(const struct kernels *) chosen;
    const struct kernels *best = atomic_load_explicit(&chosen, memory_order_relaxed);
    const char *wish;

    if (best)
        return best;
    wish = getenv("TORCHOSCOPE_SIMD");
    best = wish ? kernels_find(wish) : NULL;
    for (size_t i = 0; !best; i++)
        if (machine_has(all[i]))
            best = all[i];
    atomic_store_explicit(&chosen, best, memory_order_relaxed);
    return best;
}
