/* torchoscope tree: what is in a file, as a tree. */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/speak.h"
#include "export/export.h"
#include "session/session.h"
#include "show/labels.h"
#include "show/rows.h"
#include "show/run_text.h"
#include "show/search.h"
#include "show/summary.h"
#include "show/textual.h"

#define MOST_COLUMNS  32
#define FEW_COLUMNS   100 /* cells; a recording has fewer columns below */
#define MOST_FINDINGS 20  /* lines; --json has them all */

struct tree_options {
    uint32_t depth, top;
    const char *columns, *sort, *flat, *filter;
    bool reverse, all, expand;
};

static const struct option options_table[] = {
    {"depth", 'd', OPTION_COUNT, "N", offsetof(struct tree_options, depth),
     "at most N levels below the root"},
    {"columns", 'c', OPTION_TEXT, "LIST", offsetof(struct tree_options, columns),
     "which columns, by name; --columns help lists them"},
    {"sort", 's', OPTION_TEXT, "params|bytes|name|time|self|calls",
     offsetof(struct tree_options, sort), "order siblings; the biggest come first"},
    {"reverse", 'r', OPTION_FLAG, NULL, offsetof(struct tree_options, reverse),
     "turn the order round"},
    {"flat", 0, OPTION_MAYBE, "leaves|tensors", offsetof(struct tree_options, flat),
     "one list of all leaf modules, or of all tensors"},
    {"top", 'n', OPTION_COUNT, "N", offsetof(struct tree_options, top),
     "only the first N of each level, or of the flat list"},
    {"filter", 'f', OPTION_TEXT, "PATTERN", offsetof(struct tree_options, filter),
     "only what matches a text, a glob or a /regex/; !PATTERN: all else"},
    {"all", 'a', OPTION_FLAG, NULL, offsetof(struct tree_options, all),
     "rows for all tensors, attributes and values, too"},
    {"expand", 'x', OPTION_FLAG, NULL, offsetof(struct tree_options, expand),
     "show equal siblings one by one"},
};

/* One run of the command. */
struct tree {
    struct cli cli;
    struct tree_options options;
    struct session *session;
    struct show show;
    struct arena arena;
    struct view view;
    struct rows rows;
    bool *keep;
    const struct column *columns[MOST_COLUMNS];
    size_t n_columns;
};

/* --- Options */

static int list_columns(struct cli *cli)
{
    for (size_t i = 0; i < n_columns; i++)
        out_printf(&cli->out, "%-10s %s\n", columns[i].id, columns[i].about);
    return STATUS_FINE;
}

static int unknown_column(struct str id, struct err *err)
{
    char word[32];
    const char *nearest;

    snprintf(word, sizeof(word), "%.*s", STR_ARG(id));
    nearest = cli_nearest(word, &columns[0].id, n_columns, sizeof(columns[0]));
    if (nearest)
        return err_set(err, ERR_USAGE, "there is no column \"%s\"; did you mean %s?",
                       word, nearest);
    return err_set(err, ERR_USAGE,
                   "there is no column \"%s\"; --columns help lists them", word);
}

/* What is shown if nothing else is asked for. Where tensors have rows of their own,
 * their shapes are part of the labels. */
static const char *usual_run_columns(const struct tree *tree)
{
    bool spoilt = tree->show.activity->spoilt_call != RUN_NONE;
    unsigned width = tree->cli.columns > 0 ? tree->cli.columns : UINT_MAX;

    if (tree->view.flat == FLAT_TENSORS)
        return "params,memory";
    if (width < TEXTUAL_NARROW)
        return spoilt ? "nan,time" : "time";
    if (width < FEW_COLUMNS)
        return spoilt ? "params,nan,time,timebar" : "params,time,timebar";
    return spoilt ? "params,in,out,nan,calls,time,time%,self,timebar"
                  : "params,in,out,calls,time,time%,self,timebar";
}

static const char *usual_columns(const struct tree *tree)
{
    if (tree->show.activity)
        return usual_run_columns(tree);
    if (tree->view.flat == FLAT_TENSORS || tree->view.all)
        return "params,percent,memory";
    return "params,percent,memory,shapes";
}

static int choose_columns(struct tree *tree, struct err *err)
{
    struct str rest = str_of(tree->options.columns), id;

    if (!tree->options.columns)
        rest = str_of(usual_columns(tree));
    while (rest.len > 0 && str_split(&rest, ',', &id)) {
        const struct column *column = column_find(str_trim(id));

        if (str_is(str_trim(id), "name") || str_trim(id).len == 0)
            continue; /* the name is always there */
        if (!column)
            return unknown_column(id, err);
        if (tree->n_columns == MOST_COLUMNS)
            return err_set(err, ERR_USAGE, "at most %d columns", MOST_COLUMNS);
        tree->columns[tree->n_columns++] = column;
    }
    tree->show.gaps_in_out = true;
    for (size_t i = 0; i < tree->n_columns; i++)
        if (tree->columns[i] == column_find(STR("time")))
            tree->show.gaps_in_out = false;
    return 0;
}

static enum rows_sort sort_of(const char *word)
{
    static const struct {
        const char *word;
        enum rows_sort sort;
    } words[] = {{"params", SORT_PARAMS},
                 {"bytes", SORT_BYTES},
                 {"time", SORT_TIME},
                 {"self", SORT_SELF},
                 {"calls", SORT_CALLS}};

    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strcmp(word, words[i].word) == 0)
            return words[i].sort;
    return SORT_NAME;
}

/* What only a recording can tell is not asked of other files. */
static int check_sort(const struct tree *tree, struct err *err)
{
    if (tree->view.sort < SORT_TIME || tree->show.activity)
        return 0;
    return err_set(err, ERR_USAGE,
                   "%s: --sort %s is for recordings; nothing was "
                   "called here",
                   tree->show.model->path, tree->options.sort);
}

static void choose_view(struct tree *tree)
{
    const struct tree_options *options = &tree->options;
    struct view *view = &tree->view;

    *view = (struct view){.depth = options->depth,
                          .top = options->top,
                          .reverse = options->reverse,
                          .all = options->all,
                          .no_runs = options->expand || options->all};
    if (options->sort)
        view->sort = sort_of(options->sort);
    if (options->flat)
        view->flat = strcmp(options->flat, "tensors") == 0 ? FLAT_TENSORS : FLAT_LEAVES;
}

static int filter(struct tree *tree, struct err *err)
{
    uint32_t n = tree->show.model->n_places, matches = 0;
    struct search *search;
    bool *match;
    int status;

    if (!tree->options.filter)
        return 0;
    search = search_new(str_of(tree->options.filter), err);
    if (!search)
        return -1;
    match = arena_array(&tree->arena, n, sizeof *match);
    tree->keep = arena_array(&tree->arena, n, sizeof *tree->keep);
    if (match && tree->keep)
        status = search_all(search, &tree->show, match, tree->keep, &matches, err);
    else
        status = arena_err(&tree->arena, "the filter", err);
    search_free(search);
    if (status == 0 && matches == 0)
        cli_say("nothing in %s matches \"%s\"", tree->show.model->path,
                tree->options.filter);
    tree->view.keep = tree->keep;
    tree->view.match = match;
    return status;
}

/* --- Printing */

/* "10 tensors, 62,006 parameters, torch legacy file, ✓ SAFE" */
static void write_summary(struct tree *tree, bool narrow)
{
    enum verdict verdict = tree->session->verdict.verdict;
    struct buf line = BUF_INIT;

    if (!narrow) {
        summary_counts(&line, &tree->show);
        buf_text(&line, ", ");
        speak_text(&tree->cli, &line, COLOUR_NONE);
        buf_clear(&line);
    }
    if (!narrow || verdict != VERDICT_SAFE) {
        summary_verdict(&line, &tree->show);
        speak_text(&tree->cli, &line, summary_verdict_colour(verdict));
        out_char(&tree->cli.out, '\n');
    }
    buf_release(&line);
}

/* What ran, and what is to be said of it. */
static int write_run(struct tree *tree, struct err *err)
{
    struct buf line = BUF_INIT;

    if (!tree->show.activity)
        return 0;
    run_ran(&line, &tree->show);
    buf_char(&line, '\n');
    speak_text(&tree->cli, &line, COLOUR_NONE);
    buf_release(&line);
    return speak_run_notes(&tree->cli, &tree->show, &tree->arena, err);
}

static int write_text(struct tree *tree, struct err *err)
{
    struct cli *cli = &tree->cli;
    struct textual what = {.show = &tree->show,
                           .rows = &tree->rows,
                           .columns = tree->columns,
                           .n_columns = tree->n_columns,
                           .width = cli->columns,
                           .name = tree->view.flat ? LABEL_PATH : LABEL_NAME,
                           .header = tree->options.columns || tree->show.activity,
                           .ascii = cli->ascii,
                           .colour = cli->colour,
                           .isolate = cli->isolate};
    bool narrow = cli->columns > 0 && cli->columns < TEXTUAL_NARROW && !what.header;

    if (rows_make(&tree->rows, &tree->show, &tree->view, &tree->arena, err) < 0)
        return -1;
    if (narrow ? textual_narrow(&cli->out, &what, err) < 0
               : textual_wide(&cli->out, &what, err) < 0)
        return -1;
    speak_findings(cli, tree->show.model, MOST_FINDINGS);
    write_summary(tree, narrow);
    return write_run(tree, err);
}

/* For other programs: which places the options ask for; NULL if they ask for all. */
static int choose_places(struct tree *tree, struct export_choice *ret_choice,
                         struct err *err)
{
    const struct tree_options *options = &tree->options;
    struct view view = tree->view;
    bool *chosen;

    *ret_choice = (struct export_choice){0};
    if (!options->filter && !options->flat && options->depth == ALL_ROWS &&
        options->top == ALL_ROWS)
        return 0;
    view.all = view.no_runs = true;
    if (rows_make(&tree->rows, &tree->show, &view, &tree->arena, err) < 0)
        return -1;
    chosen = arena_array(&tree->arena, tree->show.model->n_places, sizeof *chosen);
    if (!chosen)
        return arena_err(&tree->arena, "the list of places", err);
    for (uint32_t i = 0; i < tree->rows.n; i++)
        if (!(tree->rows.at[i].flags & ROW_MORE))
            chosen[tree->rows.at[i].place] = true;
    ret_choice->keep = chosen;
    return 0;
}

static int write_tree(struct tree *tree, struct err *err)
{
    struct export_choice choice;
    struct json json;

    if (!tree->cli.json && !tree->cli.csv)
        return write_text(tree, err);
    if (choose_places(tree, &choice, err) < 0)
        return -1;
    if (tree->cli.json) {
        json_init_text(&json, &tree->cli.out);
        export_tree_json(&json, tree->session, choice);
        return 0;
    }
    return export_tree_csv(&tree->cli.out, tree->session, choice, err);
}

static int open_and_write(struct tree *tree, const char *path)
{
    struct err err = {0};
    int status = STATUS_TROUBLE;

    choose_view(tree);
    arena_init(&tree->arena, 0);
    tree->session = session_open(path, &tree->cli.work, &err);
    if (!tree->session ||
        show_init(&tree->show, tree->session, &tree->arena, &err) < 0 ||
        choose_columns(tree, &err) < 0 || check_sort(tree, &err) < 0 ||
        filter(tree, &err) < 0 || write_tree(tree, &err) < 0)
        cli_fail(&err);
    else
        status = speak_status(&tree->show);
    arena_release(&tree->arena);
    session_close(tree->session);
    return status;
}

static int tree_run(int argc, char **argv)
{
    struct tree tree = {.options = {.depth = ALL_ROWS, .top = ALL_ROWS}};

    if (cli_begin(&tree.cli, &tree_command, &tree.options, &argc, argv) < 0)
        return STATUS_TROUBLE;
    if (tree.options.columns && strcmp(tree.options.columns, "help") == 0)
        return cli_end(&tree.cli, list_columns(&tree.cli));
    if (argc != 1) {
        cli_say("tree: give it one file; torchoscope tree --help says more");
        return cli_end(&tree.cli, STATUS_TROUBLE);
    }
    return cli_end(&tree.cli, open_and_write(&tree, argv[0]));
}

const struct command tree_command = {
    .name = "tree",
    .summary = "what is in a file: modules, tensors, plain values",
    .usage = "FILE [OPTION]...",
    .details = "A guess of a layer's kind begins with ~. Numbers in brackets belong to "
               "tied weights\nand are counted elsewhere.\n",
    .options = options_table,
    .n_options = COUNT_OF(options_table),
    .run = tree_run,
};
