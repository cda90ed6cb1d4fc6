#include "tui/cells.h"

#include <string.h>

#include "base/test.h"

static struct cell_grid grid(unsigned columns, unsigned rows)
{
    struct cell_grid cells;

    CHECK_INT(cells_init(&cells, columns, rows), 0);
    return cells;
}

static void check_print(const struct cell_grid *cells, const char *expected)
{
    struct buf text = BUF_INIT;

    cells_print(cells, &text);
    CHECK_STR(buf_cstr(&text), expected);
    buf_release(&text);
}

TEST(a_text_is_cut_at_the_edge_of_its_area)
{
    struct cell_grid cells = grid(8, 2);
    struct area area = {2, 0, 4, 1};

    CHECK_INT(cells_text(&cells, &area, 1, 0, COLOUR_DIM, 0, STR("abcdef")), 4);
    CHECK_INT(cells_text(&cells, &area, 0, 1, COLOUR_DIM, 0, STR("no row")), 0);
    check_print(&cells, "   abc\n\n");
    CHECK_INT(cells.at[3].colour, COLOUR_DIM);
    CHECK_INT(cells.at[2].colour, COLOUR_NONE);
    cells_release(&cells);
}

TEST(areas_beyond_the_grid_are_empty)
{
    struct cell_grid cells = grid(4, 1);
    struct area area = {2, 0, 100, 100};

    cells_text(&cells, &area, 0, 0, COLOUR_NONE, 0, STR("abcdef"));
    cells_text(&cells, &area, 0, 7, COLOUR_NONE, 0, STR("abcdef"));
    cells_back(&cells, &area, 7, COLOUR_DIM, 0);
    check_print(&cells, "  ab\n");
    cells_release(&cells);
}

TEST(a_wide_character_never_straddles_the_edge)
{
    struct cell_grid cells = grid(5, 1);
    struct area area = {0, 0, 5, 1}, left = {0, 0, 2, 1};

    CHECK_INT(cells_text(&cells, &area, 0, 0, COLOUR_NONE, 0, STR("x漢漢漢")), 5);
    check_print(&cells, "x漢漢\n");
    CHECK_STR(cells.at[2].text, "");
    /* Overwriting half of a wide character blanks the other half. */
    cells_text(&cells, &area, 2, 0, COLOUR_NONE, 0, STR("y"));
    check_print(&cells, "x y漢\n");
    cells_text(&cells, &area, 3, 0, COLOUR_NONE, 0, STR("z"));
    check_print(&cells, "x yz\n");
    CHECK_INT(cells_text(&cells, &left, 1, 0, COLOUR_NONE, 0, STR("漢")), 2);
    check_print(&cells, "x yz\n");
    cells_release(&cells);
}

TEST(wide_characters_replace_wide_characters)
{
    struct cell_grid cells = grid(6, 1);
    struct area area = {0, 0, 6, 1};

    cells_text(&cells, &area, 0, 0, COLOUR_NONE, 0, STR("漢漢漢"));
    cells_text(&cells, &area, 1, 0, COLOUR_NONE, 0, STR("字"));
    check_print(&cells, " 字 漢\n");
    cells_release(&cells);
}

TEST(marks_stay_with_their_letter)
{
    struct cell_grid cells = grid(6, 1);
    struct area area = {0, 0, 6, 1};

    CHECK_INT(cells_text(&cells, &area, 0, 0, COLOUR_NONE, 0, STR("e\u0301x")), 2);
    CHECK_STR(cells.at[0].text, "e\u0301");
    CHECK_STR(cells.at[1].text, "x");
    for (int i = 0; i < 40; i++) /* more than fits */
        cells_text(&cells, &area, 2, 0, COLOUR_NONE, 0,
                   STR("a\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308\u0309\u030a"
                       "\u030b\u030c"));
    CHECK(strlen(cells.at[2].text) < CELL_BYTES);
    cells_release(&cells);
}

TEST(control_characters_never_reach_a_cell)
{
    struct cell_grid cells = grid(6, 1);
    struct area area = {0, 0, 6, 1};

    cells_text(&cells, &area, 0, 0, COLOUR_NONE, 0, STR("a\033\n\x7f\xc2\x9b\xff"));
    check_print(&cells, "a?????\n");
    cells_text(&cells, &area, 0, 0, COLOUR_NONE, 0, STR("a\u202eb\u200fc…"));
    check_print(&cells, "a?b?c…\n");
    cells_release(&cells);
}

TEST(in_ascii_every_sign_has_its_twin)
{
    struct cell_grid cells = grid(12, 1);
    struct area area = {0, 0, 12, 1};

    cells.ascii = true;
    cells_text(&cells, &area, 0, 0, COLOUR_NONE, 0, STR("▌"));
    cells_text(&cells, &area, 1, 0, COLOUR_NONE, 0, STR("├ ▸ 3→64 █▌"));
    check_print(&cells, ">| + 3>64 ##\n");
    cells_release(&cells);
}

TEST(a_line_that_is_too_long_ends_in_a_sign)
{
    struct cell_grid cells = grid(6, 3);
    struct area area = {0, 0, 5, 3};
    struct lines lines = {0};

    lines_text(&lines, COLOUR_NONE, "abc");
    lines_text(&lines, COLOUR_NONE, "def");
    lines_end(&lines);
    lines_text(&lines, COLOUR_NONE, "abcde   "); /* trailing blanks do not count */
    lines_end(&lines);
    lines_text(&lines, COLOUR_NONE, "abc字字");
    lines_end(&lines);
    for (unsigned i = 0; i < 3; i++)
        cells_line(&cells, &area, i, &lines, i);
    check_print(&cells, "abcd…\nabcde\nabc …\n");
    lines_release(&lines);
    cells_release(&cells);
}

TEST(a_line_of_spans_keeps_their_roles)
{
    struct cell_grid cells = grid(10, 1);
    struct area area = {1, 0, 9, 1};
    struct lines lines = {0};

    lines_text(&lines, COLOUR_TYPE, "ab");
    lines_add(&lines, COLOUR_NONE, SPAN_ITALIC, STR("cd"));
    lines_end(&lines);
    cells_line(&cells, &area, 0, &lines, 0);
    cells_line(&cells, &area, 0, &lines, 7);
    cells_back(&cells, &area, 0, COLOUR_DIM, SPAN_BOLD);
    check_print(&cells, " abcd\n");
    CHECK(cells.at[1].colour == COLOUR_TYPE && cells.at[3].flags & SPAN_ITALIC);
    CHECK(cells.at[9].back == COLOUR_DIM && cells.at[0].back == COLOUR_NONE);
    lines_release(&lines);
    cells_release(&cells);
}

TEST(half_blocks_use_foreground_and_background)
{
    struct cell_grid cells;
    struct area area = {0, 0, 4, 1};
    struct lines lines = {0};

    CHECK_INT(cells_init(&cells, 4, 1), 0);
    lines_text(&lines, COLOUR_NONE, "a");
    lines_add_halves(&lines, COLOUR_HEAT, COLOUR_HEAT + 3, STR("░▒"));
    lines_end(&lines);
    cells_line(&cells, &area, 0, &lines, 0);
    CHECK_STR(cells.at[1].text, "▀");
    CHECK_STR(cells.at[2].text, "▀");
    CHECK_INT(cells.at[2].colour, COLOUR_HEAT);
    CHECK_INT(cells.at[2].back, COLOUR_HEAT + 3);
    CHECK_INT(cells.at[0].back, COLOUR_NONE);
    lines_release(&lines);
    cells_release(&cells);
}
