/* The history of a training run as JSON and in the report. */
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

/* A gradient, a scalar that is NaN in the end, one with a hostile name, an alarm. */
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
    /* The root of 1 + 1 + 4; update / weight. */
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
    CHECK(has_cell(json_of, "grad", "7.348")); /* 3 times the root of 6 */
    CHECK(!session->step);                     /* other questions are not changed */
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

TEST(a_document_with_little_room_leaves_series_out)
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

TEST(a_recording_without_a_history_says_how_to_get_one)
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
    CHECK(!has(&text, "id=\"training\"") && !has(&text, "id=\"history\""));
    session_close(session);
    buf_release(&text);
}

TEST(a_report_of_a_training_has_its_curves_and_alarms_without_a_script)
{
    struct buf text = export_as("html");
    struct str page = buf_span(&text), data;
    struct buf document = BUF_INIT;

    CHECK(has(&text, "<section id=\"training\"><h2>Training</h2>"));
    CHECK(has(&text,
              "<path class=\"lin\" vector-effect=\"non-scaling-stroke\" d=\"M0.0 "));
    CHECK(has(&text,
              "<path class=\"log\" vector-effect=\"non-scaling-stroke\" d=\"M0.0 "));
    CHECK(has(&text, "title=\"NaN or Inf, steps 11 to 11\">×</i>"));
    CHECK(has(&text, "href=\"#alarm-0\""));
    CHECK(has(&text, "<tr id=\"alarm-0\" class=\"alarm\">"));
    CHECK(has(&text, "&lt;i&gt;NaN&lt;/i&gt;"));
    CHECK(!has(&text, "<i>NaN") && !has(&text, "</script><b>"));
    /* The data end at the end of their script, and have no control characters. */
    data = str_from(page, (size_t)str_find(page, STR("id=\"history\">")) + 13);
    data = str_head(data, (size_t)str_find(data, STR("</script>")));
    buf_str(&document, data);
    check_json(&document);
    CHECK(has(&document, "\\u003c/script\\u003e\\u003cb\\u003e\\\\x1b\\u0026"));
    buf_release(&document);
    buf_release(&text);
}
