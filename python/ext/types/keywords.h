/* keywords.h - view settings (explorer/settings.h) as keyword arguments. A setting has
 * its option's name, with _ for -. */
#ifndef EXT_TYPES_KEYWORDS_H
#define EXT_TYPES_KEYWORDS_H

#include "ext/ext.h"

#include "explorer/settings.h"

/* Stores all settings of `groups` in `to` (a struct settings, or its first member for
 * settings of a tree). Texts are borrowed from `kwargs`, which may be NULL. A value of
 * None means not given. Returns the other keywords as a new dict; NULL: an exception is
 * set, TypeError or ValueError. */
PyObject *keywords_take(PyObject *kwargs, unsigned groups, void *to);
/* The same for the options of a table, stored in its struct. */
PyObject *keywords_take_options(PyObject *kwargs, const struct option *options,
                                size_t n, void *to);

/* The settings of `groups` that were given, as a new dict. */
PyObject *keywords_dict(unsigned groups, const void *from);

/* The value of an option in the struct at `from`: a new reference; None: not given. */
PyObject *keywords_value(const struct option *option, const void *from);
/* The values of a repeatable option; None: not given. */
PyObject *keywords_list(const struct option_list *list);

#endif
