#include "show/panels.h"

#include <stdlib.h>

#include "base/str.h"
#include "show/panels_in.h"

const struct panel *const panels[PANEL_COUNT] = {
    [PANEL_DETAILS] = &details_panel,
    [PANEL_PERFORMANCE] = &performance_panel,
    [PANEL_FLOW] = &flow_panel,
};

const struct panel *panel_find(struct str id)
{
    for (int i = 0; i < PANEL_COUNT; i++) {
        char number[2] = {(char)('0' + i), '\0'};

        if (panels[i] && (str_is(id, panels[i]->id) || str_is(id, number)))
            return panels[i];
    }
    return NULL;
}

/* ---- where Enter leads ---- */

struct targets {
    uint32_t n;
    uint32_t at[]; /* by line */
};

void panel_keep_targets(struct panel_state *state, const struct lines *lines)
{
    struct targets *targets =
        realloc(state->own, sizeof *targets + lines->n * sizeof *targets->at);

    if (!targets)
        return;
    state->own = targets;
    targets->n = lines->n;
    for (uint32_t i = 0; i < lines->n; i++)
        targets->at[i] = lines->at[i].target;
}

uint32_t panel_target(const struct panel_state *state)
{
    const struct targets *targets = state->own;

    return targets && state->cursor < targets->n ? targets->at[state->cursor]
                                                 : NO_TARGET;
}

void panel_drop_targets(struct panel_state *state)
{
    free(state->own);
    state->own = NULL;
}
