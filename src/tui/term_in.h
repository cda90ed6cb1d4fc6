/* term_in.h - the parts of the terminal: term.c opens, asks and reads, term_draw.c
 * writes frames, term_signals.c gives it back whatever happens. */
#ifndef TUI_TERM_IN_H
#define TUI_TERM_IN_H

#include <signal.h>
#include <stdatomic.h>
#include <termios.h>

#include "tui/term.h"

#define INPUT_BYTES 65536 /* a paste that is longer comes in parts */

struct term {
    int fd;                     /* /dev/tty */
    pid_t owner;                /* who opened it */
    struct termios was, raw;    /* its settings before, and ours */
    struct buf enter, leave;    /* what is written when it is taken and given back */
    volatile sig_atomic_t ours; /* it is taken now */
    volatile sig_atomic_t lent; /* an editor has it: leave it alone */
    int wake[2];                /* a pipe: signals wake whoever waits for a key */
    volatile sig_atomic_t changed, hung;

    enum term_colours colours;
    bool light, theme_known, mouse, synchronised;

    struct cell_grid shown; /* the frame before */
    bool whole;             /* the next frame is written whole */
    struct buf out;

    char in[INPUT_BYTES];
    size_t n_in, taken; /* bytes read; those of the key that was given last */
    bool closed;        /* end of file */
    bool pasting;       /* the buffer was full before the end of a paste */
};

/* Take the terminal and give it back: safe in a signal handler. */
void term_enter(struct term *term);
void term_leave(struct term *term);
void term_write(int fd, const char *at, size_t len);

/* Signals find the terminal here; NULL: none is open. */
extern struct term *volatile term_open_one;
void term_signals_begin(struct term *term);
void term_signals_end(void);
/* Stop, and go on when somebody continues us. */
void term_signals_stop(void);

#endif
