#include "text/options.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "text/nearest.h"

/* An option, and the struct that it fills. */
struct found {
    const struct option *option;
    void *to;
};

static bool is_called(const struct option *option, struct str name, char letter)
{
    return letter ? option->letter == letter : str_is(name, option->name);
}

/* By its short form, or by its name if `letter` is 0. */
static struct found find(const struct option_set *sets, size_t n_sets, struct str name,
                         char letter)
{
    for (size_t s = 0; s < n_sets; s++)
        for (size_t i = 0; i < sets[s].n; i++)
            if (is_called(&sets[s].options[i], name, letter))
                return (struct found){&sets[s].options[i], sets[s].to};
    return (struct found){0};
}

const struct option *option_find(const struct option_set *set, struct str name)
{
    return find(set, 1, name, 0).option;
}

#define MOST_NAMES 128

static int unknown_long(const struct option_set *sets, size_t n_sets, struct str name,
                        struct err *err)
{
    const char *names[MOST_NAMES], *nearest;
    char word[64];
    size_t n = 0;

    snprintf(word, sizeof(word), "%.*s", STR_ARG(name));
    for (size_t s = 0; s < n_sets; s++)
        for (size_t i = 0; i < sets[s].n && n < MOST_NAMES; i++)
            names[n++] = sets[s].options[i].name;
    nearest = text_nearest(word, names, n, sizeof names[0]);
    if (nearest)
        return err_set(err, ERR_USAGE, "unknown option --%s; did you mean --%s?", word,
                       nearest);
    return err_set(err, ERR_USAGE, "unknown option --%s; --help lists them", word);
}

int option_check(const struct option *option, const char *value, struct err *err)
{
    struct str rest = str_of(option->value ? option->value : ""), word;

    if (str_find_char(rest, '|') < 0 || !*value)
        return 0;
    while (str_split(&rest, '|', &word))
        if (str_is(word, value))
            return 0;
    return err_set(err, ERR_USAGE, "--%s is one of %s, not \"%.40s\"", option->name,
                   option->value, value);
}

static int take_one_more(const struct option *option, struct option_list *list,
                         const char *value, struct err *err)
{
    if (list->n == COUNT_OF(list->words))
        return err_set(err, ERR_USAGE, "--%s may be given at most %zu times",
                       option->name, COUNT_OF(list->words));
    list->words[list->n++] = value;
    return 0;
}

static int take_count(const struct option *option, uint32_t *to, const char *value,
                      struct err *err)
{
    uint64_t number;

    if (!str_to_u64(str_of(value), &number) || number > UINT32_MAX)
        return err_set(err, ERR_USAGE, "--%s takes a number, not \"%s\"", option->name,
                       value);
    *to = (uint32_t)number;
    return 0;
}

static int take_real(const struct option *option, double *to, const char *value,
                     struct err *err)
{
    double real;

    if (!str_to_double(str_of(value), &real) || !isfinite(real) || real < 0)
        return err_set(err, ERR_USAGE,
                       "--%s takes a number that is not negative, not \"%s\"",
                       option->name, value);
    *to = real;
    return 0;
}

int option_take(const struct option *option, void *to, const char *value,
                struct err *err)
{
    void *at = (char *)to + option->at;

    if (value && option_check(option, value, err) < 0)
        return -1;
    switch (option->kind) {
    case OPTION_FLAG:
        if (value)
            return err_set(err, ERR_USAGE, "--%s takes no value", option->name);
        *(bool *)at = true;
        return 0;
    case OPTION_COUNT:
        return take_count(option, at, value, err);
    case OPTION_REAL:
        return take_real(option, at, value, err);
    case OPTION_LIST:
        return take_one_more(option, at, value, err);
    case OPTION_TEXT:
    case OPTION_MAYBE:
        *(const char **)at = value ? value : "";
        return 0;
    }
    return 0;
}

bool option_given(const struct option *option, const void *to)
{
    const void *at = (const char *)to + option->at;

    switch (option->kind) {
    case OPTION_FLAG:
        return *(const bool *)at;
    case OPTION_COUNT:
        return *(const uint32_t *)at != OPTION_UNSET;
    case OPTION_LIST:
        return ((const struct option_list *)at)->n > 0;
    case OPTION_REAL:
        return true;
    case OPTION_TEXT:
    case OPTION_MAYBE:
        return *(const char *const *)at != NULL;
    }
    return false;
}

bool option_needs_value(const struct option *option)
{
    return option->kind != OPTION_FLAG && option->kind != OPTION_MAYBE;
}

/* Reads the option at argv[*at]; advances *at if its value is the next word. */
static int read_one(const struct option_set *sets, size_t n_sets, int *at, int argc,
                    char **argv, struct err *err)
{
    const char *word = argv[*at], *value = NULL;
    struct str name = str_from(str_of(word), 2);
    struct found found;

    if (word[1] == '-') {
        ptrdiff_t equals = str_find_char(name, '=');

        if (equals >= 0) {
            value = name.at + equals + 1;
            name = str_head(name, (size_t)equals);
        }
        found = find(sets, n_sets, name, 0);
        if (!found.option)
            return unknown_long(sets, n_sets, name, err);
    } else {
        found = find(sets, n_sets, name, word[1]);
        if (!found.option)
            return err_set(err, ERR_USAGE, "unknown option -%c; --help lists them",
                           word[1]);
        if (word[2])
            value = word + 2 + (word[2] == '=');
    }
    if (option_needs_value(found.option) && !value) {
        if (*at + 1 >= argc)
            return err_set(err, ERR_USAGE, "--%s needs a value: %s", found.option->name,
                           found.option->value);
        value = argv[++*at];
    }
    return option_take(found.option, found.to, value, err);
}

int options_read(const struct option_set *sets, size_t n_sets, int *argc, char **argv,
                 struct err *err)
{
    int kept = 0;
    bool ended = false;

    for (int at = 0; at < *argc; at++) {
        if (!ended && strcmp(argv[at], "--") == 0)
            ended = true;
        else if (ended || argv[at][0] != '-' || argv[at][1] == '\0')
            argv[kept++] = argv[at];
        else if (read_one(sets, n_sets, &at, *argc, argv, err) < 0)
            return -1;
    }
    *argc = kept;
    return 0;
}

int options_leading(const struct option_set *sets, size_t n_sets, int argc, char **argv)
{
    int at = 0;

    while (at < argc && argv[at][0] == '-' && argv[at][1] &&
           strcmp(argv[at], "--") != 0) {
        const char *word = argv[at];
        bool is_long = word[1] == '-', has_value = !is_long && word[2];
        struct str name = str_from(str_of(word), 2);
        ptrdiff_t equals = is_long ? str_find_char(name, '=') : -1;
        struct found found;

        if (equals >= 0) {
            has_value = true;
            name = str_head(name, (size_t)equals);
        }
        found = find(sets, n_sets, name, is_long ? 0 : word[1]);
        at++;
        if (found.option && option_needs_value(found.option) && !has_value && at < argc)
            at++;
    }
    return at;
}

void options_help(const struct option_set *set, struct out *out)
{
    char left[80];

    for (size_t i = 0; i < set->n; i++) {
        const struct option *option = &set->options[i];
        const char *equals = option->kind == OPTION_MAYBE ? "[=" : " ";
        const char *close = option->kind == OPTION_MAYBE ? "]" : "";
        char letter[5] = "    ";

        if (option->letter) {
            letter[0] = '-';
            letter[1] = option->letter;
            letter[2] = ',';
        }
        snprintf(left, sizeof(left), "%s--%s%s%s%s", letter, option->name,
                 option->value ? equals : "", option->value ? option->value : "",
                 close);
        if (strlen(left) > 28)
            out_printf(out, "  %s\n  %-28s %s\n", left, "", option->summary);
        else
            out_printf(out, "  %-28s %s\n", left, option->summary);
    }
}
