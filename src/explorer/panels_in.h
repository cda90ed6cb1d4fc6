/* panels_in.h - what the panels of this room share. */
#ifndef EXPLORER_PANELS_IN_H
#define EXPLORER_PANELS_IN_H

#include "base/buf.h"
#include "explorer/explorer.h"
#include "explorer/panels.h"
#include "text/lines.h"

extern const struct panel details_panel, code_panel, attributes_panel, statistics_panel;
extern const struct panel performance_panel, flow_panel;

/* Say that the panel has no use for this; false. */
bool panel_cannot(struct explorer *explorer, enum panel_act act);

/* Lines of two parts side by side: the second begins at `column`. */
void panel_beside(struct lines *to, const struct lines *left, const struct lines *right,
                  unsigned column);

/* Remember where Enter on each line leads, for panel_target(): that of the line of the
 * cursor, or NO_TARGET. They are kept in state->own. */
void panel_keep_targets(struct panel_state *state, const struct lines *lines);
uint32_t panel_target(const struct panel_state *state);
void panel_drop_targets(struct panel_state *state);

#endif
