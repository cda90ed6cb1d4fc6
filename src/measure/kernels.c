#include "measure/kernels_in.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

#ifdef __x86_64__
#include <cpuid.h>

/* Best first. */
static const struct kernels *const all[] = {&kernels_avx512, &kernels_avx2,
                                            &kernels_sse2, &kernels_plain};

/* __builtin_cpu_supports() also checks that the system saves the registers. Not every
 * compiler knows F16C by name; it uses the registers of AVX. */
static bool has_avx2(void)
{
    unsigned a, b, c, d;

    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}

static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

static bool machine_has(const struct kernels *kernels)
{
    __builtin_cpu_init();
    if (kernels == &kernels_avx512)
        return has_avx2() && has_avx512();
    return kernels != &kernels_avx2 || has_avx2();
}
#else
static const struct kernels *const all[] = {&kernels_plain};

static bool machine_has(const struct kernels *kernels)
{
    (void)kernels;
    return true;
}
#endif

const struct kernels *kernels_find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(all); i++)
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
