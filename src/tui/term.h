/* term.h - the only interface to the terminal: raw mode, capabilities (terminfo),
 * colours, incremental drawing, keys. Restores the terminal at exit, on SIGTERM,
 * SIGHUP, SIGINT, a crash, and while suspended. One terminal at a time. */
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

/* Open the terminal (/dev/tty). NULL with ERR_UNSUPPORTED: no suitable terminal. */
struct term *term_open(const struct term_wanted *wanted, struct err *err);
/* Restore the terminal. May be called twice; NULL is allowed. */
void term_close(struct term *term);

void term_size(struct term *term, unsigned *ret_columns, unsigned *ret_rows);
enum term_colours term_colours(const struct term *term);

/* Write the cells that differ from the previous frame, as synchronised output. */
void term_draw(struct term *term, const struct cell_grid *cells);
/* Draw the next frame completely: ^L, after a resize or a suspension. */
void term_redraw(struct term *term);

/* The next key. KEY_JOBS: one of `fds` is readable; KEY_NONE: timeout; KEY_RESIZE: the
 * size changed, or a redraw is needed; KEY_HANGUP: the terminal hung up. `begin` and
 * `end` are called around the wait; either may be NULL. */
struct term_wait {
    int fds[2];     /* other descriptors to wait for; -1: none */
    int timeout_ms; /* -1: no timeout */
    void (*begin)(void *user);
    void (*end)(void *user);
    void *user;
};
struct key term_key(struct term *term, const struct term_wait *wait);

/* ^Z: leave the terminal, stop, and enter it again when continued. */
void term_suspend(struct term *term);
/* Run a program on the terminal ($EDITOR); returns its status, or -1. */
int term_run(struct term *term, char *const argv[], struct err *err);
/* Copy with OSC 52; false: the terminal is known not to support it. */
bool term_copy(struct term *term, struct str text);
/* :set theme and color, while the terminal is open. */
void term_look(struct term *term, const struct term_wanted *wanted);

#endif
