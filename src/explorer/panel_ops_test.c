/* Panels of a recording with operations. */
#include "base/test.h"
#include "explorer/panels_in.h"
#include "run/sample_block.h"
#include "run/sample_run.h"

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
