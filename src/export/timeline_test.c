/* The document `timeline`: the same times as in panel 5 of the terminal. */
#include "export/export.h"

#include <string.h>

#include "base/base.h"
#include "export/read_json_in.h"
#include "rows/show.h"
#include "run/sample_attention.h"
#include "run/sample_block.h"
#include "run/sample_run.h"
#include "session/sample_session.h"
#include "study/slowest.h"

struct scene {
    struct session *session;
    struct arena arena;
    struct show show;
    struct buf text;
    const struct json_tree *json, *boxes, *modules;
};

static void scene_begin(struct scene *s, struct run *run, uint32_t pass)
{
    *s = (struct scene){.session = session_of_run(run, NULL)};
    CHECK(s->session);
    arena_init(&s->arena, 0);
    CHECK_INT(show_init(&s->show, s->session, &s->arena, NULL), 0);
    DOCUMENT(s->text,
             CHECK_INT(export_timeline_json(&json, s->session, pass, NULL, NULL), 0));
    s->json = json_tree_of(&s->text, &s->arena);
    s->boxes = json_get(s->json, "boxes");
    s->modules = json_get(s->json, "modules");
}

static void scene_end(struct scene *s)
{
    arena_release(&s->arena);
    buf_release(&s->text);
    session_close(s->session);
}

static int64_t int_at(const struct json_tree *tree, const char *key, uint32_t i)
{
    return json_int(json_at(json_get(tree, key), i));
}

static bool is_text(const struct scene *s, const struct json_tree *tree,
                    const char *key, uint32_t i, const char *text)
{
    return json_says(
        json_at(json_get(s->json, "texts"), (uint32_t)int_at(tree, key, i)), text);
}

static uint32_t find_text(const struct scene *s, const struct json_tree *tree,
                          const char *key, const char *text)
{
    for (uint32_t i = 0; i < json_get(tree, key)->n; i++)
        if (is_text(s, tree, key, i, text))
            return i;
    test_fail(__FILE__, __LINE__, "nothing is called \"%s\"", text);
}

TEST(boxes_are_columns_of_one_length)
{
    static const char *const keys[] = {"kind",   "phase", "name",     "place",
                                       "family", "up",    "after_ns", "ns"};
    struct scene s;
    uint32_t n;

    scene_begin(&s, sample_block((struct sample_block_wanted){.backward = true}),
                UINT32_MAX);
    n = (uint32_t)json_int(json_get(s.boxes, "n"));
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        CHECK_INT(json_get(s.boxes, keys[i])->n, n);
    CHECK_INT(json_get(s.boxes, "call")->n, s.session->run->n_calls);
    CHECK(is_text(&s, s.boxes, "name", 0, "Net"));
    CHECK_INT(int_at(s.boxes, "up", 0), 0);
    CHECK_INT(int_at(s.boxes, "up", 1), 1);
    CHECK_INT(int_at(s.boxes, "ns", 0), run_inclusive(&s.session->run->calls[0]));
    CHECK_INT(int_at(s.boxes, "own_ns", 0), run_exclusive(&s.session->run->calls[0]));
    CHECK(json_get(s.boxes, "flops_box")->n == 5 && json_get(s.boxes, "flops")->n == 5);
    CHECK_INT(json_get(s.json, "why")->n, 0);
    CHECK(!json_find(s.boxes, "thread"));
    scene_end(&s);
}

/* Panel 5 names the slowest modules by their own time. */
TEST(the_time_by_module_agrees_with_the_slowest_modules)
{
    struct slow_list slowest, classes;
    struct buf name = BUF_INIT;
    struct scene s;

    scene_begin(&s, sample_attention(), UINT32_MAX);
    CHECK_INT(slowest_of(&slowest, &classes, s.show.activity, s.session->model,
                         &s.arena, NULL),
              0);
    for (uint32_t i = 0; i < slowest.n; i++) {
        uint32_t row;

        buf_clear(&name);
        if (slowest.at[i].place > 0)
            place_path(s.session->model, slowest.at[i].place, &name);
        else
            buf_text(&name, "Model");
        row = find_text(&s, s.modules, "name", buf_cstr(&name));
        CHECK_INT(int_at(s.modules, "forward_ns", row), slowest.at[i].self_ns);
    }
    buf_release(&name);
    scene_end(&s);
}

TEST(modules_have_texts_and_flops_with_coverage)
{
    struct scene s;
    uint32_t row;

    scene_begin(&s, sample_block((struct sample_block_wanted){.backward = true}), 0);
    row = find_text(&s, s.modules, "name", "block.conv1");
    CHECK(is_text(&s, s.modules, "backward_text", row, "400.00μs"));
    CHECK(is_text(&s, s.modules, "flops_text", row, "147.5K"));
    CHECK_INT(int_at(s.modules, "flops", row), 147456);
    row = find_text(&s, s.modules, "name", "block.drop");
    CHECK(is_text(&s, s.modules, "backward_text", row, "–"));
    CHECK(json_at(json_get(s.modules, "backward_ns"), row)->kind == JSON_NULL);
    row = find_text(&s, s.modules, "name", "block.relu");
    CHECK(is_text(&s, s.modules, "flops_text", row, "not counted"));
    CHECK(json_says(json_get(s.json, "flops_text"),
                    "350.5K by 4 of 16 operations, all matrix work"));
    scene_end(&s);
    scene_begin(&s, sample_block((struct sample_block_wanted){.uncounted = true}), 0);
    row = find_text(&s, s.modules, "name", "block.conv2");
    CHECK(is_text(&s, s.modules, "flops_text", row, "unknown"));
    scene_end(&s);
}

TEST(phases_are_summed_up_and_memory_is_a_curve)
{
    const struct json_tree *memory;
    struct scene s;

    scene_begin(&s, sample_ops(), 0);
    CHECK(has(&s.text, "\"sentence\": \"forward "));
    CHECK(has(&s.text, ", optimizer "));
    CHECK(has(&s.text, "{\"phase\": \"loss\", \"ns\": "));
    memory = json_get(s.json, "memory");
    CHECK_INT(json_get(memory, "at_ns")->n, s.session->run->ops->n_ops);
    CHECK_INT(json_int(json_get(memory, "peak_bytes")), s.show.memory->peak);
    CHECK_INT(json_int(json_get(memory, "peak_op")), s.show.memory->peak_op);
    for (uint32_t i = 0; i < s.show.memory->n; i++)
        CHECK_INT(int_at(memory, "bytes", i), s.show.memory->live[i]);
    CHECK(is_text(&s, s.modules, "forward_text",
                  find_text(&s, s.modules, "name", "optimizer"), "–"));
    scene_end(&s);
}

TEST(a_recording_without_operations_lists_what_is_missing)
{
    struct scene s;

    scene_begin(&s, sample_run(2), 1);
    CHECK_INT(json_int(json_get(s.json, "pass")), 1);
    CHECK_INT(json_int(json_get(s.json, "passes")), 3);
    CHECK_INT(json_get(s.json, "why")->n, 1);
    CHECK(str_find(json_at(json_get(s.json, "why"), 0)->text,
                   STR("record(model, ops=True)")) > 0);
    CHECK(json_get(s.json, "memory")->kind == JSON_NULL);
    CHECK(json_find(s.json, "memory_why") && !json_find(s.json, "flops_text"));
    CHECK(is_text(&s, s.modules, "flops_text", 0, "–"));
    scene_end(&s);
}

/* As after opening a file whose section of operations is cut. */
TEST(damaged_operations_are_reported)
{
    struct run *run = sample_block((struct sample_block_wanted){.backward = true});
    struct scene s;

    run->ops = NULL;
    run->ops_damaged = true;
    scene_begin(&s, run, 0);
    CHECK(has(&s.text, "its operations are damaged"));
    CHECK_INT(json_int(json_get(s.boxes, "n")), run->n_calls);
    scene_end(&s);
}

TEST(operations_without_times_are_marked)
{
    struct run *run = sample_block((struct sample_block_wanted){0});
    struct scene s;

    for (uint32_t i = 0; i < run->ops->n_ops; i++)
        run->ops->ops[i].ns = 0;
    scene_begin(&s, run, 0);
    CHECK(has(&s.text, "how long operations took was not measured"));
    scene_end(&s);
}

TEST(hostile_names_of_modules_are_escaped)
{
    struct run *run = sample_run(1);
    char *name = (char *)(uintptr_t)place_name(run->model, 1).at; /* a */
    struct scene s;

    *name = 0x1b;
    scene_begin(&s, run, 0);
    CHECK(memchr(s.text.at, 0x1b, s.text.len) == NULL);
    CHECK(has(&s.text, "\"\\\\x1b\""));
    scene_end(&s);
}

/* Calls whose clocks ran backwards, as a damaged file may claim, draw nothing absurd. */
TEST(impossible_times_are_boxes_without_length)
{
    struct run *run = sample_block((struct sample_block_wanted){.backward = true});
    struct scene s;

    for (uint32_t i = 0; i < run->n_calls; i++) {
        run->calls[i].end_ns = run->calls[i].start_ns / 2;
        run->calls[i].own_ns = UINT64_MAX;
    }
    run->ops->ops[3].start_ns = UINT64_MAX - 5;
    run->ops->ops[3].ns = 100;
    scene_begin(&s, run, 0);
    CHECK_INT(int_at(s.boxes, "ns", 0), 0);
    scene_end(&s);
}

TEST(files_and_unknown_passes_have_an_error)
{
    struct session *file = sample_session();
    struct session *run = session_of_run(sample_run(1), NULL);
    struct json json = {0};
    struct err err = {0};

    CHECK_INT(export_timeline_json(&json, file, UINT32_MAX, NULL, &err), -1);
    CHECK(strstr(err.text, "not a recording"));
    CHECK_INT(export_timeline_json(&json, run, 9, NULL, &err), -1);
    CHECK_INT(err.code, ERR_NOT_FOUND);
    session_close(file);
    session_close(run);
}
