/* interrupts.h - Ctrl-C while code of the user's runs inside the terminal explorer.
 * The explorer reads keys, and Ctrl-C is one of them; but while a property or a pass of
 * the model runs nobody reads, so for that long it is a signal, and Python's.
 *
 *     interrupts_begin(&interrupts);
 *     ... may raise KeyboardInterrupt ...
 *     interrupts_end(&interrupts); */
#ifndef EXT_INTERRUPTS_H
#define EXT_INTERRUPTS_H

#include "ext/ext.h"

#include <signal.h>
#include <stdbool.h>
#include <termios.h>

struct interrupts {
    int terminal; /* or -1: there is nothing to undo */
    struct termios mode;
    struct sigaction handler;
};

/* The explorer begins, and what SIGINT does now is what it is to do then; or it ended.
 */
void interrupts_of_python(bool begins);

void interrupts_begin(struct interrupts *interrupts);
void interrupts_end(struct interrupts *interrupts);

#endif
