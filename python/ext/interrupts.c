#include "ext/interrupts.h"

#include <fcntl.h>
#include <unistd.h>

static bool exploring;
static struct sigaction python;

void interrupts_of_python(bool begins)
{
    exploring = begins && sigaction(SIGINT, NULL, &python) == 0;
}

void interrupts_begin(struct interrupts *interrupts)
{
    struct termios mode;

    interrupts->terminal = -1;
    if (!exploring)
        return;
    interrupts->terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (interrupts->terminal < 0)
        return;
    if (tcgetattr(interrupts->terminal, &interrupts->mode) < 0) {
        close(interrupts->terminal);
        interrupts->terminal = -1;
        return;
    }
    mode = interrupts->mode;
    mode.c_lflag |= ISIG;
    mode.c_cc[VSUSP] = mode.c_cc[VQUIT] = _POSIX_VDISABLE; /* Ctrl-C alone */
    sigaction(SIGINT, &python, &interrupts->handler);
    tcsetattr(interrupts->terminal, TCSANOW, &mode);
}

void interrupts_end(struct interrupts *interrupts)
{
    if (interrupts->terminal < 0)
        return;
    tcsetattr(interrupts->terminal, TCSANOW, &interrupts->mode);
    sigaction(SIGINT, &interrupts->handler, NULL);
    close(interrupts->terminal);
    interrupts->terminal = -1;
}
