/* Panel 4 with background threads: large tensors show "…" first. */
#include <poll.h>

#include "base/base.h"
#include "base/test.h"
#include "explorer/panels_in.h"
#include "model/build.h"
#include "run/sample_run.h"

struct scene {
    struct session *session;
    struct explorer explorer;
    struct buf text;
};

static void scene_begin(struct scene *s, struct session *session, const char *name)
{
    *s = (struct scene){.session = session};
    CHECK(session);
    CHECK(explorer_begin(&s->explorer, session, NULL, true, NULL) == 0);
    browse_go(s->explorer.browse, place_find(session->model, str_of(name)));
}

static void scene_end(struct scene *s)
{
    buf_release(&s->text);
    explorer_end(&s->explorer);
    session_close(s->session);
}

static bool says(struct scene *s, const char *part)
{
    struct panel_room room = {.width = 60, .height = 20};
    struct lines lines = {0};

    buf_clear(&s->text);
    statistics_panel.lines(&lines, &s->explorer, &s->explorer.panels[PANEL_STATISTICS],
                           &room);
    for (uint32_t i = 0; i < lines.n; i++) {
        line_plain(&s->text, &lines, i);
        buf_char(&s->text, '\n');
    }
    lines_release(&lines);
    return str_find(buf_span(&s->text), str_of(part)) >= 0;
}

/* Poll like the terminal, until the text appears. */
static bool comes(struct scene *s, const char *part)
{
    while (!says(s, part)) {
        struct pollfd fd = {.fd = jobs_fd(s->explorer.jobs), .events = POLLIN};

        if (poll(&fd, 1, 250000) != 1)
            return false;
        jobs_poll(s->explorer.jobs);
    }
    return true;
}

/* ---- a tensor of more than 64 MB: 0, 1, ... 9, 0, 1, ... ---- */

static int digits_bytes(struct source *source, uint32_t storage, uint64_t at, void *to,
                        size_t n, struct err *err)
{
    float *digits = to;

    (void)source;
    (void)storage;
    (void)err;
    for (size_t i = 0; i < n / 4; i++)
        digits[i] = (float)((at / 4 + i) % 10);
    return 0;
}

static void digits_close(struct source *source)
{
    (void)source;
}

static struct session *digits(void)
{
    static const struct source_ops ops = {.bytes = digits_bytes, .close = digits_close};
    static struct source source = {.ops = &ops, .any_thread = true};
    int64_t n = 17000000;
    struct storage storage = {.bytes = (uint64_t)n * 4};
    struct tensor tensor = {.dtype = DTYPE_FLOAT32, .class_id = NO_CLASS};
    const struct model *model;
    struct build b;

    CHECK(build_init(&b, "digits.pth", 0, NULL, NULL) == 0);
    b.model->format = "sample";
    b.model->source = &source;
    tensor.storage = build_storage(&b, &storage);
    build_tensor(&b, build_node(&b, 0, PLACE_TENSOR, STR("t")), &tensor, &n, NULL, 1);
    model = build_finish(&b, NULL);
    build_release(&b);
    CHECK(model);
    return session_of(model, NULL);
}

TEST(a_thread_counts_new_bins_of_a_large_histogram_while_its_frame_is_empty)
{
    struct scene s;

    scene_begin(&s, digits(), "t");
    CHECK(says(&s, "too large to measure automatically (64.8MB); press 4"));
    explorer_measure_row(&s.explorer);
    CHECK(comes(&s, " quantiles, exact"));
    explorer_set_bins(&s.explorer, 10);
    CHECK(says(&s, "     … ┤\n       │\n"));
    CHECK(says(&s, "       └┴────────┴\n"));
    CHECK(says(&s, " quantiles, exact"));
    CHECK(comes(&s, "  1.7M ┤██████████\n"));
    explorer_set_bins(&s.explorer, NUMBERS_BINS);
    CHECK(says(&s, " 1.7M ┤█"));
    scene_end(&s);
}

TEST(stopped_reading_is_not_restarted_automatically)
{
    struct scene s;

    scene_begin(&s, digits(), "t");
    CHECK(!explorer_stop(&s.explorer));
    explorer_measure_row(&s.explorer);
    CHECK(says(&s, " …\n"));
    CHECK(explorer_stop(&s.explorer));
    CHECK(comes(&s, "too large to measure automatically (64.8MB); press 4"));
    scene_end(&s);
}

/* ---- a kept value ---- */

/* One call of `a` with a kept result of 1×8×256×256: 2 MB. */
static struct session *kept(void)
{
    struct trace_wanted wanted = {.keep_limit = 4 * MIB};
    struct trace *trace = trace_new(sample_model(), &wanted);
    static const int64_t sizes[] = {1, 8, 256, 256};
    static float values[8 * 256 * 256];
    struct run_value value = {.dtype = DTYPE_FLOAT32, .rank = 4, .numel = 8 * 65536};
    uint32_t call, number;

    for (uint32_t i = 0; i < 8 * 65536; i++)
        values[i] = (float)(i / 65536);
    number = trace_value(trace, &value, sizes, NULL, NULL);
    call = trace_begin(trace, 0, SAMPLE_A, 0, 0, 1000);
    trace_io(trace, call, RUN_OUT, trace_string(trace, "", 0), number, 0);
    CHECK(trace_keep(trace, number, values, sizeof values));
    trace_end(trace, 0, call, 0, 2000);
    return session_of_run(trace_finish(trace, 2000, 0), NULL);
}

static void view(struct scene *s)
{
    CHECK(statistics_panel.act(&s->explorer, &s->explorer.panels[PANEL_STATISTICS],
                               ACT_VIEW));
}

TEST(a_thread_measures_and_draws_a_large_kept_value)
{
    struct scene s;

    scene_begin(&s, kept(), "a");
    CHECK(says(&s, " …\n"));
    CHECK(comes(&s, " call 1   [0]   channels 0-7 of 8\n"));
    view(&s);
    CHECK(says(&s, " call 1   [0]   channel 0 of 8\n")); /* which is small */
    CHECK(comes(&s, "   0 ░░"));
    view(&s);
    CHECK(says(&s, " …\n"));
    CHECK(comes(&s, " count    524,288     NaN 0"));
    CHECK(says(&s, " mean     3.5\n"));
    explorer_set_bins(&s.explorer, 8);
    CHECK(says(&s, "     … ┤\n"));
    CHECK(comes(&s, "65536 ┤████████\n"));
    scene_end(&s);
}

TEST(large_tensors_and_kept_values_are_read_only_on_request)
{
    struct scene s;
    const char *why = NULL;

    scene_begin(&s, kept(), "a");
    CHECK(explorer_may_read_kept(&s.explorer, 0, 64 * MIB, &why));
    CHECK(!explorer_may_read_kept(&s.explorer, 0, 65 * MIB, &why));
    CHECK_STR(why, "too large to measure automatically (65.0MB); press 4");
    explorer_measure_row(&s.explorer);
    CHECK(explorer_may_read_kept(&s.explorer, 0, 65 * MIB, &why));
    scene_end(&s);
}

TEST(a_contact_sheet_has_separate_hints)
{
    struct scene s;
    const struct panel_state *state;

    scene_begin(&s, kept(), "a");
    state = &s.explorer.panels[PANEL_STATISTICS];
    CHECK(comes(&s, "channels 0-7 of 8"));
    CHECK_STR(statistics_panel.hints_now(state)->text, "sheet/one");
    view(&s);
    view(&s);
    CHECK(comes(&s, "count"));
    CHECK(!statistics_panel.hints_now(state));
    scene_end(&s);
}
