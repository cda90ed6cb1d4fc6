#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/test.h"
#include "run/sample_attention.h"
#include "run/sample_run.h"
#include "session/sample_session.h"
#include "tui/tui_in.h"

/* An explorer without a terminal. */
struct stage {
    struct tui tui;
    struct tui_wanted wanted;
    struct session *session;
    struct buf text;
};

static struct stage *stage_on(struct session *session, unsigned columns, unsigned rows)
{
    struct stage *stage = calloc(1, sizeof *stage);
    struct err err = {0};

    CHECK(stage && session);
    stage->session = session;
    stage->wanted = (struct tui_wanted){.session = session, .settings = SETTINGS_INIT};
    CHECK_INT(tui_begin(&stage->tui, &stage->wanted, &err), 0);
    CHECK_INT(tui_begin_exploring(&stage->tui, &err), 0);
    CHECK_INT(cells_init(&stage->tui.cells, columns, rows), 0);
    tui_frame(&stage->tui);
    return stage;
}

static struct stage *stage_of_model(unsigned columns, unsigned rows)
{
    return stage_on(sample_session(), columns, rows);
}

static void end_stage(struct stage *stage)
{
    tui_end(&stage->tui);
    session_close(stage->session);
    buf_release(&stage->text);
    free(stage);
}

/* Press the keys of these bytes, drawing a frame after each. */
static void press(struct stage *stage, const char *bytes)
{
    size_t n = strlen(bytes);

    while (n > 0) {
        struct key key;
        size_t taken = keys_take(bytes, n, true, &key);

        tui_key(&stage->tui, &key);
        tui_frame(&stage->tui);
        bytes += taken;
        n -= taken;
    }
}

static const char *screen(struct stage *stage)
{
    buf_clear(&stage->text);
    cells_print(&stage->tui.cells, &stage->text);
    return buf_cstr(&stage->text);
}

static bool shows(struct stage *stage, const char *text)
{
    return strstr(screen(stage), text) != NULL;
}

#define SHOWS(stage, text)                                                             \
    (shows(stage, text)                                                                \
         ? (void)0                                                                     \
         : test_fail(__FILE__, __LINE__, "no \"%s\" in\n%s", text, screen(stage)))

static void resize(struct stage *stage, unsigned columns, unsigned rows)
{
    cells_release(&stage->tui.cells);
    CHECK_INT(cells_init(&stage->tui.cells, columns, rows), 0);
    tui_changed(&stage->tui);
    tui_frame(&stage->tui);
}

TEST(a_panel_key_opens_focuses_and_closes)
{
    struct stage *stage = stage_of_model(120, 36);

    SHOWS(stage, "── 1 Details ──");
    press(stage, "1");
    CHECK_INT(stage->tui.view.focus, PANEL_DETAILS);
    press(stage, "1");
    CHECK(!shows(stage, "1 Details"));
    CHECK_INT(stage->tui.view.focus, FOCUS_TREE);
    press(stage, "1\033");
    SHOWS(stage, "── 1 Details ──");
    CHECK_INT(stage->tui.view.focus, FOCUS_TREE);
    end_stage(stage);
}

TEST(hints_of_a_panel_name_the_keys_that_the_user_bound)
{
    struct stage *stage = stage_of_model(120, 24);
    struct err err = {0};

    press(stage, "2");
    SHOWS(stage, "( ) call   E editor");
    CHECK_INT(keymap_bind(stage->tui.keymap, STR("edit"), STR("^X"), &err), 0);
    CHECK_INT(keymap_bind(stage->tui.keymap, STR("next-call"), STR(""), &err), 0);
    tui_frame(&stage->tui);
    SHOWS(stage, "( call   ^X editor");
    end_stage(stage);
}

TEST(a_message_disappears_with_the_next_key)
{
    struct stage *stage = stage_of_model(120, 36);

    press(stage, "k");
    SHOWS(stage, "this is the first row");
    press(stage, "c");
    CHECK(!shows(stage, "this is the first row"));
    end_stage(stage);
}

TEST(escape_closes_the_innermost_first)
{
    struct stage *stage = stage_of_model(120, 36);

    press(stage, "1/weight\r");
    CHECK_INT(stage->tui.view.focus, FOCUS_TREE);
    press(stage, "1+");
    CHECK(stage->tui.view.zoom);
    press(stage, "?");
    CHECK(stage->tui.help.open);
    press(stage, "\033");
    CHECK(!stage->tui.help.open && stage->tui.view.zoom);
    press(stage, "\033");
    CHECK(!stage->tui.view.zoom && browse_filter(stage->tui.explorer.browse).len);
    press(stage, "\033");
    CHECK_INT(browse_filter(stage->tui.explorer.browse).len, 0);
    CHECK_INT(stage->tui.view.focus, PANEL_DETAILS);
    press(stage, "\033");
    CHECK_INT(stage->tui.view.focus, FOCUS_TREE);
    CHECK(!stage->tui.quit);
    press(stage, "+");
    CHECK(stage->tui.view.zoom);
    press(stage, "q");
    CHECK(!stage->tui.quit && !stage->tui.view.zoom);
    press(stage, "q");
    CHECK(stage->tui.quit);
    end_stage(stage);
}

TEST(enter_takes_the_highlighted_completion_if_the_line_is_not_a_command)
{
    struct stage *stage = stage_of_model(80, 24);

    press(stage, ":sor");
    press(stage, "\r"); /* continues with its argument */
    SHOWS(stage, "sort name");
    CHECK_INT(stage->tui.prompt.kind, PROMPT_COMMAND);
    press(stage, "para\r");
    SHOWS(stage, "params▾");
    CHECK(!stage->tui.prompt.kind);
    press(stage, ":b\r"); /* a valid line is run as typed */
    CHECK_INT(browse_place(stage->tui.explorer.browse),
              sample_place(stage->session, "b"));
    press(stage, ":Panel Flow\r");
    CHECK_INT(stage->tui.view.focus, PANEL_FLOW);
    press(stage, ":nothing\r");
    CHECK(stage->tui.trouble.len > 0);
    end_stage(stage);
}

TEST(the_arrows_choose_a_completion_or_on_an_empty_line_an_older_line)
{
    struct stage *stage = stage_of_model(80, 24);

    press(stage, ":flat \033[B\r");
    CHECK_INT(browse_view(stage->tui.explorer.browse)->flat, FLAT_TENSORS);
    press(stage, ":\033[A");
    CHECK_STR(buf_cstr(&stage->tui.prompt.text), "flat tensors");
    press(stage, "\033[A"); /* already the oldest */
    CHECK_STR(buf_cstr(&stage->tui.prompt.text), "flat tensors");
    press(stage, "\033[B"); /* the empty line again */
    CHECK_STR(buf_cstr(&stage->tui.prompt.text), "");
    press(stage, "\033[B");
    CHECK_STR(buf_cstr(&stage->tui.prompt.text), "open ");
    press(stage, "\033");
    end_stage(stage);
}

TEST(a_bad_pattern_turns_the_prompt_red_and_keeps_the_result)
{
    struct stage *stage = stage_of_model(80, 24);

    press(stage, "/weight");
    SHOWS(stage, "search: weight");
    press(stage, "\x15/(/");
    CHECK(stage->tui.prompt.bad);
    press(stage, "\r"); /* cannot be applied */
    CHECK(stage->tui.prompt.bad && stage->tui.prompt.kind == PROMPT_SEARCH);
    press(stage, "\033");
    CHECK(!stage->tui.prompt.kind);
    end_stage(stage);
}

TEST(keys_without_effect_give_a_reason)
{
    struct stage *stage = stage_of_model(80, 24);

    press(stage, "~");
    SHOWS(stage, "~ does nothing here");
    press(stage, "j");
    CHECK(!shows(stage, "does nothing"));
    press(stage, "8");
    SHOWS(stage, "8 does nothing here");
    end_stage(stage);
}

TEST(panel_7_opens_and_reports_a_missing_history)
{
    struct stage *stage = stage_of_model(80, 24);

    press(stage, "7");
    SHOWS(stage, "7 Training");
    SHOWS(stage, "no history: torchoscope.watch()");
    press(stage, "(");
    SHOWS(stage, "no steps to show");
    press(stage, "7");
    CHECK(!shows(stage, "7 Training"));
    end_stage(stage);
}

TEST(escape_and_a_key_at_once_are_two_keys)
{
    struct stage *stage = stage_of_model(80, 24);

    press(stage, "/weight");
    press(stage, "\033?"); /* one key for a terminal */
    CHECK(!stage->tui.prompt.kind && stage->tui.help.open);
    end_stage(stage);
}

TEST(labels_replace_the_panels_and_restore_them)
{
    struct stage *stage = stage_of_model(120, 36);

    press(stage, "L");
    SHOWS(stage, "── L Labels ──");
    CHECK(!shows(stage, "1 Details"));
    press(stage, "jj ");
    press(stage, "L");
    SHOWS(stage, "1 Details");
    end_stage(stage);
}

TEST(labels_that_do_not_fit_are_counted_and_scroll_into_view)
{
    struct stage *stage = stage_of_model(120, 24);

    press(stage, "L");
    SHOWS(stage, " more: ");
    CHECK(!shows(stage, "■ Name"));
    press(stage, "G");
    SHOWS(stage, "□ Shapes");
    CHECK(!shows(stage, " more: "));
    press(stage, "g");
    SHOWS(stage, " more: ");
    end_stage(stage);
}

/* The screen position of a text, counted from 1 for the mouse. */
static void find(struct stage *stage, const char *text, unsigned *ret_column,
                 unsigned *ret_row)
{
    const struct cell_grid *cells = &stage->tui.cells;

    for (unsigned row = 0; row < cells->rows; row++)
        for (unsigned column = 0; column < cells->columns; column++) {
            const struct cell *at = &cells->at[row * cells->columns + column];
            size_t have = 0, i = 0;

            while (column + i < cells->columns && text[have] &&
                   strncmp(text + have, at[i].text, strlen(at[i].text)) == 0)
                have += strlen(at[i++].text);
            if (text[have])
                continue;
            *ret_column = column + 1;
            *ret_row = row + 1;
            return;
        }
    test_fail(__FILE__, __LINE__, "no \"%s\" in\n%s", text, screen(stage));
}

static void click(struct stage *stage, const char *text)
{
    unsigned column, row;
    char bytes[64];

    find(stage, text, &column, &row);
    snprintf(bytes, sizeof(bytes), "\033[<0;%u;%uM\033[<0;%u;%um", column, row, column,
             row);
    press(stage, bytes);
}

TEST(the_mouse_does_what_keys_do)
{
    struct stage *stage = stage_of_model(80, 24);
    struct browse *browse = stage->tui.explorer.browse;
    uint32_t rows = browse_rows(browse)->n;

    click(stage, "b  ");
    CHECK_INT(browse_rows(browse)->n, rows);
    click(stage, "b  "); /* a double click is Enter */
    CHECK(browse_rows(browse)->n > rows);
    click(stage, "▾ b");
    CHECK_INT(browse_rows(browse)->n, rows);
    click(stage, "params  ");
    SHOWS(stage, "params▾");
    click(stage, "1 Details");
    CHECK_INT(stage->tui.view.focus, PANEL_DETAILS);
    press(stage, "\033[<0;20;15M\033[<32;20;11M\033[<0;20;11m"); /* its rule */
    CHECK_INT(stage->tui.frame.panels[0].area.rows, 12);
    click(stage, "? help");
    CHECK(stage->tui.help.open);
    end_stage(stage);
}

TEST(panel_6_is_drawn_as_boxes_and_its_keys_move_between_them)
{
    struct stage *stage = stage_on(session_of_run(sample_attention(), NULL), 120, 36);

    press(stage, "j6v");
    SHOWS(stage, "── 6 Flow ── block Block, boxes ──");
    SHOWS(stage, "║▌ln_1 ");
    SHOWS(stage, "↓ ↑ along   ← → across   Enter into   - out   v rows");
    press(stage, "jj");
    SHOWS(stage, "╡+╞◄");
    press(stage, "k\r"); /* into attn */
    SHOWS(stage, "── 6 Flow ── block.attn Attention, boxes ──");
    SHOWS(stage, "║▌q ");
    press(stage, "lh");
    SHOWS(stage, "║▌q ");
    press(stage, "h");
    SHOWS(stage, " nothing to the left");
    press(stage, "G");
    SHOWS(stage, "╡output");
    press(stage, "j");
    SHOWS(stage, " nothing in this block reads it");
    press(stage, "-");
    SHOWS(stage, "║▌attn ▸ ");
    click(stage, "ln_2 ");
    SHOWS(stage, "║ ln_2 ");
    press(stage, "v");
    SHOWS(stage, "── 6 Flow ── block Block ──");
    SHOWS(stage, " ln_2  LayerNorm   1.10μs"); /* the node described by the last
                                                  lines */
    end_stage(stage);
}

/* A drawing scrolls by itself; the next key brings the selected box back. */
TEST(a_drawing_scrolls_without_moving_the_selection)
{
    struct stage *stage = stage_on(session_of_run(sample_attention(), NULL), 80, 24);
    struct panel_state *state = &stage->tui.explorer.panels[PANEL_FLOW];

    press(stage, "j6v");
    SHOWS(stage, "║▌ln_1 ");
    press(stage, "\006\006"); /* ^F */
    CHECK(!shows(stage, "║▌ln_1 "));
    CHECK(state->top > 0);
    press(stage, "k");
    SHOWS(stage, "╡x ");
    press(stage, "\033[<65;20;20M"); /* the wheel */
    CHECK(!shows(stage, "╡x "));
    press(stage, "j");
    SHOWS(stage, "║▌ln_1 ");
    end_stage(stage);
}

TEST(a_small_screen_shows_the_required_size)
{
    struct stage *stage = stage_of_model(120, 36);
    struct buf before = BUF_INIT;

    press(stage, "jj");
    buf_text(&before, screen(stage));
    resize(stage, 30, 6);
    SHOWS(stage, "needs 40×8; this is 30×6");
    resize(stage, 60, 20);
    CHECK(!shows(stage, "1 Details"));
    resize(stage, 120, 36);
    CHECK_STR(screen(stage), buf_cstr(&before));
    buf_release(&before);
    end_stage(stage);
}

TEST(a_panel_that_grows_and_shrinks_shows_the_same_again)
{
    struct stage *stage = stage_of_model(120, 24);
    struct buf before = BUF_INIT;

    press(stage, "14\0333G\033"); /* three panels: little space for each */
    press(stage, "1");
    for (int i = 0; i < 3; i++)
        press(stage, "\033[<65;100;4M");
    press(stage, "\033");
    buf_text(&before, screen(stage));
    press(stage, "aa");
    CHECK_STR(screen(stage), buf_cstr(&before));
    resize(stage, 120, 60);
    resize(stage, 120, 24);
    CHECK_STR(screen(stage), buf_cstr(&before));
    buf_release(&before);
    end_stage(stage);
}

/* --- Random keys: no crash, no hang */

static unsigned random_next(unsigned *seed)
{
    *seed = *seed * 1103515245u + 12345u;
    return *seed >> 16;
}

/* Some keys write files, so use an empty folder. */
static void press_anything(struct stage *stage, unsigned seed, int times)
{
    static const char *const words[] = {
        "\033[A", "\033[B", "\033[5~",  "\033[6~", "\r",    "\t",
        "\033[Z", "\033",   "\033",     "\x7f",    "/we\r", "/(/\r",
        ":b\r",   "yn",     "in",       "ip",      "ip",    "\x04",
        "\x15",   ":q\033", "[0\r",     "[\r",     "?fold", "\033[200~x\033[201~",
        "Fn",     "L \033", "LJKTB\033"};
    char text[64], before[4096], here[] = "/tmp/torchoscope-keys-XXXXXX";

    CHECK(getcwd(before, sizeof before) && mkdtemp(here) && chdir(here) == 0);
    for (int i = 0; i < times; i++) {
        unsigned what = random_next(&seed) % 100;

        if (what < 25) {
            press(stage,
                  words[random_next(&seed) % (sizeof(words) / sizeof(words[0]))]);
        } else if (what < 35) {
            snprintf(text, sizeof(text), "\033[<%u;%u;%u%c",
                     (unsigned[]){0, 0, 0, 32, 64, 65}[random_next(&seed) % 6],
                     random_next(&seed) % 130 + 1, random_next(&seed) % 40 + 1,
                     random_next(&seed) % 4 ? 'M' : 'm');
            press(stage, text);
        } else if (what < 37) {
            resize(stage, random_next(&seed) % 210, random_next(&seed) % 64);
        } else {
            text[0] = (char)(' ' + random_next(&seed) % 95);
            text[1] = '\0';
            press(stage, text);
        }
        stage->tui.quit = false;
    }
    CHECK(chdir(before) == 0);
    snprintf(text, sizeof text, "rm -rf '%s'", here);
    CHECK(system(text) == 0);
}

TEST(random_keys_at_any_size_do_no_harm)
{
    for (unsigned seed = 1; seed <= 4; seed++) {
        struct stage *stage = stage_of_model(seed % 2 ? 120 : 80, seed % 2 ? 36 : 24);

        press_anything(stage, seed, 1500);
        end_stage(stage);
    }
}

TEST(random_keys_in_a_recording_do_no_harm)
{
    struct err err = {0};

    for (unsigned seed = 1; seed <= 4; seed++) {
        struct stage *stage = stage_on(session_of_run(sample_run(seed), &err), 120, 36);

        press_anything(stage, seed * 77, 1500);
        end_stage(stage);
    }
}

TEST(random_keys_in_a_drawing_do_no_harm)
{
    for (unsigned seed = 1; seed <= 4; seed++) {
        struct stage *stage =
            stage_on(session_of_run(sample_attention(), NULL), 120, 36);

        press(stage, "6v");
        press_anything(stage, seed * 31, 1500);
        end_stage(stage);
    }
}
