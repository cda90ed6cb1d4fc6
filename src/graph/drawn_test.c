#include "graph/drawn_in.h"

#include "base/test.h"
#include "graph/check_in.h"

static const char *problem(struct drawn_graph *drawn)
{
    const char *wrong = check_plan(&drawn->diagram, &drawn->arena);

    if (!wrong && drawn->session->run && !drawn->old &&
        drawn->diagram.wanted.focus == NO_PLACE)
        wrong = check_edges(&drawn->diagram, &drawn->arena);
    return wrong ? wrong : "";
}

static struct drawn_graph draw(struct session *session, struct graph_wanted wanted)
{
    struct drawn_graph drawn = {.session = session};
    struct err err = {0};

    CHECK(drawn.session);
    arena_init(&drawn.arena, 0);
    CHECK_INT(diagram_make(&drawn.diagram, drawn.session, &wanted, &drawn.arena, &err),
              0);
    CHECK_STR(problem(&drawn), "");
    return drawn;
}

struct drawn_graph drawn_wanted(struct run *run, struct graph_wanted wanted)
{
    return draw(session_of_run(run, NULL), wanted);
}

struct drawn_graph drawn_model(const struct model *model, struct graph_wanted wanted)
{
    return draw(session_of(model, NULL), wanted);
}

struct drawn_graph drawn_of(struct run *run)
{
    return drawn_wanted(run, (struct graph_wanted)GRAPH_WANTED);
}

struct drawn_graph drawn_diff(struct run *old, struct run *new,
                              struct graph_wanted wanted)
{
    struct drawn_graph drawn = {.session = session_of_run(new, NULL),
                                .old = session_of_run(old, NULL)};
    struct diagram_side sides[] = {{drawn.old, wanted}, {drawn.session, wanted}};
    struct err err = {0};

    CHECK(drawn.session && drawn.old);
    arena_init(&drawn.arena, 0);
    CHECK_INT(
        diagram_make_diff(&drawn.diagram, &sides[0], &sides[1], &drawn.arena, &err), 0);
    CHECK_STR(problem(&drawn), "");
    return drawn;
}

void drawn_drop(struct drawn_graph *drawn)
{
    session_close(drawn->old);
    arena_release(&drawn->arena);
    session_close(drawn->session);
}

uint32_t drawn_box(const struct drawn_graph *drawn, const char *id)
{
    for (uint32_t i = 1; i < drawn->diagram.plan.n_boxes; i++)
        if (str_is(drawn->diagram.boxes[i].id, id))
            return i;
    return PLAN_NONE;
}

bool drawn_wire(struct drawn_graph *drawn, const char *source, const char *target)
{
    uint32_t n, a = drawn_box(drawn, source), b = drawn_box(drawn, target);
    const struct check_wire *wires = check_wires(&drawn->diagram, &drawn->arena, &n);

    CHECK(a != PLAN_NONE && b != PLAN_NONE);
    for (uint32_t i = 0; i < n; i++)
        if (wires[i].source == a && wires[i].target == b)
            return true;
    return false;
}

const char *drawn_words(struct drawn_graph *drawn, const char *id)
{
    const struct diagram *diagram = &drawn->diagram;
    uint32_t box = drawn_box(drawn, id);
    struct buf text = BUF_INIT;
    struct str copy;

    CHECK(box != PLAN_NONE);
    buf_str(&text, diagram->boxes[box].name);
    for (uint32_t i = 0; i < diagram->boxes[box].n_words; i++) {
        buf_text(&text, i > 0 ? ", " : ": ");
        buf_str(&text, diagram->words[diagram->boxes[box].words + i]);
    }
    copy = arena_str(&drawn->arena, buf_span(&text));
    buf_release(&text);
    return copy.at;
}
