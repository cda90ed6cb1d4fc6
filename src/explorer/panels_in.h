/* panels_in.h - shared by the panels. */
#ifndef EXPLORER_PANELS_IN_H
#define EXPLORER_PANELS_IN_H

#include "base/buf.h"
#include "explorer/explorer.h"
#include "explorer/panels.h"
#include "text/lines.h"

extern const struct panel details_panel, code_panel, attributes_panel, statistics_panel;
extern const struct panel performance_panel, flow_panel, training_panel;

/* Report that the panel does not support this; returns false. */
bool panel_cannot(struct explorer *explorer, enum panel_act act);

/* Put two parts side by side; the second begins at `column`. */
void panel_beside(struct lines *to, const struct lines *left, const struct lines *right,
                  unsigned column);

/* Save the target of Enter for each line in state->own. panel_target() returns that of
 * the selected line, or NO_TARGET. */
void panel_keep_targets(struct panel_state *state, const struct lines *lines);
uint32_t panel_target(const struct panel_state *state);
void panel_drop_targets(struct panel_state *state);

#endif
