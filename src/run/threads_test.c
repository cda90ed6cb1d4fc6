/* Threads read a frozen run without locks. `make test` also runs these under TSan. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/test.h"
#include "run/kept.h"
#include "run/run_file.h"
#include "run/sample_run.h"

static void write_calls(const struct run *run, uint32_t place, struct arena *arena,
                        struct buf *text)
{
    uint32_t object = run->model->object[place], n = 0, call;
    const uint32_t *calls = run_calls_at(run, place, false, arena, &n);

    place_path(run->model, place, text);
    buf_printf(text, ": %u of %u calls:", run_count_calls_at(run, place),
               run_count_calls(run, object));
    for (call = run_first_call(run, object); call != RUN_NONE;
         call = run_next_call(run, call))
        buf_printf(text, " %u (%u ns)", call,
                   (unsigned)run_inclusive(&run->calls[call]));
    buf_text(text, "; by end:");
    for (uint32_t i = 0; calls && i < n; i++)
        buf_printf(text, " %u%s", calls[i],
                   run_merged_with(run, calls[i]) ? " merged" : "");
    buf_char(text, '\n');
}

static void write_kept(const struct run *run, struct buf *text)
{
    for (uint32_t i = 0; i < run->n_kept; i++) {
        float first[2] = {0};
        struct err err = {0};
        struct kept_view view;

        if (kept_view_init(&view, run, run->kept[i].value, &err) < 0 ||
            source_bytes(&view.source, 0, 0, first, sizeof first, &err) < 0)
            buf_text(text, err.text);
        buf_printf(text, "kept: %g %g\n", (double)first[0], (double)first[1]);
    }
}

static void read_run(const void *what, struct buf *text)
{
    const struct run *run = what;
    const struct model *model = run->model;
    struct arena arena;

    arena_init(&arena, 0);
    for (uint32_t place = 0; place < model->n_places; place++)
        if (model->kind[place] == PLACE_MODULE)
            write_calls(run, place, &arena, text);
    for (uint32_t i = 0; i < run->n_facts; i++)
        buf_str(text, run_string(run, run->facts[i].key));
    buf_printf(text, "\n%u %u %g %u\n", (unsigned)run_forward_ns(run),
               (unsigned)run_passes_ns(run), run_cost_share(run),
               run_fact_id(run, "torch"));
    buf_printf(text, "list.0.act is place %u\n", place_find(model, STR("list.0.act")));
    write_kept(run, text);
    arena_release(&arena);
}

TEST(threads_read_one_run_without_locks)
{
    struct run *run = sample_run(RUN_KEEP_CALLS + 9);

    CHECK(run->n_merged > 0 && run->n_kept > 0);
    test_at_once(read_run, run);
    run_free(run);
}

TEST(threads_read_one_run_from_a_file)
{
    char path[] = "/tmp/torchoscope_threads_XXXXXX";
    struct run *run = sample_run(3);
    int fd = mkstemp(path);

    CHECK(fd >= 0);
    close(fd);
    CHECK(run_file_write(run, NULL, path, NULL, NULL) == 0);
    run_free(run);
    run = run_file_read(path, NULL, NULL);
    CHECK(run && run->n_kept > 0 && !run->kept[0].at);
    test_at_once(read_run, run);
    run_free(run);
    unlink(path);
}

static void record_run(const void *what, struct buf *text)
{
    struct run *run = sample_run(*(const uint32_t *)what);

    read_run(run, text);
    run_free(run);
}

TEST(threads_record_separate_runs)
{
    test_at_once(record_run, &(uint32_t){RUN_KEEP_CALLS + 3});
}
