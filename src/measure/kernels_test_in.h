/* kernels_test_in.h - for tests: what every kernel must do. */
#ifndef MEASURE_KERNELS_TEST_IN_H
#define MEASURE_KERNELS_TEST_IN_H

#include "measure/kernels_in.h"

/* The kernels must agree with the plain ones on blocks of all kinds. */
void check_kernels(const struct kernels *kernels);

/* The next of a row of numbers without order. */
uint64_t test_random(uint64_t *state);

#endif
