/* interrupts.h - Ctrl-C while code of the user's runs inside the terminal explorer.
 * The explorer reads keys, and Ctrl-C is one of them; but while a property or a pass of
 * the model runs it reads none. So for that long a thread of ours does, and makes
 * Ctrl-C the interrupt that Python knows: of this process alone, whatever else the
 * shell started beside it. Other keys that are pressed meanwhile are lost.
 *
 *     interrupts_begin(&interrupts);
 *     ... may raise KeyboardInterrupt ...
 *     interrupts_end(&interrupts); */
#ifndef EXT_INTERRUPTS_H
#define EXT_INTERRUPTS_H

#include "ext/ext.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

struct interrupts {
    bool on;              /* there is something to undo */
    int terminal, end[2]; /* a pipe: its end is the end of the thread */
    pthread_t reader, asked_by;
    struct sigaction handler;
};

/* The explorer begins, and what SIGINT does now is what it is to do then; or it ended.
 */
void interrupts_of_python(bool begins);

void interrupts_begin(struct interrupts *interrupts);
void interrupts_end(struct interrupts *interrupts);

#endif
