/* heatmap.h - blocks of a tensor as shades, and what the shades mean:
 *
 *      0 ▒░░▒░▒░░░▒▒▒▓░░░░░▒▒░▒▒▒▒▒░▒▒▒▒▒▒▒░▒▒▒░░▒░░▒▒░░░░▒
 *     12 ░▒▒▒░░▒▒▒▒▒▒▒▒░▒▒▒▒▒▒▒▒▒▒▓▓▓▒▒▒▒▒▓▒▒▒▒▒▒▒▒▒▒▒▒▒▒▓▓
 *        ░ 0.05  ▒ 0.08  ▓ 0.11  █ 0.14     NaN ×   Inf ∞
 *
 * A shade is one of four, a colour one of eight; where single values are shown, colours
 * also tell their sign. */
#ifndef FACTS_HEATMAP_H
#define FACTS_HEATMAP_H

#include "measure/blocks.h"
#include "text/lines.h"

#define HEATMAP_MARGIN 6 /* cells left of the first block */

/* Where the shades begin: at base, base + step, ... A step has one digit. */
struct heat_scale {
    double base, step;
    bool has_sign; /* of sizes; the sign is told by the colour */
};
void heat_scale(struct heat_scale *scale, const struct blocks *blocks);
/* The same of a range, for several pictures with one scale. */
void heat_scale_of(struct heat_scale *scale, double least, double most, bool has_sign);

/* One row of blocks, appended to the line that is being written. */
void heat_row(struct lines *to, const struct blocks *blocks, uint32_t row,
              const struct heat_scale *scale);
/* "░ 0.05  ▒ 0.08  ▓ 0.11  █ 0.14     NaN ×   Inf ∞" */
void heat_legend(struct lines *to, const struct heat_scale *scale);
/* Two rows of blocks on one line, in half blocks: for terminals with true colours.
 * Where one of the two is not finite, the cell says so. */
void heat_rows(struct lines *to, const struct blocks *blocks, uint32_t row,
               const struct heat_scale *scale);

/* How a matrix is cut to fit into this room, which loses one line to the legend. */
enum heat_style { HEAT_SHADES, HEAT_HALVES };
void heatmap_fit(struct blocks_wanted *wanted, unsigned width, unsigned height,
                 enum heat_style style);
/* "rms of 12×8 cells, rows 0-119, columns 0-399" */
void heatmap_title(struct buf *to, const struct blocks_wanted *wanted);
/* All rows with their numbers, and the legend. */
void heatmap_lines(struct lines *to, const struct blocks *blocks,
                   const struct blocks_wanted *wanted, enum heat_style style);

#endif
