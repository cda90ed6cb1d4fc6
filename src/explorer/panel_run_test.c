/* Panels 5 and 6 of a recording. */
#include "base/test.h"
#include "explorer/alarms_in.h"
#include "explorer/panels_in.h"
#include "run/sample_run.h"
#include "session/sample_session.h"

struct scene {
    struct session *session;
    struct explorer explorer;
    struct lines lines;
    struct buf text;
};

static void scene_begin(struct scene *s, struct session *session)
{
    *s = (struct scene){.session = session};
    CHECK(session);
    CHECK(explorer_begin(&s->explorer, session, NULL, false, NULL) == 0);
}

static void scene_end(struct scene *s)
{
    lines_release(&s->lines);
    buf_release(&s->text);
    explorer_end(&s->explorer);
    session_close(s->session);
}

static void go(struct scene *s, const char *name)
{
    browse_go(s->explorer.browse, place_find(s->session->model, str_of(name)));
}

/* All text of a panel of 60 by 20 cells. */
static const char *said(struct scene *s, enum panel_number number)
{
    struct panel_room room = {.width = 60, .height = 20};

    lines_clear(&s->lines);
    buf_clear(&s->text);
    panels[number]->lines(&s->lines, &s->explorer, &s->explorer.panels[number], &room);
    for (uint32_t i = 0; i < s->lines.n; i++) {
        line_plain(&s->text, &s->lines, i);
        buf_char(&s->text, '\n');
    }
    return buf_cstr(&s->text);
}

static bool says(struct scene *s, enum panel_number number, const char *part)
{
    said(s, number);
    return str_find(buf_span(&s->text), str_of(part)) >= 0;
}

static bool act(struct scene *s, enum panel_act what)
{
    said(s, PANEL_FLOW);
    return flow_panel.act(&s->explorer, &s->explorer.panels[PANEL_FLOW], what);
}

static uint32_t at(const struct scene *s, const char *name)
{
    return place_find(s->session->model, str_of(name));
}

TEST(panel_5_shows_the_module_and_the_run)
{
    struct scene s;

    scene_begin(&s, session_of_run(sample_run(2), NULL));
    go(&s, "a");
    CHECK(says(&s, PANEL_PERFORMANCE, "  ├─ forward()"));
    CHECK(says(&s, PANEL_PERFORMANCE, "  │  Gradient: computed\n") ||
          says(&s, PANEL_PERFORMANCE, "Gradient: computed\n"));
    CHECK(says(&s, PANEL_PERFORMANCE, "  slowest (self)  "));
    CHECK(says(&s, PANEL_PERFORMANCE, "  by class (self) "));
    CHECK(says(&s, PANEL_PERFORMANCE, "  measured        CPU clock, 2 threads;"));
    go(&s, "tail");
    CHECK(says(&s, PANEL_PERFORMANCE, "  not reached: an exception came first\n"));
    go(&s, "list");
    CHECK(says(&s, PANEL_PERFORMANCE, "  defines no forward\n"));
    go(&s, "a.weight");
    CHECK(says(&s, PANEL_PERFORMANCE, "  not a module"));
    for (uint32_t i = 0; i < s.lines.n; i++) {
        buf_clear(&s.text);
        line_plain(&s.text, &s.lines, i);
        CHECK(s.text.len < 80); /* nothing is wider than the panel */
    }
    scene_end(&s);
}

TEST(panel_6_shows_a_module_without_calls_inside_in_the_flow_around_it)
{
    struct scene s;
    struct buf subject = BUF_INIT;

    scene_begin(&s, session_of_run(sample_run(1), NULL));
    go(&s, "list.0");
    CHECK(says(&s, PANEL_FLOW, "act  ReLU"));
    go(&s, "list.0.act");
    CHECK(says(&s, PANEL_FLOW, "act  ReLU"));
    CHECK_INT(s.explorer.panels[PANEL_FLOW].cursor, 0); /* Block has no arguments */
    flow_panel.subject(&subject, &s.explorer);
    CHECK_STR(buf_cstr(&subject), "list.0 Block, module calls");
    go(&s, "list");
    CHECK(says(&s, PANEL_FLOW, " defines no forward\n"));
    CHECK_INT(s.explorer.panels[PANEL_FLOW].foot, 0);
    buf_release(&subject);
    scene_end(&s);
}

TEST(keys_in_panel_6_follow_values_into_modules_and_out)
{
    struct panel_state *state;
    struct scene s;

    scene_begin(&s, session_of_run(sample_run(1), NULL));
    state = &s.explorer.panels[PANEL_FLOW];
    go(&s, "");
    CHECK(says(&s, PANEL_FLOW, "[0]"));
    CHECK(state->foot > 0 && state->foot < s.lines.n);
    CHECK(act(&s, ACT_NEXT)); /* [0] goes into a; the rest is unknown */
    CHECK_INT(state->cursor, 1);
    CHECK(!act(&s, ACT_NEXT));
    CHECK(str_find(buf_span(&s.explorer.message), STR("no module call")) >= 0);
    CHECK(act(&s, ACT_PREVIOUS));
    CHECK_INT(state->cursor, 0);
    CHECK(!act(&s, ACT_PREVIOUS));
    state->cursor = 2;
    CHECK(act(&s, ACT_ENTER));
    CHECK_INT(browse_place(s.explorer.browse), at(&s, "list.0"));
    CHECK(act(&s, ACT_OUT));
    CHECK_INT(browse_place(s.explorer.browse), 0);
    CHECK(says(&s, PANEL_FLOW, "[0]"));
    CHECK_INT(state->cursor, 2); /* on the block just left */
    CHECK(!act(&s, ACT_OUT));
    CHECK(!act(&s, ACT_LEFT));
    state->cursor = 1000; /* the list was longer before */
    CHECK(says(&s, PANEL_FLOW, " out   "));
    CHECK_INT(state->cursor, 3);
    scene_end(&s);
}

TEST(panel_6_shows_the_chosen_call)
{
    struct scene s;
    struct buf subject = BUF_INIT;

    scene_begin(&s, session_of_run(sample_run(RUN_KEEP_CALLS + 9), NULL));
    go(&s, "");
    s.explorer.call = 3;
    flow_panel.subject(&subject, &s.explorer);
    CHECK_STR(buf_cstr(&subject), "Net, call 4 of 73, module calls");
    CHECK(says(&s, PANEL_FLOW, "list.0  Block"));
    s.explorer.call = RUN_KEEP_CALLS + 2;
    CHECK_STR(said(&s, PANEL_FLOW), " call 67 was merged with others\n");
    s.explorer.call = RUN_NONE;
    buf_clear(&subject);
    flow_panel.subject(&subject, &s.explorer);
    CHECK_STR(buf_cstr(&subject), "Net, call 73 of 73, module calls");
    buf_release(&subject);
    scene_end(&s);
}

TEST(without_a_recording_panels_5_and_6_have_one_line)
{
    struct scene s;

    scene_begin(&s, sample_session());
    CHECK(says(&s, PANEL_PERFORMANCE, "no recording"));
    CHECK_INT(s.lines.n, 1);
    CHECK(says(&s, PANEL_FLOW, "no recording"));
    CHECK_INT(s.lines.n, 1);
    CHECK(!act(&s, ACT_ENTER));
    scene_end(&s);
}

TEST(performance_shows_the_memory_of_a_run_with_operations)
{
    struct scene s;

    scene_begin(&s, session_of_run(sample_ops(), NULL));
    go(&s, "a");
    CHECK(says(&s, PANEL_PERFORMANCE, "saved         16B"));
    CHECK(says(&s, PANEL_PERFORMANCE, "44% of all that is saved for backward"));
    CHECK(says(&s, PANEL_PERFORMANCE, "132B of tensors at net.py:5 mm()"));
    CHECK(says(&s, PANEL_PERFORMANCE, "saved for backward 36B"));
    scene_end(&s);
}

TEST(parameters_that_were_cut_off_are_alarms)
{
    struct no_gradient list[] = {
        {.tensor = 0, .op = 4, .why = NO_GRADIENT_DETACHED},
        {.tensor = 1, .op = RUN_NONE, .why = NO_GRADIENT_INTACT},
    };
    struct no_gradients all = {.at = list, .n = 2};
    struct scene s;

    scene_begin(&s, session_of_run(sample_ops(), NULL));
    CHECK(!explorer_next_alarm(&s.explorer)); /* its only alarm is just a note */
    s.explorer.show.no_gradients = &all;
    CHECK(alarms_find(&s.explorer, NULL) == 0);
    CHECK_INT(s.explorer.alarms.n, 1);
    CHECK(explorer_next_alarm(&s.explorer));
    CHECK_STR(
        buf_cstr(&s.explorer.message),
        "✗ a.weight gets no gradient: net.py:13 detach() in Net cut the path   1 of "
        "1");
    CHECK_INT(explorer_place(&s.explorer),
              place_find(s.session->model, STR("a.weight")));
    CHECK(says(&s, PANEL_DETAILS, "✗ gradient"));
    scene_end(&s);
}
