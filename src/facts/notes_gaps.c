/* The gaps of a recording, one fact per reason. */
#include "base/base.h"
#include "facts/notes.h"
#include "rows/run_words.h"
#include "text/escape.h"

#define MOST_NAMES  6  /* module names in one fact */
#define MOST_GROUPS 32 /* distinct gap texts */

struct gaps {
    const struct show *show;
    const struct run *run;
    struct facts *to;
    const bool *ran; /* by place: something below it was called */
    bool any;        /* a gap was written */
};

/* End the fact of a gap; only the first has a label. */
static void end_gap(struct gaps *g, const char *id, enum colour role)
{
    fact_end_as(g->to, id, g->any ? "" : "notes", role);
    g->any = true;
}

static void add_more(struct facts *to, uint32_t more)
{
    if (more == 0)
        return;
    buf_text(&to->text, " and ");
    fact_count(to, "more", more);
    buf_text(&to->text, " more");
}

/* --- Modules without calls */

static const bool *find_ran(const struct show *show, struct arena *arena)
{
    const struct activities *all = show->activity;
    bool *ran = arena_array(arena, (size_t)all->n + 1, sizeof *ran);

    for (uint32_t p = all->n; ran && p-- > 1;)
        ran[show->model->parent[p]] |= ran[p] || all->at[p].calls > 0;
    return ran;
}

/* Names the first few modules, but none inside a module that did not run at all. */
static void add_names(struct gaps *g, enum run_absent why)
{
    const struct model *model = g->show->model;
    uint32_t shown = 0, more = 0;

    for (uint32_t p = 0; p < model->n_places; p++) {
        if (run_absent(g->show, p) != why)
            continue;
        if (shown < MOST_NAMES) {
            buf_text(&g->to->text, shown++ == 0 ? ": " : ", ");
            fact_place(g->to, "place", g->show, p);
        } else {
            more++;
        }
        if (!g->ran[p])
            p = model->end[p] - 1;
    }
    add_more(g->to, more);
}

static void absent_facts(struct gaps *g)
{
    static const struct {
        const char *id, *text;
    } kinds[] = {
        [RUN_NOT_REACHED] = {"not_reached", "not reached"},
        [RUN_NOT_CALLED] = {"not_called", "not called"},
        [RUN_IN_FUSED] = {"fused", "not called, as a fused kernel did the work"},
        [RUN_IN_COMPILED] = {"compiled", "not seen inside compiled code"},
        [RUN_IN_SCRIPTED] = {"scripted", "not seen inside TorchScript"},
        [RUN_CALLED_DIRECTLY] = {"called_directly",
                                 "not seen, as forward() was called directly"},
    };
    uint32_t counts[COUNT_OF(kinds)] = {0};

    for (uint32_t p = 0; p < g->show->model->n_places; p++)
        counts[run_absent(g->show, p)]++;
    for (uint32_t i = RUN_NOT_REACHED; i < COUNT_OF(kinds); i++) {
        if (counts[i] == 0)
            continue;
        fact_plural(g->to, "modules", counts[i], "module was ", "modules were ");
        buf_text(&g->to->text, kinds[i].text);
        add_names(g, (enum run_absent)i);
        end_gap(g, kinds[i].id, COLOUR_DIM);
    }
}

/* --- Other gaps */

struct gap_group {
    uint32_t first, n; /* the first gap with this text, and their number */
};

static uint32_t gap_place(const struct gaps *g, const struct run_gap *gap)
{
    return gap->object < g->show->model->n_objects
               ? g->show->model->objects[gap->object].place
               : NO_PLACE;
}

/* "layer1 and 3 more: no gradient could be attached" */
static void group_fact(struct gaps *g, const struct gap_group *group)
{
    const struct run_gap *gap = &g->run->gaps[group->first];
    uint32_t place = gap_place(g, gap);
    bool bad = gap->kind == RUN_GAP_LIMIT || gap->kind == RUN_GAP_ERROR;

    if (place < g->show->model->n_places) {
        fact_place(g->to, "place", g->show, place);
        add_more(g->to, group->n - 1);
        buf_text(&g->to->text, ": ");
    }
    escape_terminal(&g->to->text, run_string(g->run, gap->text));
    end_gap(g, "gap", bad ? COLOUR_WARNING : COLOUR_DIM);
}

/* Is the gap more than the reason why a module has no calls? */
static bool is_other(const struct gaps *g, const struct run_gap *gap)
{
    uint32_t place = gap_place(g, gap);

    if (!run_is_gap(gap))
        return false;
    return gap->kind > RUN_GAP_CONTAINER || place >= g->show->activity->n ||
           g->show->activity->at[place].calls > 0;
}

static void other_facts(struct gaps *g)
{
    struct gap_group groups[MOST_GROUPS];
    uint32_t n = 0, left_out = 0, k;

    for (uint32_t i = 0; i < g->run->n_gaps; i++) {
        const struct run_gap *gap = &g->run->gaps[i];

        if (!is_other(g, gap))
            continue;
        for (k = 0; k < n; k++)
            if (g->run->gaps[groups[k].first].text == gap->text &&
                g->run->gaps[groups[k].first].kind == gap->kind)
                break;
        if (k < n)
            groups[k].n++;
        else if (n < MOST_GROUPS)
            groups[n++] = (struct gap_group){i, 1};
        else
            left_out++;
    }
    for (k = 0; k < n; k++)
        group_fact(g, &groups[k]);
    if (left_out == 0)
        return;
    fact_count(g->to, "more", left_out);
    buf_text(&g->to->text, " further gaps: --json lists them all");
    end_gap(g, "gap", COLOUR_DIM);
}

int notes_gaps(struct facts *to, const struct show *show, struct err *err)
{
    struct gaps g = {.show = show, .run = show->session->run, .to = to};
    struct arena arena;
    int status = 0;

    arena_init(&arena, 0);
    g.ran = find_ran(show, &arena);
    if (g.ran) {
        absent_facts(&g);
        other_facts(&g);
    } else {
        status = arena_err(&arena, "the gaps of the run", err);
    }
    arena_release(&arena);
    return status;
}
