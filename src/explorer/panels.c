#include "explorer/panels.h"

#include <stdlib.h>

#include "base/str.h"
#include "explorer/panels_in.h"

const struct panel *const panels[PANEL_COUNT] = {
    [PANEL_DETAILS] = &details_panel,         [PANEL_CODE] = &code_panel,
    [PANEL_ATTRIBUTES] = &attributes_panel,   [PANEL_STATISTICS] = &statistics_panel,
    [PANEL_PERFORMANCE] = &performance_panel, [PANEL_FLOW] = &flow_panel,
    [PANEL_TRAINING] = &training_panel,
};

const struct panel *panel_find(struct str id)
{
    for (int i = 0; i < PANEL_COUNT; i++) {
        char number[2] = {(char)('0' + i), '\0'};

        if (panels[i] && (str_is_word(id, panels[i]->id) || str_is(id, number)))
            return panels[i];
    }
    return NULL;
}

bool panel_cannot(struct explorer *explorer, enum panel_act act)
{
    static const char *const why[] = {
        [ACT_ENTER] = "nothing to go to on this line",
        [ACT_LEFT] = "nothing to the left",
        [ACT_RIGHT] = "nothing to the right",
        [ACT_VIEW] = "this panel has one view",
        [ACT_LOG] = "this panel has no scale",
        [ACT_PREVIOUS] = "no calls of this row were recorded",
        [ACT_NEXT] = "no calls of this row were recorded",
        [ACT_OUT] = "nothing to go out of",
        [ACT_UP] = "this is the first line",
        [ACT_DOWN] = "this is the last line",
        [ACT_FIRST] = "this is the first line",
        [ACT_LAST] = "this is the last line",
    };

    explorer_say(explorer, "%s", why[act]);
    return false;
}

bool panel_has_cursor(const struct panel *panel, const struct panel_state *state)
{
    return panel->cursor && !(panel->drawn && panel->drawn(state));
}

/* ---- two parts side by side ---- */

static void copy_line(struct lines *to, const struct lines *from, uint32_t line)
{
    if (line >= from->n)
        return;
    for (uint32_t i = 0; i < from->at[line].n; i++) {
        const struct span *span = &from->spans[from->at[line].first + i];

        if (span->below != COLOUR_NONE)
            lines_add_halves(to, (enum colour)span->colour, (enum colour)span->below,
                             span_text(from, span));
        else
            lines_add(to, (enum colour)span->colour, span->flags,
                      span_text(from, span));
    }
}

void panel_beside(struct lines *to, const struct lines *left, const struct lines *right,
                  unsigned column)
{
    uint32_t n = left->n > right->n ? left->n : right->n;

    for (uint32_t i = 0; i < n; i++) {
        copy_line(to, left, i);
        if (i < right->n)
            lines_pad(to, column);
        copy_line(to, right, i);
        lines_end(to);
    }
}

/* ---- targets of Enter ---- */

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
