/* Steps reach sinks: from the thread and at once, with a file and without. */
#include "history/sink.h"

#include <string.h>

#include "base/test.h"
#include "history/sample_history_in.h"

/* Records what it gets: "b3 p(param/w 2) s(loss 0.5) a(text) e". */
struct noting_sink {
    struct history_sink base;
    struct buf *notes;
    bool fails;
};

static struct buf *notes_of(struct history_sink *sink)
{
    return ((struct noting_sink *)sink)->notes;
}

static void begin(struct history_sink *sink, const struct history_step *step)
{
    buf_printf(notes_of(sink), "b%d ", (int)step->first);
}

static void point(struct history_sink *sink, const struct history_series *series,
                  const struct history_point *at)
{
    buf_text(notes_of(sink), "p(");
    history_series_tag(series, notes_of(sink));
    buf_printf(notes_of(sink), " %u) ", at->merged);
}

static void scalar(struct history_sink *sink, struct str name,
                   const struct history_scalar *at)
{
    buf_printf(notes_of(sink), "s(%.*s %g) ", (int)name.len, name.at, at->last);
}

static void alarm_of(struct history_sink *sink, const struct history_alarm *at)
{
    buf_printf(notes_of(sink), "a(%.*s) ", (int)at->text.len, at->text.at);
}

static int end(struct history_sink *sink, struct err *err)
{
    buf_text(notes_of(sink), "e ");
    if (((struct noting_sink *)sink)->fails)
        return err_set(err, ERR_IO, "no room for notes");
    return 0;
}

static void close_it(struct history_sink *sink)
{
    buf_text(notes_of(sink), "closed");
}

static const struct history_sink_kind noting = {"noting", begin, point,   scalar,
                                                alarm_of, end,   close_it};

static struct history_writer *create(const char *path)
{
    const struct history_options options = {.codec = &sample_codec, .queue = 4};
    struct err err = {0};
    struct history_writer *writer =
        history_writer_create(path, NULL, NULL, &options, &err);

    CHECK_STR(err.text, "");
    sample_declare(writer, 2);
    return writer;
}

/* A step whose second series and whose loss come twice. */
static void begin_step(struct history_writer *writer, uint64_t number)
{
    uint32_t loss = history_writer_name(writer, STR("loss"));
    uint32_t counts[SAMPLE_BINS];
    struct history_point at;

    history_writer_begin(writer, number, HISTORY_TRAIN, 1);
    for (int i = 0; i < 3; i++) {
        sample_point(i != 1, number, number, &at, counts);
        history_writer_point(writer, &at);
    }
    history_writer_scalar(writer, loss, 0.5);
    history_writer_scalar(writer, loss, 0.25);
}

TEST(the_thread_passes_each_series_once_to_every_sink)
{
    struct buf notes = BUF_INIT, others = BUF_INIT;
    struct noting_sink sink = {{&noting, NULL}, &notes, false};
    struct noting_sink other = {{&noting, NULL}, &others, true};
    struct history_writer *writer;
    struct history_state state;
    struct sample_folder folder;
    struct err err = {0};

    sample_folder_make(&folder);
    writer = create(folder.file);
    history_writer_add(writer, &other.base);
    history_writer_add(writer, &sink.base);
    begin_step(writer, 3);
    history_writer_alarm(writer, &(struct history_alarm){.text = STR("nan!")});
    history_writer_end(writer, 0);
    history_writer_flush(writer);
    history_writer_state(writer, &state);
    CHECK_STR(state.problem, "no room for notes"); /* of one sink: the others
                                                      continue */
    CHECK(!state.failed && state.written == 1);
    CHECK(history_writer_close(writer, &err) == 0);
    CHECK_STR(notes.at, "b3 p(output/layer.0 1) p(output/layer.1 2) s(loss 0.25) "
                        "a(nan!) e closed");
    CHECK_STR(others.at, notes.at);
    buf_release(&notes);
    buf_release(&others);
    sample_folder_remove(&folder);
}

TEST(a_step_is_shown_at_once_and_still_written)
{
    const struct history_wanted wanted = {.series = 1, .histograms = true};
    struct buf notes = BUF_INIT;
    struct noting_sink sink = {{&noting, NULL}, &notes, false};
    struct history_sample *samples;
    struct history_writer *writer;
    struct sample_folder folder;
    struct history *history;
    uint32_t n, counts[SAMPLE_BINS];
    struct err err = {0};
    struct arena arena;

    sample_folder_make(&folder);
    writer = create(folder.file);
    begin_step(writer, 5);
    CHECK(history_writer_show(writer, &sink.base, &err) == 0);
    CHECK_STR(notes.at, "b5 p(output/layer.0 1) p(output/layer.1 2) s(loss 0.25) e ");
    history_writer_end(writer, 0);
    CHECK(history_writer_show(writer, &sink.base, &err) == 0); /* no step: nothing */
    CHECK(strlen(notes.at) == notes.len && notes.at[notes.len - 2] == 'e');
    CHECK(history_writer_close(writer, &err) == 0);

    arena_init(&arena, 0);
    history = history_open(folder.file, &sample_codec, &err);
    CHECK(history_read_points(history, &wanted, &arena, &samples, &n, &err) == 0);
    CHECK_INT(n, 1);
    CHECK_INT(samples[0].point.merged, 2);
    sample_counts(samples[0].point.histogram, counts);
    CHECK_INT(counts[6], 2); /* step 5 of series 1: 6, 7, 8, 9, twice */
    history_close(history);
    arena_release(&arena);
    buf_release(&notes);
    sample_folder_remove(&folder);
}

TEST(an_alarm_of_a_dropped_step_is_shown_once)
{
    struct buf notes = BUF_INIT;
    struct noting_sink sink = {{&noting, NULL}, &notes, false};
    struct history_writer *writer = create(NULL);
    struct err err = {0};

    history_writer_begin(writer, 1, HISTORY_TRAIN, 1);
    history_writer_alarm(writer, &(struct history_alarm){.text = STR("one")});
    history_writer_show(writer, &sink.base, &err);
    history_writer_begin(writer, 2, HISTORY_TRAIN, 1); /* drops step 1 */
    history_writer_alarm(writer, &(struct history_alarm){.text = STR("two")});
    history_writer_show(writer, &sink.base, &err);
    history_writer_end(writer, 0);
    CHECK_STR(notes.at, "b1 a(one) e b2 a(two) e ");
    CHECK(history_writer_close(writer, &err) == 0);
    buf_release(&notes);
}

TEST(without_a_file_steps_go_to_sinks)
{
    struct buf notes = BUF_INIT;
    struct noting_sink sink = {{&noting, NULL}, &notes, false};
    struct history_writer *writer = create(NULL);
    struct history_state state;
    struct err err = {0};

    history_writer_add(writer, &sink.base);
    for (uint64_t i = 1; i < 3; i++) {
        history_writer_begin(writer, i, HISTORY_TRAIN, 1);
        history_writer_end(writer, 0);
        history_writer_flush(writer);
    }
    history_writer_state(writer, &state);
    CHECK(state.written == 2 && state.bytes == 0 && !state.failed);
    CHECK(history_writer_close(writer, &err) == 0);
    CHECK_STR(notes.at, "b1 e b2 e closed");
    buf_release(&notes);
}

TEST(tags_name_kind_place_tensor_and_call)
{
    struct history_series series = {.kind = HISTORY_GRAD_INPUT,
                                    .call = 2,
                                    .phase = HISTORY_EVAL,
                                    .name = STR("lstm"),
                                    .path = STR("[1][0]")};
    struct buf tag = BUF_INIT;

    history_series_tag(&series, &tag);
    CHECK_STR(tag.at, "eval/grad_input/lstm/[1][0]/call_2");
    buf_clear(&tag);
    history_series_tag(&(struct history_series){.kind = HISTORY_OUTPUT}, &tag);
    CHECK_STR(tag.at, "output/(root)");
    buf_clear(&tag);
    history_scalar_tag(STR("loss"), HISTORY_EVAL, &tag);
    CHECK_STR(tag.at, "eval/loss");
    buf_release(&tag);
}
