/* Whatever ends or stops the program, the terminal is given back first. Handlers do
 * only what is safe in them: write(), tcsetattr(), sigaction(), raise(). */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/base.h"
#include "tui/term_in.h"

struct term *volatile term_open_one;

/* What ends a program, by itself or by somebody else. */
static const int ends[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGSEGV, SIGABRT,
                           SIGBUS,  SIGFPE, SIGILL, SIGPIPE, SIGXCPU, SIGSYS};
#define OTHERS 3
static const int others[OTHERS] = {SIGTSTP, SIGCONT, SIGWINCH};

/* How they were before, in this order: ends, others. */
static struct sigaction before[COUNT_OF(ends) + OTHERS];
static bool taken[COUNT_OF(ends) + OTHERS];

static void wake(struct term *term)
{
    int saved = errno;
    ssize_t n = write(term->wake[1], "", 1);

    (void)n; /* a full pipe wakes as well */
    errno = saved;
}

static void unblock(int number)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, number);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

/* Whoever had the signal before us gets it again: to the default it is the end of the
 * program, a handler of Python's own lets us end in peace. */
static void on_end(int number)
{
    struct term *term = term_open_one;

    if (term)
        term_leave(term);
    for (size_t i = 0; i < COUNT_OF(ends); i++)
        if (ends[i] == number)
            sigaction(number, &before[i], NULL);
    raise(number);
    unblock(number); /* here it ends */
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
    unblock(number); /* here we stop, and here we go on */
    sigaction(number, &ours, NULL);
    errno = saved;
}

static void on_continue(int number)
{
    struct term *term = term_open_one;

    (void)number;
    if (!term || term->lent)
        return;
    term_enter(term); /* its settings may have changed while we stood still */
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
    /* What is ignored stays ignored: nohup, and Python with SIGPIPE. */
    if (before[at].sa_handler == SIG_IGN && !(before[at].sa_flags & SA_SIGINFO))
        return;
    taken[at] = sigaction(number, &ours, NULL) == 0;
}

/* exit() by somebody else, in a program that we are only a part of. A child that was
 * forked meanwhile leaves its parent's terminal alone. */
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
    /* The whole group, as a shell means it: torchoscope may stand in a pipe. */
    kill(0, SIGTSTP);
}
