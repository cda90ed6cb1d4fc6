/* torchoscope __complete: possible next words, one per line, for shells.
 *
 *     __complete commands             names of commands, a tab, what they do
 *     __complete options COMMAND      its options, a tab, what they do
 *     __complete values COMMAND --OPTION   the words that an option may have
 *                                     (FILE for COMMAND: those of torchoscope FILE)
 *     __complete FILE PREFIX          full names in a file that begin with PREFIX, up
 * to the next dot
 *
 * Errors are not printed: a shell cannot use them here. */
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/cli.h"
#include "read/read.h"
#include "rows/labels.h"

#define MOST_NAMES 10000

static void list_commands(struct out *out)
{
    for (size_t i = 0; i < n_commands; i++)
        if (!commands[i]->hidden)
            out_printf(out, "%s\t%s\n", commands[i]->name, commands[i]->summary);
}

static void list_options(struct out *out, const struct option_set *set)
{
    for (size_t i = 0; i < set->n; i++)
        out_printf(out, "--%s\t%s\n", set->options[i].name, set->options[i].summary);
}

/* "params|bytes|name", one per line; columns and labels have their own tables. */
static void list_values(struct out *out, const struct option *option)
{
    struct str rest = str_of(option->value ? option->value : ""), word;

    while (str_find_char(rest, '|') >= 0 && str_split(&rest, '|', &word)) {
        out_printf(out, "%.*s\n", STR_ARG(word));
        if (str_find_char(rest, '|') < 0)
            out_printf(out, "%.*s\n", STR_ARG(rest));
    }
    if (strcmp(option->name, "columns") == 0)
        for (size_t i = 0; i < n_column_table; i++)
            out_printf(out, "%s\t%s\n", column_table[i].id, column_table[i].about);
    if (strcmp(option->name, "labels") == 0)
        for (size_t i = 0; i < n_label_kinds; i++)
            out_printf(out, "%s\t%s\n", label_kinds[i].id, label_kinds[i].title);
}

/* Names that a shell would split are omitted. */
static bool is_plain(struct str name)
{
    for (size_t i = 0; i < name.len; i++)
        if ((unsigned char)name.at[i] <= ' ' || name.at[i] == 0x7f)
            return false;
    return name.len > 0;
}

/* Lists the children of a place whose names begin with `last`, after the text typed
 * before it; a dot follows those that have children. */
static void list_children(struct out *out, const struct model *model, uint32_t above,
                          struct str before, struct str last)
{
    uint32_t listed = 0;

    for (uint32_t c = place_first(model, above); c != NO_PLACE && listed < MOST_NAMES;
         c = place_next(model, c)) {
        struct str name = place_name(model, c);

        if (!is_plain(name) || !str_starts(name, last))
            continue;
        out_str(out, before);
        out_str(out, name);
        out_text(out, model->end[c] > c + 1 ? ".\n" : "\n");
        listed++;
    }
}

/* For "layer1.0.co", lists children of layer1.0. */
static void list_names(struct out *out, const char *file, const char *typed)
{
    struct str text = str_of(typed);
    size_t split = (size_t)(str_find_last_char(text, '.') + 1);
    const struct model *model = read_model(file, NULL, NULL);
    uint32_t above = 0;

    if (!model)
        return;
    if (split > 0)
        above = place_find(model, str_head(text, split - 1));
    if (above != NO_PLACE)
        list_children(out, model, above, str_head(text, split), str_from(text, split));
    model_free(model);
}

static void list(struct out *out, int argc, char **argv)
{
    const struct command *command = argc > 1 ? command_find(argv[1]) : NULL;
    const struct option *option = NULL;
    struct command_options all;

    if (argc > 1 && strcmp(argv[1], "FILE") == 0)
        command = &open_command;
    if (command)
        command_options(&all, command, NULL, NULL);
    if (strcmp(argv[0], "commands") == 0) {
        list_commands(out);
    } else if (strcmp(argv[0], "options") == 0 && command) {
        for (size_t i = 0; i < COMMAND_SETS; i++)
            list_options(out, &all.sets[i]);
    } else if (strcmp(argv[0], "values") == 0 && command && argc > 2) {
        for (size_t i = 0; i < COMMAND_SETS && !option; i++)
            option = option_find(&all.sets[i], str_of(argv[2] + 2));
        if (option)
            list_values(out, option);
    } else {
        list_names(out, argv[0], argc > 1 ? argv[1] : "");
    }
}

static int complete_run(int argc, char **argv)
{
    struct out out;

    if (argc < 1 || (argc > 2 && strlen(argv[2]) < 2))
        return STATUS_TROUBLE;
    out_init_fd(&out, STDOUT_FILENO);
    list(&out, argc, argv);
    return out_release(&out) == 0 ? STATUS_FINE : STATUS_TROUBLE;
}

const struct command complete_command = {
    .name = "__complete",
    .summary = "what may come next, for shells",
    .usage = "commands | options COMMAND | values COMMAND --OPTION | FILE PREFIX",
    .run = complete_run,
    .hidden = true,
};
