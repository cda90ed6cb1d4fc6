#include "ext/interrupts.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/background.h"

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

void interrupts_begin(struct interrupts *interrupts)
{
    interrupts->on = false;
    if (!exploring)
        return;
    interrupts->terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
    if (interrupts->terminal < 0)
        return;
    interrupts->asked_by = pthread_self();
    if (background_pipe(interrupts->end, NULL) == 0) {
        sigaction(SIGINT, &python, &interrupts->handler);
        interrupts->on = background_start(&interrupts->reader, read_keys, interrupts);
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
