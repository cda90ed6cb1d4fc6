/* str.h - a borrowed span of bytes, usually text. Never owned, not ended by NUL;
 * print it with "%.*s", STR_ARG(s). */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct str {
    const char *at; /* may be NULL when len is 0 */
    size_t len;
};

#define STR(literal) ((struct str){(literal), sizeof(literal) - 1})
#define STR_ARG(s)                                                                     \
    (int)((s).len > 0x7fffffff ? 0x7fffffff : (s).len), ((s).at ? (s).at : "")

struct str str_of(const char *text); /* NULL gives the empty span */
struct str str_span(const void *at, size_t len);
bool str_eq(struct str a, struct str b);
bool str_is(struct str a, const char *text);
int str_cmp(struct str a, struct str b); /* by bytes, the shorter first */
bool str_starts(struct str s, struct str head);
bool str_ends(struct str s, struct str tail);
struct str str_from(struct str s, size_t begin); /* s without its first bytes */
struct str str_head(struct str s, size_t len);   /* its first bytes, at most all */
struct str str_trim(struct str s);               /* without ASCII blanks at both ends */

/* Where `c` or `part` first (last) stands in `s`, or -1. */
ptrdiff_t str_find_char(struct str s, char c);
ptrdiff_t str_find_last_char(struct str s, char c);
ptrdiff_t str_find(struct str s, struct str part);

/* Cut the part before the next `sep` off the front of *rest; false when *rest is spent.
 * "a.b" gives "a", then "b"; "" gives "" once when *rest.at is not NULL. */
bool str_split(struct str *rest, char sep, struct str *ret_part);

/* Read a whole decimal number. False if it is not one, or does not fit. */
bool str_to_u64(struct str s, uint64_t *ret_value);
bool str_to_i64(struct str s, int64_t *ret_value);
bool str_to_double(struct str s, double *ret_value); /* also nan, inf, -inf */

/* A good 64-bit hash of the bytes; the same on every machine and in every run. */
uint64_t str_hash(struct str s);
uint64_t hash_u64(uint64_t value);
uint64_t hash_mix(uint64_t hash, uint64_t value); /* for hashing several values */

#endif
