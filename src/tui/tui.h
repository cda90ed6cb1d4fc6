/* tui.h - the terminal explorer. It draws the state of explorer/explorer.h and maps
 * keys to calls; it has no logic about models.
 *
 * The tour of the room:
 *   tui.c          the main loop: key, action, frame; opening and closing
 *   keymap.h       THE TABLE of keys: generates help, hints and the man page
 *   input.c        routes keys                 actions.c      implements actions
 *   commands.h     THE TABLE of : commands     complete.c     completes them
 *   frame_in.h     the screen layout
 *   draw.c         a frame                     status.c       its last two lines
 *   prompt_in.h    a line editor               menu_in.h      a list of choices
 *   sort_menu.c    i                           copy_menu.c    y, and the clipboard
 *   help.c         ?                           mouse.c        the mouse
 *   files.c        the model files of a folder edit.c         E
 *   config_in.h    the config file             remember.c     saved views
 *   cells.h        a grid of cells             keys.h         decodes input bytes
 *   term.h         the only interface to terminals: term_draw.c writes changed cells,
 *                  term_signals.c restores the terminal, terminfo.c reads its
 *                  capabilities, palette.c has the colours of the roles */
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
