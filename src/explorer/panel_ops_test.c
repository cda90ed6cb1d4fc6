/* Panels of a recording with operations. */
#include "base/test.h"
#include "explorer/panels_in.h"
#include "explorer/tree_lines.h"
#include "run/sample_block.h"
#include "text/width.h"

struct scene {
    struct session *session;
    struct explorer explorer;
    struct lines lines;
    struct buf text;
};

static void scene_begin(struct scene *s, struct run *run)
{
    *s = (struct scene){.session = session_of_run(run, NULL)};
    CHECK(s->session);
    CHECK(explorer_begin(&s->explorer, s->session, NULL, false, NULL) == 0);
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

/* All text of a panel, without blanks at the ends of lines. */
static const char *said(struct scene *s, enum panel_number number, unsigned width)
{
    struct panel_room room = {.width = width, .height = 30};

    lines_clear(&s->lines);
    buf_clear(&s->text);
    panels[number]->lines(&s->lines, &s->explorer, &s->explorer.panels[number], &room);
    for (uint32_t i = 0; i < s->lines.n; i++) {
        line_plain(&s->text, &s->lines, i);
        while (s->text.len > 0 && s->text.at[s->text.len - 1] == ' ')
            s->text.len--;
        buf_char(&s->text, '\n');
    }
    return buf_cstr(&s->text);
}

static bool says(struct scene *s, enum panel_number number, const char *part)
{
    said(s, number, 80);
    return str_find(buf_span(&s->text), str_of(part)) >= 0;
}

TEST(code_has_the_shapes_of_lines_that_call_no_module)
{
    struct scene s;

    scene_begin(&s, sample_block((struct sample_block_wanted){.nan = true}));
    go(&s, "");
    CHECK_STR(said(&s, PANEL_CODE, 62),
              " 10  class Net(nn.Module):\n"
              " 11    def forward(self, x):                        x 2×3×8×8\n"
              " 12      x = self.block(self.stem(x))                 2×8×8×8\n"
              " 13      a, b = x.split(4, 1)                         2×4×8×8\n"
              " 14      x = torch.cat([b, a], 1)                     2×8×8×8\n"
              " 15      x = x.mean((2, 3))                               2×8\n"
              " 16      x = x.view(2, 2, 4).transpose(1, 2).reshape(2, 8)  16\n"
              " 17      return self.head(x) * 2                         2×10\n");
    go(&s, "block");
    CHECK_STR(said(&s, PANEL_CODE, 60),
              " 1  class Block(nn.Module):\n"
              " 2    def forward(self, x):                       x 2×8×8×8\n"
              " 3      identity = x\n"
              " 4      out = self.relu(self.conv1(x))              2×8×8×8\n"
              " 5      out = self.conv2(out)                       2×8×8×8\n"
              " 6      out = self.drop(out)                        2×8×8×8\n"
              " 7      out += identity                       2×8×8×8 NaN 3\n"
              " 8      return self.relu(out)                       2×8×8×8\n");
    scene_end(&s);
}

TEST(performance_lists_the_slowest_operations_of_the_selected_module)
{
    struct scene s;

    scene_begin(&s, sample_block((struct sample_block_wanted){.backward = true}));
    go(&s, "block");
    CHECK(
        says(&s, PANEL_PERFORMANCE,
             "  operations            calls      time  of ops   FLOPs  memory  phase\n"
             "  convolution               2  580.00μs     56%  294.9K   8.0KB  "
             "forward\n"
             "  convolution_backward      1  400.00μs     39%  294.9K   2.2KB  "
             "backward\n"
             "  relu                      2   40.00μs      4%           8.0KB  "
             "forward\n"
             "  add_                      1   11.00μs      1%                  "
             "forward\n"));
    go(&s, "block.drop");
    CHECK(!says(&s, PANEL_PERFORMANCE, "  operations"));
    go(&s, "head.weight");
    CHECK(!says(&s, PANEL_PERFORMANCE, "  operations"));
    scene_end(&s);
}

TEST(details_have_the_sums_of_a_modules_operations)
{
    struct scene s;

    scene_begin(&s, sample_block((struct sample_block_wanted){.backward = true}));
    go(&s, "block");
    CHECK(says(&s, PANEL_DETAILS, " operations 5 forward, 1 backward\n"));
    CHECK(says(&s, PANEL_DETAILS, "forward 294.9K by 2 of 5 operations"));
    CHECK(says(&s, PANEL_DETAILS, "16.0KB forward, 2.2KB backward\n"));
    go(&s, "");
    CHECK(says(&s, PANEL_DETAILS, "FLOPs"));
    go(&s, "block.relu"); /* each of several calls shows its own */
    CHECK(says(&s, PANEL_DETAILS, " call 1 (net.py:4)  22.00μs  1 operation  eval\n"));
    go(&s, "block.conv1");
    CHECK(says(&s, PANEL_DETAILS, " call 1 (net.py:4)  302.00μs  eval\n"));
    scene_end(&s);
}

/* Narrower bars of panel 5 are cut when drawn. */
TEST(panels_with_operations_fit_into_any_width)
{
    struct scene s;

    scene_begin(&s, sample_block((struct sample_block_wanted){.nan = true}));
    for (uint32_t place = 0; place < s.session->model->n_places; place++) {
        browse_go(s.explorer.browse, place);
        for (unsigned width = 52; width <= 300; width += 1 + width / 8)
            for (int n = PANEL_DETAILS; n <= PANEL_FLOW; n++) {
                said(&s, (enum panel_number)n, width);
                for (uint32_t i = 0; i < s.lines.n; i++) {
                    buf_clear(&s.text);
                    line_plain(&s.text, &s.lines, i);
                    CHECK(text_width(buf_span(&s.text)) <= width);
                }
            }
    }
    scene_end(&s);
}

TEST(flow_follows_values_through_operations)
{
    struct panel_state *state;
    struct scene s;

    scene_begin(&s, sample_block((struct sample_block_wanted){.nan = false}));
    go(&s, "block");
    state = &s.explorer.panels[PANEL_FLOW];
    said(&s, PANEL_FLOW, 60);
    CHECK(flow_panel.act(&s.explorer, state, ACT_NEXT)); /* x to conv1 */
    for (uint32_t row = 2; row < 8; row++) {
        CHECK_INT(state->cursor, row - 1);
        CHECK(flow_panel.act(&s.explorer, state, ACT_NEXT));
    }
    CHECK_INT(state->cursor, 7);
    state->cursor = 5; /* + */
    CHECK(!flow_panel.act(&s.explorer, state, ACT_ENTER));
    CHECK(flow_panel.act(&s.explorer, state, ACT_PREVIOUS));
    CHECK_INT(state->cursor, 4);
    go(&s, "head"); /* its own operations, then out to where it was called */
    said(&s, PANEL_FLOW, 60);
    state->cursor = 2;
    CHECK(says(&s, PANEL_FLOW, "@  aten::mm"));
    CHECK(flow_panel.act(&s.explorer, state, ACT_OUT));
    CHECK(says(&s, PANEL_FLOW, " head  Linear   13.50μs\n"));
    scene_end(&s);
}

TEST(the_title_has_the_flops_if_there_is_room)
{
    struct scene s;

    scene_begin(&s, sample_block((struct sample_block_wanted){.nan = false}));
    for (unsigned width = 40; width <= 140; width += 20) {
        bool number, whole;

        lines_clear(&s.lines);
        buf_clear(&s.text);
        title_line(&s.lines, &s.explorer, width);
        line_plain(&s.text, &s.lines, 0);
        CHECK_INT(text_width(buf_span(&s.text)), width);
        number = str_find(buf_span(&s.text), STR("s   350.5K FLOPs")) > 0;
        whole = str_find(buf_span(&s.text), STR(" by 4 of 16 ops, all matrix")) > 0;
        CHECK_INT(number, width >= 100);
        CHECK_INT(whole, width >= 120);
    }
    scene_end(&s);
}
