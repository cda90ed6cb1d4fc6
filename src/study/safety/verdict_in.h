/* verdict_in.h - the tables of the verdict: what is known about a global by its name.
 * The name of a row may have one `*`: after a dot at the end it matches anything
 * ("torch.optim.*"), else letters, digits and `_` ("torch.*Storage").
 *
 *   verdict.c         the verdict; globals that are judged by more than their name
 *   verdict_allow.c   the allow-list
 *   verdict_danger.c  known dangers, and the modules of the standard library */
#ifndef STUDY_SAFETY_VERDICT_IN_H
#define STUDY_SAFETY_VERDICT_IN_H

#include <stdbool.h>

#include "base/str.h"

/* How a global may be used. */
enum known_use {
    USE_NAME = 1,  /* named, not called: a dtype, a function kept as a value */
    USE_CALL = 2,  /* called by REDUCE */
    USE_MAKE = 4,  /* created by NEWOBJ and similar opcodes */
    USE_BUILD = 8, /* given a state by BUILD */
    USE_FILL = 16, /* given items, like a list or a dict */
};

struct known_global {
    const char *name;
    unsigned uses;     /* allow-list: enum known_use; dangers: 1 if it runs something */
    const char *about; /* what it does */
};

/* The matching row, or NULL; `module_len` is the length of the module's name. A row with
 * a `*` matches no nested names (with dots), and one that ends in ".*" only classes
 * (capital letter). Classes of an archive's own code are allowed in a `script` only. */
const struct known_global *verdict_allowed(struct str name, size_t module_len,
                                           bool script);
const struct known_global *verdict_dangerous(struct str name);

/* Is the first part a module of Python's standard library (2 or 3)? */
bool verdict_is_standard(struct str name);

/* Does it call its arguments? */
bool verdict_calls_others(struct str name);

/* Does a name match the name of a row? */
bool verdict_matches(const char *pattern, struct str name);
/* Is it a torch function that only computes ("relu")? */
bool verdict_is_torch_function(struct str name);
/* Does the last part begin with a capital letter, after any `_`? */
bool verdict_is_class_like(struct str name);

#endif
