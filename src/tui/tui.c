/* The main loop: read a key, act, draw a frame. Also opening and closing what is
 * shown. */
#include "tui/tui.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/folder.h"
#include "session/file_list.h"
#include "text/escape.h"
#include "text/pen.h"
#include "tui/tui_in.h"

#define FRAME_MS  250  /* how often to update a long job's progress */
#define FOLLOW_MS 1000 /* interval of checks for new steps of a training run */

/* --- What is explored */

static void forget_under(struct tui *tui)
{
    if (tui->under_ours)
        session_close(tui->under);
    tui->under = NULL;
    tui->under_ours = tui->under_listed = false;
}

static void stop_exploring(struct tui *tui)
{
    remember_save(tui);
    serve_session_ends(tui);
    if (tui->exploring)
        explorer_end(&tui->explorer);
    tui->exploring = false;
    pair_close(tui->pair);
    session_close(tui->session);
    tui->pair = NULL;
    tui->session = NULL;
    forget_under(tui);
}

/* The initial panels and focus. */
static void begin_view(struct tui *tui)
{
    struct frame_wanted fresh = FRAME_WANTED_INIT;
    struct link_screen usual;

    if (!tui->pair_view) {
        fresh.share = tui->view.share ? tui->view.share : fresh.share;
        fresh.height = tui->view.height ? tui->view.height : fresh.height;
        fresh.below = tui->view.below;
    }
    link_screen_init(&usual, &tui->explorer);
    fresh.below |= tui->config.plain || usual.below;
    tui->pair_view = tui->explorer.pair != NULL;
    if (tui->pair_view)
        fresh.height = usual.height;
    tui->view = fresh;
    memset(tui->opened, 0, sizeof(tui->opened));
    for (unsigned i = 1; i < PANEL_COUNT; i++)
        if (tui->explorer.panels[i].open)
            tui->opened[i] = ++tui->clock;
    tui->label_cursor = tui->label_top = 0;
    tui_changed(tui);
}

/* Initialise the explorer in place: it contains pointers to itself. */
static int begin_explorer(struct tui *tui, struct session *session, struct pair *pair,
                          struct err *err)
{
    if (explorer_begin(&tui->explorer, session, pair, tui->background, err) < 0)
        return -1;
    tui->exploring = true;
    tui->explorer.ascii = tui->config.ascii;
    tui->explorer.plain = tui->config.plain;
    begin_view(tui);
    return 0;
}

int tui_show(struct tui *tui, struct session *session, struct pair *pair,
             struct err *err)
{
    struct session *old = tui->exploring ? tui->explorer.session : NULL;
    struct pair *old_pair = tui->exploring ? tui->explorer.pair : NULL;

    remember_save(tui);
    if (tui->exploring)
        explorer_end(&tui->explorer);
    tui->exploring = false;
    if (begin_explorer(tui, session ? session : pair->right, pair, err) < 0) {
        pair_close(pair);
        session_close(session);
        if (old && begin_explorer(tui, old, old_pair, NULL) < 0)
            tui->quit = true;
        return -1;
    }
    pair_close(tui->pair);
    session_close(tui->session);
    tui->session = session;
    tui->pair = pair;
    forget_under(tui);
    tui->files = NULL; /* the list stays in tui->folder */
    return 0;
}

struct link_screen tui_screen(const struct tui *tui)
{
    const struct frame_wanted *view = &tui->view;

    return (struct link_screen){.focus = view->focus,
                                .zoom = view->zoom,
                                .labels = view->labels,
                                .below = view->below && !tui->config.plain,
                                .share = view->share,
                                .height = view->height};
}

/* Apply the screen part of a link. */
static void stand(struct tui *tui, const struct link_screen *screen)
{
    begin_view(tui);
    tui->view.below = screen->below || tui->config.plain;
    tui->view.share = screen->share;
    tui->view.height = screen->height;
    if (screen->focus != PANEL_NONE)
        tui_focus(tui, screen->focus);
    tui->view.labels = screen->labels;
    tui->view.zoom = screen->zoom;
    /* As with key 4, measure tensors of any size. */
    if (screen->focus == PANEL_STATISTICS)
        explorer_measure_row(&tui->explorer);
}

void tui_look_at(struct tui *tui, char *words)
{
    struct settings settings = SETTINGS_INIT;
    struct link_screen screen;

    if (!words)
        return;
    /* Names missing from the file are ignored. */
    settings_read(&settings, words, NULL);
    if (link_apply(&settings, &tui->explorer, &screen, NULL) == 0)
        stand(tui, &screen);
}

static void look_as_before(struct tui *tui)
{
    struct buf view = BUF_INIT;

    if (remember_load(tui, &view))
        tui_look_at(tui, view.at);
    buf_release(&view);
}

/* Open a folder that is one model as a model, other folders as lists. */
int tui_open(struct tui *tui, const char *path, struct err *err)
{
    struct session *session;

    if (path_is_folder(path) && !file_list_is_model(path))
        return files_open(tui, path, err);
    session = session_open(path, &tui->work, err);
    if (!session || tui_show(tui, session, NULL, err) < 0)
        return -1;
    look_as_before(tui);
    return 0;
}

int tui_over(struct tui *tui, struct session *right, struct pair *pair, struct err *err)
{
    struct session *left = tui->explorer.session, *ours = tui->session;
    struct link_screen screen = tui_screen(tui);

    buf_clear(&tui->under_view);
    link_options(&tui->under_view, &tui->explorer, &screen);
    tui->session = NULL; /* keep it open */
    if (tui_show(tui, right, pair, err) < 0) {
        tui->session = ours;
        return -1;
    }
    tui->under = left;
    tui->under_ours = ours != NULL;
    return 0;
}

int tui_over_list(struct tui *tui, struct session *left, struct session *right,
                  struct pair *pair, struct err *err)
{
    if (tui_show(tui, right, pair, err) < 0) {
        session_close(left);
        return -1;
    }
    tui->under = left;
    tui->under_ours = tui->under_listed = true;
    return 0;
}

bool tui_leave(struct tui *tui)
{
    struct session *session = tui->under_listed ? NULL : tui->under;

    if (session) {
        bool ours = tui->under_ours;

        tui->under = NULL;
        tui->under_ours = false;
        stop_exploring(tui);
        tui->session = ours ? session : NULL;
        if (begin_explorer(tui, session, NULL, NULL) < 0)
            return false;
        tui_look_at(tui, tui->under_view.at);
        return true;
    }
    if (!tui->folder || tui->files)
        return false;
    stop_exploring(tui);
    tui->files = tui->folder;
    files_poll(tui);
    tui_changed(tui);
    return true;
}

void tui_say(struct tui *tui, const char *format, ...)
{
    struct buf text = BUF_INIT;
    va_list args;

    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    if (tui->files)
        files_say(tui, buf_span(&text));
    else if (tui->exploring)
        explorer_say(&tui->explorer, "%s", buf_cstr(&text));
    buf_release(&text);
}

void tui_changed(struct tui *tui)
{
    tui->changes++;
}

void tui_trouble(struct tui *tui, const struct err *err, const char *retry)
{
    struct buf shown = BUF_INIT;

    escape_terminal(&shown, str_of(err->text));
    buf_clear(&tui->trouble);
    buf_str(&tui->trouble, buf_span(&shown));
    buf_release(&shown);
    tui->retry = NULL;
    if (retry && strlen(retry) < sizeof(tui->retry_line)) {
        memcpy(tui->retry_line, retry, strlen(retry) + 1);
        tui->retry = tui->retry_line;
    }
}

/* --- Setup and cleanup */

static void read_look(struct tui *tui, const struct settings *look, struct err *err)
{
    struct err wrong = {0};

    if (config_read(&tui->config, tui->keymap, &wrong) < 0)
        *err = wrong;
    if (look->theme)
        config_set(&tui->config, STR("theme"), str_of(look->theme), NULL);
    if (look->colour)
        config_set(&tui->config, STR("color"), str_of(look->colour), NULL);
    tui->config.plain |= look->plain;
    tui->config.ascii |= look->ascii || tui->config.plain || !pen_speaks_utf8();
    tui->config.no_mouse |= look->no_mouse;
}

int tui_begin_exploring(struct tui *tui, struct err *err)
{
    const struct tui_wanted *wanted = tui->wanted;
    struct session *session = wanted->session;
    struct link_screen screen;

    if (!session && !wanted->pair) {
        if (tui_open(tui, wanted->path, err) < 0)
            return -1;
    } else {
        if (!session)
            session = wanted->pair->right;
        if (begin_explorer(tui, session, wanted->pair, err) < 0)
            return -1;
    }
    if (tui->files)
        return files_look(tui, &wanted->settings.tree, err);
    if (settings_is_empty(&wanted->settings)) {
        look_as_before(tui);
        return 0;
    }
    if (link_apply(&wanted->settings, &tui->explorer, &screen, err) < 0)
        return -1;
    stand(tui, &screen);
    return 0;
}

int tui_begin(struct tui *tui, const struct tui_wanted *wanted, struct err *err)
{
    *tui = (struct tui){.wanted = wanted, .view = FRAME_WANTED_INIT, .changes = 1};
    work_init(&tui->work);
    tui->keymap = keymap_new();
    return tui->keymap ? 0 : err_set(err, ERR_LIMIT, "no memory for the keys");
}

void tui_end(struct tui *tui)
{
    serve_end(tui);
    if (tui->exploring)
        stop_exploring(tui);
    files_close(tui);
    for (unsigned i = 0; i < PANEL_COUNT; i++)
        lines_release(&tui->panels[i].lines);
    lines_release(&tui->tree);
    prompt_release(&tui->prompt);
    menu_release(&tui->menu);
    buf_release(&tui->help.filter);
    buf_release(&tui->trouble);
    buf_release(&tui->under_view);
    cells_release(&tui->cells);
    keymap_free(tui->keymap);
}

/* --- The loop */

static void resize(struct tui *tui)
{
    unsigned columns, rows;

    term_size(tui->term, &columns, &rows);
    if (columns == tui->cells.columns && rows == tui->cells.rows)
        return;
    cells_release(&tui->cells);
    if (cells_init(&tui->cells, columns, rows) < 0)
        tui->quit = true;
    tui_changed(tui);
}

bool tui_job_runs(const struct tui *tui)
{
    uint64_t done, total, began;

    return tui->exploring && tui->explorer.jobs &&
           jobs_progress(tui->explorer.jobs, &done, &total, &began);
}

static int timeout_of(struct tui *tui)
{
    int serves = serve_look(tui);

    if (tui_job_runs(tui))
        return FRAME_MS;
    if (serves >= 0)
        return serves;
    return tui->exploring && explorer_follows(&tui->explorer) ? FOLLOW_MS : -1;
}

static void take_jobs(struct tui *tui)
{
    if (tui->files)
        files_poll(tui);
    if (tui->exploring && explorer_poll(&tui->explorer))
        tui_changed(tui);
    if (tui->exploring && explorer_follow(&tui->explorer))
        tui_changed(tui);
}

/* Keys typed during a long operation come first. */
static struct key next_key(struct tui *tui, const struct term_wait *wait)
{
    struct key key;

    if (tui->n_ahead == 0)
        return term_key(tui->term, wait);
    key = tui->ahead[0];
    memmove(tui->ahead, tui->ahead + 1, --tui->n_ahead * sizeof *tui->ahead);
    return key;
}

/* Release Python's lock while drawing: a remote terminal may be slow. */
static void draw(struct tui *tui)
{
    const struct tui_wanted *wanted = tui->wanted;

    if (wanted->wait_begin)
        wanted->wait_begin(wanted->user);
    term_draw(tui->term, &tui->cells);
    if (wanted->wait_end)
        wanted->wait_end(wanted->user);
}

static void loop(struct tui *tui)
{
    const struct tui_wanted *wanted = tui->wanted;

    resize(tui);
    while (!tui->quit) {
        struct term_wait wait = {.fds = {-1, -1},
                                 .timeout_ms = timeout_of(tui),
                                 .begin = wanted->wait_begin,
                                 .end = wanted->wait_end,
                                 .user = wanted->user};
        struct key key;

        tui_frame(tui);
        draw(tui);
        if (tui->exploring && measured_start(&tui->explorer)) {
            tui_changed(tui); /* start only after the first frame */
            continue;
        }
        if (tui->files)
            wait.fds[0] = files_fd(tui);
        else if (tui->exploring)
            explorer_fds(&tui->explorer, wait.fds);
        key = next_key(tui, &wait);
        if (wanted->stop && wanted->stop(wanted->user))
            break;
        if (key.code == KEY_HANGUP)
            break;
        if (key.code == KEY_RESIZE)
            resize(tui);
        else if (key.code == KEY_JOBS || key.code == KEY_NONE)
            take_jobs(tui);
        else
            tui_key(tui, &key);
    }
}

int tui_run(const struct tui_wanted *wanted, struct err *err)
{
    struct err wrong = {0};
    struct tui *tui = malloc(sizeof *tui);
    int status = -1;

    if (!tui)
        return err_set(err, ERR_LIMIT, "no memory for the explorer");
    if (tui_begin(tui, wanted, err) < 0)
        goto out;
    read_look(tui, &wanted->settings, &wrong);
    tui->background = true;
    /* Before the terminal is entered, so that ^C can interrupt a long load. */
    if (tui_begin_exploring(tui, err) < 0)
        goto out;
    tui->term = term_open(&(struct term_wanted){.theme = tui->config.theme,
                                                .colour = tui->config.colour,
                                                .mouse = !tui->config.no_mouse},
                          err);
    if (!tui->term)
        goto out;
    if (wrong.code)
        tui_trouble(tui, &wrong, NULL);
    loop(tui);
    status = 0;

out:
    term_close(tui->term);
    tui->term = NULL;
    tui_end(tui);
    free(tui);
    return status;
}

int tui_print(const struct tui_wanted *wanted, unsigned columns, unsigned rows,
              struct out *out, struct err *err)
{
    struct tui *tui = malloc(sizeof *tui);
    struct buf text = BUF_INIT;
    int status = -1;

    if (!tui)
        return err_set(err, ERR_LIMIT, "no memory for the explorer");
    if (tui_begin(tui, wanted, err) < 0)
        goto out;
    /* Printed output does not depend on the user's config. */
    tui->config.plain = wanted->settings.plain;
    tui->config.ascii = wanted->settings.ascii || wanted->settings.plain;
    if (tui_begin_exploring(tui, err) < 0)
        goto out;
    if (cells_init(&tui->cells, columns, rows) < 0) {
        err_set(err, ERR_LIMIT, "no memory for a screen of %ux%u", columns, rows);
        goto out;
    }
    if (tui->exploring)
        measured_start(&tui->explorer);
    tui_frame(tui);
    cells_print(&tui->cells, &text);
    out_str(out, buf_span(&text));
    status = 0;

out:
    buf_release(&text);
    tui_end(tui);
    free(tui);
    return status;
}
