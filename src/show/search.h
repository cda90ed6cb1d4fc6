/* search.h - which rows a person means by a few letters.
 *
 *   conv2              names that contain it, whatever their case
 *   Conv2d, 7×7        with a capital, ( = or ×: types, arguments, shapes; case counts
 *   layer1.0           with a dot: full names
 *   conv*, *.bias      with * or ?: whole names, or whole full names
 *   /re/               a Perl-compatible regular expression, by the same rules
 *   trainable, frozen  parameters of which the file says so
 *   !text              all that does not match, and does not stand below a match
 *
 * A match must touch the row's own name: one in its parent's part does not count. */
#ifndef SHOW_SEARCH_H
#define SHOW_SEARCH_H

#include "base/buf.h"
#include "base/str.h"
#include "show/show.h"

struct search;

/* Understand what was typed. NULL if a regular expression is wrong (ERR_USAGE) or
 * memory is spent. The text is borrowed. */
struct search *search_new(struct str text, struct err *err);
void search_free(struct search *search); /* NULL is allowed */

/* The version of pcre2, which understands regular expressions: "10.42". */
void search_library(struct buf *to);

/* Does the row of this place match? `path` is its full name, whose last part is its own
 * name. A `!` is not looked at here. */
bool search_matches(struct search *search, const struct show *show, uint32_t place,
                    struct str path);

/* Look at all places: match[p] says what matches, keep[p] what a filtered view
 * shows: matches, what stands below them, and what leads to them. How many match. A
 * regular expression that takes too long ends it with ERR_LIMIT. */
int search_all(struct search *search, const struct show *show, bool *match, bool *keep,
               uint32_t *ret_matches, struct err *err);

#endif
