/* Saves the view of each model, if enabled with :set remember yes. The file
 * $XDG_STATE_HOME/torchoscope/remember marks it as enabled; views/DIGEST holds the
 * model's identity (path and size, or class) and the options that restore its view. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/sha256.h"
#include "base/whole_file.h"
#include "tui/commands_in.h"

#define MOST_BYTES (256 * KIB) /* of one view */

/* ---- paths ---- */

/* $XDG_STATE_HOME/torchoscope/NAME; false: no home directory. */
static bool state_path(struct buf *to, const char *name)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

    if (state && state[0] == '/')
        buf_printf(to, "%s/torchoscope/%s", state, name);
    else if (home && home[0] == '/')
        buf_printf(to, "%s/.local/state/torchoscope/%s", home, name);
    return to->len > 0 && !to->bad;
}

/* Create all parent folders of a path, private to the user. */
static void make_folders(char *path)
{
    for (char *at = path + 1; *at; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        mkdir(path, 0700);
        *at = '/';
    }
}

/* The model's identity, in one line. */
static void model_key(struct buf *to, const struct explorer *explorer)
{
    const struct model *model = explorer->session->model;
    char *whole;

    if (link_is_live(explorer)) {
        buf_printf(to, "live %.*s", STR_ARG(place_class(model, 0)));
    } else {
        whole = realpath(model->path, NULL);
        buf_printf(to, "%llu %s", (unsigned long long)model->file_bytes,
                   whole ? whole : model->path);
        free(whole);
    }
    for (size_t i = 0; i < to->len; i++)
        if (to->at[i] == '\n')
            to->at[i] = ' ';
}

static bool view_path(struct buf *to, const struct buf *key)
{
    char name[80], digest[65];
    struct sha256 hash;

    sha256_init(&hash);
    sha256_add(&hash, key->at, key->len);
    sha256_hex(&hash, digest);
    snprintf(name, sizeof name, "views/%.32s", digest);
    return state_path(to, name);
}

/* ---- on or off ---- */

static bool is_on(const struct tui *tui)
{
    struct buf path = BUF_INIT;
    bool on = tui->config.remember;

    if (!on && state_path(&path, "remember"))
        on = access(buf_cstr(&path), F_OK) == 0;
    buf_release(&path);
    return on;
}

static int write_text(const char *path, struct str text, struct err *err)
{
    struct whole_file file;
    struct out out;

    if (whole_file_begin(&file, path, err) < 0)
        return -1;
    out_init_fd(&out, file.fd);
    out_str(&out, text);
    return whole_file_end(&file, &out, path, 0, err);
}

int remember_switch(struct tui *tui, struct err *err)
{
    struct buf path = BUF_INIT;
    int status = 0;

    if (!state_path(&path, "remember")) {
        status = err_set(err, ERR_USAGE, "no home directory to save it in");
    } else if (tui->config.remember) {
        make_folders(path.at);
        status = write_text(buf_cstr(&path), STR("yes\n"), err);
    } else {
        unlink(buf_cstr(&path));
    }
    if (status == 0)
        tui_say(tui, "%s",
                tui->config.remember ? "views will be kept, from now on"
                                     : "views are no longer saved");
    buf_release(&path);
    return status;
}

/* ---- one view ---- */

void remember_save(struct tui *tui)
{
    struct buf key = BUF_INIT, path = BUF_INIT, text = BUF_INIT;
    struct link_screen screen = tui_screen(tui);

    if (!tui->exploring || tui->explorer.pair || !tui->background || !is_on(tui))
        return;
    model_key(&key, &tui->explorer);
    if (view_path(&path, &key)) {
        buf_printf(&text, "%s\n", buf_cstr(&key));
        link_options(&text, &tui->explorer, &screen);
        buf_char(&text, '\n');
        make_folders(path.at);
        if (!text.bad && text.len < MOST_BYTES)
            write_text(buf_cstr(&path), buf_span(&text), NULL);
    }
    buf_release(&key);
    buf_release(&path);
    buf_release(&text);
}

static bool read_text(const char *path, struct buf *to)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char bytes[4096];
    ssize_t n;

    if (fd < 0)
        return false;
    while ((n = read(fd, bytes, sizeof bytes)) > 0 && to->len < MOST_BYTES)
        buf_add(to, bytes, (size_t)n);
    close(fd);
    return n == 0 && !to->bad;
}

bool remember_load(struct tui *tui, struct buf *to)
{
    struct buf key = BUF_INIT, path = BUF_INIT, text = BUF_INIT;
    struct str rest, line = STR("");
    bool found = false;

    if (!tui->background || tui->explorer.pair || !is_on(tui))
        return false;
    model_key(&key, &tui->explorer);
    if (view_path(&path, &key) && read_text(buf_cstr(&path), &text)) {
        rest = buf_span(&text);
        found = str_split(&rest, '\n', &line) && str_eq(line, buf_span(&key)) &&
                str_split(&rest, '\n', &line);
        if (found)
            buf_str(to, line);
    }
    buf_release(&key);
    buf_release(&path);
    buf_release(&text);
    return found && to->len > 0;
}
