/* Panel 6 as boxes: the drawing, keys and the mouse. */
#include <stdio.h>

#include "base/test.h"
#include "explorer/flow_in.h"
#include "run/sample_attention.h"
#include "run/sample_block.h"
#include "run/sample_run.h"
#include "session/sample_session.h"
#include "study/sample_program.h"
#include "text/glyph.h"
#include "text/width.h"

struct box_scene {
    struct session *session;
    struct explorer explorer;
    struct panel_state *state;
    struct lines lines;
    struct buf text;
    struct panel_room room;
};

static void scene_begin(struct box_scene *s, struct session *session)
{
    *s = (struct box_scene){.session = session, .room = {.width = 59, .height = 40}};
    CHECK(s->session);
    CHECK(explorer_begin(&s->explorer, s->session, NULL, false, NULL) == 0);
    s->state = &s->explorer.panels[PANEL_FLOW];
    s->state->view = FLOW_BOXES;
}

static void scene_of_run(struct box_scene *s, struct run *run)
{
    scene_begin(s, session_of_run(run, NULL));
}

static void scene_end(struct box_scene *s)
{
    lines_release(&s->lines);
    buf_release(&s->text);
    explorer_end(&s->explorer);
    session_close(s->session);
}

static void go(struct box_scene *s, const char *name)
{
    browse_go(s->explorer.browse, place_find(s->session->model, str_of(name)));
}

/* All text of the panel, without blanks at the ends of lines. */
static const char *said(struct box_scene *s)
{
    lines_clear(&s->lines);
    buf_clear(&s->text);
    flow_panel.lines(&s->lines, &s->explorer, s->state, &s->room);
    for (uint32_t i = 0; i < s->lines.n; i++) {
        line_plain(&s->text, &s->lines, i);
        while (s->text.len > 0 && s->text.at[s->text.len - 1] == ' ')
            s->text.len--;
        buf_char(&s->text, '\n');
    }
    return buf_cstr(&s->text);
}

static bool says(struct box_scene *s, const char *part)
{
    said(s);
    return str_find(buf_span(&s->text), str_of(part)) >= 0;
}

static bool act(struct box_scene *s, enum panel_act act)
{
    bool done = flow_panel.act(&s->explorer, s->state, act);

    said(s);
    return done;
}

/* Is the node with this name selected? Checks the last lines. */
static bool is_at(struct box_scene *s, const char *name)
{
    const struct flow_boxes *boxes = &((struct panel_flow_own *)s->state->own)->boxes;

    return str_is(boxes->graph->nodes[boxes->selected].name, name);
}

TEST(a_residual_block_is_drawn_as_boxes)
{
    struct box_scene s;

    scene_of_run(&s, sample_block((struct sample_block_wanted){.nan = false}));
    go(&s, "block");
    CHECK_STR(said(&s), "    x  2×8×8×8 float32\n"
                        "             ├─────────────╮\n"
                        "   ╔═════════▼═════════╗   │\n"
                        "   ║▌conv1     Conv2d  ║   │\n"
                        "   ║ relu 1/2  ReLU    ║   │\n"
                        "   ║ conv2     Conv2d  ║   │\n"
                        "   ║ drop      Dropout ║   │\n"
                        "   ╚═════════╤═════════╝   │\n"
                        "             │ 2×8×8×8     │\n"
                        "            (+)◄───────────╯\n"
                        "             │ 2×8×8×8\n"
                        "   ┌─────────▼─────────┐\n"
                        "   │ relu 2/2  ReLU    │\n"
                        "   └─────────┬─────────┘\n"
                        "             │\n"
                        "  output  2×8×8×8 float32\n"
                        "\n"
                        " block.conv1  Conv2d\n"
                        " 576 params   302.00μs   net.py:4\n");
    scene_end(&s);
}

TEST(a_transformer_block_is_drawn_as_boxes)
{
    struct box_scene s;

    scene_of_run(&s, sample_attention());
    go(&s, "block");
    CHECK_STR(said(&s), "         x  1×8×64 float32\n"
                        "                 ├───────────────────╮\n"
                        " ╔═══════════════▼═══════════════╗   │\n"
                        " ║▌ln_1    LayerNorm             ║   │\n"
                        " ║ attn ▸  Attention, 4 × Linear ║   │\n"
                        " ╚═══════════════╤═══════════════╝   │\n"
                        "                 │ 1×8×64            │\n"
                        "                (+)◄─────────────────╯\n"
                        "                 │ 1×8×64\n"
                        "                 ├───────────────────╮\n"
                        " ┌───────────────▼───────────────┐   │\n"
                        " │ ln_2  LayerNorm               │   │\n"
                        " └───────────────┬───────────────┘   │\n"
                        "                 │ 1×8×64            │\n"
                        " ┌─ mlp ─────────▼───────────────┐   │\n"
                        " │ 0  Linear 64→256      1×8×256 │   │\n"
                        " │ 1  GELU                       │   │\n"
                        " │ 2  Linear 256→64              │   │\n"
                        " └───────────────┬───────────────┘   │\n"
                        "                 │ 1×8×64            │\n"
                        "                (+)◄─────────────────╯\n"
                        "                 │\n"
                        "      output  1×8×64 float32\n"
                        "\n"
                        " block.ln_1  LayerNorm\n"
                        " 1.10μs\n");
    scene_end(&s);
}

TEST(a_wide_panel_shows_the_content_of_groups)
{
    struct box_scene s;

    scene_of_run(&s, sample_attention());
    go(&s, "block");
    s.room = (struct panel_room){.width = 110, .height = 60};
    CHECK_STR(
        said(&s),
        "                                    x  1×8×64 float32\n"
        "                                            "
        "├─────────────────────────────────────────────╮\n"
        "                              ╔═════════════▼═════════════╗                   "
        "            │\n"
        "                              ║ ln_1  LayerNorm           ║                   "
        "            │\n"
        "                              ╚═════════════╤═════════════╝                   "
        "            │\n"
        "                                            │ 1×8×64                          "
        "            │\n"
        " ┌─ attn  Attention "
        "────────────────────────┼─────────────────────────────────────────┐   │\n"
        " │            ╭─────────────────────────────┼─────────────────────────────╮   "
        "        │   │\n"
        " │ ┌──────────▼─────────┐   ┌───────────────▼──────────────┐   "
        "┌──────────▼─────────┐ │   │\n"
        " │ │ q     Linear 64→64 │   │ k     Linear 64→64           │   │ v     Linear "
        "64→64 │ │   │\n"
        " │ │ view  1×4×8×16     │   │ view  1×4×8×16               │   │ view  "
        "1×4×8×16     │ │   │\n"
        " │ └──────────┬─────────┘   └───────────────┬──────────────┘   "
        "└──────────┬─────────┘ │   │\n"
        " │            ╰──────────────────────────╮  │  ╭──────────────────────────╯   "
        "        │   │\n"
        " │                          ┌────────────▼──▼──▼───────────┐                  "
        "        │   │\n"
        " │                          │ scaled_dot_product_attention │                  "
        "        │   │\n"
        " │                          │ view  1×8×64                 │                  "
        "        │   │\n"
        " │                          │ proj  Linear 64→64           │                  "
        "        │   │\n"
        " │                          └───────────────┬──────────────┘                  "
        "        │   │\n"
        " └──────────────────────────────────────────┼─────────────────────────────────"
        "────────┘   │\n"
        "                                            │ 1×8×64                          "
        "            │\n"
        "                                           "
        "(+)◄───────────────────────────────────────────╯\n"
        "                                            │ 1×8×64\n"
        "                                            ├─────────────────╮\n"
        "                              ┌─────────────▼─────────────┐   │\n"
        "                              │ ln_2  LayerNorm           │   │\n"
        "                              └─────────────┬─────────────┘   │\n"
        "                                            │ 1×8×64          │\n"
        "                              ┌─ mlp ───────▼─────────────┐   │\n"
        "                              │ 0  Linear 64→256  1×8×256 │   │\n"
        "                              │ 1  GELU                   │   │\n"
        "                              │ 2  Linear 256→64          │   │\n"
        "                              └─────────────┬─────────────┘   │\n"
        "                                            │ 1×8×64          │\n"
        "                                           (+)◄───────────────╯\n"
        "                                            │\n"
        "                                 output  1×8×64 float32\n"
        "\n"
        " block.ln_1  LayerNorm\n"
        " 1.10μs\n");
    scene_end(&s);
}

TEST(boxes_in_ascii)
{
    struct buf ascii = BUF_INIT;
    struct box_scene s;

    scene_of_run(&s, sample_block((struct sample_block_wanted){.nan = false}));
    s.explorer.ascii = true;
    go(&s, "block");
    said(&s);
    CHECK(act(&s, ACT_DOWN));
    glyph_to_ascii(&ascii, s.text.at, s.text.len);
    CHECK_STR(buf_cstr(&ascii), "    x  2x8x8x8 float32\n"
                                "             |-------------+\n"
                                "   #=========v=========#   |\n"
                                "   # conv1     Conv2d  #   |\n"
                                "   #>relu 1/2  ReLU    #   |\n"
                                "   # conv2     Conv2d  #   |\n"
                                "   # drop      Dropout #   |\n"
                                "   #=========+=========#   |\n"
                                "             | 2x8x8x8     |\n"
                                "            (+)<-----------+\n"
                                "             | 2x8x8x8\n"
                                "   +---------v---------+\n"
                                "   | relu 2/2  ReLU    |\n"
                                "   +---------+---------+\n"
                                "             |\n"
                                "  output  2x8x8x8 float32\n"
                                "\n"
                                " block.relu  ReLU\n"
                                " 22.00us   net.py:4\n");
    buf_release(&ascii);
    scene_end(&s);
}

TEST(keys_follow_lines_across_into_modules_and_out)
{
    struct box_scene s;

    scene_of_run(&s, sample_block((struct sample_block_wanted){.nan = false}));
    go(&s, "block");
    CHECK(!flow_panel.act(&s.explorer, s.state, ACT_DOWN)); /* not drawn yet */
    said(&s);
    CHECK(is_at(&s, "conv1"));
    CHECK(act(&s, ACT_UP) && is_at(&s, "x"));
    CHECK(!act(&s, ACT_UP));
    CHECK(act(&s, ACT_DOWN) && is_at(&s, "conv1"));
    CHECK(act(&s, ACT_NEXT) && is_at(&s, "relu"));
    CHECK(act(&s, ACT_DOWN) && is_at(&s, "conv2"));
    CHECK(act(&s, ACT_DOWN) && is_at(&s, "drop"));
    CHECK(act(&s, ACT_DOWN) && is_at(&s, "+"));
    CHECK(!act(&s, ACT_ENTER)); /* an operation */
    CHECK(!act(&s, ACT_RIGHT) && !act(&s, ACT_LOG));
    CHECK(act(&s, ACT_PREVIOUS) && is_at(&s, "drop"));
    CHECK(act(&s, ACT_LAST) && is_at(&s, "output"));
    CHECK(!act(&s, ACT_LAST) && !act(&s, ACT_ENTER));
    CHECK(act(&s, ACT_FIRST) && is_at(&s, "conv1"));
    CHECK(act(&s, ACT_OUT));
    CHECK_INT(browse_place(s.explorer.browse), 0);
    CHECK(says(&s, "─ block ─") && is_at(&s, "conv1")); /* the block that was left */
    CHECK(!act(&s, ACT_OUT));
    CHECK(act(&s, ACT_ENTER));
    CHECK_INT(browse_place(s.explorer.browse),
              place_find(s.session->model, STR("block.conv1")));
    scene_end(&s);
}

TEST(left_and_right_go_to_adjacent_boxes)
{
    struct box_scene s;

    scene_of_run(&s, sample_attention());
    go(&s, "block.attn");
    said(&s);
    CHECK(act(&s, ACT_UP) && is_at(&s, "x"));
    CHECK(act(&s, ACT_DOWN));
    CHECK(act(&s, ACT_LEFT) || act(&s, ACT_RIGHT));
    for (int i = 0; i < 3; i++)
        act(&s, ACT_RIGHT);
    CHECK(!act(&s, ACT_RIGHT));
    CHECK(act(&s, ACT_LEFT) && act(&s, ACT_LEFT) && !act(&s, ACT_LEFT));
    scene_end(&s);
}

TEST(v_shows_rows_or_boxes_of_the_same_call)
{
    struct buf subject = BUF_INIT;
    struct box_scene s;

    scene_of_run(&s, sample_block((struct sample_block_wanted){.nan = false}));
    go(&s, "block");
    said(&s);
    CHECK(act(&s, ACT_DOWN) && act(&s, ACT_DOWN) && is_at(&s, "conv2"));
    flow_panel.subject(&subject, &s.explorer);
    CHECK_STR(buf_cstr(&subject), "block Block, boxes");
    CHECK(act(&s, ACT_VIEW));
    CHECK_INT(s.state->view, FLOW_ROWS);
    CHECK(says(&s, "├─╮   conv1  Conv2d"));
    CHECK(flow_panel.act(&s.explorer, s.state, ACT_VIEW));
    CHECK(flow_panel.act(&s.explorer, s.state, ACT_VIEW)); /* now its row is known */
    CHECK(says(&s, " conv2  Conv2d   282.00μs\n"));
    s.state->cursor = 6; /* relu, the second call */
    CHECK(act(&s, ACT_VIEW) && is_at(&s, "relu"));
    CHECK(says(&s, "║ relu 2/2  ReLU    ║"));
    CHECK(flow_panel.drawn(s.state));
    CHECK(!panel_has_cursor(&flow_panel, s.state));
    buf_release(&subject);
    scene_end(&s);
}

TEST(a_click_selects_a_box)
{
    struct box_scene s;

    scene_of_run(&s, sample_block((struct sample_block_wanted){.nan = false}));
    go(&s, "block");
    CHECK(!panel_click(&flow_panel, &s.explorer, s.state, 5, 6));
    said(&s);
    CHECK(panel_click(&flow_panel, &s.explorer, s.state, 5, 6));
    CHECK(is_at(&s, "conv2"));
    CHECK(panel_click(&flow_panel, &s.explorer, s.state, 9, 13));
    CHECK(is_at(&s, "+"));
    CHECK(!panel_click(&flow_panel, &s.explorer, s.state, 9, 16)); /* a line */
    CHECK(!panel_click(&flow_panel, &s.explorer, s.state, 9, 0));
    CHECK(!panel_click(&flow_panel, &s.explorer, s.state, 900, 1));
    scene_end(&s);
}

/* In a small panel the selected box stays visible, also sideways. */
/* 24 layers in a row, in four blocks of six: "b0_l0" to "b3_l5". */
static const struct model *flat_model(void)
{
    struct sample_program s;
    uint32_t modules[24], x, y;

    sample_program_begin(&s);
    for (int i = 0; i < 24; i++) {
        char name[16], class_name[16];

        snprintf(name, sizeof name, "b%d_l%d", i / 6, i % 6);
        snprintf(class_name, sizeof class_name, "net.L%d", i);
        modules[i] = sample_program_module(&s, name, class_name);
    }
    sample_program_code(&s);
    x = y = sample_program_input(&s, "x", false);
    for (int i = 0; i < 24; i++) {
        sample_program_enter(&s, modules[i], y);
        y = sample_program_op(&s, "aten::first", y, PROGRAM_NONE);
        sample_program_leave(&s, y);
    }
    return sample_program_end(&s, x, y);
}

TEST(enter_on_a_group_of_names_goes_to_its_first_module)
{
    struct box_scene s;

    scene_begin(&s, session_of(flat_model(), NULL));
    s.room.height = 20;
    CHECK(says(&s, "b3"));
    for (int i = 0; i < 60 && !is_at(&s, "b1"); i++)
        act(&s, ACT_DOWN);
    CHECK(is_at(&s, "b1"));
    CHECK(act(&s, ACT_ENTER));
    CHECK_STR(place_name(s.session->model, explorer_place(&s.explorer)).at, "b1_l0");
    scene_end(&s);
}

TEST(the_selected_box_stays_visible)
{
    struct box_scene s;

    scene_of_run(&s, sample_attention());
    go(&s, "block.attn");
    s.room = (struct panel_room){.width = 24, .height = 9};
    said(&s);
    CHECK(act(&s, ACT_FIRST) || true);
    for (int i = 0; i < 60; i++) {
        static const enum panel_act ways[] = {ACT_DOWN, ACT_RIGHT, ACT_DOWN,
                                              ACT_LEFT, ACT_LEFT,  ACT_UP};
        const struct flow_boxes *boxes;
        struct boxes_spot spot;
        uint32_t rows;

        act(&s, ways[i % 6]);
        boxes = &((struct panel_flow_own *)s.state->own)->boxes;
        spot = boxes_where(&boxes->drawing, boxes->selected);
        rows = s.room.height - s.state->foot;
        CHECK(spot.row >= s.state->top && spot.row < s.state->top + rows);
        CHECK(spot.left >= boxes->column || spot.right - spot.left > 22);
        CHECK(spot.left < boxes->column + 23 && spot.right > boxes->column);
    }
    scene_end(&s);
}

TEST(a_leaf_is_shown_with_its_operations_or_in_its_block)
{
    struct box_scene s;

    scene_of_run(&s, sample_block((struct sample_block_wanted){.nan = false}));
    go(&s, "head"); /* has operations of its own */
    CHECK(says(&s, "mm"));
    go(&s, "block.drop"); /* has none: shown in its block */
    CHECK(says(&s, "║▌drop      Dropout ║"));
    go(&s, "block.conv2.weight");
    CHECK(says(&s, "convolution"));
    scene_end(&s);
}

/* With two passes, the boxes are those of the chosen call. */
TEST(boxes_show_the_chosen_call)
{
    struct box_scene s;
    uint32_t newest, first;

    scene_of_run(&s, sample_block((struct sample_block_wanted){.twice = true}));
    go(&s, "block");
    CHECK(says(&s, "║▌conv1 "));
    newest = flow_boxes_call(&((struct panel_flow_own *)s.state->own)->boxes);
    s.explorer.call = 0;
    CHECK(says(&s, "║▌conv1 "));
    first = flow_boxes_call(&((struct panel_flow_own *)s.state->own)->boxes);
    CHECK(first < newest);
    CHECK_INT(s.session->run->calls[first].number, 0);
    CHECK_INT(s.session->run->calls[newest].number, 1);
    scene_end(&s);
}

TEST(boxes_report_what_is_missing)
{
    struct box_scene s;

    scene_of_run(&s, sample_run(1)); /* only calls */
    go(&s, "");
    CHECK(says(&s, " Lines show only which call took what another returned"));
    CHECK(says(&s, "╔"));
    go(&s, "list"); /* a list of modules */
    CHECK(says(&s, " defines no forward\n"));
    CHECK(!act(&s, ACT_DOWN));
    scene_end(&s);
    scene_begin(&s, sample_session());
    CHECK(says(&s, " a state_dict has no graph"));
    CHECK(!act(&s, ACT_ENTER));
    CHECK(act(&s, ACT_VIEW) && says(&s, "no recording"));
    scene_end(&s);
}

/* A drawing for one width or module must not be shown for another. */
TEST(boxes_fit_into_any_panel)
{
    struct box_scene s;

    scene_of_run(&s, sample_attention());
    for (uint32_t place = 0; place < s.session->model->n_places; place++) {
        browse_go(s.explorer.browse, place);
        for (unsigned width = 20; width <= 200; width += 1 + width / 6)
            for (unsigned height = 3; height <= 60; height += 1 + height / 2) {
                s.room = (struct panel_room){.width = width, .height = height};
                said(&s);
                for (uint32_t i = 0; i < s.lines.n; i++) {
                    buf_clear(&s.text);
                    line_plain(&s.text, &s.lines, i);
                    CHECK(text_width(buf_span(&s.text)) <= width);
                }
            }
    }
    scene_end(&s);
}

TEST(too_many_boxes_are_refused_with_a_clear_error)
{
    struct box_scene s;

    scene_of_run(&s, sample_block((struct sample_block_wanted){.adds = 500}));
    go(&s, "");
    CHECK(says(&s, "boxes are too many to draw here; v shows them as rows"));
    scene_end(&s);
}
