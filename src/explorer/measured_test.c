#include "explorer/measured.h"

#include <poll.h>
#include <string.h>

#include "base/test.h"
#include "explorer/alarms_in.h"
#include "explorer/panels_in.h"
#include "explorer/tree_lines.h"
#include "session/sample_session.h"

/* Poll like the terminal, until the job is done. */
static void wait_for_all(struct explorer *explorer)
{
    while (jobs_measuring(explorer->jobs)) {
        struct pollfd fd = {.fd = jobs_fd(explorer->jobs), .events = POLLIN};

        CHECK(poll(&fd, 1, 10000) == 1);
        explorer_poll(explorer);
    }
}

static struct buf text;

static const char *text_of(struct lines *lines)
{
    buf_clear(&text);
    for (uint32_t i = 0; i < lines->n; i++) {
        line_plain(&text, lines, i);
        buf_char(&text, '\n');
    }
    lines_release(lines);
    return buf_cstr(&text);
}

static const char *title_at(struct explorer *explorer, unsigned width)
{
    struct lines lines = {0};

    title_line(&lines, explorer, width);
    return text_of(&lines);
}

static const char *title_of(struct explorer *explorer)
{
    return title_at(explorer, 100);
}

static const char *details_of(struct explorer *explorer)
{
    struct panel_room room = {.width = 78, .height = 8};
    struct lines lines = {0};

    panel_lines(&details_panel, &lines, explorer, &explorer->panels[PANEL_DETAILS],
                &room);
    return text_of(&lines);
}

static const char *rows_of(struct explorer *explorer)
{
    struct tree_room room = {.width = 80, .height = 20, .no_colour = true};
    struct lines lines = {0};

    tree_lines(&lines, explorer, &room);
    return text_of(&lines);
}

static void go(struct explorer *explorer, const char *name)
{
    browse_go(explorer->browse, sample_place(explorer->session, name));
}

TEST(a_small_file_is_measured_in_the_background_and_all_views_agree)
{
    struct session *session = sample_session();
    struct explorer explorer;
    uint64_t done, total, began;

    CHECK(explorer_begin(&explorer, session, NULL, true, NULL) == 0);
    CHECK(!strstr(title_of(&explorer), "NaN"));
    CHECK(strstr(details_of(&explorer), "not measured; :stats measures all (40B)"));
    measured_start(&explorer);
    CHECK(!jobs_progress(explorer.jobs, &done, &total, &began)); /* silent */
    wait_for_all(&explorer);
    CHECK(strstr(title_of(&explorer), "✗ NaN"));
    CHECK(strstr(title_at(&explorer, 25), "✗ NaN   ✓ SAFE")); /* the name is cut */
    CHECK(strstr(
        details_of(&explorer),
        "✗ values  3 tensors measured: NaN in 1; 1 tensor without readable values"));
    CHECK(strstr(rows_of(&explorer), "!├ ▸ a:"));
    go(&explorer, "a.weight");
    CHECK(strstr(details_of(&explorer), "values     -6 … 5   mean 1.5   std 3.93"));
    CHECK(strstr(rows_of(&explorer), "✗│ └ ▪ bias"));
    CHECK(explorer_next_alarm(&explorer));
    CHECK_STR(buf_cstr(&explorer.message), "✗ a.bias has NaN 1   1 of 1");
    CHECK(strstr(details_of(&explorer), "✗ values   NaN 1;   0\n"));
    go(&explorer, "a");
    CHECK(strstr(details_of(&explorer), "✗ values   2 tensors measured: NaN in 1"));
    go(&explorer, "b");
    CHECK(!strstr(details_of(&explorer), "NaN"));
    explorer_end(&explorer);
    session_close(session);
    buf_release(&text);
}

TEST(values_not_measured_are_not_shown_as_none)
{
    struct session *session = sample_session();
    struct explorer explorer;

    CHECK(explorer_begin(&explorer, session, NULL, true, NULL) == 0);
    CHECK(!explorer_next_alarm(&explorer));
    CHECK_STR(buf_cstr(&explorer.message),
              "no findings   values: not measured; :stats measures all (40B); "
              "1 tensor without readable values");
    go(&explorer, "a.bias");
    CHECK(strstr(details_of(&explorer), "not measured; 4 measures them"));
    explorer_measure(&explorer, session->model->object[explorer_place(&explorer)]);
    jobs_wait(explorer.jobs, session->model->object[explorer_place(&explorer)], 10000);
    explorer_poll(&explorer);
    CHECK(explorer_next_alarm(&explorer));
    explorer_end(&explorer);
    session_close(session);
    buf_release(&text);
}

TEST(values_that_changed_are_measured_again)
{
    struct session *session = sample_session();
    struct explorer explorer;

    CHECK(explorer_begin(&explorer, session, NULL, true, NULL) == 0);
    explorer_measure(&explorer, NO_TENSOR);
    wait_for_all(&explorer);
    CHECK(strstr(title_of(&explorer), "✗ NaN"));
    explorer_forget(&explorer);
    CHECK(!strstr(title_of(&explorer), "✗ NaN"));
    CHECK(strstr(details_of(&explorer), "not measured"));
    explorer_end(&explorer);
    session_close(session);
    buf_release(&text);
}
