#include "facts/flow_text.h"

#include <stdlib.h>

#include "base/test.h"
#include "run/sample_run.h"

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

/* The sample's values all lie in one storage, so a pass of Net has an edge only where
 * the same value occurs again. */
TEST(a_flow_has_a_line_for_each_call_with_its_shape)
{
    struct scene s;

    scene_begin(&s, sample_run(1), 0);
    flow_text_lines(&s.lines, &s.text, 44);
    CHECK_INT(s.lines.at[1].target, 1);
    CHECK_STR(said(&s), " ●     [0]                               4×3\n"
                        " ●     a  Linear                         4×2\n"
                        "   ●   list.0  Block                     4×2\n"
                        "   ●   → result                          4×2\n"
                        " operations outside modules are not recorded\n");
    scene_end(&s);
}

TEST(one_row_shows_inputs_and_users_of_its_result)
{
    struct scene s;

    scene_begin(&s, sample_run(1), 0);
    flow_text_row(&s.lines, &s.show, &s.text, 1, 60, 8);
    CHECK_STR(said(&s), "\n"
                        " a  Linear\n"
                        " in    4×3 float32   from [0]\n"
                        " out   4×2   used by no module call; operations are not\n"
                        "       recorded\n"
                        " code  net.py:12\n");
    flow_text_row(&s.lines, &s.show, &s.text, 0, 60, 2);
    CHECK_STR(said(&s),
              " is    4×3 float32   used by a; operations are not recorded\n");
    flow_text_row(&s.lines, &s.show, &s.text, 3, 60, 3);
    CHECK_STR(said(&s), " is    4×2 float32   from list.0\n"
                        " out   4×2   → result\n");
    scene_end(&s);
}

TEST(a_narrow_flow_keeps_its_names)
{
    struct scene s;

    scene_begin(&s, sample_run(1), 0);
    flow_text_lines(&s.lines, &s.text, 20);
    CHECK_STR(said(&s), " ●     [0]\n"
                        " ●     a  Linear\n"
                        "   ●   list.0  Block\n"
                        "   ●   → result\n"
                        " operations outside\n"
                        " modules are not\n"
                        " recorded\n");
    scene_end(&s);
}

TEST(the_subject_of_a_flow_names_the_call_among_several)
{
    struct scene s;

    scene_begin(&s, sample_run(3), 2);
    flow_text_subject(&s.said, &s.show, 2);
    CHECK_STR(s.said.at, "list.0 Block, call 1 of 3");
    scene_end(&s);
}
