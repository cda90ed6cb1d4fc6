/* quantile.h - exact quantiles of the finite elements, by radix select: a few passes
 * over the tensor in constant memory. Interpolates linearly, like torch.quantile. */
#ifndef MEASURE_QUANTILE_H
#define MEASURE_QUANTILE_H

#include <stdint.h>

#include "base/err.h"
#include "base/work.h"
#include "model/model.h"

/* The quantiles q[0..n) (each 0..1) in ret_values; NaN if no element is finite. */
int quantile_exact(const struct model *model, const struct tensor *tensor,
                   const double *q, double *ret_values, uint32_t n, struct work *work,
                   struct err *err);

#endif
