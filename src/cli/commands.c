/* THE TABLE of commands, in the order in which --help lists them. */
#include <string.h>

#include "base/base.h"
#include "cli/command.h"

const struct command *const commands[] = {
    &tree_command,    &show_command,     &stats_command,   &info_command,
    &diff_command,    &check_command,    &convert_command, &export_command,
    &explore_command, &summary_command,  &record_command,  &ops_command,
    &memory_command,  &graph_command,    &serve_command,   &run_command,
    &replay_command,  &complete_command, &keys_command,
};
const size_t n_commands = COUNT_OF(commands);

const struct command *command_find(const char *name)
{
    for (size_t i = 0; i < n_commands; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}
