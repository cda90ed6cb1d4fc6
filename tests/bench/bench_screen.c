/* bench_screen - the explorer on a file, with a byte on the terminal as soon as the
 * file is read and nothing else is done yet: from it on, the first screen is timed.
 *     bench_screen FILE
 * tui_bench.py runs it on a pseudo-terminal. */
#include <stdio.h>
#include <unistd.h>

#include "read/read.h"
#include "tui/tui.h"

int main(int argc, char **argv)
{
    struct tui_wanted wanted = {.settings = SETTINGS_INIT};
    struct err err = {0};
    const struct model *model;
    struct work work;
    int status = -1;

    work_init(&work);
    model = argc == 2 ? read_model(argv[1], &work, &err) : NULL;
    if (model && write(STDOUT_FILENO, "\r", 1) == 1)
        wanted.session = session_of(model, &err);
    if (wanted.session)
        status = tui_run(&wanted, &err);
    if (status < 0)
        fprintf(stderr, "bench_screen: %s\n", err.text);
    session_close(wanted.session);
    return status < 0;
}
