#include "facts/flow_text.h"

#include "base/test.h"
#include "run/sample_block.h"
#include "run/sample_run.h"
#include <stdlib.h>

struct scene {
    struct session *session;
    struct show show;
    struct arena arena;
    struct flow_text text;
    struct lines lines;
    struct buf said;
};

static void scene_begin(struct scene *s, struct run *run, uint32_t call)
{
    *s = (struct scene){.session = session_of_run(run, NULL)};
    CHECK(s->session);
    arena_init(&s->arena, 0);
    CHECK(show_init(&s->show, s->session, &s->arena, NULL) == 0);
    CHECK(flow_text_make(&s->text, &s->show, call, &s->arena, NULL) == 0);
}

static void scene_end(struct scene *s)
{
    lines_release(&s->lines);
    buf_release(&s->said);
    arena_release(&s->arena);
    session_close(s->session);
}

/* All lines as text, each with its newline. */
static const char *said(struct scene *s)
{
    buf_clear(&s->said);
    for (uint32_t i = 0; i < s->lines.n; i++) {
        line_plain(&s->said, &s->lines, i);
        while (s->said.len > 0 && s->said.at[s->said.len - 1] == ' ')
            s->said.len--;
        buf_char(&s->said, '\n');
    }
    lines_clear(&s->lines);
    return s->said.at;
}

static const struct sample_block_wanted plain = {.adds = 0};

/* The calls of sample_block(), in order. */
enum { NET, STEM, BLOCK, CONV1, RELU, CONV2, DROP, RELU_AGAIN, HEAD };

TEST(a_residual_is_a_rail_beside_the_block)
{
    struct scene s;

    scene_begin(&s, sample_block((struct sample_block_wanted){.nan = true}), BLOCK);
    CHECK(s.text.flow.has_ops);
    flow_text_lines(&s.lines, &s.text, 60);
    CHECK_STR(said(&s), " ●     x                                   2×8×8×8\n"
                        " ├─╮   conv1  Conv2d                       2×8×8×8  302.00μs\n"
                        " │ ●   relu  ReLU                          2×8×8×8   22.00μs\n"
                        " │ ●   conv2  Conv2d                       2×8×8×8  282.00μs\n"
                        " │ ●   drop  Dropout                       2×8×8×8    1.00μs\n"
                        " ├─╯   +  net.py:7  NaN 3                  2×8×8×8   11.00μs\n"
                        " ●     relu  ReLU                          2×8×8×8   22.00μs\n"
                        " ●     → slice in Net                      2×8×8×8\n");
    CHECK(s.text.cells[5].alarm && !s.text.cells[5].dim);
    scene_end(&s);
}

TEST(operations_between_modules_have_rows_and_views_are_one)
{
    struct scene s;

    scene_begin(&s, sample_block(plain), NET);
    flow_text_lines(&s.lines, &s.text, 60);
    CHECK_STR(said(&s), " ●     x                                   2×3×8×8\n"
                        " ●     stem  Conv2d                        2×8×8×8  122.00μs\n"
                        " ●     block  Block                        2×8×8×8  647.00μs\n"
                        " ├─╮   slice  net.py:13                    2×4×8×8    4.00μs\n"
                        " ● │   slice  net.py:13                    2×4×8×8    4.00μs\n"
                        " ├─╯   cat  net.py:14                      2×8×8×8   15.00μs\n"
                        " ●     mean  net.py:15                         2×8   15.00μs\n"
                        " ●     view, transpose, view  net.py:16         16    3.00μs\n"
                        " ●     head  Linear                           2×10   13.50μs\n"
                        " ●     ×  net.py:17                           2×10    5.00μs\n"
                        " ●     → result                               2×10\n");
    CHECK(s.text.cells[3].dim && s.text.cells[7].dim && !s.text.cells[5].dim);
    CHECK_INT(s.text.flow.rows[7].n_ops, 3);
    scene_end(&s);
}

TEST(a_module_without_modules_shows_its_operations)
{
    struct scene s;
    uint32_t inner;

    scene_begin(&s, sample_block(plain), HEAD);
    CHECK_INT(flow_block(s.session->run, HEAD, &inner), HEAD);
    CHECK_INT(inner, RUN_NONE);
    flow_text_lines(&s.lines, &s.text, 50);
    CHECK_STR(said(&s), " ●     input                            16\n"
                        " │ ●   t  net.py:17                   8×10  1.50μs\n"
                        " ├─╯   @  net.py:17                   2×10  9.00μs\n"
                        " ●     → × in Net                     2×10\n");
    flow_text_row(&s.lines, &s.show, &s.text, 2, 60, 8);
    CHECK_STR(said(&s), "\n"
                        " @  aten::mm   320 FLOPs   9.00μs\n"
                        " in    input  16 float32   from input\n"
                        "       weight  8×10 float32   from t\n"
                        " out   2×10   used by the result\n"
                        " code  net.py:17\n");
    flow_text_row(&s.lines, &s.show, &s.text, 1, 60, 4);
    CHECK_STR(said(&s), " in    10×8 float32   head.weight\n"
                        " out   8×10   used by @\n"
                        " code  net.py:17\n");
    scene_end(&s);
}

/* The view of its weight is the same value in both passes: the first pass made it. */
TEST(a_repeated_view_belongs_to_the_shown_pass)
{
    struct scene s;

    scene_begin(&s, sample_block((struct sample_block_wanted){.twice = true}),
                1 + HEAD + HEAD);
    flow_text_lines(&s.lines, &s.text, 50);
    CHECK_STR(said(&s), " ●     input                            16\n"
                        " │ ●   t  net.py:17                   8×10  1.50μs\n"
                        " ├─╯   @  net.py:17                   2×10  9.00μs\n"
                        " ●     → × in Net                     2×10\n");
    scene_end(&s);
}

TEST(a_narrow_flow_keeps_the_numbers_of_lines)
{
    struct scene s;

    scene_begin(&s, sample_block(plain), NET);
    flow_text_lines(&s.lines, &s.text, 53);
    said(&s);
    CHECK(str_find(buf_span(&s.said), STR("view, transpose, view  …:16  ")) > 0);
    CHECK(str_find(buf_span(&s.said), STR("cat  net.py:14 ")) > 0);
    scene_end(&s);
}

/* It passes its argument on without an operation, so its caller is shown. */
TEST(a_call_that_computes_nothing_is_shown_in_its_caller)
{
    struct scene s;
    uint32_t inner;

    scene_begin(&s, sample_block(plain), DROP);
    CHECK_INT(flow_block(s.session->run, DROP, &inner), BLOCK);
    CHECK_INT(inner, DROP);
    flow_text_lines(&s.lines, &s.text, 40);
    CHECK_STR(said(&s), " ●   input                       2×8×8×8\n"
                        " ●   → + in block                2×8×8×8\n");
    scene_end(&s);
}

/* sample_ops() has no arguments and results of calls: all edges come from operations.
 * Nothing reads what its detach returns. */
TEST(edges_need_no_arguments_of_calls)
{
    struct scene s;

    scene_begin(&s, sample_ops(), 0);
    flow_text_lines(&s.lines, &s.text, 40);
    CHECK_STR(said(&s), " ●       a  Linear\n"
                        " ├─╮     list.0  Block\n"
                        " ●─╯     +  net.py:12                2×2\n"
                        "     ●   → result\n");
    flow_text_row(&s.lines, &s.show, &s.text, 2, 60, 8);
    CHECK_STR(said(&s), "\n"
                        " +  aten::add_  alpha=1\n"
                        " in    self  2×2 float32   from list.0\n"
                        "       other  2×2 float32   from a\n"
                        " out   2×2   not used in this call\n"
                        " code  net.py:12\n");
    scene_end(&s);
}

TEST(the_middle_of_many_operations_is_one_row_that_counts_them)
{
    struct scene s;
    const struct flow_row *more;

    scene_begin(&s, sample_block((struct sample_block_wanted){.adds = 9999}), NET);
    CHECK_INT(s.text.flow.n, 9 + FLOW_OPS_FIRST + FLOW_OPS_LAST + 2);
    more = &s.text.flow.rows[9 + FLOW_OPS_FIRST];
    CHECK_INT(more->kind, FLOW_MORE);
    CHECK_INT(more->n_ops, 10000 - FLOW_OPS_FIRST - FLOW_OPS_LAST);
    CHECK_INT(more->n_from, 1);
    CHECK_INT(s.text.flow.from[more->from].row, 8 + FLOW_OPS_FIRST);
    CHECK_INT(more->n_to, 1);
    CHECK_STR(s.text.cells[9 + FLOW_OPS_FIRST].name.at, "… 9,000 more operations");
    CHECK(s.text.flow.columns == 2);
    flow_text_row(&s.lines, &s.show, &s.text, 9 + FLOW_OPS_FIRST, 60, 8);
    CHECK_STR(said(&s), "\n"
                        " … 9,000 more operations  no rows of their own\n");
    scene_end(&s);
}
