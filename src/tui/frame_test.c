#include "base/test.h"
#include "tui/frame_in.h"

static struct frame_wanted wanted(unsigned columns, unsigned rows)
{
    struct frame_wanted it = FRAME_WANTED_INIT;

    it.columns = columns;
    it.rows = rows;
    return it;
}

static void open_panel(struct frame_wanted *it, unsigned panel)
{
    it->open[it->n_open++] = (uint8_t)panel;
}

static void check_area(struct area got, unsigned column, unsigned row, unsigned columns,
                       unsigned rows)
{
    CHECK_INT(got.column, column);
    CHECK_INT(got.row, row);
    CHECK_INT(got.columns, columns);
    CHECK_INT(got.rows, rows);
}

TEST(at_80x24_one_panel_is_below_the_tree)
{
    struct frame_wanted it = wanted(80, 24);
    struct frame frame;

    open_panel(&it, PANEL_DETAILS);
    frame_make(&frame, &it);
    check_area(frame.title, 0, 0, 80, 1);
    check_area(frame.tree, 0, 1, 80, 13);
    CHECK_INT(frame.n_panels, 1);
    check_area(frame.panels[0].area, 0, 14, 80, 8);
    check_area(frame.status, 0, 22, 80, 1);
    check_area(frame.hints, 0, 23, 80, 1);
    /* Of two panels, show the latest or the focused one. */
    open_panel(&it, PANEL_CODE);
    frame_make(&frame, &it);
    CHECK_INT(frame.panels[0].panel, PANEL_CODE);
    it.focus = PANEL_DETAILS;
    frame_make(&frame, &it);
    CHECK_INT(frame.n_panels, 1);
    CHECK_INT(frame.panels[0].panel, PANEL_DETAILS);
}

TEST(at_120x36_panels_are_beside_the_tree_and_code_is_twice_as_high)
{
    struct frame_wanted it = wanted(120, 36);
    struct frame frame;

    open_panel(&it, PANEL_ATTRIBUTES);
    open_panel(&it, PANEL_CODE);
    frame_make(&frame, &it);
    check_area(frame.tree, 0, 1, 65, 33);
    check_area(frame.divider, 65, 1, 1, 33);
    CHECK_INT(frame.n_panels, 2);
    CHECK_INT(frame.panels[0].panel, PANEL_CODE);
    check_area(frame.panels[0].area, 66, 1, 54, 22);
    check_area(frame.panels[1].area, 66, 23, 54, 11);
    it.share = 60;
    frame_make(&frame, &it);
    CHECK_INT(frame.divider.column, 47);
    it.below = true;
    frame_make(&frame, &it);
    check_area(frame.tree, 0, 1, 120, 25);
    check_area(frame.panels[0].area, 0, 26, 120, 8);
    CHECK(!frame.right && frame.n_panels == 1);
}

TEST(three_panels_are_stacked_or_five_if_they_fit)
{
    struct frame_wanted it = wanted(120, 36);
    struct frame frame;
    unsigned rows = 0;

    for (unsigned panel = 1; panel < PANEL_COUNT; panel++)
        open_panel(&it, panel);
    it.focus = PANEL_DETAILS;
    frame_make(&frame, &it);
    CHECK_INT(frame.n_panels, 3);
    CHECK_INT(frame.panels[0].panel, PANEL_DETAILS);
    CHECK_INT(frame.panels[2].panel, PANEL_TRAINING);
    it.columns = 200;
    it.rows = 60;
    frame_make(&frame, &it);
    CHECK_INT(frame.n_panels, 5);
    for (unsigned i = 0; i < 5; i++)
        rows += frame.panels[i].area.rows;
    CHECK_INT(rows, frame.body.rows);
}

TEST(a_zoomed_part_fills_the_body)
{
    struct frame_wanted it = wanted(120, 36);
    struct frame frame;

    open_panel(&it, PANEL_CODE);
    it.zoom = true;
    it.focus = PANEL_CODE;
    frame_make(&frame, &it);
    CHECK_INT(frame.tree.rows, 0);
    check_area(frame.panels[0].area, 0, 1, 120, 33);
    it.focus = FOCUS_TREE;
    frame_make(&frame, &it);
    CHECK_INT(frame.n_panels, 0);
    check_area(frame.tree, 0, 1, 120, 33);
}

TEST(labels_replace_the_panels)
{
    struct frame_wanted it = wanted(120, 36);
    struct frame frame;

    open_panel(&it, PANEL_CODE);
    open_panel(&it, PANEL_DETAILS);
    it.labels = true;
    it.focus = FOCUS_LABELS;
    frame_make(&frame, &it);
    CHECK_INT(frame.n_panels, 1);
    CHECK_INT(frame.panels[0].panel, FOCUS_LABELS);
    check_area(frame.panels[0].area, 66, 1, 54, 33);
    it = wanted(80, 24);
    it.labels = true;
    frame_make(&frame, &it);
    CHECK_INT(frame.panels[0].panel, FOCUS_LABELS);
    CHECK(frame.tree.rows > 0);
}

TEST(a_small_screen_has_no_hints_and_panels_only_zoomed)
{
    struct frame_wanted it = wanted(60, 20);
    struct frame frame;

    open_panel(&it, PANEL_CODE);
    frame_make(&frame, &it);
    CHECK(frame.small && frame.n_panels == 0);
    CHECK_INT(frame.hints.rows, 0);
    check_area(frame.tree, 0, 1, 60, 18);
    check_area(frame.status, 0, 19, 60, 1);
    it.focus = PANEL_CODE;
    it.zoom = true;
    frame_make(&frame, &it);
    CHECK_INT(frame.n_panels, 1);
    it = wanted(30, 6);
    frame_make(&frame, &it);
    CHECK(frame.too_small);
}

/* At any size, areas stay inside the screen and visible ones are not empty. */
TEST(no_part_leaves_the_screen)
{
    for (unsigned columns = 0; columns < 220; columns += 7)
        for (unsigned rows = 0; rows < 70; rows++)
            for (unsigned way = 0; way < 32; way++) {
                struct frame_wanted it = wanted(columns, rows);
                struct frame frame;

                for (unsigned panel = 1; panel <= way % 8 && panel < PANEL_COUNT;
                     panel++)
                    open_panel(&it, panel);
                it.below = way & 8;
                it.zoom = way & 16;
                it.focus = it.n_open;
                it.height = rows;
                frame_make(&frame, &it);
                if (frame.too_small)
                    continue;
                CHECK(frame.status.row + 1 + frame.hints.rows == rows);
                for (unsigned i = 0; i < frame.n_panels; i++) {
                    struct area area = frame.panels[i].area;

                    CHECK(area.rows >= 3 && area.columns >= 8);
                    CHECK(area.column + area.columns == columns);
                    CHECK(area.row + area.rows <= frame.status.row);
                }
            }
}
