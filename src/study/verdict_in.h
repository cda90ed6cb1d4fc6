/* verdict_in.h - the tables behind the verdict: what is known of a global by its name.
 * A row's name is matched whole, or has one `*`: alone behind a dot it stands for any
 * rest ("torch.optim.*"), else for letters, digits and `_` ("torch.*Storage"). */
#ifndef STUDY_VERDICT_IN_H
#define STUDY_VERDICT_IN_H

#include <stdbool.h>

#include "base/str.h"

/* How a global may be used. */
enum known_use {
    USE_NAME = 1, /* named, without being called: a dtype, a function kept as a value */
    USE_CALL = 2, /* called by REDUCE */
    USE_MAKE = 4, /* made by NEWOBJ and its kin */
    USE_BUILD = 8, /* given a state by BUILD */
};

struct known_global {
    const char *name;
    unsigned uses;     /* of the allow-list: enum known_use */
    const char *about; /* what it is good for, or does */
};

/* The row that fits, or NULL. Of the allow-list only classes (a last part that begins
 * with a capital letter) fit a row that ends in ".*". */
const struct known_global *verdict_allowed(struct str name);
const struct known_global *verdict_dangerous(struct str name);

/* Is the global's first part a module of Python's standard library (2 or 3)? */
bool verdict_is_standard(struct str name);

/* Does it call what it is given: does naming a function and calling this one call both?
 */
bool verdict_calls_others(struct str name);

/* A user's pattern: `*` any number of times, each for any characters. */
bool verdict_fits_glob(const char *pattern, struct str name);

bool verdict_matches(const char *pattern, struct str name);
bool verdict_is_class_like(struct str name);

#endif
