/* memo.h - the points of series in steady columns (history_grid_steady), kept from one
 * question to the next: when a run goes on, only the last column is read again. */
#ifndef HISTORY_MEMO_H
#define HISTORY_MEMO_H

#include "history/grid.h"

struct history_memo;

struct history_memo *history_memo_new(struct history *history); /* NULL: no memory */
void history_memo_free(struct history_memo *memo);

/* As history_grid_points(); valid until the next question. The grid has all its columns:
 * none are left out by `since`. */
int history_memo_points(struct history_memo *memo, const struct history_grid *grid,
                        uint32_t series, const struct history_point *const **ret_points,
                        struct err *err);

#endif
