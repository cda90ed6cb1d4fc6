/* tui.h - the terminal explorer. It draws what show/explorer.h says and turns keys into
 * calls; it decides nothing about models.
 *
 * The tour of the room:
 *   tui.c       the loop: a key, what it does, a frame
 *   keymap.h    THE TABLE of keys: help, hints and the man page are made from it
 *   actions.c   what each action does            commands.h  THE TABLE of : commands
 *   frame.h     who gets which part of the screen, and drawing it all
 *   prompt.h    a line that is typed: / : [ D    menu.h      y, i and completions
 *   help.c      ? , filtered by typing           files.c     choosing a file of a
 * folder config.h    $XDG_CONFIG_HOME/torchoscope/config cells.h     our own grid of
 * cells            keys.h      bytes in, keys out term.h      the one file that knows
 * terminals (terminfo)
 */
#ifndef TUI_TUI_H
#define TUI_TUI_H

#include <stdbool.h>

#include "base/err.h"
#include "base/out.h"
#include "session/pair.h"
#include "session/session.h"
#include "show/link.h"

/* How it is to look; the config file and the environment decide what is not said. */
struct tui_look {
    const char *theme;  /* "dark", "light"; NULL: found out */
    const char *colour; /* "never", "16", "256", "true"; NULL: found out */
    bool ascii, plain, no_mouse;
};

/* What is to be explored, and how whoever asks lives. */
struct tui_wanted {
    struct session *session; /* borrowed; or NULL: `path` is opened */
    struct pair *pair;       /* borrowed; or NULL */
    const char *path;        /* a file or a folder; "." lists what is below it */
    struct link link;
    struct tui_look look;
    /* Of Python, which lets others run while a key is awaited. May be NULL. */
    void (*wait_begin)(void *user);
    void (*wait_end)(void *user);
    /* Asked after every wait: true ends the explorer (a pending exception). */
    bool (*stop)(void *user);
    /* :record, of a live model: run it once more. A session of what was recorded, which
     * is taken; NULL: it could not be. May be NULL: there is nothing to run. */
    struct session *(*record)(void *user, struct err *err);
    void *user;
};

/* Run on the terminal (/dev/tty, whatever stdin and stdout are) until the user leaves;
 * the terminal is then as it was before. ERR_UNSUPPORTED: there is no terminal, or it
 * can do nothing (TERM=dumb): whoever calls prints instead. */
int tui_run(const struct tui_wanted *wanted, struct err *err);

/* The first frame as text, trailing blanks cut: what --print=COLSxROWS prints. */
int tui_print(const struct tui_wanted *wanted, unsigned columns, unsigned rows,
              struct out *out, struct err *err);

#endif
