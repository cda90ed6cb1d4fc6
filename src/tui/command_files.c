/* Commands about files: open, compare, write. Long operations show their progress in
 * the status line; Esc stops them. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/clock.h"
#include "base/folder.h"
#include "export/export.h"
#include "export/exporters.h"
#include "text/progress_text.h"
#include "tui/commands_in.h"
#include "web/web.h"

/* ---- progress ---- */

struct busy {
    struct tui *tui;
    const char *what;
    uint64_t began_ns;
};

static void tell(struct work *work)
{
    struct busy *busy = work->user;
    struct tui *tui = busy->tui;
    struct term_wait glance = {.fds = {-1, -1}, .timeout_ms = 0};
    uint64_t done = work->done, total = work->total;
    struct buf text = BUF_INIT;
    struct key key;

    if (!tui->term)
        return;
    if (total > 0) {
        text_progress_bar(&text, busy->what, done, total, tui->config.ascii);
        text_progress_bytes(&text, done, total, clock_ns() - busy->began_ns);
    } else {
        buf_printf(&text, "%s …   ", busy->what);
    }
    buf_text(&text, "Esc stops");
    tui_say(tui, "%s", buf_cstr(&text));
    buf_release(&text);
    tui_frame(tui);
    term_draw(tui->term, &tui->cells);
    key = term_key(tui->term, &glance);
    if (key.code == KEY_ESCAPE || key.code == KEY_CTRL('C') || key.code == KEY_HANGUP)
        atomic_store(&work->cancel, 1);
    else if (key.code != KEY_NONE && key.code != KEY_JOBS && key.code != KEY_PASTE &&
             tui->n_ahead < AHEAD_MOST)
        tui->ahead[tui->n_ahead++] = key;
}

static void begin_busy(struct busy *busy, struct tui *tui, const char *what)
{
    *busy = (struct busy){tui, what, clock_ns()};
    work_init(&tui->work);
    tui->work.progress = tell;
    tui->work.user = busy;
}

static void end_busy(struct tui *tui)
{
    work_init(&tui->work);
    if (tui->folder)
        files_say(tui, STR(""));
    if (tui->exploring)
        buf_clear(&tui->explorer.message);
}

/* ---- opening ---- */

void typed_path(struct buf *to, struct str typed)
{
    const char *home = getenv("HOME");

    if (home && str_starts(typed, STR("~/"))) {
        buf_text(to, home);
        typed = str_from(typed, 1);
    }
    buf_str(to, typed);
}

int tui_open_busy(struct tui *tui, const char *path, struct err *err)
{
    struct busy busy;
    int status;

    begin_busy(&busy, tui, "open");
    status = tui_open(tui, path, err);
    end_busy(tui);
    return status;
}

int run_open(struct tui *tui, struct str words, struct err *err)
{
    struct buf path = BUF_INIT;
    int status;

    typed_path(&path, words);
    status = tui_open_busy(tui, buf_cstr(&path), err);
    buf_release(&path);
    return status;
}

/* Reopen the file with the same view. */
int run_reload(struct tui *tui, struct str words, struct err *err)
{
    const char *source = tui->explorer.session->model->path;
    struct buf path = BUF_INIT, view = BUF_INIT;
    struct link_screen screen = tui_screen(tui);
    int status;

    (void)words;
    if (tui->explorer.pair)
        return err_set(err, ERR_USAGE,
                       "not available in a diff; q returns to one file");
    if (link_is_live(&tui->explorer)) {
        explorer_forget(&tui->explorer);
        tui_changed(tui);
        explorer_say(&tui->explorer, "values will be read again");
        return 0;
    }
    buf_text(&path, source);
    link_options(&view, &tui->explorer, &screen);
    status = tui_open_busy(tui, buf_cstr(&path), err);
    if (status == 0) {
        tui_look_at(tui, view.at);
        explorer_say(&tui->explorer, "read again");
    }
    buf_release(&path);
    buf_release(&view);
    return status;
}

/* ---- comparing ---- */

/* Compare `left` with the file at `path`, which becomes *ret_right. NULL: see `err`. */
static struct pair *compare_with(struct tui *tui, struct session *left,
                                 const char *path, const struct diff_wanted *wanted,
                                 struct session **ret_right, struct err *err)
{
    struct session *right;
    struct pair *pair = NULL;
    struct err why = {0}; /* a comparison that was stopped is still shown */
    struct busy busy;

    begin_busy(&busy, tui, "open");
    right = session_open(path, &tui->work, &why);
    if (right) {
        begin_busy(&busy, tui, "diff");
        pair = pair_on(left, right, wanted, &tui->work, &why);
    }
    end_busy(tui);
    if (pair) {
        *ret_right = right;
    } else {
        err_copy(err, &why);
        session_close(right);
    }
    return pair;
}

int tui_compare_busy(struct tui *tui, const char *left_path, const char *right_path,
                     const struct diff_wanted *wanted, struct err *err)
{
    struct session *left, *right;
    struct pair *pair;
    struct busy busy;

    begin_busy(&busy, tui, "open");
    left = session_open(left_path, &tui->work, err);
    end_busy(tui);
    if (!left)
        return -1;
    pair = compare_with(tui, left, right_path, wanted, &right, err);
    if (!pair) {
        session_close(left);
        return -1;
    }
    return tui_over_list(tui, left, right, pair, err);
}

static int compare_typed(struct tui *tui, const char *path,
                         const struct diff_wanted *wanted, struct err *err)
{
    struct session *right;
    struct pair *pair;

    if (tui->files) {
        if (!files_left(tui))
            return err_set(err, ERR_USAGE,
                           "no file is selected that could be compared");
        return tui_compare_busy(tui, files_left(tui), path, wanted, err);
    }
    if (tui->explorer.pair)
        return err_set(err, ERR_USAGE,
                       "already comparing two models; q returns to the first");
    pair = compare_with(tui, tui->explorer.session, path, wanted, &right, err);
    return pair ? tui_over(tui, right, pair, err) : -1;
}

int run_diff(struct tui *tui, struct str words, struct err *err)
{
    struct diff_wanted wanted = {.values = true};
    struct buf path = BUF_INIT;
    int status;

    if (str_ends(words, STR(" --structure"))) {
        wanted.values = false;
        words = str_trim(str_head(words, words.len - strlen(" --structure")));
    }
    typed_path(&path, words);
    status = compare_typed(tui, buf_cstr(&path), &wanted, err);
    buf_release(&path);
    return status;
}

/* ---- writing ---- */

/* The settings that the view and a printed tree share. */
static struct printed_wanted printed_view(const struct tui *tui, struct buf *filter)
{
    const struct view *view = browse_view(tui->explorer.browse);
    struct printed_wanted wanted = PRINTED_WANTED_INIT;
    enum rows_sort sort = view->sort;

    buf_str(filter, browse_filter(tui->explorer.browse));
    wanted.filter = filter->len ? buf_cstr(filter) : NULL;
    if (sort != SORT_MODEL && sort <= SORT_OPS)
        wanted.sort = rows_orders[sort].word;
    wanted.reverse = wanted.sort && view->reverse;
    wanted.flat = view->flat == FLAT_TENSORS ? "tensors" : view->flat ? "leaves" : NULL;
    wanted.expand = view->no_runs;
    return wanted;
}

static int write_file(struct tui *tui, const char *path, struct err *err)
{
    const struct exporter *exporter;
    struct export_wanted wanted = {.work = &tui->work, .page_file = web_page_file};
    struct buf filter = BUF_INIT;
    struct busy busy;
    int status;

    if (tui->explorer.pair)
        return export_diff_file(path, tui->explorer.pair, err);
    exporter = exporter_of(path, err);
    if (!exporter)
        return -1;
    wanted.view = printed_view(tui, &filter);
    begin_busy(&busy, tui, "export");
    status = exporter_write(exporter, path, tui->explorer.session, &wanted, err);
    end_busy(tui);
    buf_release(&filter);
    return status;
}

/* An existing file is replaced only with "export! FILE". */
int run_export(struct tui *tui, struct str words, struct err *err)
{
    bool replace = str_starts(words, STR("! "));
    struct buf path = BUF_INIT, again = BUF_INIT;
    int status = 0;

    typed_path(&path, replace ? str_trim(str_from(words, 2)) : words);
    if (!replace && access(buf_cstr(&path), F_OK) == 0) {
        struct err there = {0};

        err_set(&there, ERR_USAGE, "%s is there already. Enter: replace it",
                buf_cstr(&path));
        buf_printf(&again, "export ! %s", buf_cstr(&path));
        tui_trouble(tui, &there, buf_cstr(&again));
    } else {
        status = write_file(tui, buf_cstr(&path), err);
        if (status == 0)
            explorer_say(&tui->explorer, "written to %s", buf_cstr(&path));
    }
    buf_release(&path);
    buf_release(&again);
    return status;
}
