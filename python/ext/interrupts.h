/* interrupts.h - Ctrl-C while user code runs inside the terminal explorer.
 * The explorer reads Ctrl-C as a key, but it reads no keys while a property or a pass
 * of the model runs. During that time a helper thread reads the keys and turns Ctrl-C
 * into SIGINT for this process only, not for its process group. Other keys pressed
 * meanwhile are lost.
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
    bool on;              /* interrupts_end() has something to undo */
    int terminal, end[2]; /* a pipe: closing it ends the thread */
    pthread_t reader, asked_by;
    struct sigaction handler;
};

/* Call with true when the explorer begins: saves the current SIGINT handler, to install
 * while user code runs. Call with false when it ends. */
void interrupts_of_python(bool begins);

void interrupts_begin(struct interrupts *interrupts);
void interrupts_end(struct interrupts *interrupts);

#endif
