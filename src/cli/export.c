/* torchoscope export: writes a file or a recording in another format. */
#include <string.h>

#include "base/base.h"
#include "cli/cli.h"
#include "export/exporters.h"
#include "session/session.h"
#include "web/web.h"

struct export_options {
    struct printed_wanted view;
    const char *to, *form, *title, *theme;
    struct option_list inputs;
    bool train, no_source, no_paths, no_values;
};

static const struct option options_table[] = {
    {"output", 'o', OPTION_TEXT, "FILE", offsetof(struct export_options, to),
     "file to write; its name gives the format; - is standard output"},
    {"form", 0, OPTION_TEXT, "FORM", offsetof(struct export_options, form),
     "the format, if the name does not give it"},
    {"columns", 'c', OPTION_TEXT, "LIST",
     offsetof(struct export_options, view) + offsetof(struct printed_wanted, columns),
     "columns, for txt and md"},
    {"depth", 'd', OPTION_COUNT, "N",
     offsetof(struct export_options, view) + offsetof(struct printed_wanted, depth),
     "at most N levels below the root, for txt and md"},
    {"filter", 'f', OPTION_TEXT, "PATTERN",
     offsetof(struct export_options, view) + offsetof(struct printed_wanted, filter),
     "only rows that match, for txt and md"},
    {"title", 0, OPTION_TEXT, "TEXT", offsetof(struct export_options, title),
     "title of the page"},
    {"theme", 0, OPTION_TEXT, "light|dark", offsetof(struct export_options, theme),
     "theme of the page; default: the reader's"},
    {"no-source", 0, OPTION_FLAG, NULL, offsetof(struct export_options, no_source),
     "page of a training run: without source code"},
    {"no-paths", 0, OPTION_FLAG, NULL, offsetof(struct export_options, no_paths),
     "... without the folders of files"},
    {"no-values", 0, OPTION_FLAG, NULL, offsetof(struct export_options, no_values),
     "... without histograms and statistics of tensors"},
    {"inputs", 'i', OPTION_LIST, "WHAT", offsetof(struct export_options, inputs),
     "live model: 1x3x224x224, 8x128:int64 or FILE.py::FUNCTION"},
    {"train", 0, OPTION_FLAG, NULL, offsetof(struct export_options, train),
     "live model: run in train mode, with backward"},
};

static const struct exporter *find_form(const struct export_options *options,
                                        struct err *err)
{
    const struct exporter *found;

    if (!options->form)
        return exporter_of(options->to, err);
    found = exporter_find(str_of(options->form));
    if (!found)
        exporter_of(options->form, err);
    return found;
}

static bool to_standard_output(const struct export_options *options)
{
    return strcmp(options->to, "-") == 0;
}

/* Print the contents of a page, so that users know what they share. */
static void say_contents(struct cli *cli, const char *path, struct str contents)
{
    struct str line;

    if (contents.len > 0)
        out_printf(&cli->out, "%s has:\n", path);
    while (str_split(&contents, '\n', &line))
        if (line.len > 0)
            out_printf(&cli->out, "  %.*s\n", STR_ARG(line));
}

static int write_session(struct cli *cli, struct session *session,
                         const struct exporter *form,
                         const struct export_options *options, struct err *err)
{
    struct export_wanted wanted = {.view = options->view,
                                   .ascii = cli->ascii && to_standard_output(options),
                                   .title = options->title,
                                   .theme = options->theme,
                                   .work = &cli->work,
                                   .page_file = web_page_file,
                                   .no_source = options->no_source,
                                   .no_paths = options->no_paths,
                                   .no_values = options->no_values};
    struct buf contents = BUF_INIT;
    int status;

    if (exporter_can(form, &wanted, err) < 0)
        return -1;
    if (to_standard_output(options))
        return form->write(&cli->out, session, &wanted, err);
    wanted.contents = &contents;
    status = exporter_write(form, options->to, session, &wanted, err);
    if (status == 0)
        say_contents(cli, options->to, buf_span(&contents));
    buf_release(&contents);
    return status;
}

static int open_and_write(struct cli *cli, const char *path,
                          const struct export_options *options)
{
    struct err err = {0};
    const struct exporter *form = find_form(options, &err);
    struct session *session = form ? session_open(path, &cli->work, &err) : NULL;
    int status = STATUS_FINE;

    if (!session || write_session(cli, session, form, options, &err) < 0)
        status = cli_fail(&err);
    session_close(session);
    return status;
}

static int export_run(int argc, char **argv)
{
    struct export_options options = {.view = PRINTED_WANTED_INIT};
    struct cli cli;

    if (cli_begin(&cli, &export_command, &options, &argc, argv) < 0)
        return STATUS_TROUBLE;
    if (argc != 1 || !options.to)
        cli_say("usage: torchoscope export FILE|TARGET -o OUTPUT");
    else if (cli.json || cli.csv)
        cli_say("export: use -o NAME.json or -o NAME.csv");
    else if (options.inputs.n || options.train)
        cli_say("export: %s is a file, which is not run; --inputs and --train are for "
                "FILE.py::FUNCTION",
                argv[0]);
    else
        return cli_end(&cli, open_and_write(&cli, argv[0], &options));
    return cli_end(&cli, STATUS_TROUBLE);
}

const struct command export_command = {
    .name = "export",
    .summary = "write a model as text, Markdown, JSON, CSV, HTML or safetensors",
    .usage = "FILE|TARGET -o OUTPUT [OPTION]...",
    .details =
        "Formats: .txt .md .json .csv .html, and .safetensors, which has all readable\n"
        "tensors but no code. For a recording also .ops.json, its operations, and\n"
        ".trace.json, which Perfetto and chrome://tracing open.\n"
        "TARGET is FILE.py::FUNCTION, as for explore.\n",
    .options = options_table,
    .n_options = COUNT_OF(options_table),
    .run = export_run,
    .live = true,
};
