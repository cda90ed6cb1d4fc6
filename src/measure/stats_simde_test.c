/* The AVX-512 kernels, compiled to plain C by SIMDe and run on any machine. */
#define MEASURE_SIMDE
#include "measure/stats_avx512.c"

#include "base/test.h"
#include "measure/kernels_test_in.h"

TEST(the_avx512_kernel_in_plain_c_agrees_with_the_plain_one)
{
    check_kernels(&kernels_simde);
}
