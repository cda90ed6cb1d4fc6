/* Restores the terminal before the program ends or stops. Handlers call only
 * async-signal-safe functions: write(), tcsetattr(), sigaction(), raise(). */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/base.h"
#include "tui/term_in.h"

struct term *volatile term_open_one;

/* Signals that end the program. */
static const int ends[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGSEGV, SIGABRT,
                           SIGBUS,  SIGFPE, SIGILL, SIGPIPE, SIGXCPU, SIGSYS};
#define OTHERS 3
static const int others[OTHERS] = {SIGTSTP, SIGCONT, SIGWINCH};

/* The previous handlers: ends, then others. */
static struct sigaction before[COUNT_OF(ends) + OTHERS];
static bool taken[COUNT_OF(ends) + OTHERS];

static void wake(struct term *term)
{
    int saved = errno;
    ssize_t n = write(term->wake[1], "", 1);

    (void)n; /* a full pipe wakes the reader too */
    errno = saved;
}

static void unblock(int number)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, number);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

/* Raise the signal again with the previous handler: the default ends the program,
 * Python's handler lets it end normally. */
static void on_end(int number)
{
    struct term *term = term_open_one;

    if (term)
        term_leave(term);
    for (size_t i = 0; i < COUNT_OF(ends); i++)
        if (ends[i] == number)
            sigaction(number, &before[i], NULL);
    raise(number);
    unblock(number); /* delivered here */
    if (term) {
        term->hung = 1;
        wake(term);
    }
}

static void on_stop(int number)
{
    struct sigaction ours, plain = {.sa_handler = SIG_DFL};
    struct term *term = term_open_one;
    int saved = errno;

    if (term)
        term_leave(term);
    sigemptyset(&plain.sa_mask);
    sigaction(number, &plain, &ours);
    raise(number);
    unblock(number); /* the process stops and continues here */
    sigaction(number, &ours, NULL);
    errno = saved;
}

static void on_continue(int number)
{
    struct term *term = term_open_one;

    (void)number;
    if (!term || term->lent)
        return;
    term_enter(term); /* its settings may have changed while stopped */
    term->changed = 1;
    wake(term);
}

static void on_resize(int number)
{
    struct term *term = term_open_one;

    (void)number;
    if (!term)
        return;
    term->changed = 1;
    wake(term);
}

static void take(size_t at, int number, void (*handler)(int))
{
    struct sigaction ours = {.sa_handler = handler, .sa_flags = SA_RESTART};

    sigemptyset(&ours.sa_mask);
    taken[at] = false;
    if (sigaction(number, NULL, &before[at]) < 0)
        return;
    /* Keep ignored signals ignored: nohup, and Python with SIGPIPE. */
    if (before[at].sa_handler == SIG_IGN && !(before[at].sa_flags & SA_SIGINFO))
        return;
    taken[at] = sigaction(number, &ours, NULL) == 0;
}

/* Restore the terminal when a host program calls exit(). A forked child must not touch
 * its parent's terminal. */
static void at_exit(void)
{
    struct term *term = term_open_one;

    if (term && term->owner == getpid())
        term_leave(term);
}

void term_signals_begin(struct term *term)
{
    static void (*const handlers[OTHERS])(int) = {on_stop, on_continue, on_resize};
    static bool registered;

    if (!registered)
        registered = atexit(at_exit) == 0;
    term_open_one = term;
    for (size_t i = 0; i < COUNT_OF(ends); i++)
        take(i, ends[i], on_end);
    for (size_t i = 0; i < OTHERS; i++)
        take(COUNT_OF(ends) + i, others[i], handlers[i]);
}

void term_signals_end(void)
{
    for (size_t i = 0; i < COUNT_OF(before); i++) {
        int number = i < COUNT_OF(ends) ? ends[i] : others[i - COUNT_OF(ends)];

        if (taken[i])
            sigaction(number, &before[i], NULL);
        taken[i] = false;
    }
    term_open_one = NULL;
}

void term_signals_stop(void)
{
    /* Stop the whole process group, like a shell: torchoscope may be in a pipeline. */
    kill(0, SIGTSTP);
}
