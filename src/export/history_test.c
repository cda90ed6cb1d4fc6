/* The history of a training run in JSON and in the report. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/test.h"
#include "export/check_json_in.h"
#include "export/export.h"
#include "export/exporters.h"
#include "export/read_json_in.h"
#include "history/writer.h"
#include "measure/spread.h"
#include "run/run_file.h"
#include "run/sample_run.h"
#include "session/session.h"

#define STEPS 12

/* Places of the sample model. */
static uint32_t place_of(const struct model *model, const char *name)
{
    struct buf path = BUF_INIT;
    uint32_t found = NO_PLACE;

    for (uint32_t p = 0; p < model->n_places && found == NO_PLACE; p++) {
        buf_clear(&path);
        place_path(model, p, &path);
        if (str_is(buf_span(&path), name))
            found = p;
    }
    buf_release(&path);
    CHECK(found != NO_PLACE);
    return found;
}

static void add_point(struct history_writer *writer, uint32_t series, double value)
{
    struct spread_counter *counter = spread_counter_new(NULL);
    const float elements[4] = {(float)value, (float)-value, 0, (float)(2 * value)};
    struct history_point point = {.series = series, .merged = 1};
    struct spread spread = {0};
    struct buf packed = BUF_INIT;

    stats_init(&point.stats, DTYPE_FLOAT32);
    stats_add(&point.stats, NULL, DTYPE_FLOAT32, elements, 4, 0, MEASURE_EXACT);
    CHECK_INT(spread_of(counter, DTYPE_FLOAT32, elements, 4, SPREAD_ALL, &spread, NULL),
              0);
    spread_pack(&spread, &packed);
    point.histogram = buf_span(&packed);
    point.extra[EXTRA_RATIO] = history_number_of(value / 100);
    history_writer_point(writer, &point);
    buf_release(&packed);
    spread_release(&spread);
    spread_counter_free(counter);
}

/* A gradient, a scalar that ends as NaN, one with a hostile name, an alarm. */
static void write_steps(struct history_writer *writer, const struct model *model)
{
    uint32_t weight = place_of(model, "a.weight");
    uint32_t gradient = history_writer_series(
        writer, &(struct history_series){.place = weight,
                                         .kind = HISTORY_GRAD_PARAM,
                                         .name = STR("a.weight")});
    uint32_t loss = history_writer_name(writer, STR("loss"));
    uint32_t odd = history_writer_name(writer, STR("</script><b>\x1b&"));

    for (uint64_t i = 0; i < STEPS; i++) {
        history_writer_begin(writer, i, HISTORY_TRAIN, (i + 1) * 1000000000u);
        add_point(writer, gradient, i == STEPS - 1 ? NAN : (double)(i + 1));
        history_writer_scalar(writer, loss,
                              i == STEPS - 1 ? NAN : 1.0 / (double)(i + 1));
        history_writer_scalar(writer, odd, -1);
        if (i == 7)
            history_writer_alarm(writer,
                                 &(struct history_alarm){.place = place_of(model, "a"),
                                                         .severity = SEVERITY_ALARM,
                                                         .kind = STR("nan"),
                                                         .name = STR("a"),
                                                         .text = STR("<i>NaN</i>")});
        history_writer_end(writer, 0);
        history_writer_flush(writer);
    }
}

static struct session *open_history(char path[64])
{
    struct run *run = sample_run(1);
    struct history_writer *writer;
    struct session *session;
    int fd;

    snprintf(path, 64, "/tmp/torchoscope_export_XXXXXX");
    fd = mkstemp(path);
    CHECK(fd >= 0);
    close(fd);
    writer = history_writer_create(path, run, NULL, &(struct history_options){0}, NULL);
    CHECK(writer);
    write_steps(writer, run->model);
    CHECK_INT(history_writer_close(writer, NULL), 0);
    run_free(run);
    session = session_open(path, NULL, NULL);
    CHECK(session && session->history);
    return session;
}

static struct buf export_as(const char *suffix)
{
    struct export_wanted wanted = {.view = PRINTED_WANTED_INIT};
    char path[64];
    struct session *session = open_history(path);
    struct buf text = BUF_INIT;
    struct err err = {0};
    struct out out;

    out_init_buf(&out, &text);
    CHECK_INT(exporter_find(str_of(suffix))->write(&out, session, &wanted, &err), 0);
    CHECK_INT(out_release(&out), 0);
    session_close(session);
    unlink(path);
    return text;
}

TEST(a_history_is_a_document)
{
    struct buf text = export_as("history.json");

    check_json(&text);
    CHECK(has(&text, "{\"torchoscope\": 1, \"kind\": \"history\""));
    CHECK(has(&text, "\"scalar_columns\": {\"columns\": 12, \"first\": [0, 1, 2,"));
    CHECK(has(&text, "\"name\": \"loss\", \"index\": 0, \"phase\": \"train\", "
                     "\"newest\": \"NaN\", \"value\": [1.0, 0.5, "));
    CHECK(has(&text, "\"step\": 7, \"severity\": \"alarm\", \"kind\": \"nan\", "
                     "\"name\": \"a\""));
    /* The square root of 1 + 1 + 4; update / weight. */
    CHECK(has(&text, "\"norm\": [2.4495, 4.899, "));
    CHECK(has(&text, "\"module\": \"a\", \"kind\": \"grad_param\""));
    CHECK(has(&text, "\"gradient\": [2.4495, 4.899, "));
    CHECK(has(&text, "\"ratio\": [0.01, 0.02, "));
    CHECK(has(&text, "\"bad\": [11]"));
    CHECK(has(&text, "\"series_left_out\": 0"));
    buf_release(&text);
}

/* The text of a column of `rows` at the first place that has one. */
static bool has_cell(const struct json_tree *json, const char *id, const char *text)
{
    const struct json_tree *columns = json_get(json, "columns");
    const struct json_tree *texts = json_get(json, "texts"), *cells;

    for (uint32_t i = 0; i < columns->n; i++) {
        if (!json_says(json_get(columns->items[i], "id"), id))
            continue;
        cells = json_get(columns->items[i], "text");
        for (uint32_t k = 0; k < cells->n; k++)
            if (json_says(json_at(texts, (uint32_t)json_int(json_at(cells, k))), text))
                return true;
    }
    return false;
}

TEST(rows_of_a_training_have_the_numbers_of_a_step)
{
    struct buf text = BUF_INIT;
    const struct json_tree *json_of;
    struct arena arena;
    char path[64];
    struct session *session = open_history(path);

    arena_init(&arena, 0);
    DOCUMENT(text, CHECK_INT(export_rows_json(&json, session,
                                              &(struct export_rows_wanted){"grad", "2"},
                                              NULL, NULL),
                             0));
    json_of = json_tree_of(&text, &arena);
    CHECK_INT(json_int(json_get(json_get(json_of, "step"), "last")), 2);
    CHECK(has_cell(json_of, "grad", "7.348")); /* 3 times the square root of 6 */
    CHECK(!session->step);                     /* other requests are unaffected */
    buf_clear(&text);
    DOCUMENT(text, CHECK_INT(export_rows_json(&json, session,
                                              &(struct export_rows_wanted){NULL, NULL},
                                              NULL, NULL),
                             0));
    json_of = json_tree_of(&text, &arena);
    CHECK_INT(json_int(json_get(json_get(json_of, "step"), "last")), STEPS - 1);
    CHECK(has_cell(json_of, "grad", "NaN"));
    buf_release(&text);
    arena_release(&arena);
    session_close(session);
    unlink(path);
}

TEST(a_document_over_its_limit_omits_series)
{
    struct export_history_wanted wanted = {400, 10, false};
    char path[64];
    struct session *session = open_history(path);
    struct buf text = BUF_INIT;
    struct json json;
    struct out out;

    out_init_buf(&out, &text);
    json_init_text(&json, &out);
    CHECK_INT(export_history_json(&json, session, &wanted, NULL), 0);
    CHECK_INT(out_release(&out), 0);
    check_json(&text);
    CHECK(has(&text, "\"series\": [], \"series_left_out\": 1"));
    session_close(session);
    unlink(path);
    buf_release(&text);
}

TEST(a_notebook_shows_the_curves)
{
    struct buf text = export_as("notebook");

    CHECK(
        has(&text, "<div class=\"ts-curves\"><div><span><b>loss</b> NaN</span><svg "));
    CHECK(has(&text, "d=\"M0.0 "));
    CHECK(!has(&text, "</script>"));
    buf_release(&text);
}

TEST(a_recording_without_a_history_explains_how_to_get_one)
{
    struct session *session = session_of_run(sample_run(1), NULL);
    struct export_wanted wanted = {.view = PRINTED_WANTED_INIT};
    struct buf text = BUF_INIT;
    struct err err = {0};
    struct out out;

    out_init_buf(&out, &text);
    CHECK(exporter_find(STR("history.json"))->write(&out, session, &wanted, &err) < 0);
    CHECK(strstr(err.text, "torchoscope.watch() writes one"));
    out_release(&out);
    buf_clear(&text);
    out_init_buf(&out, &text);
    CHECK_INT(exporter_find(STR("html"))->write(&out, session, &wanted, &err), 0);
    out_release(&out);
    wanted.no_paths = true;
    CHECK(exporter_find(STR("html"))->write(&out, session, &wanted, &err) < 0);
    CHECK(strstr(err.text, "only the page of a training run has parts to leave out"));
    session_close(session);
    buf_release(&text);
}

/* ---- the parts that the page asks for ---- */

#define ASK(text, call)                                                                \
    do {                                                                               \
        buf_clear(&(text));                                                            \
        DOCUMENT(text, CHECK_INT(call, 0));                                            \
    } while (0)

TEST(a_training_has_its_verdict_and_step)
{
    struct export_training_wanted wanted = {.columns = 400, .live = EXPORT_ENDED};
    char path[64];
    struct session *session = open_history(path);
    struct buf text = BUF_INIT;

    ASK(text, export_training_json(&json, session, &wanted, NULL));
    CHECK(has(&text, "{\"torchoscope\":1,\"kind\":\"training\",\"path\":\"/tmp/"));
    CHECK(has(&text, "\"newest\":11,\"since\":null,\"live\":false"));
    CHECK(has(&text, "\"gradients\":true,\"updates\":false"));
    CHECK(has(&text, "\"phase\":\"train\",\"steps\":12,\"first\":0,\"last\":11"));
    CHECK(has(&text, "\"width\":1,\"time_ms\":[1000,2000,"));
    CHECK(has(&text, "\"verdict\":{\"role\":\"alarm\",\"text\":\"step 7: a: "
                     "<i>NaN</i>\",\"lead\":\"healthy until step 6\",\"name\":\"a\""));
    CHECK(has(&text, "\"first_bad\":7,\"loss\":\"loss\""));
    CHECK(has(&text, "\"value\":[1.0,0.5,"));
    wanted = (struct export_training_wanted){.columns = 4, .since = 9};
    ASK(text, export_training_json(&json, session, &wanted, NULL));
    CHECK(has(&text, "\"since\":9,\"live\":null"));
    CHECK(has(&text, "\"columns\":{\"columns\":1,\"first\":[8],\"last\":[11],"
                     "\"steps\":[4],\"width\":4"));
    session_close(session);
    unlink(path);
    buf_release(&text);
}

TEST(modules_have_their_numbers_by_column_and_a_detail_window)
{
    struct export_modules_wanted wanted = EXPORT_MODULES_WANTED;
    char path[64];
    struct session *session = open_history(path);
    struct buf text = BUF_INIT;

    ASK(text, export_modules_json(&json, session, &wanted, NULL));
    CHECK(has(&text, "\"kind\":\"modules\""));
    CHECK(has(&text, "\"phase\":\"train\",\"columns\":{\"columns\":12,"));
    CHECK(has(&text, "\"unread\":0,\"first_bad\":11,\"close_up\":{\"first\":[0,1,"));
    CHECK(has(&text, "{\"name\":\"a\",\"place\":1,"));
    CHECK(has(&text, "\"gradient\":[2.45,4.9,7.35,"));
    CHECK(has(&text, ",null],\"ratio\":[0.01,0.02,"));
    /* Two of four elements are NaN. */
    CHECK(
        has(&text, "\"bad\":[11],\"bad_share\":[0.75],\"close_up\":\"000000000001\""));
    CHECK(!has(&text, "\"dead\""));
    wanted.columns = 3;
    wanted.since = 8;
    ASK(text, export_modules_json(&json, session, &wanted, NULL));
    CHECK(has(&text, "\"columns\":{\"columns\":1,\"first\":[8]"));
    wanted = (struct export_modules_wanted)EXPORT_MODULES_WANTED;
    wanted.to = 3;
    ASK(text, export_modules_json(&json, session, &wanted, NULL));
    CHECK(has(&text, "\"columns\":{\"columns\":4,"));
    CHECK(has(&text, "\"first_bad\":null,\"close_up\":null"));
    session_close(session);
    unlink(path);
    buf_release(&text);
}

TEST(a_step_has_the_numbers_of_all_places)
{
    char path[64];
    struct session *session = open_history(path);
    struct buf text = BUF_INIT;

    ASK(text, export_step_json(&json, session, 3, NULL));
    CHECK(has(&text,
              "\"newest\":11,\"text\":\"step 3\",\"asked\":3,\"phase\":\"train\","
              "\"first\":3,\"last\":3,\"merged\":1,\"skipped\":0,"
              "\"time_ms\":4000,\"scalars\":{\"loss\":0.25,"));
    CHECK(has(&text, "\"place\":[0,1,2,8],\"gradient_norm\":["));
    CHECK(
        has(&text,
            "\"update_ratio\":[0.04,0.04,0.04,0.04],\"bad_share\":[0.0,0.0,0.0,0.0]"));
    ASK(text, export_step_json(&json, session, STEP_NEWEST, NULL));
    CHECK(has(&text, "\"asked\":null") &&
          has(&text, "\"bad_share\":[0.75,0.75,0.75,0.75]"));
    session_close(session);
    unlink(path);
    buf_release(&text);
}

TEST(a_module_has_its_series_with_histograms_and_the_numbers_of_a_step)
{
    struct export_series_wanted wanted = EXPORT_SERIES_WANTED;
    char path[64];
    struct session *session = open_history(path);
    struct buf text = BUF_INIT;

    wanted.place = place_of(session->model, "a");
    wanted.rows = 4;
    wanted.has_at = true;
    wanted.at = 2;
    ASK(text, export_series_json(&json, session, &wanted, NULL));
    CHECK(has(&text, "\"name\":\"a\",\"place\":1,\"phase\":\"train\""));
    CHECK(has(&text, "\"kind\":\"grad_param\""));
    CHECK(has(&text, "\"norm\":[2.4495,4.899,"));
    CHECK(has(&text, "\"histogram\":{\"rows\":4,\"low\":"));
    CHECK(has(&text, "\"own\":{\"first\":2,\"last\":2,\"merged\":1,\"count\":4,"));
    CHECK(has(&text, "\"min\":-3.0") && has(&text, "\"max\":6.0"));
    CHECK(has(&text, "\"ratio\":0.03,\"histogram\":{\"of\":4,\"counted\":4,"));
    wanted.shading.clip = 0.2;
    wanted.shading.axis = AXIS_LOG;
    wanted.has_at = false;
    wanted.since = 10;
    ASK(text, export_series_json(&json, session, &wanted, NULL));
    CHECK(has(&text, "\"cut\":0.") && !has(&text, "\"own\""));
    CHECK(has(&text, "\"columns\":{\"columns\":2,\"first\":[10,11]"));
    /* Nothing is below the parameter, and everything is below the root. */
    wanted = (struct export_series_wanted)EXPORT_SERIES_WANTED;
    ASK(text, export_series_json(&json, session, &wanted, NULL));
    CHECK(has(&text, "\"series\":[]"));
    wanted.below = true;
    ASK(text, export_series_json(&json, session, &wanted, NULL));
    CHECK(
        has(&text, "\"series\":[{\"name\":\"a.weight\",\"place\":2,\"module\":\"a\""));
    wanted.eval = true;
    ASK(text, export_series_json(&json, session, &wanted, NULL));
    CHECK(has(&text, "\"phase\":\"eval\"") && has(&text, "\"series\":[]"));
    wanted.place = 1000;
    CHECK(export_series_json(&(struct json){0}, session, &wanted, NULL) < 0);
    session_close(session);
    unlink(path);
    buf_release(&text);
}

static struct session *open_written(char path[64],
                                    void (*write)(struct history_writer *writer,
                                                  const struct model *model))
{
    struct run *run = sample_run(1);
    struct history_writer *writer;
    struct session *session;
    int fd;

    snprintf(path, 64, "/tmp/torchoscope_export_XXXXXX");
    fd = mkstemp(path);
    CHECK(fd >= 0);
    close(fd);
    writer = history_writer_create(path, run, NULL, &(struct history_options){0}, NULL);
    CHECK(writer);
    if (write)
        write(writer, run->model);
    CHECK_INT(history_writer_close(writer, NULL), 0);
    run_free(run);
    session = session_open(path, NULL, NULL);
    CHECK(session && session->history);
    return session;
}

/* All documents of a run. */
static void ask_all(struct session *session, struct buf text[4])
{
    const struct export_training_wanted training = {.columns = 9};
    const struct export_modules_wanted modules = EXPORT_MODULES_WANTED;
    struct export_series_wanted series = EXPORT_SERIES_WANTED;

    series.below = true;
    ASK(text[0], export_training_json(&json, session, &training, NULL));
    ASK(text[1], export_modules_json(&json, session, &modules, NULL));
    ASK(text[2], export_step_json(&json, session, STEP_NEWEST, NULL));
    ASK(text[3], export_series_json(&json, session, &series, NULL));
}

static void release_all(struct buf text[4], struct session *session, const char *path)
{
    for (int i = 0; i < 4; i++)
        buf_release(&text[i]);
    session_close(session);
    unlink(path);
}

TEST(a_run_without_steps_has_empty_documents)
{
    char path[64];
    struct session *session = open_written(path, NULL);
    struct buf text[4] = {BUF_INIT, BUF_INIT, BUF_INIT, BUF_INIT};

    ask_all(session, text);
    for (int i = 0; i < 4; i++)
        CHECK(has(&text[i], "\"newest\":null"));
    CHECK(has(&text[0], "\"verdict\":null,\"verdict_why\":"
                        "\"no step of training was logged\""));
    CHECK(has(&text[0], "\"first_bad\":null,\"loss\":null,\"scalars\":[]"));
    CHECK(has(&text[1], "\"modules\":[]") && has(&text[3], "\"series\":[]"));
    CHECK(has(&text[2], "\"text\":\"no step was logged\",\"asked\":null,\"scalars\":{},"
                        "\"place\":[]"));
    release_all(text, session, path);
}

static void write_evaluation(struct history_writer *writer, const struct model *model)
{
    uint32_t output = history_writer_series(
        writer, &(struct history_series){.place = place_of(model, "a"),
                                         .kind = HISTORY_OUTPUT,
                                         .phase = HISTORY_EVAL,
                                         .name = STR("a")});

    for (uint64_t i = 0; i < 3; i++) {
        history_writer_begin(writer, 5 * i, HISTORY_EVAL, (i + 1) * 1000000000u);
        add_point(writer, output, (double)i + 1);
        history_writer_end(writer, 0);
    }
}

TEST(a_run_with_evaluation_alone_has_its_documents)
{
    char path[64];
    struct session *session = open_written(path, write_evaluation);
    struct buf text[4] = {BUF_INIT, BUF_INIT, BUF_INIT, BUF_INIT};

    ask_all(session, text);
    CHECK(has(&text[0], "\"newest\":10") &&
          has(&text[0], "\"role\":\"none\",\"text\":\"no step was logged, only 3 of "
                        "evaluation\""));
    CHECK(has(&text[1], "\"phase\":\"eval\",\"columns\":{\"columns\":3,"));
    CHECK(has(&text[2], "\"phase\":\"eval\",\"first\":10") &&
          has(&text[2], "\"output_norm\":["));
    release_all(text, session, path);
}

TEST(parts_of_a_resumed_run_keep_its_gap)
{
    struct export_training_wanted wanted = {.columns = 2};
    char path[64];
    struct session *session = open_written(path, write_steps);
    struct buf text = BUF_INIT;
    struct history_writer *writer;

    session_close(session);
    writer = history_writer_resume(path, NULL, NULL);
    CHECK(writer);
    history_writer_begin(writer, 40, HISTORY_TRAIN, 90000000000u);
    history_writer_scalar(writer, history_writer_name(writer, STR("loss")), 3);
    history_writer_end(writer, 0);
    CHECK_INT(history_writer_close(writer, NULL), 0);
    session = session_open(path, NULL, NULL);
    CHECK(session && session->history);
    ASK(text, export_training_json(&json, session, &wanted, NULL));
    CHECK(has(&text, "\"columns\":{\"columns\":2,\"first\":[0,40],\"last\":[11,40]"));
    CHECK(has(&text, "\"gap_steps\":28"));
    session_close(session);
    unlink(path);
    buf_release(&text);
}
