/* sheet.h - a contact sheet: the channels of an activation N×C×H×W as small pictures
 * side by side, with a common scale.
 *
 *     0        1        2        3
 *     ░░▒▒▓▓▒░ ▒▒░░░▒▓▓ ░░▒▒░░░░ ▓▒▒░░░▒▒
 *     ░▒▒█▓▓▒░ ▓▒░░▒▓█▓ ░▒▓▓▒▒░░ ▓▓▒▒░▒▒▓ */
#ifndef FACTS_SHEET_H
#define FACTS_SHEET_H

#include "base/arena.h"
#include "facts/heatmap.h"
#include "text/lines.h"

#define SHEET_CHANNELS 4096u /* maximum drawn */

struct sheet {
    uint64_t channels;    /* of the activation */
    uint32_t drawn;       /* channels drawn */
    uint32_t wide, high;  /* maximum blocks of one picture */
    struct blocks *tiles; /* by channel */
    struct heat_scale scale;
};

/* Is it a non-empty tensor of four dimensions? */
bool sheet_fits(const struct tensor *tensor, const int64_t *shape);
/* Make the sheet of batch item `item`; pictures have at most wide×high blocks. */
int sheet_make(struct sheet *sheet, const struct model *model,
               const struct tensor *tensor, uint64_t item, uint32_t wide, uint32_t high,
               struct arena *arena, struct work *work, struct err *err);
/* How many pictures fit across and down. */
uint32_t sheet_across(const struct sheet *sheet, unsigned width);
uint32_t sheet_down(const struct sheet *sheet, unsigned height);
/* Write pictures from `first` on, in as many rows as fit, and the legend. */
void sheet_lines(struct lines *to, const struct sheet *sheet, uint32_t first,
                 unsigned width, unsigned height);

#endif
