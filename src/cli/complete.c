/* torchoscope __complete: words for shells. */
#include <stdint.h>

#include "base/base.h"
#include "cli/cli.h"

struct complete_options {
    uint32_t depth;
};

static const struct option options_table[] = {
    {"depth", 'd', OPTION_COUNT, "N", offsetof(struct complete_options, depth),
     "at most N levels below the root"},
};

static int complete_run(int argc, char **argv)
{
    struct complete_options options = {.depth = UINT32_MAX};
    struct cli cli;

    if (cli_begin(&cli, &complete_command, &options, &argc, argv) < 0)
        return STATUS_TROUBLE;
    return cli_end(&cli, STATUS_FINE);
}

const struct command complete_command = {
    .name = "__complete",
    .summary = "what may come next, for shells",
    .usage = "FILE [OPTION]...",
    .options = options_table,
    .n_options = COUNT_OF(options_table),
    .hidden = true,
    .run = complete_run,
};
