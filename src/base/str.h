/* str.h - a borrowed span of bytes, usually text. Never owned, not ended by NUL;
 * print it with "%.*s", STR_ARG(s). */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
    const char *at; /* may be NULL when len is 0 */
    size_t len;
};

#define STR(literal) ((struct str){(literal), sizeof(literal) - 1})
#define STR_ARG(s)                                                                     \
    (int)((s).len > 0x7fffffff ? 0x7fffffff : (s).len), ((s).at ? (s).at : "")

/* What is called for every name of a file is inline: a comparison with a literal then
 * costs a comparison of lengths first, and no call. */
static inline struct str str_of(const char *text) /* NULL gives the empty span */
{
    return (struct str){text, text ? strlen(text) : 0};
}

static inline bool str_eq(struct str a, struct str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}

static inline bool str_is(struct str a, const char *text)
{
    return str_eq(a, str_of(text));
}

/* s without its first bytes. */
static inline struct str str_from(struct str s, size_t begin)
{
    if (begin == 0)
        return s;
    if (begin > s.len)
        begin = s.len;
    return (struct str){s.at ? s.at + begin : NULL, s.len - begin};
}

/* Its first bytes, at most all. */
static inline struct str str_head(struct str s, size_t len)
{
    return (struct str){s.at, len < s.len ? len : s.len};
}

static inline bool str_starts(struct str s, struct str head)
{
    return s.len >= head.len && str_eq(str_head(s, head.len), head);
}

struct str str_span(const void *at, size_t len);
/* The same as str_is() and str_starts(), whatever the case of ASCII letters. */
bool str_is_word(struct str s, const char *word);
bool str_starts_word(struct str s, struct str head);
int str_cmp(struct str a, struct str b); /* by bytes, the shorter first */
bool str_ends(struct str s, struct str tail);
struct str str_trim(struct str s); /* without ASCII blanks at both ends */

/* Where `c` or `part` first (last) stands in `s`, or -1. */
ptrdiff_t str_find_char(struct str s, char c);
ptrdiff_t str_find_last_char(struct str s, char c);
ptrdiff_t str_find(struct str s, struct str part);

/* Cut the part before the next `sep` off the front of *rest; false when *rest is spent.
 * "a.b" gives "a", then "b"; "" gives "" once when *rest.at is not NULL. */
bool str_split(struct str *rest, char sep, struct str *ret_part);

/* Does the whole string match a pattern in which each `*` stands for any characters? */
bool str_glob(struct str s, const char *pattern);

/* Read a whole decimal number. False if it is not one, or does not fit. */
bool str_to_u64(struct str s, uint64_t *ret_value);
bool str_to_i64(struct str s, int64_t *ret_value);
bool str_to_double(struct str s, double *ret_value); /* also nan, inf, -inf */

/* Hashes are for tables only: they differ from run to run, because names come from
 * files that somebody may have made so that all of them collide. */
uint64_t str_hash(struct str s);

extern uint64_t hash_seed[2]; /* chosen by chance when the program starts */

/* For hashing several values, one after the other. Both halves of the product count, so
 * that no difference between two values has a known effect without knowing the seed. */
static inline uint64_t hash_mix(uint64_t hash, uint64_t value)
{
    unsigned __int128 product =
        (unsigned __int128)(value ^ hash_seed[0]) * (hash ^ hash_seed[1]);

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t hash_u64(uint64_t value)
{
    return hash_mix(0, value);
}

#endif
