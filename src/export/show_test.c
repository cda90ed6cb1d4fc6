/* The requests of a page about values: the same numbers as in the terminal. */
#include "export/export.h"

#include <math.h>
#include <string.h>

#include "base/base.h"
#include "export/read_json_in.h"
#include "facts/statistics.h"
#include "run/sample_run.h"
#include "session/sample_session.h"

static const double quantiles[] = {0.001, 0.01, 0.05, 0.5, 0.95, 0.99, 0.999};

/* Everything that the page of a tensor requests. */
static struct export_show_wanted everything(void)
{
    return (struct export_show_wanted){.numbers = {.quantiles = quantiles,
                                                   .n_quantiles = COUNT_OF(quantiles),
                                                   .bins = 125,
                                                   .inner = true,
                                                   .mean_abs = true},
                                       .all = true,
                                       .slice = "",
                                       .rows = 16,
                                       .columns = 16,
                                       .picture = 64,
                                       .sheet = true,
                                       .call = EXPORT_NEWEST};
}

struct scene {
    struct session *session;
    struct arena arena;
    struct buf text;
    const struct json_tree *json;
};

static void scene_begin(struct scene *s, struct session *session)
{
    *s = (struct scene){.session = session};
    CHECK(session);
    arena_init(&s->arena, 0);
}

static void scene_end(struct scene *s)
{
    arena_release(&s->arena);
    buf_release(&s->text);
    session_close(s->session);
}

static const struct json_tree *ask(struct scene *s, const char *name, const char *key,
                                   const struct export_show_wanted *wanted)
{
    buf_clear(&s->text);
    DOCUMENT(s->text, CHECK_INT(export_show_page(&json, s->session,
                                                 sample_place(s->session, name), wanted,
                                                 NULL, NULL),
                                0));
    s->json = json_tree_of(&s->text, &s->arena);
    return json_get(s->json, key);
}

static double real_at(const struct json_tree *list, uint32_t i)
{
    return json_number(json_at(list, i));
}

/* ---- a tensor ---- */

TEST(a_page_has_all_numbers_of_a_tensor)
{
    struct export_show_wanted wanted = everything();
    const struct json_tree *tensor, *inner;
    struct scene s;

    scene_begin(&s, sample_session());
    tensor = ask(&s, "a.weight", "tensor", &wanted);
    CHECK_INT(json_get(tensor, "quantiles")->n, 7);
    CHECK_INT(json_get(json_get(tensor, "histogram"), "bins")->n, 125);
    CHECK_NEAR(json_number(json_get(tensor, "mean_abs")), 3.5, 1e-12);
    inner = json_get(tensor, "inner");
    /* As torch.quantile: -6 + 0.05 * 7 and 4 + 0.95. */
    CHECK_NEAR(json_number(json_get(inner, "min")), -5.65, 1e-12);
    CHECK_NEAR(json_number(json_get(inner, "max")), 4.95, 1e-12);
    CHECK_INT(json_get(inner, "bins")->n, 125);
    scene_end(&s);
}

/* The lines of the terminal, all counts included. */
TEST(statistics_are_the_facts_of_the_terminal)
{
    struct export_show_wanted wanted = everything();
    const struct json_tree *list;
    struct facts facts = {0};
    struct numbers numbers;
    struct scene s;

    scene_begin(&s, sample_session());
    list = ask(&s, "a.bias", "statistics", &wanted);
    CHECK_INT(
        session_numbers(s.session, 1, &wanted.numbers, &s.arena, NULL, &numbers, NULL),
        0);
    statistics_facts(&facts, s.session->model,
                     place_tensor(s.session->model, sample_place(s.session, "a.bias")),
                     &numbers, STATISTICS_ALL_COUNTS);
    CHECK_INT(list->n, facts.n);
    for (uint32_t i = 0; i < facts.n; i++) {
        CHECK(json_says(json_get(list->items[i], "id"), facts.at[i].id));
        CHECK(str_eq(
            json_get(json_at(json_get(list->items[i], "parts"), 0), "text")->text,
            fact_part_text(&facts, &facts.parts[facts.at[i].first])));
    }
    CHECK(facts_find(&facts, "pos_inf") && facts_find(&facts, "mean_abs"));
    facts_release(&facts);
    scene_end(&s);
}

TEST(a_slice_is_a_window_of_values_formatted_like_the_grid)
{
    struct export_show_wanted wanted = everything();
    const struct json_tree *slice;
    struct scene s;

    scene_begin(&s, sample_session());
    wanted.slice = "[::-1]";
    wanted.row = 1;
    wanted.rows = wanted.columns = 2;
    wanted.column = 1;
    slice = json_get(ask(&s, "a.weight", "tensor", &wanted), "slice");
    CHECK(json_says(json_get(slice, "plane"), "[1::-1, :]"));
    CHECK_INT(json_int(json_get(slice, "rows")), 2);
    CHECK_INT(json_int(json_get(slice, "columns")), 3);
    CHECK_INT(json_int(json_get(slice, "window_rows")), 1);
    CHECK_NEAR(real_at(json_get(slice, "values"), 0), 2, 0);
    CHECK_NEAR(real_at(json_get(slice, "values"), 1), 3, 0);
    CHECK(json_says(json_at(json_get(slice, "texts"), 1), "3.0000"));
    wanted.slice = "[1]"; /* a row */
    slice = json_get(ask(&s, "a.weight", "tensor", &wanted), "slice");
    CHECK(json_get(slice, "down")->kind == JSON_NULL);
    CHECK_INT(json_int(json_get(slice, "across")), 1);
    wanted.rows = 0; /* all values, as on the command line */
    slice = json_get(ask(&s, "a.weight", "tensor", &wanted), "slice");
    CHECK_INT(json_get(slice, "values")->n, 3);
    CHECK(!json_find(slice, "texts"));
    scene_end(&s);
}

TEST(a_slice_has_a_picture_with_means_beside_it)
{
    struct export_show_wanted wanted = everything();
    const struct json_tree *picture;
    struct scene s;

    scene_begin(&s, sample_session());
    wanted.picture = 2;
    picture =
        json_get(json_get(ask(&s, "a.weight", "tensor", &wanted), "slice"), "picture");
    CHECK_INT(json_int(json_get(picture, "high")), 2);
    CHECK_INT(json_int(json_get(picture, "wide")), 2);
    CHECK_INT(json_int(json_get(picture, "cell_columns")), 2);
    CHECK_NEAR(real_at(json_get(picture, "mean"), 0), 1.5, 0);
    CHECK_NEAR(real_at(json_get(picture, "mean"), 3), -6, 0);
    CHECK_NEAR(real_at(json_get(picture, "row_mean_abs"), 1), 5, 0);
    CHECK_NEAR(real_at(json_get(picture, "column_mean_abs"), 1), 4.5, 0);
    picture =
        json_get(json_get(ask(&s, "a.bias", "tensor", &wanted), "slice"), "picture");
    CHECK(json_at(json_get(picture, "mean"), 1)->kind == JSON_NULL);
    CHECK_INT(json_int(json_at(json_get(picture, "bad"), 1)), 1);
    CHECK_INT(json_int(json_get(picture, "nan")), 1);
    scene_end(&s);
}

TEST(one_cell_is_exact_with_its_bits)
{
    struct export_show_wanted wanted = everything();
    const struct json_tree *cell;
    struct scene s;

    scene_begin(&s, sample_session());
    wanted.cell = "1,2";
    cell = json_get(json_get(ask(&s, "a.weight", "tensor", &wanted), "slice"), "cell");
    CHECK_NEAR(json_number(json_get(cell, "value")), -6, 0);
    CHECK(json_says(json_get(cell, "bits"), "0xc0c00000"));
    CHECK(json_says(json_get(cell, "text"), "-6"));
    CHECK_INT(json_int(json_at(json_get(cell, "index"), 1)), 2);
    wanted.cell = "0,1";
    cell = json_get(json_get(ask(&s, "a.bias", "tensor", &wanted), "slice"), "cell");
    CHECK(json_says(json_get(cell, "text"), "NaN"));
    CHECK(json_says(json_get(cell, "bits"), "0x7fc00000"));
    wanted.cell = "0,0";
    wanted.slice = "";
    cell = json_get(json_get(ask(&s, "b.count", "tensor", &wanted), "slice"), "cell");
    CHECK_INT(json_get(cell, "index")->n, 0); /* a scalar */
    CHECK_INT(json_int(json_get(cell, "value")), 7);
    CHECK(json_says(json_get(cell, "bits"), "0x0000000000000007"));
    scene_end(&s);
}

TEST(a_tensor_without_values_has_a_reason)
{
    struct export_show_wanted wanted = everything();
    const struct json_tree *tensor;
    struct scene s;

    scene_begin(&s, sample_session());
    tensor = ask(&s, "lost", "tensor", &wanted);
    CHECK(json_find(tensor, "values_why") && !json_find(tensor, "slice"));
    ask(&s, "a", "module", &wanted); /* a module of a file has no values */
    CHECK(!json_find(s.json, "kept"));
    scene_end(&s);
}

/* ---- a kept result ---- */

#define SIDE 100

/* One call of `a` that returns 2×3×100×100: channel c is c - 1 everywhere, but item 1 has
 * a NaN; `list.0` takes it. */
static struct run *kept_run(void)
{
    struct trace_wanted wanted = {.keep_limit = 4 * MIB};
    struct trace *trace = trace_new(sample_model(), &wanted);
    static const int64_t sizes[] = {2, 3, SIDE, SIDE};
    static float values[6 * SIDE * SIDE];
    struct run_value value = {.dtype = DTYPE_FLOAT32,
                              .rank = 4,
                              .numel = COUNT_OF(values),
                              .bytes = sizeof values};
    uint32_t call, number;

    for (uint32_t i = 0; i < COUNT_OF(values); i++)
        values[i] = (float)(i / (SIDE * SIDE) % 3) - 1;
    values[5 * SIDE * SIDE + 7] = NAN;
    number = trace_value(trace, &value, sizes, NULL, NULL);
    for (uint32_t i = 0; i < 2; i++) {
        call =
            trace_begin(trace, 0, i ? SAMPLE_BLOCK : SAMPLE_A, 0, 0, 1000 + i * 1000);
        trace_io(trace, call, i ? RUN_IN : RUN_OUT, trace_string(trace, "", 0), number,
                 0);
        if (i == 0)
            CHECK(trace_keep(trace, number, values, sizeof values));
        trace_end(trace, 0, call, 0, 1500 + i * 1000);
    }
    return trace_finish(trace, 3000, 0);
}

TEST(a_kept_result_has_the_page_of_a_tensor)
{
    struct export_show_wanted wanted = everything();
    const struct json_tree *kept, *slice, *details;
    struct scene s;

    scene_begin(&s, session_of_run(kept_run(), NULL));
    wanted.slice = "[1, 2]";
    wanted.row = 0;
    kept = ask(&s, "a", "kept", &wanted);
    CHECK_INT(json_int(json_get(kept, "number")), 0);
    CHECK_INT(json_get(kept, "shape")->n, 4);
    CHECK_INT(json_int(json_get(kept, "nan")), 1);
    CHECK_INT(json_int(json_get(kept, "count")), 6 * SIDE * SIDE);
    slice = json_get(kept, "slice");
    CHECK(json_says(json_get(slice, "plane"), "[1, 2, :, :]"));
    CHECK_INT(json_int(json_get(json_get(slice, "picture"), "wide")), 50);
    CHECK_INT(json_int(json_at(json_get(json_get(slice, "picture"), "bad"), 3)), 1);
    CHECK(json_says(json_at(json_get(slice, "texts"), 7), "NaN"));
    details = json_get(s.json, "kept_details");
    CHECK(json_says(json_get(json_at(details, 0), "id"), "shape"));
    CHECK(has(&s.text, "\"label\": \"made by\", \"text\": \"a, forward\""));
    CHECK(has(&s.text, "\"label\": \"read by\", \"text\": \"list.0\""));
    CHECK(json_find(s.json, "statistics"));
    scene_end(&s);
}

TEST(channels_of_a_kept_result_are_small_pictures)
{
    struct export_show_wanted wanted = everything();
    const struct json_tree *sheet;
    struct scene s;

    scene_begin(&s, session_of_run(kept_run(), NULL));
    wanted.item = 1;
    sheet = json_get(ask(&s, "a", "kept", &wanted), "sheet");
    CHECK_INT(json_int(json_get(sheet, "channels")), 3);
    CHECK_INT(json_int(json_get(sheet, "n")), 3);
    CHECK_INT(json_int(json_get(sheet, "high")), 34); /* cells of 3×3 */
    CHECK_NEAR(json_number(json_get(sheet, "most")), 1, 0);
    /* Channel 0 is -1: three bytes of 0 are "AAAA". */
    CHECK(str_starts(json_get(sheet, "points")->text, STR("AAAA")));
    CHECK_INT(json_get(sheet, "points")->text.len, 4 * (3 * 34 * 34 + 2) / 3 / 4 * 4);
    wanted.channel = 2;
    sheet = json_get(ask(&s, "a", "kept", &wanted), "sheet");
    /* Of channel 2, the third point has the NaN. */
    CHECK(str_starts(json_get(sheet, "points")->text, STR("/v7/")));
    scene_end(&s);
}

TEST(a_kept_result_of_a_truncated_file_has_a_reason)
{
    struct export_show_wanted wanted = everything();
    struct run *run = kept_run();
    struct err err = {0};
    struct buf text = BUF_INIT;
    struct session *session;
    struct json json;
    struct out out;

    run->kept[0].bytes /= 2;
    session = session_of_run(run, NULL);
    out_init_buf(&out, &text);
    json_init_text(&json, &out);
    CHECK_INT(export_show_page(&json, session, sample_place(session, "a"), &wanted,
                               NULL, &err),
              -1);
    CHECK(strstr(err.text, "cut short"));
    CHECK_INT(text.len, 0);
    out_release(&out);
    buf_release(&text);
    session_close(session);
}

/* ---- errors and work ---- */

static void fails(struct session *session, const char *name,
                  const struct export_show_wanted *wanted, struct work *work,
                  enum err_code code, const char *part)
{
    struct err err = {0};
    struct buf text = BUF_INIT;
    struct json json;
    struct out out;

    out_init_buf(&out, &text);
    json_init_text(&json, &out);
    CHECK_INT(export_show_page(&json, session, sample_place(session, name), wanted,
                               work, &err),
              -1);
    CHECK_INT(err.code, code);
    CHECK(strstr(err.text, part));
    CHECK_INT(text.len, 0);
    out_release(&out);
    buf_release(&text);
}

TEST(bad_slices_cells_and_calls_have_an_error)
{
    struct session *session = session_of_run(kept_run(), NULL);
    struct export_show_wanted wanted = everything();

    wanted.slice = "[0, 9]";
    fails(session, "a", &wanted, NULL, ERR_USAGE, "out of range");
    wanted.slice = "";
    wanted.cell = "3";
    fails(session, "a", &wanted, NULL, ERR_USAGE, "a row and a column");
    wanted.cell = "3,100";
    fails(session, "a", &wanted, NULL, ERR_USAGE, "100 rows and 100 columns");
    wanted.cell = NULL;
    wanted.call = 7;
    fails(session, "a", &wanted, NULL, ERR_NOT_FOUND, "no call 7");
    session_close(session);
}

TEST(reading_values_can_be_stopped_and_counts_its_bytes)
{
    struct session *session = session_of_run(kept_run(), NULL);
    struct export_show_wanted wanted = everything();
    struct buf text = BUF_INIT;
    struct work work;

    work_init(&work);
    DOCUMENT(text,
             CHECK_INT(export_show_page(&json, session, sample_place(session, "a"),
                                        &wanted, &work, NULL),
                       0));
    CHECK(atomic_load(&work.total) >= 6u * SIDE * SIDE * 4);
    CHECK(atomic_load(&work.done) >= 6u * SIDE * SIDE * 4);
    work_init(&work);
    atomic_store(&work.cancel, 1);
    fails(session, "a", &wanted, &work, ERR_CANCELLED, "");
    buf_release(&text);
    session_close(session);
}
