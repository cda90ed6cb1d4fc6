#include "explorer/link.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
#include "base/test.h"
#include "rows/sample_rows.h"
#include "session/sample_session.h"
#include "study/diff/diff_sample.h"
#include "text/shell_word.h"

static struct sample sample;
static struct explorer explorer;
static struct pair *pair; /* NULL: explore the sample */
static struct buf line;

/* Two blocks of two layers, a head, a name that needs shell quoting. */
static void begin(void)
{
    sample_begin(&sample, "models/net.pth");
    for (int i = 0; i < 2; i++) {
        uint32_t block = sample_module(&sample, 0, i ? "layer2" : "layer1",
                                       "torch.nn.modules.container.Sequential", "");
        uint32_t conv = sample_module(&sample, block, "0",
                                      "torch.nn.modules.conv.Conv2d", "in_channels=3");

        sample_tensor(&sample, conv, "weight", i ? "4 3" : "8 3");
        sample_module(&sample, block, "1", "torch.nn.modules.activation.ReLU", "");
    }
    sample_tensor(
        &sample,
        sample_module(&sample, 0, "it's, odd", "torch.nn.modules.linear.Linear", ""),
        "weight", "2 2");
    sample_finish(&sample);
    CHECK(explorer_begin(&explorer, sample.session, NULL, false, NULL) == 0);
}

static void end(void)
{
    explorer_end(&explorer);
    sample_release(&sample);
    buf_release(&line);
}

static struct link_screen apply(struct explorer *to, const char *options)
{
    struct settings settings = SETTINGS_INIT;
    char *words = strdup(options);
    struct link_screen screen = {0};
    struct err err = {0};

    if (settings_read(&settings, words, &err) < 0 ||
        link_apply(&settings, to, &screen, &err) < 0)
        CHECK_STR(err.text, "");
    free(words);
    return screen;
}

static void open_first(struct explorer *to)
{
    struct session *session = pair ? pair->right : sample.session;

    CHECK(explorer_begin(to, session, pair, false, NULL) == 0);
}

/* Apply options to the initial view, write them, and check that they give the same view
 * again; returns them as written. */
static const char *round_trip(const char *options)
{
    struct explorer again;
    struct buf second = BUF_INIT;
    struct link_screen screen, other;

    explorer_end(&explorer);
    open_first(&explorer);
    screen = apply(&explorer, options);
    buf_clear(&line);
    link_options(&line, &explorer, &screen);

    open_first(&again);
    other = apply(&again, buf_cstr(&line));
    CHECK_INT(other.focus, screen.focus);
    CHECK_INT(again.bins, explorer.bins);
    CHECK_INT(browse_rows(again.browse)->n, browse_rows(explorer.browse)->n);
    CHECK_INT(browse_place(again.browse), browse_place(explorer.browse));
    for (uint32_t i = 0; i < browse_rows(again.browse)->n; i++)
        CHECK_INT(browse_rows(again.browse)->cells[i].place,
                  browse_rows(explorer.browse)->cells[i].place);
    for (int i = 0; i < PANEL_COUNT; i++) {
        CHECK_INT(again.panels[i].open, explorer.panels[i].open);
        CHECK_INT(again.panels[i].view, explorer.panels[i].view);
        CHECK_STR(again.panels[i].slice, explorer.panels[i].slice);
    }
    CHECK_INT(again.call, explorer.call);
    link_options(&second, &again, &other);
    CHECK_STR(buf_cstr(&second), buf_cstr(&line));
    buf_release(&second);
    explorer_end(&again);
    return buf_cstr(&line);
}

TEST(a_view_is_a_command_and_gives_the_view_again)
{
    begin();
    CHECK_STR(round_trip(""), "");
    CHECK_STR(round_trip("--at layer1"), " --at layer1");
    CHECK_STR(round_trip("--at layer2.0"), " --at layer2.0");
    CHECK_STR(round_trip("--depth 2"), " --depth 2");
    CHECK_STR(round_trip("--depth 0"), " --depth 0");
    CHECK_STR(round_trip("--depth 2 --at layer1.1"), " --at layer1.1 --depth 2");
    CHECK_STR(round_trip("--open layer1.0,layer2"), " --open layer1.0,layer2");
    CHECK_STR(round_trip("--sort params --reverse"), " --sort params --reverse");
    CHECK_STR(round_trip("--flat"), " --flat");
    CHECK_STR(round_trip("--flat=tensors --sort memory"),
              " --flat=tensors --sort memory");
    CHECK_STR(round_trip("--filter '/[12]/' --at layer2"),
              " --at layer2 --filter '/[12]/'");
    end();
}

TEST(an_unfolded_run_is_part_of_a_view)
{
    uint32_t list;

    sample_begin(&sample, "chain.pth");
    list = sample_module(&sample, 0, "h", "torch.nn.modules.container.ModuleList", "");
    for (int i = 0; i < 12; i++) {
        char name[16];

        snprintf(name, sizeof name, "%d", i);
        sample_tensor(&sample,
                      sample_module(&sample, list, name,
                                    "torch.nn.modules.linear.Linear", "in_features=2"),
                      "weight", "2 2");
    }
    sample_module(&sample, 0, "last", "torch.nn.modules.activation.ReLU", "");
    sample_finish(&sample);
    CHECK(explorer_begin(&explorer, sample.session, NULL, false, NULL) == 0);
    CHECK_STR(round_trip("--open h"), " --depth 2");
    CHECK_INT(browse_rows(explorer.browse)->n, 4);
    CHECK_STR(round_trip("--expand --open h"), " --depth 2 --expand");
    CHECK_STR(round_trip("--at h.3"), " --at h.3");
    CHECK_INT(browse_rows(explorer.browse)->n, 15);
    CHECK_STR(round_trip("--open h,+h.0"), " --open h,+h.0");
    CHECK_INT(browse_rows(explorer.browse)->n, 15);
    CHECK_INT(browse_place(explorer.browse), 0);
    end();
}

TEST(panels_and_labels_are_part_of_a_view)
{
    begin();
    CHECK_STR(round_trip("--labels name,params"), " --labels name,params");
    CHECK_STR(round_trip("--panel 0"), " --panel 0");
    CHECK_STR(round_trip("--panel 1,0"), "");
    CHECK_STR(round_trip("--panel 1"), " --panel 1");
    CHECK_STR(round_trip("--panel 1 --view 2 --zoom"), " --panel 1 --view 2 --zoom");
    CHECK_STR(round_trip("--panel 1 --slice '83, 220:230'"),
              " --panel 1 --slice '83, 220:230'");
    CHECK_STR(round_trip("--call 3"), " --call 3");
    end();
}

TEST(everything_that_changes_the_screen_is_part_of_a_view)
{
    begin();
    CHECK_STR(round_trip("--filter weight --mark --at layer1"),
              " --at layer1 --filter weight --mark");
    CHECK_STR(round_trip("--mark"), "");
    CHECK_STR(round_trip("--layout below"), " --layout below");
    CHECK_STR(round_trip("--layout right --size 45%,8"), "");
    CHECK_STR(round_trip("--size 60%"), " --size 60%");
    CHECK_STR(round_trip("--size 12"), " --size 12");
    CHECK_STR(round_trip("--size 12,60%"), " --size 60%,12");
    CHECK_STR(round_trip("--panel 4 --hist 20"), " --panel 4 --hist 20");
    CHECK_STR(round_trip("--panel 1,L"), " --panel 1,L");
    CHECK_STR(round_trip("--panel 1,L,0"), " --panel 1,L,0");
    end();
}

TEST(names_of_any_kind_are_quoted_for_a_shell)
{
    struct link_screen screen;

    begin();
    CHECK_STR(round_trip("--open 'it'\\''s\\, odd'"), " --open 'it'\\''s\\, odd'");
    CHECK_STR(round_trip("--at 'it'\\''s, odd'"), " --at 'it'\\''s, odd'");
    buf_clear(&line);
    link_screen_init(&screen, &explorer);
    link_write(&line, &explorer, &screen);
    CHECK_STR(buf_cstr(&line), "torchoscope models/net.pth --at 'it'\\''s, odd'");
    end();
}

TEST(invalid_links_give_a_clear_error)
{
    static const char *const wrong[] = {
        "--at nowhere", "--sort parms", "--open layer1,x", "--panel 9",     "--flat=x",
        "--view 0",     "--sort time",  "--filter '/(/'",  "--labels poem", "--call x",
        "--layout up",  "--size 10%",   "--size x",        "--hist 0",      "--call 0",
        "--depth",      "--poem 3",
    };
    struct link_screen screen;

    begin();
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct settings settings = SETTINGS_INIT;
        char *words = strdup(wrong[i]);
        struct err err = {0};

        CHECK(settings_read(&settings, words, &err) < 0 ||
              link_apply(&settings, &explorer, &screen, &err) < 0);
        CHECK(err.code == ERR_USAGE || err.code == ERR_NOT_FOUND);
        CHECK(err.text[0] && !strchr(err.text, '\n'));
        free(words);
    }
    end();
}

TEST(words_that_are_not_options_are_refused)
{
    static const struct settings wrong[] = {
        {.tree = {.flat = "x", .depth = ALL_ROWS}},
        {.tree = PRINTED_WANTED_INIT, .layout = "up"},
    };
    struct link_screen screen;

    begin();
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        CHECK_INT(link_apply(&wrong[i], &explorer, &screen, NULL), -1);
    end();
}

static void begin_pair(void)
{
    struct diff_wanted wanted = {.values = false};

    pair = pair_of(session_of(diff_sample("a.w 2 1\nb.w 2 2\n"), NULL),
                   session_of(diff_sample("a.w 3 1\nb.w 2 2\n"), NULL), &wanted, NULL,
                   NULL);
    CHECK(pair != NULL);
    open_first(&explorer);
}

static void end_pair(void)
{
    explorer_end(&explorer);
    pair_close(pair);
    pair = NULL;
    buf_release(&line);
}

TEST(the_link_of_a_pair_names_both_files)
{
    struct settings settings = SETTINGS_INIT;
    struct link_screen screen;

    begin_pair();
    settings.at = "a.w";
    settings.hide_equal = true;
    settings.panel = "code";
    settings.left = true;
    CHECK_INT(link_apply(&settings, &explorer, &screen, NULL), 0);
    CHECK(screen.below); /* the default for pairs */
    screen.below = false;
    link_write(&line, &explorer, &screen);
    CHECK(strstr(buf_cstr(&line), " --diff "));
    CHECK(strstr(buf_cstr(&line), " --structure --at a.w --hide-equal --panel 2 --left "
                                  "--layout right"));
    end_pair();
}

/* ---- the table ---- */

/* Examples for each setting of a view. */
static const struct {
    const char *name, *options;
} examples[] = {
    {"at", "--at layer2.0"},
    {"open", "--open layer1.0,layer2"},
    {"depth", "--depth 2"},
    {"flat", "--flat=tensors"},
    {"sort", "--sort params"},
    {"reverse", "--sort params --reverse"},
    {"expand", "--expand"},
    {"hide-equal", "--hide-equal"},
    {"filter", "--filter '/[12]/'"},
    {"mark", "--filter weight --mark"},
    {"labels", "--labels name,params"},
    {"panel", "--panel 1,4"},
    {"flow", "--panel 6 --flow boxes"},
    {"view", "--panel 4 --view 2"},
    {"log", "--panel 4 --log"},
    {"left", "--panel 1 --left"},
    {"slice", "--panel 4 --slice '[0, :2]'"},
    {"call", "--call 2"},
    {"step", "--step 12"},
    {"hist", "--hist 20"},
    {"zoom", "--panel 1 --zoom"},
    {"layout", "--layout below"},
    {"size", "--size 60%,12"},
};

static const char *example(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(examples); i++)
        if (strcmp(examples[i].name, name) == 0)
            return examples[i].options;
    return NULL;
}

/* Parse an example as the command line does. */
static void read_command_line(const char *options, struct settings *ret_settings,
                              char *words)
{
    struct option table[SETTINGS_MOST];
    struct option_set set = {table, settings_options(SETTINGS_VIEW, table),
                             ret_settings};
    char *argv[8];
    int argc = 0;

    memcpy(words, options, strlen(options) + 1);
    for (char *word = shell_word_next(&words); word; word = shell_word_next(&words))
        argv[argc++] = word;
    CHECK_INT(options_read(&set, 1, &argc, argv, NULL), 0);
    CHECK_INT(argc, 0);
}

/* Command line to view to link to view. */
static void check_setting(const struct option *option)
{
    struct settings settings = SETTINGS_INIT;
    const char *options = example(option->name);
    char words[100];

    CHECK_STR(options ? "" : option->name, ""); /* a setting without an example */
    read_command_line(options, &settings, words);
    CHECK(option_given(option, &settings));
    buf_clear(&line);
    settings_write(&settings, &line);
    CHECK_STR(buf_cstr(&line) + 1, options);
    if (strcmp(option->name, "step") == 0)
        return; /* for training runs: panel_training_test.c */
    CHECK_STR(round_trip(options) + 1, options);
}

TEST(each_setting_comes_back_from_command_line_view_and_link)
{
    begin();
    for (size_t i = 0; i < n_settings; i++)
        if (settings_table[i].groups & SETTINGS_VIEW &&
            strcmp(settings_table[i].option.name, "hide-equal") != 0)
            check_setting(&settings_table[i].option);
    end();
    begin_pair();
    for (size_t i = 0; i < n_settings; i++)
        if (strcmp(settings_table[i].option.name, "hide-equal") == 0)
            check_setting(&settings_table[i].option);
    end_pair();
}
