#include "facts/details.h"
#include "facts/facts.h"
#include "facts/notes.h"
#include "facts/run_text.h"

#include "base/test.h"
#include "facts/calls_text.h"
#include "facts/performance.h"
#include "facts/totals.h"
#include "rows/labels.h"
#include "run/sample_run.h"

struct scene {
    struct session *session;
    struct show show;
    struct arena arena;
    struct buf text;
};

static void scene_begin(struct scene *s, struct run *run)
{
    *s = (struct scene){.session = session_of_run(run, NULL), .text = BUF_INIT};
    CHECK(s->session);
    arena_init(&s->arena, 0);
    CHECK(show_init(&s->show, s->session, &s->arena, NULL) == 0);
    CHECK(s->show.activity);
}

static void scene_end(struct scene *s)
{
    buf_release(&s->text);
    arena_release(&s->arena);
    session_close(s->session);
}

static const char *cell(struct scene *s, const char *column, const char *name)
{
    struct row row = {.place = place_find(s->show.model, str_of(name)), .count = 1};

    buf_clear(&s->text);
    column_figure(&s->text, column_find(str_of(column)), &s->show, &row);
    return s->text.len ? s->text.at : "";
}

static bool says(const struct scene *s, const char *part)
{
    return str_find(buf_span(&s->text), str_of(part)) >= 0;
}

TEST(a_recording_has_cells_for_its_calls)
{
    struct scene s;

    scene_begin(&s, sample_run(2));
    CHECK_STR(cell(&s, "in", ""), "4×3");
    CHECK_STR(cell(&s, "out", ""), "4×2");
    CHECK_STR(cell(&s, "calls", "list.0"), "2");
    CHECK_STR(cell(&s, "in", "list.0.act"), "4×2");
    CHECK_STR(cell(&s, "out_mem", "list.0.act"), "32B");
    CHECK_STR(cell(&s, "outmean", "list.0.act"), "-0");
    CHECK_STR(cell(&s, "time", "a"), ""); /* under a microsecond */
    CHECK_STR(cell(&s, "nan", "a"), "");
    scene_end(&s);
}

TEST(a_module_without_calls_has_a_reason_in_one_column)
{
    struct scene s;

    scene_begin(&s, sample_run(1));
    CHECK_STR(cell(&s, "time", "tail"), "not reached");
    CHECK_STR(cell(&s, "out", "tail"), "");
    s.show.gaps_in_out = true;
    CHECK_STR(cell(&s, "out", "tail"), "not reached");
    CHECK_STR(cell(&s, "time", "list"), ""); /* nothing is missing for a container */
    CHECK_STR(cell(&s, "time", "a.weight"), "");
    CHECK_STR(cell(&s, "calls", "tail"), "");
    scene_end(&s);
}

TEST(exceptions_and_gaps_get_a_line_each)
{
    struct facts notes = {0};
    struct scene s;

    scene_begin(&s, sample_run(1));
    CHECK(notes_run(&notes, &s.show, NULL) == 0);
    CHECK_INT(notes.n, 3);
    facts_text(&s.text, &notes, 8);
    CHECK_STR(buf_cstr(&s.text),
              "✗ alarm a raised ValueError: no, call 2; its weight is 2×3\n"
              "notes   1 module was not reached: tail\n"
              "        keywords are not shown\n");
    CHECK_STR(notes.at[0].id, "raised");
    CHECK_INT(notes.at[0].role, COLOUR_ALARM);
    CHECK_INT(notes.at[0].target, place_find(s.show.model, STR("a")));
    CHECK_STR(notes.at[1].id, "not_reached");
    CHECK_INT(notes.at[1].role, COLOUR_DIM);
    CHECK(notes_alarmed(s.show.activity));
    facts_release(&notes);
    scene_end(&s);
}

TEST(a_capsule_shows_its_reason_and_no_times)
{
    struct trace *trace = trace_new(sample_model(), &(struct trace_wanted){0});
    struct facts ran = {0};
    struct scene s;

    trace_end(trace, 0, trace_begin(trace, 0, SAMPLE_NET, 0, 0, 1), 0, 2);
    trace_fact_text(trace, RUN_CAPSULE_FACT, "step 3, forward: NaN");
    scene_begin(&s, trace_finish(trace, 10, 0));
    CHECK_STR(cell(&s, "time", "tail"), ""); /* "not called" would be wrong */
    run_ran(&ran, &s.show);
    CHECK_INT(ran.n, 1);
    CHECK_STR(ran.at[0].id, "capsule");
    facts_text(&s.text, &ran, 0);
    CHECK(says(&s, "step 3, forward: NaN; torchoscope replay runs it again"));
    facts_release(&ran);
    scene_end(&s);
}

TEST(a_row_of_several_modules_has_their_sums)
{
    struct row row = {.place = 1, .count = 2, .flags = ROW_RUN};
    struct scene s;

    scene_begin(&s, sample_run(3));
    /* a, with one more call that raised, and the list, which has none */
    CHECK_INT(row_run(&s.show, &row, RUN_CALLS), 4);
    row.flags = ROW_MORE;
    CHECK_INT(row_run(&s.show, &row, RUN_CALLS), 0);
    scene_end(&s);
}

/* The calls of a module, as `show` prints them. */
static void write_calls(struct scene *s, const char *name)
{
    struct facts facts = {0};

    calls_facts(&facts, &s->show, place_find(s->show.model, str_of(name)), 3);
    buf_clear(&s->text);
    facts_text(&s->text, &facts, 11);
    facts_release(&facts);
}

TEST(the_calls_of_a_module_are_listed_up_to_a_number)
{
    struct facts facts = {0};
    struct scene s;

    scene_begin(&s, sample_run(RUN_KEEP_CALLS + 10));
    write_calls(&s, "list.0.act");
    CHECK(says(&s, "74 calls, "));
    CHECK(says(&s, "call 1  eval\n  in       [0]        4×2 "));
    CHECK(says(&s, "  in       mask       no tensor\n"));
    CHECK(says(&s, "call 2  eval\n"));
    CHECK(!says(&s, "call 3  "));
    CHECK(says(&s, "… 62 more\n10 calls are merged\n"));
    CHECK(says(&s, "  in       [0]        4×2 "));
    CHECK(says(&s, "  max -0  mean 0  std 0\ncall 74  eval\n"));
    write_calls(&s, "list.1");
    CHECK_STR(s.text.at, "its calls are listed at list.0\n");
    buf_clear(&s.text);
    performance_place(&facts, &s.show, place_find(s.show.model, STR("a")));
    facts_text(&s.text, &facts, 0);
    facts_release(&facts);
    CHECK(says(&s, "Gradient: computed\n"));
    CHECK(says(&s, "Parameters: 8 × 4 bytes"));
    scene_end(&s);
}

TEST(a_summary_ends_with_the_totals)
{
    struct scene s;
    struct out out;
    struct pen pen = {.out = &out};

    scene_begin(&s, sample_run(2));
    out_init_buf(&out, &s.text);
    totals_write(&pen, &s.show);
    out_release(&out);
    CHECK(says(&s, "params     8, all trainable; 6 more are tied to these and not "
                   "counted again\n"));
    CHECK(says(&s, "memory     32B of parameters + 48B of inputs + 128B of "
                   "activations = 208B\n"));
    CHECK(says(&s, "ran        3 passes, forward "));
    CHECK(!says(&s, "buffers"));
    scene_end(&s);
}

TEST(the_cost_of_recording_may_exceed_all_passes)
{
    struct facts facts = {0};
    struct scene s;

    scene_begin(&s, sample_run(1));
    s.session->own_run->own_ns = 5 * run_passes_ns(s.session->run);
    s.session->own_run->hooks_ns = 0;
    run_cost(&facts, &s.show);
    fact_end(&facts, "cost", COLOUR_NONE);
    facts_join(&s.text, &facts, "");
    CHECK(says(&s, ", 500% of "));
    facts_release(&facts);
    scene_end(&s);
}

TEST(activations_of_merged_calls_are_counted_once)
{
    uint64_t bytes[2];

    for (uint32_t i = 0; i < 2; i++) {
        struct run *run = sample_run(i == 0 ? 1 : RUN_KEEP_CALLS + 10);

        bytes[i] = totals_activations(run);
        run_free(run);
    }
    CHECK_INT(bytes[0], 64);
    CHECK_INT(bytes[1], 64 * (RUN_KEEP_CALLS + 10));
}

TEST(every_fact_of_a_run_has_an_id)
{
    struct facts facts = {0};
    struct file_facts file = {.to = &facts, .all = "--json"};
    struct scene s;

    scene_begin(&s, sample_run(RUN_KEEP_CALLS + 10));
    file.show = &s.show;
    CHECK(facts_file(&file, NULL) == 0);
    CHECK(notes_run(&facts, &s.show, NULL) == 0);
    for (uint32_t p = 0; p < s.show.model->n_places; p++) {
        notes_place(&facts, &s.show, p);
        performance_place(&facts, &s.show, p);
        calls_facts(&facts, &s.show, p, 3);
        if (s.show.model->kind[p] == PLACE_TENSOR)
            details_tensor(&facts, &s.show, p, true);
        else
            details_module(&facts, &s.show, p, DETAILS_NAME);
    }
    for (uint32_t i = 0; i < facts.n; i++) {
        const char *id = facts.at[i].id;

        CHECK(*id);
        for (; *id; id++)
            CHECK((*id >= 'a' && *id <= 'z') || *id == '_');
    }
    facts_release(&facts);
    scene_end(&s);
}
