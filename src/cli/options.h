/* options.h - reading --options by a table.
 * Each command has a struct of its own for what its options say, and a table that tells
 * where in it each answer goes:
 *
 *     static const struct option options[] = {
 *         {"depth", 'd', OPTION_COUNT, "N", offsetof(struct tree_options, depth),
 *          "at most N levels below the root"},
 *     };
 *
 * Options and other words may be mixed; "--" ends the options; "-" alone is a word. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/out.h"

enum option_kind {
    OPTION_FLAG,  /* --all: sets a bool */
    OPTION_COUNT, /* --depth N: a uint32_t */
    OPTION_REAL,  /* --rtol X: a double, finite and not negative */
    OPTION_TEXT,  /* --filter TEXT: a const char * into argv */
    OPTION_MAYBE, /* --flat or --flat=TEXT: a const char *, "" if no text is given */
    OPTION_LIST,  /* --allow TEXT, as often as one likes: a struct option_list */
};

/* The texts of an option that may be given several times, in their order. */
struct option_list {
    const char *words[64];
    uint32_t n;
};

struct option {
    const char *name; /* without its dashes */
    char letter;      /* its short form, or 0 */
    enum option_kind kind;
    const char *value;   /* what help calls its value: "N"; or the words that it may be,
                            "params|bytes|name", which are then checked; NULL for a flag */
    size_t at;           /* where in the command's struct the answer goes */
    const char *summary; /* for help */
};

/* A table of options and the struct that it fills. */
struct option_set {
    const struct option *options;
    size_t n;
    void *to;
};

/* Take all options out of argv[0 .. *argc), by any of the sets; what is left moves to
 * the front and *argc becomes its number. A mistake fails with ERR_USAGE. */
int options_read(const struct option_set *sets, size_t n_sets, int *argc, char **argv,
                 struct err *err);

/* The lines about some options, for help. */
void options_help(const struct option *options, size_t n, struct out *out);

/* The options that every command has, filled into a struct cli_common by cli.c. */
extern const struct option common_options[];
extern const size_t n_common_options;

#endif
