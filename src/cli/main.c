/* main() of the program. Python calls cli_main() from python/ext/types/program.c. */
#include "cli/cli.h"
#include "cli/python.h"

int main(int argc, char **argv)
{
    int first;

    if (python_command(argc, argv, &first))
        return python_start(argc, argv);
    return cli_main(argc, argv);
}
