/* kernels_test_in.h - for tests: requirements for every kernel. */
#ifndef MEASURE_KERNELS_TEST_IN_H
#define MEASURE_KERNELS_TEST_IN_H

#include "measure/kernels_in.h"

/* The kernels must agree with the plain ones on blocks of all kinds. */
void check_kernels(const struct kernels *kernels);

/* The next pseudo-random number. */
uint64_t test_random(uint64_t *state);

#endif
