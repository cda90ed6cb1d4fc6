/* str.h - a borrowed span of bytes, usually text, not NUL-terminated. Print it with
 * "%.*s", STR_ARG(s). */
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

/* Functions called for every name in a file are inline, so that comparing with a
 * literal first compares lengths, without a call. */
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

/* Its first bytes, or all if there are fewer. */
static inline struct str str_head(struct str s, size_t len)
{
    return (struct str){s.at, len < s.len ? len : s.len};
}

static inline bool str_starts(struct str s, struct str head)
{
    return s.len >= head.len && str_eq(str_head(s, head.len), head);
}

struct str str_span(const void *at, size_t len);
/* str_is() and str_starts(), ignoring ASCII case. */
bool str_is_word(struct str s, const char *word);
bool str_starts_word(struct str s, struct str head);
int str_cmp(struct str a, struct str b); /* by bytes, the shorter first */
bool str_ends(struct str s, struct str tail);
struct str str_trim(struct str s); /* without ASCII blanks at both ends */

/* The first (last) position of `c` or `part` in `s`, or -1. */
ptrdiff_t str_find_char(struct str s, char c);
ptrdiff_t str_find_last_char(struct str s, char c);
ptrdiff_t str_find(struct str s, struct str part);

/* Cut the part before the next `sep` off the front of *rest; false at the end. "a.b"
 * gives "a", then "b"; "" gives "" once if *rest.at is not NULL. */
bool str_split(struct str *rest, char sep, struct str *ret_part);

/* Does the whole string match a pattern in which `*` matches any characters? */
bool str_glob(struct str s, const char *pattern);

/* Parse a decimal integer. False if invalid or out of range. */
bool str_to_u64(struct str s, uint64_t *ret_value);
bool str_to_i64(struct str s, int64_t *ret_value);
bool str_to_double(struct str s, double *ret_value); /* also nan, inf, -inf */

/* Hashes are for tables only: they differ between runs, because a malicious file could
 * contain names that collide. */
uint64_t str_hash(struct str s);

extern uint64_t hash_seed[2]; /* random at program start */

/* Hash several values one after the other. Both halves of the product are used, so that
 * the effect of a difference between two values depends on the seed. */
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
