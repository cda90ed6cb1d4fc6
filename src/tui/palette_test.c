#include "tui/palette_in.h"

#include <stdio.h>

#include "base/test.h"

static const char *style(enum term_colours colours, bool light, struct cell cell)
{
    static char text[80];
    struct buf to = BUF_INIT;

    palette_style(&to, colours, light, &cell);
    snprintf(text, sizeof(text), "%s", buf_cstr(&to) + 1);
    buf_release(&to);
    return text;
}

TEST(a_role_has_its_colour_on_every_terminal)
{
    struct cell type = {.colour = COLOUR_TYPE};

    CHECK_STR(style(TERM_MONO, false, type), "[0m");
    CHECK_STR(style(TERM_16, false, type), "[0;36m");
    CHECK_STR(style(TERM_256, false, type), "[0;38;5;80m");
    CHECK_STR(style(TERM_256, true, type), "[0;38;5;30m");
    CHECK_STR(style(TERM_TRUE, false, type), "[0;38;2;95;215;215m");
    CHECK_STR(style(TERM_TRUE, true, type), "[0;38;2;0;135;135m");
}

TEST(without_colour_no_colour_code_is_written)
{
    for (unsigned role = 0; role < COLOUR_COUNT; role++)
        for (unsigned back = 0; back < COLOUR_COUNT; back++) {
            struct cell cell = {.colour = (uint8_t)role,
                                .back = (uint8_t)back,
                                .flags = SPAN_BOLD | SPAN_ITALIC};
            const char *at = style(TERM_MONO, false, cell);

            for (; *at; at++) /* 3x, 4x, 9x have two digits */
                CHECK(!(at[0] >= '0' && at[0] <= '9' && at[1] >= '0' && at[1] <= '9'));
        }
}

TEST(the_cursor_row_is_visible_with_few_colours)
{
    struct cell cell = {.back = COLOUR_CURSOR};

    CHECK_STR(style(TERM_MONO, false, cell), "[0;7m");
    CHECK_STR(style(TERM_16, false, cell), "[0;7m");
    CHECK_STR(style(TERM_256, false, cell), "[0;48;5;237m");
    CHECK_STR(style(TERM_TRUE, true, cell), "[0;48;2;228;228;228m");
    cell.colour = COLOUR_ALARM;
    cell.flags = SPAN_ITALIC | SPAN_UNDERLINE;
    CHECK_STR(style(TERM_256, false, cell), "[0;3;4;1;38;5;203;48;5;237m");
    CHECK_STR(style(TERM_MONO, false, (struct cell){.colour = COLOUR_DIM}), "[0;2m");
    CHECK_STR(style(TERM_TRUE, false, (struct cell){.colour = COLOUR_STRONG}), "[0;1m");
}
