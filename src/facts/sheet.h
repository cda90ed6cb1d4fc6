/* sheet.h - the channels of an activation N×C×H×W as small pictures side by side, all
 * in one scale: a contact sheet.
 *
 *     0        1        2        3
 *     ░░▒▒▓▓▒░ ▒▒░░░▒▓▓ ░░▒▒░░░░ ▓▒▒░░░▒▒
 *     ░▒▒█▓▓▒░ ▓▒░░▒▓█▓ ░▒▓▓▒▒░░ ▓▓▒▒░▒▒▓ */
#ifndef FACTS_SHEET_H
#define FACTS_SHEET_H

#include "base/arena.h"
#include "facts/heatmap.h"
#include "text/lines.h"

#define SHEET_CHANNELS 4096u /* more are not drawn */

struct sheet {
    uint64_t channels;    /* there are */
    uint32_t drawn;       /* of them */
    uint32_t wide, high;  /* blocks of one picture, at most */
    struct blocks *tiles; /* by channel */
    struct heat_scale scale;
};

/* Is it one: four dimensions, none of them empty? */
bool sheet_fits(const struct tensor *tensor, const int64_t *shape);
/* Of number `item` of N; pictures of at most wide×high blocks. */
int sheet_make(struct sheet *sheet, const struct model *model,
               const struct tensor *tensor, uint64_t item, uint32_t wide, uint32_t high,
               struct arena *arena, struct work *work, struct err *err);
/* How many fit side by side and below each other in this room. */
uint32_t sheet_across(const struct sheet *sheet, unsigned width);
uint32_t sheet_down(const struct sheet *sheet, unsigned height);
/* Those from `first` on, in as many rows as there is room for, and the legend. */
void sheet_lines(struct lines *to, const struct sheet *sheet, uint32_t first,
                 unsigned width, unsigned height);

#endif
