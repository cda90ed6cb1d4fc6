/* search.h - finds rows by a short search text.
 *
 *   conv2              names that contain it, ignoring case; also modules whose type
 *                      equals it; if there are none, types that contain it
 *   Conv2d, 7×7        with a capital, ( = or ×: also types, arguments, shapes; a
 *                      capital makes the search case-sensitive
 *   conv1|bn1          either one, by the same rules
 *   layer1.0           with a dot: matches full names
 *   conv*, *.bias      with * or ?: matches whole names, or whole full names
 *   /re/               a Perl-compatible regular expression, by the same rules
 *   trainable, frozen  parameters that the file marks as such
 *   !text              rows that do not match and are not below a match
 *
 * A match must overlap the row's own name, not only the names of its parents. */
#ifndef ROWS_SEARCH_H
#define ROWS_SEARCH_H

#include "base/buf.h"
#include "base/str.h"
#include "rows/outline.h"
#include "rows/show.h"

struct search;

/* Parse a search text. NULL: invalid regular expression (ERR_USAGE) or out of memory.
 */
struct search *search_new(struct str text, struct err *err);
void search_free(struct search *search); /* NULL is allowed */

/* The version of pcre2, the regular expression library: "10.42". */
void search_library(struct buf *to);

/* Are the matches of `search` a subset of those of `before`, the same text with fewer
 * letters? */
bool search_narrows(const struct search *search, const struct search *before);

/* Set a bit for each place or node that matches, and count them. Ignores a leading `!`.
 * The root never matches. `among`: restricts the search to these; NULL: all. ERR_LIMIT:
 * a regular expression took too long. */
int search_find(struct search *search, const struct outline *outline,
                const uint8_t *among, uint8_t *match, uint32_t *ret_matches,
                struct err *err);

/* Find the next match from `from` on, for highlighting: in the row's own name (the last
 * `own` bytes of its full name `path`), or in the text of its type and arguments.
 * False: no further match. */
bool search_in_name(struct search *search, struct str path, size_t own, size_t from,
                    size_t *ret_begin, size_t *ret_end);
bool search_in_type(struct search *search, struct str about, size_t from,
                    size_t *ret_begin, size_t *ret_end);

/* Search all places of a model. Sets the bits of `match` for matches and those of
 * `keep` for the rows of a filtered view: matches, their descendants and their
 * ancestors. Counts the matches. ERR_LIMIT: a regular expression took too long. */
int search_all(struct search *search, const struct show *show, uint8_t *match,
               uint8_t *keep, uint32_t *ret_matches, struct err *err);

#endif
