/* torchoscope convert: converts a model file to safetensors. */
#include "export/convert.h"
#include "base/base.h"
#include "base/json_write.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/speak.h"
#include "export/export.h"
#include "session/session.h"
#include "text/escape.h"
#include "text/number.h"

#define MOST_SHOWN 5 /* ties, and names of omitted parts */

struct convert_options {
    const char *to, *at;
    bool progress;
};

static const struct option options_table[] = {
    {"output", 'o', OPTION_TEXT, "FILE", offsetof(struct convert_options, to),
     "the .safetensors file to write"},
    {"at", 'a', OPTION_TEXT, "NAME", offsetof(struct convert_options, at),
     "the state_dict or module to convert, if the file has several"},
    {"progress", 0, OPTION_FLAG, NULL, offsetof(struct convert_options, progress),
     "show progress on stderr, even if it is not a terminal"},
};

/* "  LABEL a, b and 3 more" */
static void print_names(struct cli *cli, const char *label, const struct buf *names,
                        uint32_t n)
{
    struct buf line = BUF_INIT;

    if (n > 0) {
        buf_printf(&line, "  %s", label);
        buf_str(&line, buf_span(names));
        if (n > MOST_SHOWN)
            buf_printf(&line, " and %u more", (unsigned)(n - MOST_SHOWN));
        buf_char(&line, '\n');
        speak_text(cli, &line, COLOUR_NONE);
    }
    buf_release(&line);
}

static void print_ties(struct cli *cli, const struct safetensors_file *file)
{
    struct buf names = BUF_INIT;

    for (uint32_t i = 0; i < file->n_notes && i < MOST_SHOWN; i++) {
        buf_text(&names, i ? ", " : "");
        escape_terminal(&names, file->notes[i].key);
        buf_text(&names, " = ");
        escape_terminal(&names, file->notes[i].text);
    }
    print_names(cli, "stored once  ", &names, file->n_notes);
    buf_release(&names);
}

static void print_left(struct cli *cli, const struct conversion *conversion)
{
    struct buf names = BUF_INIT;

    for (uint32_t i = 0; i < conversion->n_left && i < MOST_SHOWN; i++) {
        buf_text(&names, i ? ", " : "");
        escape_terminal(&names, conversion->left[i]);
    }
    print_names(cli, "left out     ", &names, conversion->n_left);
    buf_release(&names);
}

/* "model.safetensors: 122 tensors, 44.7MB, equal to resnet18.pth bit by bit" */
static void print_conversion(struct cli *cli, const struct conversion *conversion,
                             const char *to)
{
    const struct safetensors_file *file = &conversion->file;
    struct buf line = BUF_INIT;

    escape_terminal(&line, str_of(to));
    buf_text(&line, ": ");
    text_plural(&line, file->n, "tensor", "tensors");
    buf_text(&line, ", ");
    text_bytes(&line, safetensors_file_bytes(file));
    buf_text(&line, ", equal to ");
    escape_terminal(&line, str_of(file->model->path));
    if (conversion->base != 0) {
        struct buf path = BUF_INIT;

        place_path(file->model, conversion->base, &path);
        buf_text(&line, " at ");
        escape_terminal(&line, buf_span(&path));
        buf_release(&path);
    }
    buf_text(&line, " bit by bit\n");
    speak_text(cli, &line, COLOUR_NONE);
    buf_release(&line);
    print_ties(cli, file);
    print_left(cli, conversion);
}

static void print_json(struct cli *cli, const struct conversion *conversion,
                       const char *to)
{
    struct json json;

    json_init_text(&json, &cli->out);
    export_conversion_json(&json, conversion, to);
}

static int convert_one(struct cli *cli, const char *path,
                       const struct convert_options *options)
{
    struct conversion conversion;
    struct progress progress;
    struct err err = {0};
    struct session *session = session_open(path, &cli->work, &err);
    int status;

    if (!session)
        return cli_fail(&err);
    progress_begin(&progress, &cli->work, "convert", options->progress, cli->ascii);
    status =
        convert_file(&conversion, session, options->at, options->to, &cli->work, &err);
    progress_end(&progress);
    if (status < 0)
        status = cli_fail(&err);
    else if (cli->json)
        print_json(cli, &conversion, options->to);
    else
        print_conversion(cli, &conversion, options->to);
    conversion_release(&conversion);
    session_close(session);
    return status;
}

static int convert_run(int argc, char **argv)
{
    struct convert_options options = {0};
    struct cli cli;
    int status = STATUS_TROUBLE;

    if (cli_begin(&cli, &convert_command, &options, &argc, argv) < 0)
        return STATUS_TROUBLE;
    if (argc != 1 || !options.to)
        cli_say("usage: torchoscope convert FILE -o OUT.safetensors");
    else if (!str_ends(str_of(options.to), STR(".safetensors")))
        cli_say("convert: %s does not end in .safetensors, the only form; torchoscope "
                "export writes others",
                options.to);
    else if (cli.csv)
        cli_say("convert: --csv is not supported; use --json");
    else
        status = convert_one(&cli, argv[0], &options);
    return cli_end(&cli, status);
}

const struct command convert_command = {
    .name = "convert",
    .summary = "write a checkpoint as safetensors, without running it",
    .usage = "FILE -o OUT.safetensors [OPTION]...",
    .details =
        "Names, dtypes, shapes and every bit are those of the file's state_dict. A "
        "tied\n"
        "tensor is stored once; its other names are in __metadata__, as those of\n"
        "safetensors.torch.save_model(). Quantised and sparse tensors, which cannot "
        "be\n"
        "stored, and damaged files are refused. The new file is read again and\n"
        "compared.\n",
    .options = options_table,
    .n_options = COUNT_OF(options_table),
    .run = convert_run,
};
