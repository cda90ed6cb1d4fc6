/* quantile.h - exact quantiles of the finite elements, by radix select: a few passes
 * over the tensor, memory that does not grow with it. Between two elements the value is
 * interpolated linearly, as torch.quantile does. */
#ifndef MEASURE_QUANTILE_H
#define MEASURE_QUANTILE_H

#include <stdint.h>

#include "base/err.h"
#include "base/work.h"
#include "model/model.h"

/* The quantiles q[0..n) (each 0..1) into ret_values; NaN when nothing is finite. */
int quantiles_exact(const struct model *model, const struct tensor *tensor,
                    const double *q, double *ret_values, uint32_t n, struct work *work,
                    struct err *err);

#endif
