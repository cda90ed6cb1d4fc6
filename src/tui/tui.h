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

/* What is to be explored, and how whoever asks lives. */
struct tui_wanted {
    struct session *session;  /* borrowed; or NULL: `path` is opened */
    struct pair *pair;        /* borrowed; or NULL */
    const char *path;         /* a file or a folder; "." lists what is below it */
    struct settings settings; /* where they say nothing of the terminal's look, the
                                 config file and the environment do */
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
