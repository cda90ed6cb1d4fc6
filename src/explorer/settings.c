#include "explorer/settings.h"

#include <assert.h>
#include <string.h>

#include "base/base.h"
#include "text/shell_word.h"

#define AT(member) offsetof(struct settings, member)

/* In the order used in links. */
const struct setting settings_table[] = {
    {{"at", 0, OPTION_TEXT, "NAME", AT(at), "select this row"}, SETTINGS_VIEW},
    {{"open", 0, OPTION_TEXT, "NAMES", AT(open),
      "open these rows (separated by commas), and no others"},
     SETTINGS_VIEW},
    {{"depth", 'd', OPTION_COUNT, "N", AT(tree.depth),
      "at most N levels below the root"},
     SETTINGS_VIEW | SETTINGS_TREE | SETTINGS_SUMMARY},
    {{"flat", 0, OPTION_MAYBE, "leaves|tensors", AT(tree.flat),
      "one list of all leaf modules, or of all tensors"},
     SETTINGS_VIEW | SETTINGS_TREE},
    {{"sort", 's', OPTION_TEXT, "KEY", AT(tree.sort),
      "sort siblings: params, memory, name, time, ...; largest first"},
     SETTINGS_VIEW},
    {{"reverse", 'r', OPTION_FLAG, NULL, AT(tree.reverse), "reverse the order"},
     SETTINGS_VIEW | SETTINGS_TREE},
    {{"expand", 'x', OPTION_FLAG, NULL, AT(tree.expand),
      "show equal siblings separately"},
     SETTINGS_VIEW | SETTINGS_TREE},
    {{"hide-equal", 0, OPTION_FLAG, NULL, AT(hide_equal),
      "with --diff: only rows that differ"},
     SETTINGS_VIEW},
    {{"filter", 'f', OPTION_TEXT, "PATTERN", AT(tree.filter),
      "only matches of a text, a glob or a /regex/; !PATTERN: all others"},
     SETTINGS_VIEW | SETTINGS_TREE},
    {{"mark", 0, OPTION_FLAG, NULL, AT(mark),
      "with --filter: show all rows and mark the matches"},
     SETTINGS_VIEW},
    {{"labels", 0, OPTION_TEXT, "LIST", AT(labels), "which labels, in this order"},
     SETTINGS_VIEW},
    {{"panel", 0, OPTION_TEXT, "LIST", AT(panel),
      "open panels, 1 to 7 or by name; L: labels; the last has the focus"},
     SETTINGS_VIEW},
    {{"flow", 0, OPTION_TEXT, "rows|boxes", AT(flow), "how panel 6 shows a block"},
     SETTINGS_VIEW},
    {{"view", 0, OPTION_COUNT, "N", AT(view), "view N of that panel"}, SETTINGS_VIEW},
    {{"log", 0, OPTION_FLAG, NULL, AT(log), "logarithmic scale in that panel"},
     SETTINGS_VIEW},
    {{"left", 0, OPTION_FLAG, NULL, AT(left),
      "with --diff: that panel shows the left model"},
     SETTINGS_VIEW},
    {{"slice", 0, OPTION_TEXT, "SLICE", AT(slice), "which values: [83, 220:230]"},
     SETTINGS_VIEW},
    {{"call", 0, OPTION_COUNT, "N", AT(call), "call N of the module"}, SETTINGS_VIEW},
    {{"step", 0, OPTION_TEXT, "N", AT(tree.step),
      "numbers of step N of a training run, or of the newest"},
     SETTINGS_VIEW | SETTINGS_TREE},
    {{"hist", 0, OPTION_COUNT, "BINS", AT(hist), "number of bins in histograms"},
     SETTINGS_VIEW},
    {{"zoom", 0, OPTION_FLAG, NULL, AT(zoom), "show only that panel"}, SETTINGS_VIEW},
    {{"layout", 0, OPTION_TEXT, "right|below", AT(layout), "where panels are"},
     SETTINGS_VIEW},
    {{"size", 0, OPTION_TEXT, "60%,12", AT(size),
      "size of panels: percent at the right, rows below"},
     SETTINGS_VIEW},
    {{"theme", 0, OPTION_TEXT, "dark|light", AT(theme), "the terminal's background"},
     SETTINGS_LOOK | SETTINGS_CONFIG},
    /* All commands have --color and --ascii. */
    {{"color", 0, OPTION_TEXT, SETTINGS_COLOURS, AT(colour), "when to use colours"},
     SETTINGS_CONFIG},
    {{"ascii", 0, OPTION_FLAG, NULL, AT(ascii), "use only ASCII characters"},
     SETTINGS_CONFIG},
    {{"no-mouse", 0, OPTION_FLAG, NULL, AT(no_mouse),
      "leave the mouse to the terminal"},
     SETTINGS_LOOK | SETTINGS_CONFIG},
    {{"plain", 0, OPTION_FLAG, NULL, AT(plain),
      "for screen readers: ASCII, no bars, one part at a time"},
     SETTINGS_LOOK | SETTINGS_CONFIG},
    {{"remember", 0, OPTION_FLAG, NULL, AT(remember), "save the view of each model"},
     SETTINGS_CONFIG},
    {{"columns", 'c', OPTION_TEXT, "LIST", AT(tree.columns),
      "columns to print; --columns help lists them"},
     SETTINGS_TREE | SETTINGS_SUMMARY},
    {{"top", 'n', OPTION_COUNT, "N", AT(tree.top),
      "print only the first N rows of each level, or of the flat list"},
     SETTINGS_TREE},
    {{"all", 'a', OPTION_FLAG, NULL, AT(tree.all),
      "print a row for every tensor, attribute and value"},
     SETTINGS_TREE},
};
const size_t n_settings = COUNT_OF(settings_table);

size_t settings_options(unsigned groups, struct option ret_options[SETTINGS_MOST])
{
    size_t n = 0;

    assert(n_settings <= SETTINGS_MOST);
    for (size_t i = 0; i < n_settings; i++)
        if (settings_table[i].groups & groups)
            ret_options[n++] = settings_table[i].option;
    return n;
}

static bool is_given(const struct setting *setting, const struct settings *settings)
{
    return setting->groups & SETTINGS_VIEW && option_given(&setting->option, settings);
}

bool settings_is_empty(const struct settings *settings)
{
    for (size_t i = 0; i < n_settings; i++)
        if (is_given(&settings_table[i], settings))
            return false;
    return true;
}

static const char *text_of(const struct option *option, const struct settings *settings)
{
    return *(const char *const *)(const void *)((const char *)settings + option->at);
}

static bool has_text(const struct option *option)
{
    return option->kind == OPTION_TEXT || option->kind == OPTION_MAYBE;
}

int settings_check(const struct settings *settings, struct err *err)
{
    for (size_t i = 0; i < n_settings; i++) {
        const struct option *option = &settings_table[i].option;

        if (has_text(option) && option_given(option, settings) &&
            option_check(option, text_of(option, settings), err) < 0)
            return -1;
    }
    return 0;
}

/* ---- options as text ---- */

static void write_text(struct buf *to, const struct option *option, const char *text)
{
    if (option->kind == OPTION_MAYBE) {
        buf_text(to, *text ? "=" : "");
    } else {
        /* A value that looks like an option is attached to the name. */
        buf_char(to, text[0] == '-' ? '=' : ' ');
    }
    if (option->kind == OPTION_TEXT || *text)
        shell_word_write(to, str_of(text));
}

void settings_write(const struct settings *settings, struct buf *to)
{
    for (size_t i = 0; i < n_settings; i++) {
        const struct option *option = &settings_table[i].option;
        const void *at = (const char *)settings + option->at;

        if (!is_given(&settings_table[i], settings))
            continue;
        buf_printf(to, " --%s", option->name);
        if (option->kind == OPTION_COUNT)
            buf_printf(to, " %u", (unsigned)*(const uint32_t *)at);
        else if (has_text(option))
            write_text(to, option, text_of(option, settings));
    }
}

static const struct option *find_option(const char *name)
{
    for (size_t i = 0; i < n_settings; i++)
        if (settings_table[i].groups & SETTINGS_VIEW &&
            strcmp(settings_table[i].option.name, name) == 0)
            return &settings_table[i].option;
    return NULL;
}

static int read_option(struct settings *settings, char *word, char **rest,
                       struct err *err)
{
    const struct option *option;
    char *value = strchr(word, '=');

    if (value)
        *value++ = '\0';
    option = find_option(word);
    if (!option)
        return err_set(err, ERR_USAGE, "unknown option --%s", word);
    if (!value && option_needs_value(option))
        value = shell_word_next(rest);
    if (!value && option_needs_value(option))
        return err_set(err, ERR_USAGE, "--%s needs a value: %s", word, option->value);
    return option_take(option, settings, value, err);
}

int settings_read(struct settings *settings, char *words, struct err *err)
{
    struct err other;
    char *word;
    int status = 0;

    while ((word = shell_word_next(&words)) != NULL)
        if (strncmp(word, "--", 2) == 0 &&
            read_option(settings, word + 2, &words, status < 0 ? &other : err) < 0)
            status = -1;
    return status;
}
