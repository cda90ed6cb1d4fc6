/* heatmap.h - draws blocks of a tensor as shades, with a legend:
 *
 *      0 ▒░░▒░▒░░░▒▒▒▓░░░░░▒▒░▒▒▒▒▒░▒▒▒▒▒▒▒░▒▒▒░░▒░░▒▒░░░░▒
 *     12 ░▒▒▒░░▒▒▒▒▒▒▒▒░▒▒▒▒▒▒▒▒▒▒▓▓▓▒▒▒▒▒▓▒▒▒▒▒▒▒▒▒▒▒▒▒▒▓▓
 *        ░ 0.05  ▒ 0.08  ▓ 0.11  █ 0.14     NaN ×   Inf ∞
 *
 * There are four shades and eight colours. If each block is a single value, its colour
 * also shows the sign. */
#ifndef FACTS_HEATMAP_H
#define FACTS_HEATMAP_H

#include "measure/blocks.h"
#include "text/lines.h"

#define HEATMAP_MARGIN 6 /* cells left of the first block */

/* The lower bounds of the shades: base, base + step, ... A step has one digit. */
struct heat_scale {
    double base, step;
    bool has_sign; /* scale of magnitudes; the colour shows the sign */
};
void heat_scale(struct heat_scale *scale, const struct blocks *blocks);
/* The scale of a range, shared by several pictures. */
void heat_scale_of(struct heat_scale *scale, double least, double most, bool has_sign);

/* Append one row of blocks to the current line. */
void heat_row(struct lines *to, const struct blocks *blocks, uint32_t row,
              const struct heat_scale *scale);
/* "░ 0.05  ▒ 0.08  ▓ 0.11  █ 0.14     NaN ×   Inf ∞" */
void heat_legend(struct lines *to, const struct heat_scale *scale);
/* Two rows of blocks on one line, as half blocks: for terminals with true colours. If
 * one of the two is not finite, the cell shows that instead. */
void heat_rows(struct lines *to, const struct blocks *blocks, uint32_t row,
               const struct heat_scale *scale);

/* Choose the blocks so that a matrix fits; the legend takes one line. */
enum heat_style { HEAT_SHADES, HEAT_HALVES };
void heatmap_fit(struct blocks_wanted *wanted, unsigned width, unsigned height,
                 enum heat_style style);
/* "rms of 12×8 cells, rows 0-119, columns 0-399" */
void heatmap_title(struct buf *to, const struct blocks_wanted *wanted);
/* All rows with their numbers, and the legend. */
void heatmap_lines(struct lines *to, const struct blocks *blocks,
                   const struct blocks_wanted *wanted, enum heat_style style);

#endif
