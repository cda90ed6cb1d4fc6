/* The AVX-512 kernels, compiled to plain C by SIMDe (see simde_in.h and meson.build)
 * and so run on any machine. */
#include "base/test.h"
#include "measure/kernels_test_in.h"

extern const struct kernels kernels_simde;

TEST(the_avx512_kernel_in_plain_c_agrees_with_the_plain_one)
{
    check_kernels(&kernels_simde);
}
