/* main() of the program. Python calls cli_main() from python/ext/types/program.c. */
#include <signal.h>

#include "cli/cli.h"
#include "cli/python.h"

int main(int argc, char **argv)
{
    int first;

    if (python_command(argc, argv, &first))
        return python_start(argc, argv);
    signal(SIGXFSZ, SIG_IGN); /* a file over its limit is an error, as on a full disk */
    return cli_main(argc, argv);
}
