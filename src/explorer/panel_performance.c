/* Panel 5: the time of the selected module, its slowest operations, and the slowest
 * modules. */
#include <stdlib.h>

#include "explorer/panels_in.h"
#include "facts/calls_text.h"
#include "facts/memory_text.h"
#include "facts/ops_text.h"
#include "facts/performance.h"
#include "facts/run_text.h"
#include "text/text.h"

#define NAME_CELLS  16 /* "slowest (self)  " */
#define MOST_LISTED 3
#define MOST_OPS    8

/* The part that is the same for all rows of a run, cached. */
struct panel_performance_own {
    const struct run *run;
    struct facts slowest, memory;
};

static void performance_subject(struct buf *to, struct explorer *explorer)
{
    if (explorer_place(explorer) != NO_PLACE)
        run_place(to, &explorer->show, explorer_place(explorer));
}

static const struct panel_performance_own *
own_of(struct explorer *explorer, struct panel_state *state, struct err *err)
{
    const struct show *show = &explorer->show;
    struct panel_performance_own *own = state->own;

    if (!own)
        own = state->own = calloc(1, sizeof *own);
    if (!own) {
        err_set(err, ERR_LIMIT, "no memory is left");
        return NULL;
    }
    if (own->run == show->session->run)
        return own;
    facts_clear(&own->slowest);
    facts_clear(&own->memory);
    if (performance_slowest(&own->slowest, show, MOST_LISTED, false, err) < 0)
        return NULL;
    memory_run(&own->memory, show, MOST_LISTED);
    own->run = show->session->run;
    return own;
}

static void label(struct lines *to, const char *name)
{
    lines_text(to, COLOUR_NONE, "  ");
    lines_text(to, COLOUR_DIM, name);
    lines_pad(to, 2 + NAME_CELLS);
}

static void module_lines(struct lines *to, struct explorer *explorer,
                         const struct panel_room *room)
{
    const struct show *show = &explorer->show;
    uint32_t place = explorer_place(explorer);
    struct facts facts = {0};

    if (place == NO_PLACE || show->model->kind[place] != PLACE_MODULE) {
        buf_text(&facts.text, "not a module: only modules are called");
        fact_end_as(&facts, "not_called", "", COLOUR_NONE);
    } else if (show->activity->at[place].calls == 0) {
        if (!calls_none(&facts.text, show, place))
            buf_text(&facts.text,
                     "never called itself: it only contains other modules");
        fact_end_as(&facts, "not_called", "", COLOUR_NONE);
    } else {
        performance_place(&facts, show, place);
    }
    performance_lines(to, &facts, room->width, 2);
    facts_release(&facts);
}

#define MORE "   F all, in order"

/* The slowest modules and classes; after the first, if there is space, the key that
 * lists all of them. It gets no separate line because the hints name F, too. */
static void slowest_lines(struct lines *to, const struct facts *facts, unsigned width)
{
    for (uint32_t i = 0; i < facts->n; i++) {
        uint32_t first = to->n;

        label(to, facts->at[i].label);
        fact_pack(to, facts, &facts->at[i], width, 2 + NAME_CELLS);
        if (i == 0 && to->n == first && lines_width(to) + sizeof MORE <= width)
            lines_text(to, COLOUR_NONE, MORE);
        lines_end(to);
    }
}

static void run_lines(struct lines *to, struct explorer *explorer,
                      const struct panel_performance_own *own,
                      const struct panel_room *room)
{
    const struct facts_look look = {
        .width = room->width, .indent = 2 + NAME_CELLS, .panel = true, .margin = 2};
    struct facts measured = {0};

    slowest_lines(to, &own->slowest, room->width);
    facts_lines(to, &own->memory, &look);
    performance_measured(&measured, &explorer->show);
    label(to, "measured");
    lines_wrap(to, COLOUR_NONE, buf_span(&measured.text), room->width, 2 + NAME_CELLS);
    facts_release(&measured);
}

static void panel_performance(struct lines *to, struct explorer *explorer,
                              struct panel_state *state, const struct panel_room *room)
{
    const struct panel_performance_own *own;
    struct err err = {0};

    if (!explorer->show.activity) {
        lines_text(to, COLOUR_NONE, "  ");
        lines_wrap(to, COLOUR_DIM, STR("no recording: torchoscope.record() makes one"),
                   room->width, 2);
        return;
    }
    module_lines(to, explorer, room);
    if (explorer_place(explorer) != NO_PLACE &&
        ops_text_slowest(to, &explorer->show, explorer_place(explorer), MOST_OPS,
                         room->width, 2, &err) < 0) {
        lines_printf(to, COLOUR_ALARM, "  %s", err.text);
        lines_end(to);
    }
    own = own_of(explorer, state, &err);
    if (own) {
        run_lines(to, explorer, own, room);
    } else {
        lines_printf(to, COLOUR_ALARM, "  %s", err.text);
        lines_end(to);
    }
}

static bool performance_act(struct explorer *explorer, struct panel_state *state,
                            enum panel_act act)
{
    (void)state;
    if (act != ACT_PREVIOUS && act != ACT_NEXT)
        return panel_cannot(explorer, act);
    return explorer_step(explorer, act == ACT_NEXT ? 1 : -1);
}

static void performance_release(struct panel_state *state)
{
    struct panel_performance_own *own = state->own;

    if (own) {
        facts_release(&own->slowest);
        facts_release(&own->memory);
    }
    free(own);
    state->own = NULL;
}

static const struct panel_hint performance_hints[] = {
    {"flat", NULL, "flat list"},
    {"label-times", NULL, "times"},
    {"sort", NULL, "sort"},
    {NULL, NULL, NULL},
};

const struct panel performance_panel = {
    .number = PANEL_PERFORMANCE,
    .id = "performance",
    .title = "Performance",
    .hints = performance_hints,
    .subject = performance_subject,
    .lines = panel_performance,
    .act = performance_act,
    .release = performance_release,
};
