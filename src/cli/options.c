#include "cli/options.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/str.h"
#include "cli/cli.h"
#include "text/nearest.h"

/* An option that was met: what it is, and which struct it fills. */
struct found {
    const struct option *option;
    void *to;
};

static struct found find_long(const struct option_set *sets, size_t n_sets,
                              struct str name)
{
    for (size_t s = 0; s < n_sets; s++)
        for (size_t i = 0; i < sets[s].n; i++)
            if (str_is(name, sets[s].options[i].name))
                return (struct found){&sets[s].options[i], sets[s].to};
    return (struct found){0};
}

static struct found find_short(const struct option_set *sets, size_t n_sets,
                               char letter)
{
    for (size_t s = 0; s < n_sets; s++)
        for (size_t i = 0; i < sets[s].n; i++)
            if (letter && sets[s].options[i].letter == letter)
                return (struct found){&sets[s].options[i], sets[s].to};
    return (struct found){0};
}

/* "no option --dpeth; did you mean --depth?" */
static int unknown_long(const struct option_set *sets, size_t n_sets, struct str name,
                        struct err *err)
{
    const char *nearest = NULL;
    char word[64];

    snprintf(word, sizeof(word), "%.*s", STR_ARG(name));
    for (size_t s = 0; s < n_sets && !nearest; s++)
        nearest = text_nearest(word, &sets[s].options[0].name, sets[s].n,
                               sizeof(struct option));
    if (nearest)
        return err_set(err, ERR_USAGE, "there is no option --%s; did you mean --%s?",
                       word, nearest);
    return err_set(err, ERR_USAGE, "there is no option --%s; --help lists them", word);
}

/* Is `word` one of the words in "params|bytes|name"? Lists of other forms allow all. */
static bool is_allowed(const char *word, const char *allowed)
{
    struct str rest = str_of(allowed), part;

    if (!strchr(allowed, '|'))
        return true;
    while (str_split(&rest, '|', &part))
        if (str_is(part, word))
            return true;
    return false;
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

/* Keep the value of an option; NULL if it has none. */
static int take(struct found found, const char *value, struct err *err)
{
    const struct option *option = found.option;
    void *to = (char *)found.to + option->at;
    uint64_t number;

    if (option->kind == OPTION_FLAG) {
        if (value)
            return err_set(err, ERR_USAGE, "--%s takes no value", option->name);
        *(bool *)to = true;
        return 0;
    }
    if (value && *value && !is_allowed(value, option->value))
        return err_set(err, ERR_USAGE, "--%s is one of %s, not \"%s\"", option->name,
                       option->value, value);
    if (option->kind == OPTION_COUNT) {
        if (!str_to_u64(str_of(value), &number) || number > UINT32_MAX)
            return err_set(err, ERR_USAGE, "--%s takes a number, not \"%s\"",
                           option->name, value);
        *(uint32_t *)to = (uint32_t)number;
        return 0;
    }
    if (option->kind == OPTION_REAL) {
        double real;

        if (!str_to_double(str_of(value), &real) || !isfinite(real) || real < 0)
            return err_set(err, ERR_USAGE,
                           "--%s takes a number that is not negative, not \"%s\"",
                           option->name, value);
        *(double *)to = real;
        return 0;
    }
    if (option->kind == OPTION_LIST)
        return take_one_more(option, to, value, err);
    *(const char **)to = value ? value : "";
    return 0;
}

/* One word that begins with a dash; *at moves on if it takes the next word too. */
static int read_one(const struct option_set *sets, size_t n_sets, int *at, int argc,
                    char **argv, struct err *err)
{
    const char *word = argv[*at], *value = NULL;
    struct str name = str_of(word + 2);
    struct found found;
    bool needs;

    if (word[1] == '-') {
        ptrdiff_t equals = str_find_char(name, '=');

        if (equals >= 0) {
            value = name.at + equals + 1;
            name = str_head(name, (size_t)equals);
        }
        found = find_long(sets, n_sets, name);
        if (!found.option)
            return unknown_long(sets, n_sets, name, err);
    } else {
        found = find_short(sets, n_sets, word[1]);
        if (!found.option)
            return err_set(err, ERR_USAGE, "there is no option -%c; --help lists them",
                           word[1]);
        if (word[2])
            value = word + 2 + (word[2] == '=');
    }
    needs = found.option->kind != OPTION_FLAG && found.option->kind != OPTION_MAYBE;
    if (needs && !value) {
        if (*at + 1 >= argc)
            return err_set(err, ERR_USAGE, "--%s wants a value: %s", found.option->name,
                           found.option->value);
        value = argv[++*at];
    }
    return take(found, value, err);
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

void options_help(const struct option *options, size_t n, struct out *out)
{
    char left[80];

    for (size_t i = 0; i < n; i++) {
        const struct option *option = &options[i];
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
