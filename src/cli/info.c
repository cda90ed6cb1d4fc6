/* torchoscope info: what a file is; without a file: what this program is. */
#include <inttypes.h>
#include <string.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/info_in.h"
#include "cli/speak.h"
#include "export/export.h"
#include "session/session.h"
#include "show/labels.h"
#include "show/show.h"
#include "show/summary.h"
#include "show/value_text.h"
#include "text/escape.h"
#include "text/number.h"
#include "text/width.h"

#define MOST_FINDINGS 20
#define MOST_METADATA 40
#define LABEL_CELLS   10

struct info_options {
    bool short_form;
};

static const struct option options_table[] = {
    {"short", 's', OPTION_FLAG, NULL, offsetof(struct info_options, short_form),
     "one line for each file"},
};

/* The first cells of a line. */
static void begin_line(struct info *info, const char *label)
{
    struct buf padded = BUF_INIT;

    text_pad(&padded, str_of(label), LABEL_CELLS);
    out_str(&info->cli->out, buf_span(&padded));
    buf_release(&padded);
}

void info_tell(struct info *info, const char *label, enum colour role)
{
    unsigned width = info->cli->columns;
    size_t room = width > 2 * LABEL_CELLS ? width - LABEL_CELLS : SIZE_MAX;
    struct str rest = str_trim(buf_span(&info->line));
    struct buf part = BUF_INIT;

    do {
        size_t len = text_wrap(rest, room);

        buf_clear(&part);
        buf_str(&part, str_head(rest, len));
        begin_line(info, label);
        speak_text(info->cli, &part, role);
        out_char(&info->cli->out, '\n');
        rest = str_trim(str_from(rest, len));
        label = "";
    } while (rest.len > 0);
    buf_release(&part);
    buf_clear(&info->line);
}

void info_number(struct buf *to, uint64_t n, const char *one, const char *many)
{
    text_commas(to, n);
    buf_printf(to, " %s", n == 1 ? one : many);
}

/* --- The container */

/* Is this the name of things that are counted: "entries", "storages"? */
static bool is_counted(const struct model *model, const struct fact *fact)
{
    return value_at(&model->values, fact->value)->kind == VALUE_INT &&
           str_ends(model_string(model, fact->key), STR("s"));
}

/* "entries"; one of them is an "entry". */
static void add_counted(struct buf *to, struct str many, bool one)
{
    if (one && str_ends(many, STR("ies"))) {
        escape_terminal(to, str_head(many, many.len - 3));
        buf_char(to, 'y');
    } else if (one) {
        escape_terminal(
            to, str_head(many, many.len - (str_ends(many, STR("sses")) ? 2 : 1)));
    } else {
        escape_terminal(to, many);
    }
}

/* "326 entries", "protocol 2". */
static void add_fact(struct info *info, const struct fact *fact)
{
    const struct model *model = info->model;
    struct str key = model_string(model, fact->key);
    const struct value *value = value_at(&model->values, fact->value);

    if (is_counted(model, fact)) {
        text_commas(&info->line, (uint64_t)value->integer);
        buf_char(&info->line, ' ');
        add_counted(&info->line, key, value->integer == 1);
        return;
    }
    escape_terminal(&info->line, key);
    buf_char(&info->line, ' ');
    if (value->kind == VALUE_STR)
        escape_terminal(&info->line, value_text(&model->values, fact->value));
    else
        value_show(&info->line, model, fact->value, 64);
}

/* "torch zip (326 entries, protocol 2), little-endian, 97.8MB" */
static void tell_format(struct info *info)
{
    const struct model *model = info->model;
    struct str order = STR("");
    int n = 0;

    buf_text(&info->line, model->format);
    for (uint32_t i = 0; i < model->n_facts; i++) {
        if (str_is(model_string(model, model->facts[i].key), "byteorder")) {
            order = value_text(&model->values, model->facts[i].value);
            continue;
        }
        buf_text(&info->line, n++ == 0 ? " (" : ", ");
        add_fact(info, &model->facts[i]);
    }
    buf_text(&info->line, n > 0 ? "), " : ", ");
    if (order.len > 0) {
        escape_terminal(&info->line, order);
        buf_text(&info->line, "-endian, ");
    }
    text_bytes(&info->line, model->file_bytes);
    if (model->n_files > 1)
        buf_printf(&info->line, " in %" PRIu32 " files", model->n_files);
    info_tell(info, "format", COLOUR_NONE);
}

/* ", float32 and int64": a name in a list of `all`, the i-th of them. */
static void add_listed(struct buf *to, const char *name, int i, int all)
{
    buf_text(to, i == 0 || i + 1 < all ? ", " : " and ");
    buf_text(to, name);
}

static void add_dtypes(struct info *info)
{
    bool seen[DTYPE_COUNT] = {false};
    int all = 0, n = 0;

    for (uint32_t i = 0; i < info->model->n_tensors; i++) {
        all += !seen[info->model->tensors[i].dtype];
        seen[info->model->tensors[i].dtype] = true;
    }
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++)
        if (seen[dtype])
            add_listed(&info->line, dtype_name((enum dtype)dtype), n++, all);
}

/* ", from cpu/cuda:0,1"; what ran was on them. */
static void add_devices(struct info *info, const struct row *root)
{
    size_t begin = info->line.len, named;

    buf_text(&info->line, info->show.activity ? ", on " : ", from ");
    named = info->line.len;
    column_find(STR("device"))->cell(&info->line, &info->show, root);
    if (info->line.len == named)
        info->line.len = begin;
}

/* "a " or "an ", as the word is spoken: "an LSTM" and "an N" by the name of the letter,
 * "a LeNet" by its sound. */
static const char *article(const char *word)
{
    bool is_spelt = word[0] >= 'A' && word[0] <= 'Z' && !(word[1] >= 'a');

    return strchr(is_spelt ? "AEFHILMNORSX" : "AEIOaeio", word[0]) ? "an " : "a ";
}

/* "a state_dict: ", "an OrderedDict with 2 keys: ", "2 pickles: " */
static void add_root(struct info *info, const struct row *root)
{
    struct label label = {0};
    char first;

    label_make(&label, &info->show, root, LABEL_NAME);
    if (label.type.len > 0) {
        first = label.type.at[0];
        if (first < '0' || first > '9')
            buf_text(&info->line, article(label.type.at));
        buf_printf(&info->line, "%s: ", label.type.at);
    }
    label_release(&label);
}

/* "a state_dict: 320 tensors, float32 and int64, 151 modules, from cpu" */
static void tell_holds(struct info *info)
{
    const struct counts *total = &info->session->total;
    struct row root = {.count = 1, .above = NO_ROW};

    if (show_bare(info->model, 0)) {
        buf_text(&info->line, show_bare(info->model, 0));
    } else {
        add_root(info, &root);
        info_number(&info->line, total->tensors, "tensor", "tensors");
    }
    add_dtypes(info);
    if (total->modules > (info->model->kind[0] == PLACE_GROUP)) {
        buf_text(&info->line, ", ");
        info_number(&info->line, total->modules, "module", "modules");
    }
    add_devices(info, &root);
    info_tell(info, "holds", COLOUR_NONE);
}

/* --- The rest */

static void tell_metadata(struct info *info)
{
    const struct model *model = info->model;

    for (uint32_t i = 0; i < model->n_metadata && i < MOST_METADATA; i++) {
        escape_terminal(&info->line, model_string(model, model->metadata[i].key));
        buf_text(&info->line, ": ");
        value_show(&info->line, model, model->metadata[i].value, 160);
        info_tell(info, i == 0 ? "metadata" : "", COLOUR_NONE);
    }
    if (model->n_metadata > MOST_METADATA) {
        buf_printf(&info->line, "%" PRIu32 " more: --json lists them all",
                   model->n_metadata - MOST_METADATA);
        info_tell(info, "", COLOUR_NONE);
    }
}

static int tell_file(struct info *info, struct arena *arena, struct err *err)
{
    escape_terminal(&info->line, str_of(info->model->path));
    speak_text(info->cli, &info->line, COLOUR_STRONG);
    out_char(&info->cli->out, '\n');
    buf_clear(&info->line);
    tell_format(info);
    tell_holds(info);
    info_counts(info);
    if (info->show.activity && info_run_lines(info, err) < 0)
        return -1;
    info_safety(info);
    tell_metadata(info);
    speak_findings(info->cli, info->model, MOST_FINDINGS);
    return speak_run_notes(info->cli, &info->show, arena, err);
}

/* "resnet50.pth: 320 tensors, 25,557,032 parameters, torch zip file, ✓ SAFE" */
static void tell_short(struct info *info)
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

static int tell_path(struct cli *cli, const struct info_options *options,
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
        tell_short(&info);
    } else if (tell_file(&info, &arena, &err) < 0) {
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
        cli_say("info: there is no table to write; --json has it all");
        return cli_end(&cli, STATUS_TROUBLE);
    }
    if (argc == 0)
        info_program(&cli);
    for (int i = 0; i < argc; i++) {
        int one = tell_path(&cli, &options, argv[i]);

        if (one > status)
            status = one;
        if (i + 1 < argc && !options.short_form && !cli.json)
            out_char(&cli.out, '\n');
    }
    return cli_end(&cli, status);
}

const struct command info_command = {
    .name = "info",
    .summary = "what a file is: format, size, safety, counts, metadata",
    .usage = "[FILE]... [OPTION]...",
    .details = "Without a file it says what this program is and reads.\n",
    .options = options_table,
    .n_options = COUNT_OF(options_table),
    .run = info_run,
};
