/* term.h - the one file that knows terminals: raw mode, what TERM can do (terminfo),
 * colours, writing what changed, reading keys, and giving everything back: at exit, on
 * SIGTERM, SIGHUP, SIGINT, a crash, while suspended. One terminal at a time. */
#ifndef TUI_TERM_H
#define TUI_TERM_H

#include <stdbool.h>

#include "base/err.h"
#include "tui/cells.h"
#include "tui/keys.h"

enum term_colours { TERM_MONO, TERM_16, TERM_256, TERM_TRUE };

struct term;

struct term_wanted {
    const char *theme, *colour; /* as in struct settings; NULL or "": detected */
    bool mouse;
};

/* Take the terminal (/dev/tty). NULL, ERR_UNSUPPORTED: there is none that can do this.
 */
struct term *term_open(const struct term_wanted *wanted, struct err *err);
/* Give it back as it was. May be called once more; NULL is allowed. */
void term_close(struct term *term);

void term_size(struct term *term, unsigned *ret_columns, unsigned *ret_rows);
enum term_colours term_colours(const struct term *term);

/* Write the cells that differ from the frame before, inside synchronised output. */
void term_draw(struct term *term, const struct cell_grid *cells);
/* The next frame is written whole: ^L, after a resize or a suspension. */
void term_redraw(struct term *term);

/* The next key. KEY_JOBS: `fd` is readable; KEY_NONE: `timeout_ms` are over;
 * KEY_RESIZE: the size changed, or the screen must be drawn anew; KEY_HANGUP: there is
 * nobody any more. `begin` and `end` bracket the waiting; either may be NULL. */
struct term_wait {
    int fds[2];     /* other things to wait for; -1: none */
    int timeout_ms; /* -1: for ever */
    void (*begin)(void *user);
    void (*end)(void *user);
    void *user;
};
struct key term_key(struct term *term, const struct term_wait *wait);

/* ^Z: give the terminal back, stop, take it again when continued. */
void term_suspend(struct term *term);
/* Run a program on the terminal meanwhile ($EDITOR); its status, or -1. */
int term_run(struct term *term, char *const argv[], struct err *err);
/* Copy by OSC 52; false: the terminal is known not to take it. */
bool term_copy(struct term *term, struct str text);
/* :set theme and color, while it is open. */
void term_look(struct term *term, const struct term_wanted *wanted);

#endif
