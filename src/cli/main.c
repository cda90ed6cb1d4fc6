/* Where the program starts. Python starts it elsewhere: python/ext/program.c. */
#include "cli/cli.h"

int main(int argc, char **argv)
{
    return cli_main(argc, argv);
}
