/* draw_in.h - shared by the files that draw. */
#ifndef TUI_DRAW_IN_H
#define TUI_DRAW_IN_H

#include "explorer/copy.h"
#include "explorer/tree_lines.h"
#include "tui/tui_in.h"

/* "── 1 Details ── layer1.0 ─────" on the first row of the area. */
void draw_rule(struct tui *tui, const struct area *area, const char *title,
               struct str subject, bool focused);
/* Draw a scroll bar in a column of cells; nothing if all `all` rows fit. */
void draw_scroll(struct tui *tui, const struct area *area, uint32_t top, uint32_t all);
void draw_line(struct tui *tui, const struct area *area, unsigned row,
               const struct lines *lines, uint32_t line);
/* The tree's area in the last frame, as tree_lines.h wants it. */
struct tree_room draw_tree_room(const struct tui *tui);
/* Adjust `top` so that the cursor (may be NULL) is among `rows` visible lines of
 * `n`. */
void draw_keep_in_sight(uint32_t *top, uint32_t *cursor, uint32_t n, uint32_t rows);

/* status.c: the status and hints lines, prompts, menus, errors. */
void draw_status(struct tui *tui);
/* The action of the hint at this column of the hints line; ACTION_NONE. */
enum action hint_at(const struct tui *tui, unsigned column);

#endif
