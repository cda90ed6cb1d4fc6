/* run_columns_in.h - the cells of THE TABLE in labels.c that a recording fills. Without
 * a run they are empty. */
#ifndef ROWS_RUN_COLUMNS_IN_H
#define ROWS_RUN_COLUMNS_IN_H

#include "rows/labels.h"

typedef void run_cell(struct figure *to, const struct show *show,
                      const struct row *row);

run_cell in_cell, out_cell, in_memory_cell, out_memory_cell, nan_cell;
run_cell out_mean_cell, out_std_cell;
run_cell calls_cell, time_cell, time_percent_cell, self_cell, time_bar_cell;
run_cell average_cell, self_average_cell, backward_cell, device_time_cell;
run_cell out_zeros_cell, in_dtype_cell, out_dtype_cell, gradient_cell, flops_cell;

#endif
