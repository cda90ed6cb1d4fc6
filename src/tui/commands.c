/* THE TABLE of : commands. */
#include "tui/commands.h"

#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "text/nearest.h"
#include "tui/commands_in.h"

/* ---- position ---- */

static int go_command(struct tui *tui, struct str words, struct err *err)
{
    uint32_t place;

    if (link_find(&tui->explorer, words, &place, err) < 0)
        return -1;
    tui_go(tui, place);
    return 0;
}

static int fold_command(struct tui *tui, struct str words, struct err *err)
{
    uint64_t depth;

    if (!str_to_u64(words, &depth) || depth >= ALL_ROWS)
        return err_set(err, ERR_USAGE, ":fold takes a number of levels");
    browse_depth(tui->explorer.browse, (uint32_t)depth);
    return 0;
}

static int flat_command(struct tui *tui, struct str words, struct err *err)
{
    struct browse *browse = tui->explorer.browse;

    if (words.len == 0 || str_is_word(words, "leaves"))
        browse_flat(browse, browse_view(browse)->flat ? FLAT_NO : FLAT_LEAVES);
    else if (str_is_word(words, "tensors"))
        browse_flat(browse, FLAT_TENSORS);
    else if (str_is_word(words, "off"))
        browse_flat(browse, FLAT_NO);
    else
        return err_set(err, ERR_USAGE, ":flat takes leaves, tensors or off");
    return 0;
}

static int step_command(struct tui *tui, struct str words, struct err *err)
{
    return link_go_to_step(&tui->explorer, words, err);
}

static int sort_command(struct tui *tui, struct str words, struct err *err)
{
    struct str key;
    enum rows_sort sort;
    bool reverse;

    str_split(&words, ' ', &key);
    words = str_trim(words);
    reverse = str_is_word(words, "reverse");
    if (words.len > 0 && !reverse)
        return err_set(err, ERR_USAGE, ":sort KEY, or :sort KEY reverse");
    if (tui->files)
        return files_sort(tui, key, reverse, err);
    if (sort_by_word(key, &sort, err) < 0)
        return -1;
    browse_sort(tui->explorer.browse, sort, reverse);
    return 0;
}

static int filter_command(struct tui *tui, struct str words, struct err *err)
{
    if (tui->files)
        return files_filter(tui, words, err);
    if (words.len == 0) {
        browse_clear(tui->explorer.browse);
        return 0;
    }
    return browse_search(tui->explorer.browse, words, err);
}

/* ---- appearance ---- */

static int labels_command(struct tui *tui, struct str words, struct err *err)
{
    if (words.len == 0) {
        tui_act(tui, ACTION_LABELS);
        return 0;
    }
    return label_set_parse(&tui->explorer.labels, words, err);
}

static int panel_command(struct tui *tui, struct str words, struct err *err)
{
    const struct panel *panel = panel_find(words);

    if (!panel)
        return err_set(err, ERR_USAGE, "unknown panel \"%.*s\"; use 1 to 7",
                       STR_ARG(str_head(words, 40)));
    tui_focus(tui, panel->number);
    return 0;
}

static int slice_command(struct tui *tui, struct str words, struct err *err)
{
    (void)err;
    tui_slice(tui, words);
    return 0;
}

static int set_command(struct tui *tui, struct str words, struct err *err)
{
    struct str name;

    str_split(&words, ' ', &name);
    words = str_trim(words);
    if (words.len == 0) {
        struct buf names = BUF_INIT;

        config_names(&names);
        err_set(err, ERR_USAGE, ":set NAME VALUE: %s", buf_cstr(&names));
        buf_release(&names);
        return -1;
    }
    if (config_set(&tui->config, name, words, err) < 0)
        return -1;
    if (str_is_word(name, "remember"))
        return remember_switch(tui, err);
    tui->explorer.ascii = tui->config.ascii;
    if (tui->term)
        term_look(tui->term, &(struct term_wanted){.theme = tui->config.theme,
                                                   .colour = tui->config.colour,
                                                   .mouse = !tui->config.no_mouse});
    tui_say(tui, "%.*s: %.*s", STR_ARG(name), STR_ARG(words));
    return 0;
}

static int help_command(struct tui *tui, struct str words, struct err *err)
{
    (void)err;
    tui_act(tui, ACTION_HELP);
    buf_str(&tui->help.filter, words);
    return 0;
}

/* ---- values ---- */

static int stats_command(struct tui *tui, struct str words, struct err *err)
{
    const struct model *model = tui->explorer.session->model;
    uint32_t place;

    if (tui->explorer.pair)
        return err_set(err, ERR_USAGE, "not available in a diff");
    if (words.len == 0) {
        explorer_measure(&tui->explorer, NO_TENSOR);
        return 0;
    }
    if (session_find(tui->explorer.session, words, &place, err) < 0)
        return -1;
    if (model->kind[place] != PLACE_TENSOR)
        return err_set(err, ERR_USAGE, "%.*s is not a tensor; :stats measures all",
                       STR_ARG(str_head(words, 80)));
    tui_go(tui, place);
    explorer_measure(&tui->explorer, model->object[place]);
    tui_focus(tui, PANEL_STATISTICS);
    return 0;
}

static int hist_command(struct tui *tui, struct str words, struct err *err)
{
    uint64_t bins;

    if (!str_to_u64(words, &bins) || bins == 0 || bins > EXPLORER_BINS)
        return err_set(err, ERR_USAGE, ":hist takes a number of bins, 1 to %d",
                       EXPLORER_BINS);
    explorer_set_bins(&tui->explorer, (uint32_t)bins);
    tui_focus(tui, PANEL_STATISTICS);
    return 0;
}

static int stop_command(struct tui *tui, struct str words, struct err *err)
{
    bool stopped = explorer_stop(&tui->explorer);

    (void)words;
    (void)err;
    explorer_say(&tui->explorer, stopped ? "stopped" : "nothing is being computed");
    return 0;
}

/* The root's Details show the verdict and its reasons. */
static int check_command(struct tui *tui, struct str words, struct err *err)
{
    struct buf text = BUF_INIT;

    (void)words;
    if (tui->explorer.pair || !session_judged(tui->explorer.session))
        return err_set(err, ERR_USAGE, "only a file can be checked");
    tui_go(tui, 0);
    tui_focus(tui, PANEL_DETAILS);
    summary_verdict(&text, &tui->explorer.show);
    explorer_say(&tui->explorer, "%s", buf_cstr(&text));
    buf_release(&text);
    return 0;
}

static int record_command(struct tui *tui, struct str words, struct err *err)
{
    const struct tui_wanted *wanted = tui->wanted;
    uint32_t place = tui->exploring ? browse_place(tui->explorer.browse) : 0;
    struct session *session;

    (void)words;
    if (!wanted->record)
        return err_set(err, ERR_UNSUPPORTED, "%s",
                       link_is_live(&tui->explorer)
                           ? "pass inputs to explore(): explore(model, inputs)"
                           : "only a live model can be run");
    session = wanted->record(wanted->user, err);
    if (!session || tui_show(tui, session, NULL, err) < 0)
        return -1;
    /* Stay at the same row unless an alarm moved the cursor. */
    if (!tui->explorer.panels[PANEL_DETAILS].open && place < session->model->n_places)
        tui_go(tui, place);
    return 0;
}

static int quit_command(struct tui *tui, struct str words, struct err *err)
{
    (void)words;
    (void)err;
    tui_act(tui, ACTION_QUIT);
    return 0;
}

/* ---- the table ---- */

const struct tui_command tui_commands[] = {
    {"go", "NAME", "go to this row", go_command, complete_names},
    {"open", "FILE", "open another file or folder", run_open, complete_files},
    {"diff", "FILE", "compare with another file; --structure: no values", run_diff,
     complete_files},
    {"sort", "KEY [reverse]", "sort siblings, or files", sort_command, complete_orders},
    {"filter", "PATTERN", "show only rows that match", filter_command,
     complete_filters},
    {"fold", "N", "fold all rows below depth N", fold_command, NULL},
    {"flat", "[tensors]", "list all leaf modules, or all tensors", flat_command,
     complete_flat},
    {"labels", "LIST", "show these labels, in this order", labels_command,
     complete_labels},
    {"panel", "N", "open a panel, by number or name", panel_command, complete_panels},
    {"stats", "[NAME]", "measure a tensor, or all of them", stats_command,
     complete_names},
    {"step", "N", "numbers of step N of a training run, or of the newest", step_command,
     NULL},
    {"hist", "BINS", "number of bins in histograms", hist_command, NULL},
    {"slice", "[..]", "show these values of the tensor", slice_command, NULL},
    {"check", NULL, "show whether the file is safe and complete", check_command, NULL},
    {"export", "FILE", "export; the name gives the format", run_export,
     complete_exports},
    {"serve", "[PORT|stop]", "show a page in the browser, or end it", run_serve, NULL},
    {"record", NULL, "run the live model once more", record_command, NULL},
    {"reload", NULL, "reload the file", run_reload, NULL},
    {"set", "NAME VALUE", "change a setting of the config file", set_command,
     complete_settings},
    {"stop", NULL, "stop computing", stop_command, NULL},
    {"help", "[WORD]", "show keys and commands", help_command, NULL},
    {"q", NULL, "quit", quit_command, NULL},
};
const size_t n_tui_commands = COUNT_OF(tui_commands);

/* ---- running a line ---- */

const struct tui_command *command_of(struct str line, struct str *ret_words)
{
    struct str name;

    if (!str_split(&line, ' ', &name))
        return NULL;
    for (size_t i = 0; i < n_tui_commands; i++)
        if (str_is_word(name, tui_commands[i].name)) {
            *ret_words = str_trim(line);
            return &tui_commands[i];
        }
    return NULL;
}

/* The other commands also work in a list of files. */
static bool needs_model(const struct tui_command *command)
{
    static const char *const others[] = {"open", "set",    "help", "q",
                                         "diff", "filter", "sort", "serve"};

    for (size_t i = 0; i < COUNT_OF(others); i++)
        if (strcmp(command->name, others[i]) == 0)
            return false;
    return true;
}

/* Try a name first, because modules may be called 0, 1, 2; then a row number. */
static int go_to(struct tui *tui, struct str line, struct err *err)
{
    struct browse *browse = tui->explorer.browse;
    uint64_t number;
    uint32_t place;
    char word[64];
    const char *nearest;
    struct err why = {0};

    if (!tui->explorer.pair)
        place = place_find(tui->explorer.session->model, line);
    else if (link_find(&tui->explorer, line, &place, NULL) < 0)
        place = NO_PLACE;
    if (place != NO_PLACE)
        return tui_go(tui, place), 0;
    if (str_to_u64(line, &number)) {
        if (number == 0 || number > browse_rows(browse)->n)
            return err_set(err, ERR_USAGE, "no such row; use 1 to %u",
                           (unsigned)browse_rows(browse)->n);
        browse_jump(browse, (uint32_t)number - 1);
        return 0;
    }
    if (link_find(&tui->explorer, line, &place, &why) == 0)
        return tui_go(tui, place), 0;
    snprintf(word, sizeof word, "%.*s", STR_ARG(str_head(line, 60)));
    word[strcspn(word, " ")] = '\0';
    nearest = text_nearest(word, &tui_commands[0].name, n_tui_commands,
                           sizeof tui_commands[0]);
    if (nearest)
        return err_set(err, ERR_USAGE,
                       "unknown command or name \"%s\": did you mean :%s?", word,
                       nearest);
    return err_set(err, ERR_USAGE, "%s", why.text);
}

int tui_command(struct tui *tui, struct str line, struct err *err)
{
    const struct tui_command *command;
    struct str words = STR("");
    bool model = tui->exploring && !tui->files;

    line = str_trim(line);
    if (line.len == 0)
        return 0;
    command = command_of(line, &words);
    if (str_is_word(line, "quit"))
        command = command_of(STR("q"), &words);
    /* A place whose name differs from the command only in case wins. */
    if (command && model && !tui->explorer.pair &&
        !str_starts(line, str_of(command->name)) &&
        place_find(tui->explorer.session->model, line) != NO_PLACE)
        command = NULL;
    if (!model && (!command || needs_model(command)))
        return err_set(err, ERR_USAGE, "no model is open; choose one, or :open FILE");
    if (!command)
        return go_to(tui, line, err);
    if (command->usage && command->usage[0] != '[' && words.len == 0 &&
        command->run != filter_command && command->run != labels_command &&
        command->run != slice_command)
        return err_set(err, ERR_USAGE, ":%s %s: %s", command->name, command->usage,
                       command->about);
    return command->run(tui, words, err);
}
