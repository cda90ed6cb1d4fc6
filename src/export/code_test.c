/* The documents `code` and `attributes`: what panels 2 and 3 of the terminal show. */
#include "export/export.h"

#include <string.h>

#include "base/base.h"
#include "export/read_json_in.h"
#include "rows/sample_rows.h"
#include "run/sample_block.h"
#include "run/sample_run.h"
#include "session/sample_session.h"

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

static void ask_code(struct scene *s, const char *name, uint64_t number)
{
    buf_clear(&s->text);
    DOCUMENT(s->text,
             CHECK_INT(export_code_json(&json, s->session,
                                        sample_place(s->session, name), number, NULL),
                       0));
    s->json = json_tree_of(&s->text, &s->arena);
}

static void ask_attributes(struct scene *s, const char *name, const char *path)
{
    buf_clear(&s->text);
    DOCUMENT(s->text, CHECK_INT(export_attributes_json(&json, s->session,
                                                       sample_place(s->session, name),
                                                       str_of(path), NULL),
                                0));
    s->json = json_tree_of(&s->text, &s->arena);
}

/* The mark beside a line; "" if there is none. */
static const char *mark_at(const struct scene *s, int64_t line)
{
    const struct json_tree *marks = json_get(json_get(s->json, "source"), "marks");

    for (uint32_t i = 0; i < marks->n; i++)
        if (json_int(json_get(marks->items[i], "line")) == line)
            return json_get(marks->items[i], "text")->text.at;
    return "";
}

/* ---- code ---- */

TEST(source_has_its_lines_and_the_shapes_of_the_newest_call)
{
    const struct json_tree *source;
    struct scene s;

    scene_begin(&s,
                session_of_run(sample_block((struct sample_block_wanted){0}), NULL));
    ask_code(&s, "block", EXPORT_NEWEST);
    CHECK(json_says(json_get(s.json, "kind"), "code"));
    CHECK(json_says(json_get(s.json, "class"), "net.Block"));
    source = json_get(s.json, "source");
    CHECK(json_says(json_get(source, "file"), "net.py"));
    CHECK_INT(json_int(json_get(source, "first")), 1);
    CHECK_INT(json_int(json_get(source, "forward")), 2);
    CHECK_INT(json_get(source, "lines")->n, 8);
    CHECK(json_says(json_at(json_get(source, "lines"), 6), "        out += identity"));
    CHECK(has(&s.text, "{\"line\": 2, \"text\": \"x 2×8×8×8\", \"input\": true}"));
    CHECK(str_starts(str_of(mark_at(&s, 4)), STR("2×8×8×8")));
    CHECK(str_starts(str_of(mark_at(&s, 7)), STR("2×8×8×8")));
    CHECK_INT(json_int(json_get(s.json, "number")), 0);
    scene_end(&s);
}

TEST(nan_beside_a_line_is_an_alarm)
{
    struct scene s;

    scene_begin(&s, session_of_run(
                        sample_block((struct sample_block_wanted){.nan = true}), NULL));
    ask_code(&s, "block", 0);
    CHECK(has(&s.text, "NaN 3\", \"alarm\": true}"));
    ask_code(&s, "block", 9); /* no such call: the source alone */
    CHECK(!json_find(s.json, "call"));
    CHECK_INT(json_get(json_get(s.json, "source"), "marks")->n, 0);
    scene_end(&s);
}

TEST(a_class_without_source_has_a_reason_and_tensors_use_their_module)
{
    struct scene s;

    scene_begin(&s, sample_session());
    ask_code(&s, "a.weight", EXPORT_NEWEST);
    CHECK(json_says(json_get(s.json, "name"), "a"));
    CHECK(json_says(json_get(s.json, "class"), "torch.nn.modules.linear.Linear"));
    CHECK(json_get(s.json, "source")->kind == JSON_NULL);
    CHECK(json_says(json_get(s.json, "source_why"), "not in this file"));
    ask_code(&s, "b", EXPORT_NEWEST);
    CHECK(!json_find(s.json, "class"));
    CHECK(str_starts(json_get(s.json, "source_why")->text,
                     STR("no source: not in a state_dict")));
    scene_end(&s);
}

/* Characters that reorder text would show different code than what runs. */
TEST(hostile_source_is_escaped)
{
    struct sample sample;
    struct buf text = BUF_INIT;

    sample_begin(&sample, "x.pt");
    sample_module(&sample, 0, "m", "evil.M", "");
    sample.build.model->classes[0].source = build_string(
        &sample.build, STR("class M:\r\n  # \xe2\x80\xae</script>\x1b[2J\n\n\n"));
    sample_finish(&sample);
    DOCUMENT(
        text,
        CHECK_INT(export_code_json(&json, sample.session, 1, EXPORT_NEWEST, NULL), 0));
    CHECK(
        has(&text, "\"lines\": [\"class M:\", \"  # \\\\u202e</script>\\\\x1b[2J\"]"));
    buf_release(&text);
    sample_release(&sample);
}

/* ---- attributes ---- */

TEST(attributes_are_those_of_the_panel)
{
    static const char *const expected[][2] = {{"size", "(3, -3)"},
                                              {"eps", "1e-05"},
                                              {"bias", "True"},
                                              {"odd", "… (too deep)"},
                                              {"training", "True"}};
    const struct json_tree *list;
    struct scene s;

    scene_begin(&s, session_of_run(sample_run(1), NULL));
    ask_attributes(&s, "a", "");
    CHECK(json_says(json_get(s.json, "title"), "Linear"));
    list = json_get(s.json, "attributes");
    CHECK_INT(list->n, COUNT_OF(expected));
    for (uint32_t i = 0; i < list->n; i++) {
        CHECK(json_says(json_get(list->items[i], "name"), expected[i][0]));
        CHECK(json_says(json_get(list->items[i], "text"), expected[i][1]));
    }
    scene_end(&s);
    scene_begin(&s, sample_session());
    ask_attributes(&s, "b", "");
    CHECK(json_says(json_get(s.json, "attributes_why"),
                    "not recorded: a state_dict has only tensors"));
    ask_attributes(&s, "a.bias", "");
    CHECK(has(&s.text, "{\"name\": \"shape\", \"text\": \"2\"}"));
    scene_end(&s);
}

/* A live object: a list that folds, and a property that counts its reads. */
static unsigned properties_read;

static int live_attributes(struct source *source, const struct attribute_of *what,
                           struct arena *arena, struct attribute **ret_attributes,
                           uint32_t *ret_n, struct err *err)
{
    static struct attribute own[2], inner[1];

    (void)source;
    (void)arena;
    (void)err;
    own[0] = (struct attribute){.name = STR("list\x1b"),
                                .text = STR("list with 1 item"),
                                .handle = 1,
                                .place = NO_PLACE};
    own[1] = (struct attribute){.name = STR("odd"),
                                .text = STR("property"),
                                .handle = 2,
                                .place = NO_PLACE,
                                .flags = ATTRIBUTE_PROPERTY};
    inner[0] = (struct attribute){.name = STR("0"),
                                  .text = STR("weight"),
                                  .handle = NO_ATTRIBUTE,
                                  .place = 1,
                                  .flags = ATTRIBUTE_ITEM};
    properties_read += what->attribute == 2;
    *ret_attributes = what->attribute == NO_ATTRIBUTE ? own : inner;
    *ret_n = what->attribute == NO_ATTRIBUTE ? 2 : 1;
    return 0;
}

static const struct source_ops live_ops = {.attributes = live_attributes};

TEST(attributes_of_a_live_object_open_one_by_one_and_run_no_code)
{
    struct source live = {.ops = &live_ops};
    struct source *before;
    struct model *model;
    struct err err = {0};
    struct json none = {0};
    struct scene s;

    scene_begin(&s, sample_session());
    model = (struct model *)(uintptr_t)s.session->model;
    before = model->source;
    model->source = &live;
    ask_attributes(&s, "a", "");
    CHECK(has(&s.text, "{\"name\": \"list\\\\x1b\", \"text\": \"list with 1 item\", "
                       "\"folds\": true}"));
    CHECK(has(&s.text, "\"text\": \"property\", \"folds\": true, \"property\": true}"));
    ask_attributes(&s, "a", "0");
    CHECK(json_says(json_get(s.json, "open"), "0"));
    CHECK(has(&s.text, "{\"name\": \"0\", \"text\": \"weight\", \"to\": 1}"));
    CHECK_INT(export_attributes_json(&none, s.session, sample_place(s.session, "a"),
                                     STR("1"), &err),
              -1);
    CHECK(strstr(err.text, "would run the model's code") && properties_read == 0);
    CHECK_INT(export_attributes_json(&none, s.session, sample_place(s.session, "a"),
                                     STR("7"), &err),
              -1);
    CHECK_INT(err.code, ERR_NOT_FOUND);
    CHECK_INT(export_attributes_json(&none, s.session, sample_place(s.session, "a"),
                                     STR("x"), &err),
              -1);
    CHECK_INT(err.code, ERR_USAGE);
    model->source = before;
    scene_end(&s);
}
