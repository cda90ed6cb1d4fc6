/* term_in.h - shared by the terminal's files: term.c opens it and reads keys,
 * term_draw.c writes frames, term_signals.c restores it. */
#ifndef TUI_TERM_IN_H
#define TUI_TERM_IN_H

#include <signal.h>
#include <stdatomic.h>
#include <termios.h>

#include "tui/term.h"

#define INPUT_BYTES 65536 /* a longer paste arrives in parts */

struct term {
    int fd;                     /* /dev/tty */
    pid_t owner;                /* the process that opened it */
    struct termios was, raw;    /* its original settings, and raw mode */
    struct buf enter, leave;    /* sequences written on entering and leaving */
    volatile sig_atomic_t ours; /* entered now */
    volatile sig_atomic_t lent; /* an editor is using it */
    int wake[2];                /* a pipe: signal handlers wake the wait for a key */
    volatile sig_atomic_t changed, hung;

    enum term_colours colours;
    bool light, theme_known, mouse, synchronised;

    struct cell_grid shown; /* the previous frame */
    bool whole;             /* draw the next frame completely */
    struct buf out;

    char in[INPUT_BYTES];
    size_t n_in, taken; /* bytes read; bytes of the key returned last */
    bool closed;        /* end of file */
    bool pasting;       /* the buffer filled up inside a paste */
};

/* Enter and leave the terminal; async-signal-safe. */
void term_enter(struct term *term);
void term_leave(struct term *term);
void term_write(int fd, const char *at, size_t len);

/* The open terminal, for signal handlers; NULL: none. */
extern struct term *volatile term_open_one;
void term_signals_begin(struct term *term);
void term_signals_end(void);
/* Stop the process; returns when it is continued. */
void term_signals_stop(void);

#endif
