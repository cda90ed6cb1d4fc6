/* options.h - reads options by a table. Each row has the offset in a struct where the
 * option's value is stored:
 *
 *     static const struct option options[] = {
 *         {"depth", 'd', OPTION_COUNT, "N", offsetof(struct tree_options, depth),
 *          "at most N levels below the root"},
 *     };
 *
 * Options and other words may be mixed; "--" ends the options; "-" alone is a word. */
#ifndef TEXT_OPTIONS_H
#define TEXT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/out.h"
#include "base/str.h"

enum option_kind {
    OPTION_FLAG,  /* --all: sets a bool */
    OPTION_COUNT, /* --depth N: a uint32_t; OPTION_UNSET: not given */
    OPTION_REAL,  /* --rtol X: a double, finite and not negative */
    OPTION_TEXT,  /* --filter TEXT: a const char *, borrowed */
    OPTION_MAYBE, /* --flat or --flat=TEXT: a const char *, "" without a text */
    OPTION_LIST,  /* --allow TEXT, repeatable: a struct option_list */
};
#define OPTION_UNSET UINT32_MAX

/* The values of a repeatable option, in order. */
struct option_list {
    const char *words[64];
    uint32_t n;
};

struct option {
    const char *name; /* without its dashes */
    char letter;      /* short form, or 0 */
    enum option_kind kind;
    const char *value;   /* placeholder for help, "N"; or the allowed words,
                            "params|bytes|name", which are checked; NULL: a flag */
    size_t at;           /* offset in the struct that the table fills */
    const char *summary; /* for help */
};

/* A table of options and the struct that it fills. */
struct option_set {
    const struct option *options;
    size_t n;
    void *to;
};

/* Removes all options from argv[0 .. *argc); the other words move to the front and
 * *argc becomes their number. The first set that has an option takes it. A mistake
 * fails with ERR_USAGE. */
int options_read(const struct option_set *sets, size_t n_sets, int *argc, char **argv,
                 struct err *err);

/* The number of leading words that are options and their values, up to the first other
 * word, "--" or "-". An unknown option counts: options_read() reports it. */
int options_leading(const struct option_set *sets, size_t n_sets, int argc,
                    char **argv);

/* The option called `name` (without dashes); NULL: the set has none. */
const struct option *option_find(const struct option_set *set, struct str name);
/* Does the option take a value from the next word? */
bool option_needs_value(const struct option *option);
/* Stores a value in the struct at `to`; NULL: a flag, or OPTION_MAYBE without text. */
int option_take(const struct option *option, void *to, const char *value,
                struct err *err);
/* Fails if `value` is not one of the allowed words. */
int option_check(const struct option *option, const char *value, struct err *err);
/* Is a value stored? (Not for OPTION_REAL, which has no unset value.) */
bool option_given(const struct option *option, const void *to);

/* Prints the help lines of a set. */
void options_help(const struct option_set *set, struct out *out);

#endif
