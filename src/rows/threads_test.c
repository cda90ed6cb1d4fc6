/* Threads make rows and cells of one frozen run, each with a separate session, without
 * locks. `make test` also runs this under TSan. */
#include "base/base.h"
#include "base/test.h"
#include "rows/columns.h"
#include "rows/search.h"
#include "rows/textual.h"
#include "run/sample_run.h"

static void write_rows(const struct show *show, enum rows_sort sort,
                       struct arena *arena, struct buf *text)
{
    const struct column *columns[64];
    struct view view = VIEW_INIT;
    struct rows rows;
    struct textual what = {.show = show,
                           .rows = &rows,
                           .columns = columns,
                           .n_columns = n_column_table,
                           .header = true};
    struct out out;

    for (size_t i = 0; i < n_column_table; i++)
        columns[i] = &column_table[i];
    view.all = true;
    view.sort = sort;
    if (rows_make(&rows, show, &view, arena, NULL) < 0)
        return;
    out_init_buf(&out, text);
    textual_wide(&out, &what, NULL);
    out_release(&out);
}

static void write_matches(const struct show *show, struct str wanted, struct buf *text)
{
    uint8_t match[8] = {0}, keep[8] = {0};
    struct search *search = search_new(wanted, NULL);
    uint32_t n = 0;

    if (search && search_all(search, show, match, keep, &n, NULL) == 0)
        buf_printf(text, "%u matches, %02x %02x\n", n, match[0], keep[0]);
    search_free(search);
}

static void make_rows(const void *what, struct buf *text)
{
    struct session *session = session_on_run(what, NULL, NULL);
    struct arena arena;
    struct show show;

    arena_init(&arena, 0);
    if (!session || show_init(&show, session, &arena, NULL) < 0)
        goto out;
    for (int sort = SORT_MODEL; sort < SORT_DELTA; sort++)
        write_rows(&show, (enum rows_sort)sort, &arena, text);
    write_matches(&show, STR("/a.*t$/"), text);
    write_matches(&show, STR("Linear"), text);

out:
    session_close(session);
    arena_release(&arena);
}

TEST(threads_make_rows_of_one_run)
{
    struct run *run = sample_run(RUN_KEEP_CALLS + 9);

    CHECK(n_column_table <= 64 && run->model->n_places <= 64);
    test_at_once(make_rows, run);
    run_free(run);
}
