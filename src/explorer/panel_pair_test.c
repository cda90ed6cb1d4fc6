/* Panels of two models. */
#include "base/test.h"
#include "compare/diff_text.h"
#include "explorer/panels_in.h"
#include "run/sample_run.h"
#include "study/diff/diff_sample.h"

static const char left_lines[] = "net class models.Net\n"
                                 "net.conv.weight 4x3 1\n"
                                 "net.block.weight 3x3 4\n"
                                 "net.old.bias 2 8\n"
                                 "net.fc.weight 5x4 6\n";
static const char right_lines[] = "net class models.Other\n"
                                  "net.conv.weight 4x3 1\n"
                                  "net.block.weight 3x3 4~\n"
                                  "net.fresh.bias 7 9\n"
                                  "net.fc.weight 2x4 7\n";

struct scene {
    struct pair *pair;
    struct explorer explorer;
    struct buf text;
};

static void scene_begin(struct scene *s)
{
    struct diff_wanted wanted = {.values = true};

    *s = (struct scene){.pair = NULL};
    s->pair = pair_of(session_of(diff_sample(left_lines), NULL),
                      session_of(diff_sample(right_lines), NULL), &wanted, NULL, NULL);
    CHECK(s->pair);
    CHECK(explorer_begin(&s->explorer, s->pair->right, s->pair, false, NULL) == 0);
}

static void scene_end(struct scene *s)
{
    explorer_end(&s->explorer);
    pair_close(s->pair);
    buf_release(&s->text);
}

static void go(struct scene *s, const char *name)
{
    const struct diff *diff = &s->pair->diff;
    struct buf path = BUF_INIT;
    uint32_t node;

    for (node = 0; node < diff->n_nodes; node++) {
        buf_clear(&path);
        diff_node_name(diff, node, &path);
        if (str_is(buf_span(&path), name))
            break;
    }
    CHECK(node < diff->n_nodes);
    browse_go(s->explorer.browse, node);
    buf_release(&path);
}

static const char *shown(struct scene *s, enum panel_number number, unsigned width)
{
    struct panel_room room = {.width = width, .height = 12};
    struct lines lines = {0};

    buf_clear(&s->text);
    panel_subject(panels[number], &s->text, &s->explorer);
    buf_char(&s->text, '\n');
    panel_lines(panels[number], &lines, &s->explorer, &s->explorer.panels[number],
                &room);
    for (uint32_t i = 0; i < lines.n; i++) {
        line_plain(&s->text, &lines, i);
        while (s->text.at[s->text.len - 1] == ' ')
            s->text.len--;
        buf_char(&s->text, '\n');
    }
    lines_release(&lines);
    return buf_cstr(&s->text);
}

static bool says(struct scene *s, enum panel_number number, unsigned width,
                 const char *part)
{
    shown(s, number, width);
    return str_find(buf_span(&s->text), str_of(part)) >= 0;
}

TEST(statistics_of_both_are_side_by_side_below_the_differences)
{
    struct scene s;

    scene_begin(&s);
    go(&s, "net.block.weight");
    shown(&s, PANEL_STATISTICS, 100);
    CHECK(str_starts(
        buf_span(&s.text),
        STR("net.block.weight\n"
            " ~  all values   rel Δ 0.11%   max |Δ| 0.5 at [0, 0]\n"
            " left   sample.pth  3×3 float32                     right  sample.pth  "
            "3×3 float32\n"
            " count    9     NaN 0   +Inf 0   -Inf 0   zeros 0   count    9     NaN 0  "
            " "
            "+Inf 0   -Inf 0   zeros 0\n"
            " min      -547   at [2, 1]                          min      -546.5   at "
            "[2, 1]\n")));
    go(&s, "net.block");
    CHECK(says(&s, PANEL_STATISTICS, 120,
               " ~  1 of 1   rel Δ 0.11%   max |Δ| 0.5 in net.block.weight\n"));
    CHECK(says(&s, PANEL_STATISTICS, 120, "455.5   weight             -546.5"));
    scene_end(&s);
}

TEST(statistics_of_both_are_stacked_in_a_narrow_panel)
{
    struct scene s;

    scene_begin(&s);
    go(&s, "net.block.weight");
    CHECK(says(&s, PANEL_STATISTICS, 60, "\n left   sample.pth  3×3 float32\n count"));
    CHECK(says(&s, PANEL_STATISTICS, 60, "\n right  sample.pth  3×3 float32\n count"));
    go(&s, "net.fresh.bias");
    CHECK(says(&s, PANEL_STATISTICS, 60,
               " +  only right\n left   sample.pth\n not there\n right  sample.pth  7 "
               "float32\n count    7 "));
    scene_end(&s);
}

TEST(choices_for_statistics_of_a_pair_apply_to_both)
{
    struct scene s;
    struct panel_state *state;

    scene_begin(&s);
    state = &s.explorer.panels[PANEL_STATISTICS];
    go(&s, "net.block.weight");
    shown(&s, PANEL_STATISTICS, 100);
    CHECK(panel_act(&statistics_panel, &s.explorer, state, ACT_VIEW));
    CHECK_INT(state->view, 1);
    CHECK(says(&s, PANEL_STATISTICS, 100, " values [0:3, 0:3] of 3×3"));
    shown(&s, PANEL_STATISTICS, 100);
    CHECK(str_find(str_from(buf_span(&s.text),
                            (size_t)str_find(buf_span(&s.text), STR("values [")) + 20),
                   STR("values [")) > 0);
    CHECK(!panel_act(&statistics_panel, &s.explorer, state, ACT_RIGHT));
    CHECK_STR(s.explorer.message.at, "nothing to the right");
    scene_end(&s);
}

TEST(details_of_a_common_row_describe_both_sides)
{
    struct scene s;

    scene_begin(&s);
    CHECK(!says(&s, PANEL_DETAILS, 100, "this row"));
    go(&s, "net.fc.weight");
    CHECK(says(&s, PANEL_DETAILS, 100,
               "\n this row  ≠  shape\n left      5×4 float32   80B   net.fc.weight\n"
               " right     2×4 float32   32B   net.fc.weight\n"));
    go(&s, "net.old");
    CHECK(says(&s, PANEL_DETAILS, 100,
               "\n left      2 parameters   8B   net.old\n right     not there\n"));
    scene_end(&s);
}

TEST(code_shows_one_side_and_v_the_other)
{
    struct scene s;
    struct panel_state *state;

    scene_begin(&s);
    state = &s.explorer.panels[PANEL_CODE];
    go(&s, "net");
    CHECK_STR(panel_hints(&code_panel, &s.explorer)->text, "other side");
    CHECK(says(&s, PANEL_CODE, 100, "right: Other\n"));
    CHECK(panel_act(&code_panel, &s.explorer, state, ACT_VIEW));
    CHECK(says(&s, PANEL_CODE, 100, "left: Net\n"));
    CHECK(says(&s, PANEL_CODE, 100, " class models.Net\n"));
    CHECK(says(&s, PANEL_ATTRIBUTES, 100, "right: model\n ▾ Other\n"));
    /* A row that only one side has is shown whichever side is selected. */
    go(&s, "net.fresh");
    CHECK(says(&s, PANEL_CODE, 100, "right: "));
    scene_end(&s);
}

TEST(details_of_two_recordings_begin_with_their_results)
{
    struct diff_wanted wanted = {.values = true};
    struct scene s = {.pair = NULL};

    s.pair = pair_of(session_of_run(sample_run(1), NULL),
                     session_of_run(sample_run(2), NULL), &wanted, NULL, NULL);
    CHECK(s.pair && s.pair->divergence);
    CHECK(explorer_begin(&s.explorer, s.pair->right, s.pair, false, NULL) == 0);
    CHECK_INT(s.explorer.message.len, 0); /* does not go to the first alarm */
    CHECK(says(&s, PANEL_DETAILS, 100, "\n results   all "));
    CHECK(says(&s, PANEL_DETAILS, 100, " calls     "));
    go(&s, "a");
    CHECK(says(&s, PANEL_DETAILS, 100, "\n results   "));
    CHECK(says(&s, PANEL_DETAILS, 100, " agree"));
    CHECK(!says(&s, PANEL_DETAILS, 100, " calls     "));
    scene_end(&s);
}

TEST(details_of_two_training_runs_begin_with_their_divergence)
{
    struct diff_wanted wanted = {.values = true};
    struct parting parting = {.common = 100,
                              .last = 99,
                              .steps = {100, 100},
                              .scalars = 1,
                              .scalar_differs = true,
                              .scalar_step = 40,
                              .scalar = STR("loss"),
                              .values = {1, 2}};
    struct scene s = {.pair = NULL};

    s.pair = pair_of(session_of_run(sample_run(1), NULL),
                     session_of_run(sample_run(1), NULL), &wanted, NULL, NULL);
    CHECK(s.pair);
    s.pair->parting = &parting;
    CHECK(!pair_equal(s.pair));
    CHECK(explorer_begin(&s.explorer, s.pair->right, s.pair, false, NULL) == 0);
    CHECK(says(&s, PANEL_DETAILS, 100, "\n training  the runs part at step 40\n"));
    CHECK(says(&s, PANEL_DETAILS, 100, "loss differs first at step 40: 1 → 2\n"));
    CHECK(!says(&s, PANEL_DETAILS, 100, "\n results   "));
    scene_end(&s);
}
