/* Panel 1: what the selected row is. */
#include "show/calls_text.h"
#include "show/details.h"
#include "show/panels_in.h"
#include "show/run_text.h"
#include "text/text.h"

static void details_subject(struct buf *to, struct explorer *explorer)
{
    uint32_t place = explorer_place(explorer);

    if (place == 0)
        escape_terminal(to, explorer->show.file_name);
    else if (place != NO_PLACE)
        run_place(to, &explorer->show, place);
}

static void details_lines(struct lines *to, struct explorer *explorer,
                          struct panel_state *state, const struct panel_room *room)
{
    const struct show *show = &explorer->show;
    uint32_t place = explorer_place(explorer);
    struct buf text = BUF_INIT;

    (void)room;
    if (place == NO_PLACE) {
        buf_text(&text, " only in the left one\n");
    } else if (show->model->kind[place] == PLACE_TENSOR) {
        details_tensor(&text, show, place, true);
    } else if (show->model->kind[place] == PLACE_VALUE) {
        details_value(&text, show, place);
    } else {
        details_module(&text, show, place);
        if (show->activity)
            calls_text(&text, show, place, 3);
    }
    lines_paragraph(to, COLOUR_NONE, buf_span(&text));
    buf_release(&text);
    panel_keep_targets(state, to);
}

static bool details_act(struct explorer *explorer, struct panel_state *state,
                        enum panel_act act)
{
    uint32_t target = act == ACT_ENTER ? panel_target(state) : NO_TARGET;

    if (target == NO_TARGET) {
        explorer_say(explorer, "nothing to go to on this line");
        return false;
    }
    return browse_go(explorer->browse, target);
}

const struct panel details_panel = {
    .number = PANEL_DETAILS,
    .id = "details",
    .title = "Details",
    .cursor = true,
    .hints = "Enter go there",
    .subject = details_subject,
    .lines = details_lines,
    .act = details_act,
    .release = panel_drop_targets,
};
