#include "ext/interrupts.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#define CTRL_C 3

static bool exploring;
static struct sigaction python;

void interrupts_of_python(bool begins)
{
    exploring = begins && sigaction(SIGINT, NULL, &python) == 0;
}

/* Read keys until the pipe closes. Never touches Python. */
static void *read_keys(void *user)
{
    struct interrupts *interrupts = user;
    struct pollfd fds[2] = {{.fd = interrupts->terminal, .events = POLLIN},
                            {.fd = interrupts->end[0], .events = POLLIN}};
    char keys[64];
    ssize_t n;

    for (;;) {
        if (poll(fds, 2, -1) < 0)
            continue;
        if (fds[1].revents)
            return NULL;
        n = read(interrupts->terminal, keys, sizeof keys);
        if (n > 0 && memchr(keys, CTRL_C, (size_t)n))
            pthread_kill(interrupts->asked_by, SIGINT);
        if (n <= 0)
            fds[0].fd = -1; /* the terminal is gone */
    }
}

/* The thread is to have no part in signals. */
static bool start(struct interrupts *interrupts)
{
    sigset_t all, before;
    int failed;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failed = pthread_create(&interrupts->reader, NULL, read_keys, interrupts);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return !failed;
}

void interrupts_begin(struct interrupts *interrupts)
{
    interrupts->on = false;
    if (!exploring)
        return;
    interrupts->terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
    if (interrupts->terminal < 0)
        return;
    interrupts->asked_by = pthread_self();
    if (pipe(interrupts->end) == 0) {
        fcntl(interrupts->end[0], F_SETFD, FD_CLOEXEC);
        fcntl(interrupts->end[1], F_SETFD, FD_CLOEXEC);
        sigaction(SIGINT, &python, &interrupts->handler);
        interrupts->on = start(interrupts);
        if (interrupts->on)
            return;
        sigaction(SIGINT, &interrupts->handler, NULL);
        close(interrupts->end[0]);
        close(interrupts->end[1]);
    }
    close(interrupts->terminal);
}

void interrupts_end(struct interrupts *interrupts)
{
    if (!interrupts->on)
        return;
    close(interrupts->end[1]);
    pthread_join(interrupts->reader, NULL);
    sigaction(SIGINT, &interrupts->handler, NULL);
    close(interrupts->end[0]);
    close(interrupts->terminal);
    interrupts->on = false;
}
