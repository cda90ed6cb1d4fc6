/* torchoscope info: summary of a file; without a file, of this program. */
#include "base/base.h"
#include "cli/cli.h"
#include "cli/info_in.h"
#include "cli/speak.h"
#include "export/export.h"
#include "facts/facts.h"
#include "facts/summary.h"
#include "rows/show.h"
#include "session/session.h"
#include "text/escape.h"
#include "text/number.h"
#include "text/width.h"

#define MOST_FINDINGS 20
#define LABEL_CELLS   10

struct info_options {
    bool short_form;
};

static const struct option options_table[] = {
    {"short", 's', OPTION_FLAG, NULL, offsetof(struct info_options, short_form),
     "one line per file"},
};

static int print_file(struct info *info, struct err *err)
{
    struct facts list = {0};
    struct file_facts facts = {.show = &info->show, .to = &list, .all = "--json"};
    int status;

    escape_terminal(&info->line, str_of(info->model->path));
    speak_text(info->cli, &info->line, COLOUR_STRONG);
    out_char(&info->cli->out, '\n');
    buf_clear(&info->line);
    status = facts_file(&facts, err);
    facts_globals(&facts);
    facts_metadata(&facts);
    speak_facts(info->cli, &list, LABEL_CELLS);
    facts_release(&list);
    speak_findings(info->cli, info->model, MOST_FINDINGS);
    return status < 0 ? -1 : speak_run_notes(info->cli, &info->show, err);
}

/* "resnet50.pth: 320 tensors, 25,557,032 parameters, torch zip file, ✓ SAFE" */
static void print_short(struct info *info)
{
    escape_terminal(&info->line, str_of(info->model->path));
    buf_text(&info->line, ": ");
    summary_counts(&info->line, &info->show);
    buf_text(&info->line, ", ");
    text_bytes(&info->line, info->model->file_bytes);
    buf_text(&info->line, ", ");
    speak_text(info->cli, &info->line, COLOUR_NONE);
    buf_clear(&info->line);
    summary_verdict(&info->line, &info->show);
    speak_text(info->cli, &info->line,
               summary_verdict_colour(info->session->verdict.verdict));
    out_char(&info->cli->out, '\n');
}

static int print_path(struct cli *cli, const struct info_options *options,
                      const char *path)
{
    struct info info = {.cli = cli};
    struct err err = {0};
    struct arena arena;
    struct session *session = session_open(path, &cli->work, &err);
    struct json json;
    int status;

    if (!session)
        return cli_fail(&err);
    arena_init(&arena, 0);
    info.session = session;
    info.model = session->model;
    if (show_init(&info.show, session, &arena, &err) < 0) {
        arena_release(&arena);
        session_close(session);
        return cli_fail(&err);
    }
    status = speak_status(&info.show);
    if (cli->json) {
        json_init_text(&json, &cli->out);
        export_info_json(&json, session);
    } else if (options->short_form) {
        print_short(&info);
    } else if (print_file(&info, &err) < 0) {
        status = cli_fail(&err);
    }
    buf_release(&info.line);
    arena_release(&arena);
    session_close(session);
    return status;
}

/* --- The command */

static int info_run(int argc, char **argv)
{
    struct info_options options = {0};
    struct cli cli;
    int status = STATUS_FINE;

    if (cli_begin(&cli, &info_command, &options, &argc, argv) < 0)
        return STATUS_TROUBLE;
    if (cli.csv) {
        cli_say("info: --csv is not supported; use --json");
        return cli_end(&cli, STATUS_TROUBLE);
    }
    if (argc == 0)
        info_program(&cli);
    for (int i = 0; i < argc; i++) {
        int one = print_path(&cli, &options, argv[i]);

        if (one > status)
            status = one;
        if (i + 1 < argc && !options.short_form && !cli.json)
            out_char(&cli.out, '\n');
    }
    return cli_end(&cli, status);
}

const struct command info_command = {
    .name = "info",
    .summary = "print format, size, safety, counts and metadata of a file",
    .usage = "[FILE]... [OPTION]...",
    .details = "Without a file it prints the version and the supported formats.\n",
    .options = options_table,
    .n_options = COUNT_OF(options_table),
    .run = info_run,
};
