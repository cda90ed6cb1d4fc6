/* tui.h - the terminal explorer. It draws what explorer/explorer.h says and turns keys into
 * calls; it decides nothing about models.
 *
 * The tour of the room:
 *   tui.c          the loop: a key, what it does, a frame; what is opened and shown
 *   keymap.h       THE TABLE of keys: help, hints and the man page are made from it
 *   input.c        where a key goes            actions.c      what each action does
 *   commands.h     THE TABLE of : commands     complete.c     what completes them
 *   frame_in.h     who gets which part of the screen
 *   draw.c         a frame                     status.c       its last two lines
 *   prompt_in.h    a line that is typed        menu_in.h      a list to choose from
 *   sort_menu.c    i                           copy_menu.c    y, and the clipboard
 *   help.c         ?                           mouse.c        the mouse
 *   files.c        the model files of a folder edit.c         E
 *   config_in.h    the user's file             remember.c     views that are kept
 *   cells.h        our own grid of cells       keys.h         bytes in, keys out
 *   term.h         the one door to terminals: term_draw.c writes what changed,
 *                  term_signals.c gives it back, terminfo.c knows what TERM can do,
 *                  palette.c has the colours of the roles
 */
#ifndef TUI_TUI_H
#define TUI_TUI_H

#include <stdbool.h>

#include "base/err.h"
#include "base/out.h"
#include "explorer/link.h"
#include "session/pair.h"
#include "session/session.h"

/* What to explore, and the caller's callbacks. */
struct tui_wanted {
    struct session *session;  /* borrowed; NULL: open `path` */
    struct pair *pair;        /* borrowed; or NULL */
    const char *path;         /* a file or a folder; "." lists the files below it */
    struct settings settings; /* unset: from config and environment */
    /* Called around waits for a key, so that other Python threads can run. May be
     * NULL. */
    void (*wait_begin)(void *user);
    void (*wait_end)(void *user);
    /* Called after every wait: true ends the explorer (a pending exception). */
    bool (*stop)(void *user);
    /* :record on a live model: run it again. Returns a session with the recording,
     * owned by the explorer; NULL: failed. May be NULL: cannot be run. */
    struct session *(*record)(void *user, struct err *err);
    void *user;
};

/* Run on the terminal (/dev/tty, independent of stdin and stdout) until the user quits;
 * then restore the terminal. ERR_UNSUPPORTED: no terminal, or TERM=dumb; the caller
 * should print instead. */
int tui_run(const struct tui_wanted *wanted, struct err *err);

/* The first frame as text without trailing blanks, for --print=COLSxROWS. */
int tui_print(const struct tui_wanted *wanted, unsigned columns, unsigned rows,
              struct out *out, struct err *err);

#endif
