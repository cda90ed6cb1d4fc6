/* textual.h - writes rows as aligned lines of text, for a pipe or a terminal. */
#ifndef ROWS_TEXTUAL_H
#define ROWS_TEXTUAL_H

#include "base/out.h"
#include "rows/labels.h"
#include "rows/rows.h"

#define TEXTUAL_NARROW 80 /* cells; narrower output has one number after each label */

struct textual {
    const struct show *show;
    const struct rows *rows;
    const struct column *const *columns;
    size_t n_columns;
    unsigned width; /* in cells; 0: no limit */
    enum label_name name;
    bool header; /* write a line of column names first */
    bool ascii, colour;
    bool isolate; /* isolate right-to-left names: terminals would reorder the line */
};

/* Aligned columns:
 *     ├── conv1: ~conv 5×5, 3→6       456   0%   1.8KB | weight: 6×3×5×5, bias: 6
 * If space is short, labels shrink to 24 cells, then the lowest rank is dropped first.
 */
int textual_wide(struct out *out, const struct textual *what, struct err *err);

/* One number after each label:
 *     ├── conv1: ~conv 5×5, 3→6 [456 params] */
int textual_narrow(struct out *out, const struct textual *what, struct err *err);

#endif
