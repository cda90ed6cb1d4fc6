/* The document `rows`: the same names, cells and folds as in the terminal's tree. */
#include "export/export.h"

#include <math.h>
#include <string.h>

#include "base/base.h"
#include "export/read_json_in.h"
#include "rows/below.h"
#include "rows/row_state.h"
#include "rows/sample_rows.h"
#include "run/sample_attention.h"
#include "run/sample_block.h"
#include "run/sample_run.h"
#include "session/sample_session.h"

struct scene {
    struct session *session;
    struct arena arena;
    struct show show;
    struct buf text;
    const struct json_tree *json;
};

static void ask(struct scene *s, const struct export_rows_wanted *wanted)
{
    buf_clear(&s->text);
    DOCUMENT(s->text,
             CHECK_INT(export_rows_json(&json, s->session, wanted, NULL, NULL), 0));
    s->json = json_tree_of(&s->text, &s->arena);
    CHECK(json_says(json_get(s->json, "kind"), "rows"));
}

static void scene_begin(struct scene *s, struct session *session)
{
    *s = (struct scene){.session = session};
    CHECK(session);
    arena_init(&s->arena, 0);
    CHECK_INT(show_init(&s->show, session, &s->arena, NULL), 0);
    below_index(&s->show, &s->arena);
}

static void scene_end(struct scene *s)
{
    arena_release(&s->arena);
    buf_release(&s->text);
    session_close(s->session);
}

/* The text of a place in a list of texts. */
static struct str text_at(const struct scene *s, const struct json_tree *list,
                          uint32_t i)
{
    return json_at(json_get(s->json, "texts"), (uint32_t)json_int(json_at(list, i)))
        ->text;
}

static bool is_text(const struct scene *s, const char *key, uint32_t i,
                    const char *text)
{
    return str_is(text_at(s, json_get(s->json, key), i), text);
}

static int64_t int_at(const struct json_tree *tree, const char *key, uint32_t i)
{
    return json_int(json_at(json_get(tree, key), i));
}

static const struct json_tree *column_of(const struct scene *s, const char *id)
{
    const struct json_tree *list = json_get(s->json, "columns");

    for (uint32_t i = 0; i < list->n; i++)
        if (json_says(json_get(list->items[i], "id"), id))
            return list->items[i];
    return NULL;
}

/* ---- the same as in the tree ---- */

static void same_label(const struct scene *s, uint32_t place)
{
    struct row row = {.place = place, .count = 1, .above = place ? 0 : NO_ROW};
    struct label label = {0};

    label_make(&label, &s->show, &row, LABEL_NAME);
    CHECK(is_text(s, "name", place, buf_cstr(&label.name)));
    CHECK(is_text(s, "class", place, buf_cstr(&label.type)));
    CHECK(is_text(s, "args", place, buf_cstr(&label.args)));
    CHECK(str_eq(text_at(s, json_get(s->json, "tail"), place),
                 str_trim(buf_span(&label.tail))));
    CHECK_INT(int_at(s->json, "flags", place) & ~STATE_HIDDEN,
              row_state(&s->show, &label, &row));
    label_release(&label);
}

static void same_cell(const struct scene *s, const struct json_tree *json,
                      const struct column *column, uint32_t place)
{
    struct row row = {.place = place, .count = 1, .above = place ? 0 : NO_ROW};
    const struct json_tree *numbers = json_find(json, "number"), *number;
    struct buf text = BUF_INIT;
    struct figure figure = column_on_page(&text, column, &s->show, &row);
    double expected = figure.kind == FIGURE_REAL || figure.kind == FIGURE_SHARE
                          ? figure.real
                          : (double)figure.n;

    CHECK(str_eq(text_at(s, json_get(json, "text"), place), buf_span(&text)));
    number = numbers ? json_at(numbers, place) : NULL;
    if (number && number->kind == JSON_NUMBER)
        CHECK_NEAR(json_number(number), expected, fabs(expected) * 1e-4);
    if (figure.tied || str_is(buf_span(&text), "–"))
        CHECK(!number || number->kind == JSON_NULL);
    buf_release(&text);
}

static const char *all_columns(struct buf *to)
{
    buf_clear(to);
    for (size_t i = 0; i < n_column_table; i++)
        if (column_table[i].kind != FIGURE_BAR &&
            strcmp(column_table[i].id, "path") != 0)
            buf_printf(to, "%s%s", to->len > 0 ? "," : "", column_table[i].id);
    return buf_cstr(to);
}

/* Every place and cell of the document must equal the tree's. */
static void check_session(struct session *session)
{
    struct buf ids = BUF_INIT;
    struct scene s;

    scene_begin(&s, session);
    ask(&s, &(struct export_rows_wanted){NULL, NULL});
    CHECK_INT(json_int(json_get(s.json, "n")), session->model->n_places);
    for (uint32_t p = 0; p < session->model->n_places; p++) {
        same_label(&s, p);
        CHECK_INT(int_at(s.json, "end", p), session->model->end[p]);
        CHECK_INT(int_at(s.json, "what", p), session->model->kind[p]);
        if (p > 0)
            CHECK_INT(int_at(s.json, "parent", p), session->model->parent[p]);
    }
    CHECK(json_at(json_get(s.json, "parent"), 0)->kind == JSON_NULL);
    ask(&s, &(struct export_rows_wanted){all_columns(&ids), NULL});
    CHECK(!json_find(s.json, "name")); /* the places are known */
    for (size_t i = 0; i < n_column_table; i++) {
        const struct json_tree *json = column_of(&s, column_table[i].id);

        for (uint32_t p = 0; json && p < session->model->n_places; p++)
            same_cell(&s, json, &column_table[i], p);
    }
    CHECK(column_of(&s, "type"));
    buf_release(&ids);
    scene_end(&s);
}

TEST(a_page_has_the_names_and_cells_of_the_tree)
{
    check_session(sample_session());
    check_session(session_of_run(sample_run(2), NULL));
    check_session(session_of_run(sample_attention(), NULL));
    check_session(session_of_run(
        sample_block((struct sample_block_wanted){.nan = true, .backward = true}),
        NULL));
}

TEST(only_columns_with_values_are_listed_and_only_default_ones_have_cells)
{
    struct scene s;

    scene_begin(&s, sample_session());
    ask(&s, &(struct export_rows_wanted){NULL, NULL});
    CHECK(json_find(column_of(&s, "params"), "text"));
    CHECK(json_find(column_of(&s, "shapes"), "text"));
    CHECK(!json_find(column_of(&s, "dtype"), "text"));
    CHECK(!column_of(&s, "time") && !column_of(&s, "grad") && !column_of(&s, "nan"));
    CHECK(!column_of(&s, "path") && !column_of(&s, "bar"));
    CHECK_INT(json_int(json_get(column_of(&s, "params"), "whole")), 8);
    scene_end(&s);
    scene_begin(&s, session_of_run(sample_run(1), NULL));
    ask(&s, &(struct export_rows_wanted){NULL, NULL});
    CHECK(json_find(column_of(&s, "time"), "number"));
    CHECK(!column_of(&s, "flops")); /* no operations */
    CHECK_INT(json_int(json_get(column_of(&s, "time"), "whole")),
              s.show.activity->total_ns);
    scene_end(&s);
}

TEST(bars_are_shares_of_a_total_only)
{
    static const char *const ids[] = {"params", "time", "calls", "in_mem", "out_mem"};
    struct scene s;
    int without = 0;

    scene_begin(&s, session_of_run(sample_attention(), NULL));
    ask(&s, &(struct export_rows_wanted){"params,time,calls,in_mem,out_mem", NULL});
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        const struct json_tree *column = column_of(&s, ids[i]), *numbers;

        if (!column || !json_find(column, "number"))
            continue;
        numbers = json_get(column, "number");
        for (uint32_t p = 0; p < s.session->model->n_places; p++)
            if (json_find(column, "whole") && json_at(numbers, p)->kind != JSON_NULL)
                CHECK(json_int(json_at(numbers, p)) <=
                      json_int(json_get(column, "whole")));
        without += !json_find(column, "whole");
    }
    CHECK(json_find(column_of(&s, "params"), "whole") && without > 0);
    scene_end(&s);
}

TEST(numbers_counted_elsewhere_are_marked_and_omitted)
{
    const struct json_tree *params;
    struct scene s;
    uint32_t tied;

    scene_begin(&s, sample_session());
    ask(&s, &(struct export_rows_wanted){NULL, NULL});
    tied = sample_place(s.session, "b.weight");
    params = column_of(&s, "params");
    CHECK(str_is(text_at(&s, json_get(params, "text"), tied), "(6)"));
    CHECK(json_at(json_get(params, "number"), tied)->kind == JSON_NULL);
    CHECK_INT(json_get(params, "tied")->n, 2); /* the module b, too */
    CHECK_INT(int_at(params, "tied", 1), tied);
    CHECK(int_at(s.json, "flags", tied) & STATE_TIED);
    CHECK(is_text(&s, "tail", tied, "tied to a.weight"));
    scene_end(&s);
}

/* ---- folds ---- */

TEST(equal_siblings_are_runs_with_the_cells_of_their_row)
{
    const struct json_tree *runs, *params;
    struct sample sample;
    uint32_t list;
    struct scene s;

    sample_begin(&sample, "net.pt");
    list = sample_module(&sample, 0, "h", "torch.nn.ModuleList", "");
    for (int i = 0; i < 12; i++) {
        char name[8] = {(char)(i < 10 ? '0' + i : '1'),
                        (char)(i < 10 ? 0 : '0' + i - 10)};
        uint32_t block = sample_module(&sample, list, name, "gpt.Block", "");

        sample_tensor(&sample, block, "weight", "3 4");
    }
    sample_finish(&sample);
    scene_begin(&s, sample.session);
    ask(&s, &(struct export_rows_wanted){NULL, NULL});
    runs = json_get(s.json, "runs");
    CHECK_INT(json_get(runs, "first")->n, 1);
    CHECK_INT(int_at(runs, "first", 0), 2);
    CHECK_INT(int_at(runs, "count", 0), 12);
    CHECK(str_is(text_at(&s, json_get(runs, "name"), 0), "0-11"));
    CHECK(str_is(text_at(&s, json_get(runs, "class"), 0), "12 × Block"));
    CHECK_INT(json_get(json_get(s.json, "blocks"), "first")->n, 0);
    params = column_of(&s, "params");
    CHECK(str_is(text_at(&s, json_get(params, "run_text"), 0), "144"));
    CHECK_INT(int_at(params, "run_number", 0), 144);
    arena_release(&s.arena);
    buf_release(&s.text);
    sample_release(&sample);
}

TEST(blocks_too_few_for_a_row_of_the_tree_are_listed_for_an_overview)
{
    const struct json_tree *blocks;
    struct sample sample;
    uint32_t list;
    struct scene s;

    sample_begin(&sample, "net.pt");
    list = sample_module(&sample, 0, "h", "torch.nn.ModuleList", "");
    for (int i = 0; i < 6; i++) {
        char name[2] = {(char)('0' + i), 0};
        uint32_t block =
            sample_module(&sample, list, name, i == 3 ? "gpt.Other" : "gpt.Block", "");

        block = sample_module(&sample, block, "fc", "torch.nn.Linear", "");
        sample_tensor(&sample, block, "weight", "3 4");
    }
    sample_finish(&sample);
    scene_begin(&s, sample.session);
    ask(&s, &(struct export_rows_wanted){NULL, NULL});
    CHECK_INT(json_get(json_get(s.json, "runs"), "first")->n, 0);
    blocks = json_get(s.json, "blocks");
    CHECK_INT(json_get(blocks, "first")->n, 2);
    CHECK_INT(int_at(blocks, "first", 0), 2);
    CHECK_INT(int_at(blocks, "count", 0), 3);
    CHECK_INT(int_at(blocks, "first", 1), 14);
    CHECK_INT(int_at(blocks, "count", 1), 2);
    arena_release(&s.arena);
    buf_release(&s.text);
    sample_release(&sample);
}

/* ---- what comes from hostile files ---- */

TEST(hostile_names_are_escaped_and_found_by_their_place)
{
    static const char name[] = "a\x1b[2J\xe2\x80\xae\xff";
    struct buf path = BUF_INIT;
    struct sample sample;
    struct scene s;

    sample_begin(&sample, "x\x1b.pt");
    sample_tensor(&sample, 0, name, "2");
    sample_finish(&sample);
    scene_begin(&s, sample.session);
    ask(&s, &(struct export_rows_wanted){NULL, NULL});
    CHECK(is_text(&s, "name", 0, "x\\x1b.pt"));
    CHECK(is_text(&s, "name", 1, "a\\x1b[2J\\u202e\\xff"));
    CHECK(memchr(s.text.at, 0x1b, s.text.len) == NULL);
    place_path(sample.model, 1, &path); /* the place suffices */
    CHECK_STR(buf_cstr(&path), name);
    buf_release(&path);
    arena_release(&s.arena);
    buf_release(&s.text);
    sample_release(&sample);
}

/* ---- errors ---- */

static void fails(struct session *session, const struct export_rows_wanted *wanted,
                  enum err_code code, const char *part)
{
    struct work work;
    struct err err = {0};
    struct buf text = BUF_INIT;
    struct json json;
    struct out out;

    work_init(&work);
    atomic_store(&work.cancel, code == ERR_CANCELLED);
    out_init_buf(&out, &text);
    json_init_text(&json, &out);
    CHECK_INT(export_rows_json(&json, session, wanted, &work, &err), -1);
    CHECK_INT(err.code, code);
    CHECK(strstr(err.text, part));
    out_release(&out);
    if (code == ERR_USAGE)
        CHECK_INT(text.len, 0); /* nothing was written before */
    buf_release(&text);
}

TEST(invalid_requests_fail_before_anything_is_written)
{
    struct session *session = sample_session();

    fails(session, &(struct export_rows_wanted){"parms", NULL}, ERR_USAGE,
          "unknown column \"parms\"; did you mean params");
    fails(session, &(struct export_rows_wanted){"path", NULL}, ERR_USAGE, "\"path\"");
    fails(session, &(struct export_rows_wanted){NULL, "3"}, ERR_USAGE, "no history");
    fails(session, &(struct export_rows_wanted){NULL, "x"}, ERR_USAGE, "x");
    fails(session, &(struct export_rows_wanted){NULL, NULL}, ERR_CANCELLED, "");
    session_close(session);
}
