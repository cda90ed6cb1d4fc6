/* Panel 7: the history of a training run. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/base.h"
#include "base/test.h"
#include "explorer/link.h"
#include "explorer/panels_in.h"
#include "history/curves.h"
#include "history/writer.h"
#include "rows/columns.h"
#include "run/sample_run.h"

struct training_scene {
    char path[64];
    struct session *session;
    struct explorer explorer;
    struct lines lines;
    struct buf text;
};

/* Steps from..to: the loss equals the step number; a.weight has a point in each. */
static void log_steps(struct history_writer *writer, uint32_t place, uint64_t from,
                      uint64_t to)
{
    uint32_t loss = history_writer_name(writer, STR("loss"));
    uint32_t grad = history_writer_series(
        writer, &(struct history_series){.place = place,
                                         .kind = HISTORY_GRAD_PARAM,
                                         .name = STR("a.weight")});

    for (uint64_t i = from; i < to; i++) {
        struct history_point point = {.series = grad, .merged = 1};
        float at[2] = {3, 4};

        stats_init(&point.stats, DTYPE_FLOAT32);
        stats_add(&point.stats, NULL, DTYPE_FLOAT32, at, 2, 0, MEASURE_EXACT);
        history_writer_begin(writer, i, HISTORY_TRAIN, (i + 1) * 1000000000u);
        history_writer_point(writer, &point);
        history_writer_scalar(writer, loss, i == 19 ? NAN : (double)i);
        if (i == 19)
            history_writer_alarm(writer,
                                 &(struct history_alarm){.place = place,
                                                         .severity = SEVERITY_ALARM,
                                                         .kind = STR("nan"),
                                                         .name = STR("a.weight"),
                                                         .text = STR("first NaN")});
        history_writer_end(writer, 0);
        history_writer_flush(writer);
    }
}

static void scene_begin(struct training_scene *s, uint64_t steps, bool background)
{
    struct run *run = sample_run(1);
    struct history_writer *writer;

    *s = (struct training_scene){.session = NULL};
    snprintf(s->path, sizeof s->path, "/tmp/torchoscope_training_XXXXXX");
    close(mkstemp(s->path));
    writer =
        history_writer_create(s->path, run, NULL, &(struct history_options){0}, NULL);
    log_steps(writer, place_find(run->model, STR("a.weight")), 0, steps);
    CHECK_INT(history_writer_close(writer, NULL), 0);
    run_free(run);
    s->session = session_open(s->path, NULL, NULL);
    CHECK(s->session && s->session->history);
    CHECK_INT(explorer_begin(&s->explorer, s->session, NULL, background, NULL), 0);
}

static void scene_end(struct training_scene *s)
{
    lines_release(&s->lines);
    buf_release(&s->text);
    explorer_end(&s->explorer);
    session_close(s->session);
    unlink(s->path);
}

static void go(struct training_scene *s, const char *name)
{
    browse_go(s->explorer.browse, place_find(s->session->model, str_of(name)));
}

static bool says(struct training_scene *s, unsigned width, const char *part)
{
    struct panel_room room = {.width = width, .height = 20};

    lines_clear(&s->lines);
    buf_clear(&s->text);
    explorer_refresh_step(&s->explorer);
    training_panel.lines(&s->lines, &s->explorer, &s->explorer.panels[PANEL_TRAINING],
                         &room);
    for (uint32_t i = 0; i < s->lines.n; i++) {
        line_plain(&s->text, &s->lines, i);
        buf_char(&s->text, '\n');
    }
    return str_find(buf_span(&s->text), str_of(part)) >= 0;
}

static bool act(struct training_scene *s, enum panel_act what)
{
    return training_panel.act(&s->explorer, &s->explorer.panels[PANEL_TRAINING], what);
}

TEST(panel_7_draws_curves_and_counts_alarms)
{
    struct training_scene s;

    scene_begin(&s, 20, false);
    s.explorer.step = STEP_NEWEST;
    go(&s, "a");
    CHECK(says(&s, 60, " loss       ▁▁▁▂▂▃▃▄▄▅▅▅▆▆▇▇███×"));
    CHECK(says(&s, 60, "NaN ×"));
    CHECK(says(&s, 60, " ‖grad‖     ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁"));
    CHECK(says(&s, 60, "          5\n"));
    CHECK(says(&s, 60, "── alarms (1) ─"));
    CHECK(says(&s, 60, " ✗  step 19    a.weight  first NaN\n"));
    scene_end(&s);
}

TEST(panel_7_of_a_narrow_screen_has_values_only)
{
    struct training_scene s;

    scene_begin(&s, 20, false);
    go(&s, "a");
    CHECK(!says(&s, 28, "▁"));
    CHECK(says(&s, 28, " loss"));
    CHECK(says(&s, 28, "NaN ×"));
    scene_end(&s);
}

TEST(panel_7_is_text_for_screen_readers)
{
    struct training_scene s;

    scene_begin(&s, 19, false);
    s.explorer.plain = true;
    CHECK(says(&s, 60, " loss: 18, from 0 to 18\n"));
    CHECK(!says(&s, 60, "▁"));
    CHECK(says(&s, 60, " ✓  no alarms\n"));
    scene_end(&s);
}

TEST(brackets_select_a_step_and_return_to_the_newest)
{
    struct training_scene s;

    scene_begin(&s, 19, false);
    go(&s, "a");
    CHECK(says(&s, 60, "now\n"));
    CHECK(!act(&s, ACT_NEXT));
    CHECK(act(&s, ACT_PREVIOUS) && says(&s, 60, "step 18\n"));
    CHECK(act(&s, ACT_PREVIOUS) && says(&s, 60, "step 17\n"));
    CHECK(says(&s, 60, "▾"));
    CHECK(act(&s, ACT_NEXT) && act(&s, ACT_NEXT) && says(&s, 60, "now\n"));
    for (int i = 0; i < 19; i++)
        CHECK(act(&s, ACT_PREVIOUS) && says(&s, 60, "step "));
    CHECK(says(&s, 60, "step 0\n"));
    CHECK(!act(&s, ACT_PREVIOUS));
    scene_end(&s);
}

TEST(enter_on_an_alarm_goes_to_its_place_and_step)
{
    struct training_scene s;

    scene_begin(&s, 24, false);
    s.explorer.step = STEP_NEWEST;
    CHECK(says(&s, 60, "alarms (1)"));
    go(&s, "");
    s.explorer.panels[PANEL_TRAINING].cursor = 0;
    CHECK(!act(&s, ACT_ENTER)); /* the header */
    s.explorer.panels[PANEL_TRAINING].cursor = s.lines.n - 1;
    CHECK(act(&s, ACT_ENTER));
    CHECK_INT(explorer_place(&s.explorer),
              place_find(s.session->model, STR("a.weight")));
    CHECK(says(&s, 60, "step 19\n"));
    scene_end(&s);
}

/* Warnings at the steps 3 (of the run) and 5 (of a), an alarm at step 7. */
static void log_alarms(const char *path, const struct model *model, bool again)
{
    static const struct {
        uint64_t step;
        const char *name;
        uint8_t severity;
    } alarms[] = {{5, "a", SEVERITY_WARNING},
                  {3, "", SEVERITY_WARNING},
                  {7, "a.weight", SEVERITY_ALARM},
                  {8, "list.0", SEVERITY_NOTE},
                  {9, "tail", SEVERITY_ALARM}};
    struct history_writer *writer =
        history_writer_resume(path, &(struct history_options){0}, NULL);
    uint32_t n = again ? COUNT_OF(alarms) : COUNT_OF(alarms) - 1;

    history_writer_begin(writer, again ? 11 : 10, HISTORY_TRAIN, 11000000000u);
    for (uint32_t i = again ? n - 1 : 0; i < n; i++)
        history_writer_alarm(
            writer,
            &(struct history_alarm){
                .step = alarms[i].step,
                .place = *alarms[i].name ? place_find(model, str_of(alarms[i].name))
                                         : HISTORY_NONE,
                .severity = alarms[i].severity,
                .kind = STR("test"),
                .name = str_of(alarms[i].name),
                .text = STR("a text")});
    history_writer_end(writer, 0);
    CHECK_INT(history_writer_close(writer, NULL), 0);
}

/* A scene whose file already has these alarms. */
static void alarmed_begin(struct training_scene *s)
{
    scene_begin(s, 10, false);
    log_alarms(s->path, s->session->model, false);
    explorer_end(&s->explorer);
    session_close(s->session);
    s->session = session_open(s->path, NULL, NULL);
    CHECK_INT(explorer_begin(&s->explorer, s->session, NULL, false, NULL), 0);
}

static bool is_at(const struct training_scene *s, const char *name, uint64_t step)
{
    return s->explorer.step == step &&
           explorer_place(&s->explorer) == place_find(s->session->model, str_of(name));
}

/* Press `!` until it reaches an alarm of the training: the recording has alarms,
 * too. */
static bool next_is_at(struct training_scene *s, const char *name, uint64_t step)
{
    const struct alarms *alarms = &s->explorer.alarms;

    do
        CHECK(explorer_next_alarm(&s->explorer));
    while (alarms->at[(alarms->next + alarms->n - 1) % alarms->n].kind !=
           ALARM_TRAINING);
    return is_at(s, name, step);
}

TEST(a_training_run_opens_with_panel_7_at_its_worst_alarm)
{
    struct training_scene s;

    scene_begin(&s, 10, false);
    CHECK(s.explorer.panels[PANEL_TRAINING].open);
    CHECK(s.explorer.step == STEP_NEWEST);
    scene_end(&s);
    alarmed_begin(&s);
    CHECK(s.explorer.panels[PANEL_TRAINING].open);
    CHECK(!s.explorer.panels[PANEL_DETAILS].open);
    CHECK(is_at(&s, "a.weight", 7));
    CHECK(says(&s, 60, "step 7\n"));
    /* The line of the alarm is selected. */
    line_plain(&s.text, &s.lines, s.explorer.panels[PANEL_TRAINING].cursor);
    CHECK(str_ends(buf_span(&s.text), STR(" ✗  step 7     a.weight  a text")));
    scene_end(&s);
}

TEST(the_alarms_of_a_training_run_are_visited_worst_first_then_by_step)
{
    struct training_scene s;

    alarmed_begin(&s);
    CHECK(next_is_at(&s, "", 3));
    CHECK(str_starts(buf_span(&s.explorer.message), STR("! step 3: test: a text   ")));
    CHECK(next_is_at(&s, "a", 5));
    CHECK(next_is_at(&s, "a.weight", 7));
    scene_end(&s);
}

TEST(new_alarms_of_a_training_run_are_visited_too)
{
    struct training_scene s;
    uint32_t n;

    alarmed_begin(&s);
    n = s.explorer.alarms.n;
    CHECK(next_is_at(&s, "", 3));
    log_alarms(s.path, s.session->model, true);
    CHECK(explorer_follow(&s.explorer));
    explorer_refresh_training(&s.explorer);
    CHECK_INT(s.explorer.alarms.n, n + 1);
    while (!next_is_at(&s, "a.weight", 7))
        ;
    CHECK(next_is_at(&s, "tail", 9));
    scene_end(&s);
}

TEST(the_tree_has_the_numbers_of_the_selected_step)
{
    const struct column *grad = column_find(STR("grad"));
    struct buf text = BUF_INIT;
    struct training_scene s;
    struct row row;

    scene_begin(&s, 10, false);
    CHECK(label_is_on(&s.explorer.labels, "grad"));
    CHECK(label_is_on(&s.explorer.labels, "update"));
    CHECK(!label_is_on(&s.explorer.labels, "time"));
    CHECK(!s.explorer.show.step);
    explorer_refresh_step(&s.explorer);
    CHECK(s.explorer.show.step->step.first == 9);
    row = (struct row){.place = place_find(s.session->model, STR("a")), .count = 1};
    column_figure(&text, grad, &s.explorer.show, &row);
    CHECK_STR(buf_cstr(&text), "5");
    s.explorer.step = 4;
    explorer_refresh_step(&s.explorer);
    CHECK(s.explorer.show.step->step.first == 4);
    buf_release(&text);
    scene_end(&s);
}

TEST(rows_are_sorted_by_the_numbers_of_a_step)
{
    struct training_scene s;
    const struct rows *rows;

    scene_begin(&s, 10, false);
    CHECK(browse_sort(s.explorer.browse, SORT_GRAD, false));
    CHECK(browse_sort(s.explorer.browse, SORT_UPDATE, false));
    CHECK(browse_sort(s.explorer.browse, SORT_GRAD, false));
    browse_flat(s.explorer.browse, FLAT_TENSORS);
    explorer_refresh_step(&s.explorer);
    rows = browse_rows(s.explorer.browse);
    CHECK_INT(rows_at(rows, 0).place, place_find(s.session->model, STR("a.weight")));
    scene_end(&s);
    s = (struct training_scene){.session = session_of_run(sample_run(1), NULL)};
    CHECK_INT(explorer_begin(&s.explorer, s.session, NULL, false, NULL), 0);
    CHECK(!browse_sort(s.explorer.browse, SORT_UPDATE, false));
    CHECK(str_is(browse_message(s.explorer.browse), "no training was recorded"));
    scene_end(&s);
}

/* Check the options of the view; they must restore the same view. */
static bool is_view(struct training_scene *s, const char *options)
{
    struct settings settings = SETTINGS_INIT;
    struct link_screen screen;
    struct explorer again;
    struct buf line = BUF_INIT;
    bool same;
    char words[100];

    link_screen_init(&screen, &s->explorer);
    link_options(&line, &s->explorer, &screen);
    same = str_is(buf_span(&line), options);
    snprintf(words, sizeof words, "%s", options);
    CHECK_INT(settings_read(&settings, words, NULL), 0);
    CHECK_INT(explorer_begin(&again, s->session, NULL, false, NULL), 0);
    CHECK_INT(link_apply(&settings, &again, &screen, NULL), 0);
    CHECK(again.step == s->explorer.step);
    CHECK_INT(explorer_place(&again), explorer_place(&s->explorer));
    explorer_end(&again);
    buf_release(&line);
    return same;
}

TEST(the_selected_step_is_part_of_a_view)
{
    struct training_scene s;

    alarmed_begin(&s);
    CHECK(is_view(&s, ""));
    s.explorer.step = 4;
    CHECK(is_view(&s, " --step 4"));
    s.explorer.step = STEP_NEWEST;
    CHECK(is_view(&s, " --step newest"));
    go(&s, "a");
    CHECK(is_view(&s, " --at a"));
    s.explorer.step = 7;
    CHECK(is_view(&s, " --at a --step 7"));
    scene_end(&s);
}

TEST(panel_7_without_a_history_explains_how_to_record_one)
{
    struct training_scene s = {.session = session_of_run(sample_run(1), NULL)};

    CHECK_INT(explorer_begin(&s.explorer, s.session, NULL, false, NULL), 0);
    CHECK(says(&s, 60, "no history: torchoscope.watch() records one"));
    CHECK(!act(&s, ACT_PREVIOUS));
    CHECK(!explorer_follows(&s.explorer) && !explorer_follow(&s.explorer));
    scene_end(&s);
}

/* Wait until the background job finishes. */
static bool says_soon(struct training_scene *s, const char *part)
{
    for (int i = 0; i < 2000 && !says(s, 60, part); i++) {
        usleep(1000);
        explorer_poll(&s->explorer);
    }
    return says(s, 60, part);
}

TEST(a_history_that_grows_is_followed_in_the_background)
{
    struct history_writer *writer;
    struct training_scene s;

    scene_begin(&s, 10, true);
    go(&s, "a");
    CHECK(says_soon(&s, " loss       ▁▁▂▃▄▅▆▇██  "));
    CHECK(!explorer_follow(&s.explorer));
    writer = history_writer_resume(s.path, &(struct history_options){0}, NULL);
    log_steps(writer, place_find(s.session->model, STR("a.weight")), 10, 15);
    /* The writer is not finished: steps are in its -wal. */
    CHECK(explorer_follow(&s.explorer));
    CHECK(says_soon(&s, "step 14  "));
    CHECK_INT(history_writer_close(writer, NULL), 0);
    explorer_follow(&s.explorer);
    for (int i = 0; i < 2000 && s.session->training->phases[0].steps < 15; i++) {
        explorer_refresh_training(&s.explorer);
        usleep(1000);
        explorer_poll(&s.explorer);
    }
    CHECK_INT(s.session->training->phases[0].steps, 15);
    scene_end(&s);
}
