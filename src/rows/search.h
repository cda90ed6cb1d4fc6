/* search.h - which rows a person means by a few letters.
 *
 *   conv2              names that contain it, whatever their case; also modules whose
 *                      type is exactly that; if there are none, types that contain it
 *   Conv2d, 7×7        with a capital, ( = or ×: also types, arguments, shapes; a
 *                      capital makes case count
 *   conv1|bn1          either, each by the same rules
 *   layer1.0           with a dot: full names
 *   conv*, *.bias      with * or ?: whole names, or whole full names
 *   /re/               a Perl-compatible regular expression, by the same rules
 *   trainable, frozen  parameters that the file marks so
 *   !text              rows that do not match and are not below a match
 *
 * A match must touch the row's own name: one in its parent's part does not count. */
#ifndef ROWS_SEARCH_H
#define ROWS_SEARCH_H

#include "base/buf.h"
#include "base/str.h"
#include "rows/outline.h"
#include "rows/show.h"

struct search;

/* Understand what was typed. NULL if a regular expression is wrong (ERR_USAGE) or
 * memory is spent. */
struct search *search_new(struct str text, struct err *err);
void search_free(struct search *search); /* NULL is allowed */

/* The version of pcre2, which understands regular expressions: "10.42". */
void search_library(struct buf *to);

/* Is all that `search` finds among what `before`, to which letters were added, found?
 */
bool search_narrows(const struct search *search, const struct search *before);

/* Which places or nodes match: a bit for each, and how many; a `!` is not looked at.
 * The root never does. `among`: only these may, or NULL. A regular expression that
 * takes too long ends it with ERR_LIMIT. */
int search_find(struct search *search, const struct outline *outline,
                const uint8_t *among, uint8_t *match, uint32_t *ret_matches,
                struct err *err);

/* Where a row matches, for letters that are to stand out: the next match from `from` on
 * in its own name, which ends its full name `path` and is `own` long; in what its type
 * and arguments say. False: nowhere (further). */
bool search_in_name(struct search *search, struct str path, size_t own, size_t from,
                    size_t *ret_begin, size_t *ret_end);
bool search_in_type(struct search *search, struct str about, size_t from,
                    size_t *ret_begin, size_t *ret_end);

/* Look at all places of a model: the bits of `match` say what matches, those of `keep`
 * what a filtered view shows: matches, what stands below them, and what leads to them.
 * How many match. A regular expression that takes too long ends it with ERR_LIMIT. */
int search_all(struct search *search, const struct show *show, uint8_t *match,
               uint8_t *keep, uint32_t *ret_matches, struct err *err);

#endif
