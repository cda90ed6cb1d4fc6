/* verdict_in.h - the tables behind the verdict: what is known of a global by its name.
 * A row's name is matched whole, or has one `*`: alone behind a dot it stands for any
 * rest ("torch.optim.*"), else for letters, digits and `_` ("torch.*Storage").
 *
 *   verdict.c         the verdict; what is judged by more than a name
 *   verdict_allow.c   the allow-list
 *   verdict_danger.c  the list that explains, and the names of Python's own modules */
#ifndef STUDY_SAFETY_VERDICT_IN_H
#define STUDY_SAFETY_VERDICT_IN_H

#include <stdbool.h>

#include "base/str.h"

/* How a global may be used. */
enum known_use {
    USE_NAME = 1, /* named, without being called: a dtype, a function kept as a value */
    USE_CALL = 2, /* called by REDUCE */
    USE_MAKE = 4, /* made by NEWOBJ and its kin */
    USE_BUILD = 8, /* given a state by BUILD */
    USE_FILL = 16, /* given items, as a list or a dict is */
};

struct known_global {
    const char *name;
    unsigned uses;     /* of the allow-list: enum known_use; else: it runs something */
    const char *about; /* what it is good for, or does */
};

/* The row that fits, or NULL; `module_len` is where the name begins. A row with a `*`
 * fits no name that has dots itself (what lies within other things), and one that ends
 * in ".*" only classes (a last part that begins with a capital letter). Classes of an
 * archive's own code are known in a `script` only: elsewhere the name means a module.
 */
const struct known_global *verdict_allowed(struct str name, size_t module_len,
                                           bool script);
const struct known_global *verdict_dangerous(struct str name);

/* Is the global's first part a module of Python's standard library (2 or 3)? */
bool verdict_is_standard(struct str name);

/* Does it call what it is given: does naming a function and calling this one call both?
 */
bool verdict_calls_others(struct str name);

/* A user's pattern: `*` any number of times, each for any characters. */
bool verdict_fits_glob(const char *pattern, struct str name);

bool verdict_matches(const char *pattern, struct str name);
/* Is it a function of torch that computes and does nothing else: "relu"? */
bool verdict_torch_function(struct str name);

bool verdict_is_class_like(struct str name);

#endif
