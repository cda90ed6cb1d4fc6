/* torchoscope tree: prints the content of a file as a tree. */
#include "cli/tree.h"

#include <stdint.h>
#include <string.h>

#include "base/base.h"
#include "base/folder.h"
#include "cli/folder.h"
#include "cli/progress.h"
#include "cli/speak.h"
#include "export/export.h"
#include "session/session.h"

/* Other options are view settings. */
static const struct option options_table[] = {
    {"sort", 's', OPTION_TEXT,
     "params|bytes|name|time|self|calls|flops|ops|grad|update|weight",
     offsetof(struct printed_wanted, sort), "sort siblings, largest first"},
};

int tree_columns(struct cli *cli)
{
    for (size_t i = 0; i < n_column_table; i++)
        out_printf(&cli->out, "%-10s %s\n", column_table[i].id, column_table[i].about);
    return STATUS_FINE;
}

/* For JSON and CSV: the chosen places; NULL if all are. */
static int choose_places(struct printed *printed, struct export_choice *ret_choice,
                         struct err *err)
{
    struct view *view = &printed->view;
    bool *chosen;

    *ret_choice = (struct export_choice){0};
    if (!view->keep && !view->flat && view->depth == ALL_ROWS && view->top == ALL_ROWS)
        return 0;
    view->all = view->no_runs = true;
    if (printed_rows(printed, err) < 0)
        return -1;
    chosen =
        arena_array(&printed->arena, printed->show.model->n_places, sizeof *chosen);
    if (!chosen)
        return arena_err(&printed->arena, "the list of places", err);
    for (uint32_t i = 0; i < printed->rows.n; i++)
        if (!(printed->rows.cells[i].flags & ROW_MORE))
            chosen[printed->rows.cells[i].place] = true;
    ret_choice->keep = chosen;
    return 0;
}

static int write_tree(struct cli *cli, struct printed *printed, struct err *err)
{
    struct pen pen = cli_pen(cli);
    struct export_choice choice;
    struct json json;

    if (!cli->json && !cli->csv)
        return printed_write(printed, &pen, true, err);
    if (choose_places(printed, &choice, err) < 0)
        return -1;
    if (cli->csv)
        return export_tree_csv(&cli->out, printed->session, choice, err);
    json_init_text(&json, &cli->out);
    export_tree_json(&json, printed->session, choice);
    return 0;
}

/* Measures all tensors if a column needs their values. */
static int measure(struct cli *cli, struct session *session, struct err *err)
{
    uint32_t n = session->model->n_tensors;
    uint32_t *all = arena_array(&session->arena, (size_t)n + 1, sizeof *all);
    struct progress progress;
    int status;

    if (!all)
        return arena_err(&session->arena, "the list of tensors", err);
    for (uint32_t i = 0; i < n; i++)
        all[i] = i;
    progress_begin(&progress, &cli->work, "stats", false, cli->ascii);
    status = session_stats_many(session, all, n, &cli->work, err);
    progress_end(&progress);
    return status;
}

static int write_session(struct cli *cli, struct session *session,
                         const struct printed_wanted *wanted)
{
    struct printed printed;
    struct err err = {0};
    int status;

    if (wanted->step && session_take_step(session, wanted->step, &err) < 0)
        return cli_fail(&err);
    if (printed_begin(&printed, session, wanted, &err) < 0) {
        status = cli_fail(&err);
    } else {
        status = speak_status(&printed.show);
        if (wanted->filter && printed.matches == 0)
            cli_say("nothing in %s matches \"%s\"", session->model->path,
                    wanted->filter);
        if ((printed_wants_values(&printed) && measure(cli, session, &err) < 0) ||
            write_tree(cli, &printed, &err) < 0)
            status = cli_fail(&err);
    }
    printed_end(&printed);
    return status;
}

int tree_file(struct cli *cli, const char *path, const struct printed_wanted *wanted)
{
    struct err err = {0};
    struct session *session = session_open(path, &cli->work, &err);
    int status;

    /* A folder that is not one model is a list of files. */
    if (!session && path_is_folder(path) && err.code != ERR_CANCELLED && !cli->json &&
        !cli->csv)
        return folder_list(cli, path, wanted, &err);
    status = session ? write_session(cli, session, wanted) : cli_fail(&err);
    session_close(session);
    return status;
}

void tree_two_files(const char *command, char **argv)
{
    cli_say("%s takes one file. To compare two: torchoscope diff %s %s", command,
            argv[0], argv[1]);
}

static int tree_run(int argc, char **argv)
{
    struct printed_wanted wanted = PRINTED_WANTED_INIT;
    struct cli cli;

    if (cli_begin(&cli, &tree_command, &wanted, &argc, argv) < 0)
        return STATUS_TROUBLE;
    if (wanted.columns && strcmp(wanted.columns, "help") == 0)
        return cli_end(&cli, tree_columns(&cli));
    if (argc == 2) {
        tree_two_files("tree", argv);
        return cli_end(&cli, STATUS_TROUBLE);
    }
    if (argc != 1) {
        cli_say("tree: expected one file; see torchoscope tree --help");
        return cli_end(&cli, STATUS_TROUBLE);
    }
    wanted.width = cli.columns;
    return cli_end(&cli, tree_file(&cli, argv[0], &wanted));
}

const struct command tree_command = {
    .name = "tree",
    .summary = "print the modules, tensors and values of a file",
    .usage = "FILE [OPTION]...",
    .details = "A guess of a layer's kind begins with ~. Numbers in brackets belong to "
               "tied weights\nand are counted elsewhere.\n",
    .options = options_table,
    .n_options = COUNT_OF(options_table),
    .settings = SETTINGS_TREE,
    .run = tree_run,
};
