/* cells_in.h - the functions that fill the cells of THE TABLE in columns.c. */
#ifndef ROWS_CELLS_IN_H
#define ROWS_CELLS_IN_H

#include "rows/columns.h"

typedef void cell_maker(struct figure *to, const struct show *show,
                        const struct row *row);

/* model_cells.c */
cell_maker cell_args, cell_bar, cell_bytes, cell_class, cell_count, cell_device;
cell_maker cell_dtype, cell_memory, cell_memory_percent, cell_mode, cell_not_finite;
cell_maker cell_offset, cell_own_memory, cell_own_params, cell_params, cell_path;
cell_maker cell_percent, cell_role, cell_shape, cell_shapes, cell_storage;
cell_maker cell_strides, cell_tensors, cell_trainable, cell_type, cell_zeros;

/* run_cells.c: empty without a recording */
cell_maker cell_dead, cell_update, cell_weight;
cell_maker cell_average, cell_backward, cell_calls, cell_device_time, cell_flops;
cell_maker cell_gradient, cell_in, cell_in_dtype, cell_in_memory, cell_macs, cell_nan;
cell_maker cell_ops, cell_out;
cell_maker cell_out_dtype, cell_out_mean, cell_out_memory, cell_out_std;
cell_maker cell_out_zeros, cell_saved, cell_self, cell_self_average, cell_time,
    cell_time_bar;
cell_maker cell_time_percent;

#endif
