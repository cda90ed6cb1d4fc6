/* Panel 5: how long the selected module took, and which modules took longest. */
#include <stdlib.h>

#include "show/calls_text.h"
#include "show/panels_in.h"
#include "show/performance.h"
#include "show/run_text.h"
#include "text/text.h"

#define NAME_CELLS  16 /* "slowest (self)  " */
#define MOST_LISTED 3
#define BETWEEN     "   "

/* What is the same for all rows of a run, so that it is worked out once. */
struct own {
    const struct run *run;
    struct buf slowest, classes; /* one on each line */
};

static void performance_subject(struct buf *to, struct explorer *explorer)
{
    if (explorer_place(explorer) != NO_PLACE)
        run_place(to, &explorer->show, explorer_place(explorer));
}

static const struct own *own_of(struct explorer *explorer, struct panel_state *state,
                                struct err *err)
{
    const struct show *show = &explorer->show;
    struct own *own = state->own;

    if (!own)
        own = state->own = calloc(1, sizeof *own);
    if (!own) {
        err_set(err, ERR_LIMIT, "no memory is left");
        return NULL;
    }
    if (own->run == show->session->run)
        return own;
    buf_clear(&own->slowest);
    buf_clear(&own->classes);
    if (performance_slowest(&own->slowest, show, MOST_LISTED, "\n", err) < 0 ||
        performance_classes(&own->classes, show, MOST_LISTED, "\n", err) < 0)
        return NULL;
    own->run = show->session->run;
    return own;
}

/* The next of some parts that `between` separates. */
static bool next_part(struct str *rest, struct str between, struct str *ret_part)
{
    ptrdiff_t at = str_find(*rest, between);

    *ret_part = at < 0 ? *rest : str_head(*rest, (size_t)at);
    *rest = at < 0 ? (struct str){NULL, 0} : str_from(*rest, (size_t)at + between.len);
    return ret_part->len > 0;
}

/* Parts side by side, as many on a line as there is room for. */
static void pack(struct lines *to, struct str parts, struct str between, size_t indent,
                 unsigned width)
{
    struct str part;
    size_t used = lines_width(to);
    bool first = true;

    while (next_part(&parts, between, &part)) {
        size_t cells = text_width(part);

        if (!first && used + sizeof BETWEEN - 1 + cells > width) {
            lines_end(to);
            lines_pad(to, indent);
            used = indent;
        } else if (!first) {
            lines_text(to, COLOUR_NONE, BETWEEN);
            used += sizeof BETWEEN - 1;
        }
        lines_add(to, COLOUR_NONE, 0, part);
        used += cells;
        first = false;
    }
    lines_end(to);
}

/* A line of performance_place(): what stands behind its bar goes below, where there is
 * no room for it. */
static void place_line(struct lines *to, struct str line, unsigned width)
{
    ptrdiff_t at = str_find(line, STR("Input: "));

    lines_text(to, COLOUR_NONE, "  ");
    if (text_width(line) + 2 <= width) {
        lines_add(to, COLOUR_NONE, 0, line);
        lines_end(to);
        return;
    }
    if (at < 0)
        at = str_find(line, STR("Gradient: "));
    if (at < 0)
        at = str_find(line, STR("Parameters: "));
    if (at < 0)
        at = str_find(line, STR("Output: "));
    if (at < 0) {
        pack(to, line, STR(BETWEEN), 4, width);
        return;
    }
    lines_add(to, COLOUR_NONE, 0, str_trim(str_head(line, (size_t)at)));
    lines_end(to);
    lines_text(to, COLOUR_NONE, str_starts(line, STR("└")) ? "     " : "  │  ");
    pack(to, str_from(line, (size_t)at), STR(BETWEEN), 5, width);
}

static void fact(struct lines *to, const char *name)
{
    lines_text(to, COLOUR_NONE, "  ");
    lines_text(to, COLOUR_DIM, name);
    lines_pad(to, 2 + NAME_CELLS);
}

static void module_lines(struct lines *to, struct explorer *explorer,
                         const struct panel_room *room)
{
    uint32_t place = explorer_place(explorer);
    struct buf text = BUF_INIT;
    struct str rest, line;

    if (place == NO_PLACE || explorer->show.model->kind[place] != PLACE_MODULE) {
        buf_text(&text, "not a module: only modules are called\n");
    } else if (explorer->show.activity->at[place].calls == 0) {
        calls_text(&text, &explorer->show, place, 0);
        if (text.len == 0)
            buf_text(&text, "not called by itself: it only holds other modules\n");
    } else {
        performance_place(&text, &explorer->show, place);
    }
    rest = buf_span(&text);
    while (str_split(&rest, '\n', &line))
        if (line.len > 0)
            place_line(to, line, room->width);
    buf_release(&text);
}

/* Cells of parts that stand in lines, once they stand side by side. */
static size_t packed_width(struct str parts)
{
    size_t cells = 0;
    struct str part;

    while (next_part(&parts, STR("\n"), &part))
        cells += text_width(part) + sizeof BETWEEN - 1;
    return cells;
}

#define MORE "\nF all, in order"

static void run_lines(struct lines *to, struct explorer *explorer,
                      const struct own *own, const struct panel_room *room)
{
    struct buf text = BUF_INIT;

    if (own->slowest.len > 0) {
        fact(to, "slowest (self)");
        buf_str(&text, buf_span(&own->slowest));
        /* A line of its own is not worth it: the hints name F, too. */
        if (2 + NAME_CELLS + packed_width(buf_span(&text)) + sizeof MORE <= room->width)
            buf_text(&text, MORE);
        pack(to, buf_span(&text), STR("\n"), 2 + NAME_CELLS, room->width);
        fact(to, "by class (self)");
        pack(to, buf_span(&own->classes), STR("\n"), 2 + NAME_CELLS, room->width);
    }
    buf_clear(&text);
    performance_measured(&text, &explorer->show);
    fact(to, "measured");
    lines_wrap(to, COLOUR_NONE, buf_span(&text), room->width, 2 + NAME_CELLS);
    buf_release(&text);
}

static void performance_lines(struct lines *to, struct explorer *explorer,
                              struct panel_state *state, const struct panel_room *room)
{
    const struct own *own;
    struct err err = {0};

    if (!explorer->show.activity) {
        lines_text(to, COLOUR_NONE, "  ");
        lines_wrap(to, COLOUR_DIM, STR("no recording: torchoscope.record() makes one"),
                   room->width, 2);
        return;
    }
    module_lines(to, explorer, room);
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
    struct own *own = state->own;

    if (own) {
        buf_release(&own->slowest);
        buf_release(&own->classes);
    }
    free(own);
    state->own = NULL;
}

const struct panel performance_panel = {
    .number = PANEL_PERFORMANCE,
    .id = "performance",
    .title = "Performance",
    .hints = "F flat list   r times   i sort",
    .subject = performance_subject,
    .lines = performance_lines,
    .act = performance_act,
    .release = performance_release,
};
