/* grids_in.h - the grids of the i-quants: which combinations of magnitudes their codes
 * stand for. Part of the format, found by its authors by optimisation. An entry has eight
 * numbers of 2 bits (iq1, iq2) or four of 4 bits (iq3), the first in the lowest bits. */
#ifndef MEASURE_GGML_GRIDS_IN_H
#define MEASURE_GGML_GRIDS_IN_H

#include <stdint.h>

extern const uint16_t ggml_iq2_xxs_grid[256];
extern const uint16_t ggml_iq2_xs_grid[512];
extern const uint16_t ggml_iq2_s_grid[1024];
extern const uint16_t ggml_iq3_xxs_grid[256];
extern const uint16_t ggml_iq3_s_grid[512];
extern const uint16_t ggml_iq1_grid[2048];

#endif
