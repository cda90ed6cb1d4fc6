/* torchoscope info: what a file is. */
#include <stdint.h>

#include "base/base.h"
#include "cli/cli.h"

struct info_options {
    uint32_t depth;
};

static const struct option options_table[] = {
    {"depth", 'd', OPTION_COUNT, "N", offsetof(struct info_options, depth),
     "at most N levels below the root"},
};

static int info_run(int argc, char **argv)
{
    struct info_options options = {.depth = UINT32_MAX};
    struct cli cli;

    if (cli_begin(&cli, &info_command, &options, &argc, argv) < 0)
        return STATUS_TROUBLE;
    return cli_end(&cli, STATUS_FINE);
}

const struct command info_command = {
    .name = "info",
    .summary = "what a file is: format, size, safety, counts, metadata",
    .usage = "FILE [OPTION]...",
    .options = options_table,
    .n_options = COUNT_OF(options_table),
    .run = info_run,
};
