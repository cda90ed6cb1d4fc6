/* y: the copy menu and the clipboard. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/background.h"
#include "base/base.h"
#include "base/clock.h"
#include "explorer/copy.h"
#include "export/export.h"
#include "tui/tui_in.h"

#define JSON_BYTES (64 * MIB) /* larger tensors are copied without their values */

extern char **environ;

/* --- The clipboard */

/* Clipboard programs that report success; each needs its display. */
static const struct {
    const char *needs; /* an environment variable; NULL: none */
    char *const argv[4];
    const char *name;
} programs[] = {
    {"WAYLAND_DISPLAY", {(char *)"wl-copy", NULL}, "wl-copy"},
    {"DISPLAY",
     {(char *)"xclip", (char *)"-selection", (char *)"clipboard", NULL},
     "xclip"},
    {NULL, {(char *)"pbcopy", NULL}, "pbcopy"},
};

#define COPY_MS 1000 /* a slower program is considered hung */

static bool is_set(const char *name)
{
    const char *value = getenv(name);

    return value && *value;
}

/* Over ssh, the display's clipboard is not the user's. */
static bool is_remote(void)
{
    return is_set("SSH_CONNECTION") || is_set("SSH_TTY");
}

static int start(char *const argv[], int from, pid_t *ret_child)
{
    posix_spawn_file_actions_t files;
    int failed;

    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, from, 0);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    failed = posix_spawnp(ret_child, argv[0], &files, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    return failed;
}

/* Write until the deadline; true: everything was written. */
static bool write_until(int fd, struct str text, uint64_t end)
{
    while (text.len) {
        ssize_t n = write(fd, text.at, text.len);
        struct pollfd wait = {.fd = fd, .events = POLLOUT};

        if (n > 0)
            text = str_from(text, (size_t)n);
        else if (n < 0 && errno != EINTR && errno != EAGAIN)
            return false;
        else if (clock_ns() >= end)
            return false;
        else
            poll(&wait, 1, 50);
    }
    return true;
}

/* Wait for the child until the deadline, then kill it. Returns its status. */
static int reap_until(pid_t child, uint64_t end)
{
    int status = -1;
    pid_t got;

    while ((got = waitpid(child, &status, WNOHANG)) == 0 && clock_ns() < end)
        poll(NULL, 0, 2);
    if (got == 0) {
        kill(child, SIGKILL);
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            ;
    }
    return got < 0 ? -1 : status;
}

/* Did the program take all of the text and succeed? */
static bool feed(char *const argv[], struct str text)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    uint64_t end = clock_ns() + COPY_MS * UINT64_C(1000000);
    int ends[2], status;
    pid_t child;
    bool all;

    if (background_pipe(ends, NULL) < 0)
        return false;
    fcntl(ends[0], F_SETFL, 0); /* its standard input is blocking */
    if (start(argv, ends[0], &child) != 0) {
        close(ends[0]);
        close(ends[1]);
        return false;
    }
    close(ends[0]);
    sigemptyset(&ignore.sa_mask);
    sigaction(SIGPIPE, &ignore, &before); /* it may exit before reading everything */
    all = write_until(ends[1], text, end);
    sigaction(SIGPIPE, &before, NULL);
    close(ends[1]);
    status = reap_until(child, end);
    return all && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static const char *copy_locally(struct str text)
{
    for (size_t i = 0; i < COUNT_OF(programs) && !is_remote(); i++) {
        bool here = !programs[i].needs || is_set(programs[i].needs);

        if (here && feed(programs[i].argv, text))
            return programs[i].name;
    }
    return NULL;
}

/* Copy a text to the clipboard and report how in the status line. */
static void copy_text(struct tui *tui, struct str text)
{
    const char *by = copy_locally(text);

    if (by)
        explorer_say(&tui->explorer, "copied %zu bytes by %s", text.len, by);
    else if (tui->term && term_copy(tui->term, text))
        explorer_say(&tui->explorer,
                     "sent %zu bytes by OSC 52; the terminal may ignore it", text.len);
    else /* show it, to select by hand */
        explorer_say(&tui->explorer, "%.*s", STR_ARG(text));
}

/* --- The menu */

/* The lines of the focused panel, or of the visible tree. */
static const struct lines *focused_lines(const struct tui *tui)
{
    if (tui->view.focus > FOCUS_TREE && tui->view.focus < PANEL_COUNT)
        return &tui->panels[tui->view.focus].lines;
    return &tui->tree;
}

static void add_json(struct tui *tui, struct buf *to, struct row row)
{
    struct err err = {0};

    if (tui->explorer.pair)
        explorer_say(&tui->explorer, "not available in a diff; use :export diff.json");
    else if (export_row_json(to, tui->explorer.session, row.place, JSON_BYTES,
                             &tui->work, &err) < 0)
        tui_trouble(tui, &err, NULL);
}

static void add_text(struct tui *tui, struct buf *to, char key)
{
    const struct show *show = &tui->explorer.show;
    struct row row = tui_row(tui);
    struct link_screen screen;

    switch (key) {
    case 'n':
        copy_name(to, show, &row);
        break;
    case 'p':
        copy_python(to, show, &row);
        break;
    case 'k':
        copy_key(to, show, &row);
        break;
    case 't':
        copy_lines(to, focused_lines(tui));
        break;
    case 'j':
        add_json(tui, to, row);
        break;
    case 'c':
        screen = tui_screen(tui);
        link_write(to, &tui->explorer, &screen);
        break;
    default:
        break;
    }
}

static void add_choice(struct tui *tui, char key, const char *name, struct buf *about)
{
    if (about->len)
        menu_add(&tui->menu, key, str_of(name), buf_span(about));
    buf_clear(about);
}

void copy_menu(struct tui *tui)
{
    static const struct {
        char key;
        const char *name;
    } texts[] = {{'n', "name"}, {'p', "path"}, {'k', "key"}};
    struct buf about = BUF_INIT;
    uint32_t n;

    menu_clear(&tui->menu);
    tui->menu.title = "y Copy";
    tui->menu_of = ACTION_COPY;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        add_text(tui, &about, texts[i].key);
        add_choice(tui, texts[i].key, texts[i].name, &about);
    }
    n = copy_lines(&about, focused_lines(tui));
    buf_clear(&about);
    buf_printf(&about, "%s as plain text, %u line%s",
               focused_lines(tui) == &tui->tree ? "the tree on the screen"
                                                : "this panel",
               (unsigned)n, n == 1 ? "" : "s");
    add_choice(tui, 't', "text", &about);
    if (!tui->explorer.pair)
        menu_add(&tui->menu, 'j', STR("JSON"),
                 STR("this row, as torchoscope show --json prints it"));
    add_text(tui, &about, 'c');
    add_choice(tui, 'c', "command", &about);
    tui->menu.selected = tui->menu.n ? tui->menu.n - 1 : 0;
    buf_release(&about);
}

void copy_choose(struct tui *tui, char key)
{
    struct buf text = BUF_INIT;

    add_text(tui, &text, key);
    if (text.len)
        copy_text(tui, buf_span(&text));
    if (text.len && key == 'c' && link_is_live(&tui->explorer))
        buf_text(&tui->explorer.message,
                 "; a line of Python, as this model was never saved");
    buf_release(&text);
}
