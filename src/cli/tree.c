/* torchoscope tree: what is in a file, as a tree. */
#include <stdint.h>

#include "base/base.h"
#include "cli/cli.h"

struct tree_options {
    uint32_t depth;
};

static const struct option options_table[] = {
    {"depth", 'd', OPTION_COUNT, "N", offsetof(struct tree_options, depth),
     "at most N levels below the root"},
};

static int tree_run(int argc, char **argv)
{
    struct tree_options options = {.depth = UINT32_MAX};
    struct cli cli;

    if (cli_begin(&cli, &tree_command, &options, &argc, argv) < 0)
        return STATUS_TROUBLE;
    return cli_end(&cli, STATUS_FINE);
}

const struct command tree_command = {
    .name = "tree",
    .summary = "what is in a file: modules, tensors, plain values",
    .usage = "FILE [OPTION]...",
    .options = options_table,
    .n_options = COUNT_OF(options_table),
    .run = tree_run,
};
