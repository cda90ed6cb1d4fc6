#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memrchr() */
#endif
#include "base/str.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/plain_locale_in.h"

struct str str_span(const void *at, size_t len)
{
    return (struct str){at, len};
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool str_starts_word(struct str s, struct str head)
{
    size_t i = 0;

    while (i < head.len && i < s.len && lower(s.at[i]) == lower(head.at[i]))
        i++;
    return i == head.len;
}

bool str_is_word(struct str s, const char *word)
{
    return s.len == str_of(word).len && str_starts_word(s, str_of(word));
}

int str_cmp(struct str a, struct str b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    int order = len ? memcmp(a.at, b.at, len) : 0;

    return order ? order : (a.len > b.len) - (a.len < b.len);
}

bool str_ends(struct str s, struct str tail)
{
    return s.len >= tail.len && str_eq(str_from(s, s.len - tail.len), tail);
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

struct str str_trim(struct str s)
{
    while (s.len > 0 && is_blank(s.at[0]))
        s = str_from(s, 1);
    while (s.len > 0 && is_blank(s.at[s.len - 1]))
        s.len--;
    return s;
}

ptrdiff_t str_find_char(struct str s, char c)
{
    const char *found = s.len ? memchr(s.at, c, s.len) : NULL;

    return found ? found - s.at : -1;
}

ptrdiff_t str_find_last_char(struct str s, char c)
{
    const char *found = s.len > 0 ? memrchr(s.at, c, s.len) : NULL;

    return found ? found - s.at : -1;
}

ptrdiff_t str_find(struct str s, struct str part)
{
    size_t at = 0;

    if (part.len == 0)
        return 0;
    while (s.len - at >= part.len) {
        /* Only positions where the whole needle fits. */
        ptrdiff_t next =
            str_find_char(str_span(s.at + at, s.len - at - part.len + 1), part.at[0]);

        if (next < 0)
            return -1;
        at += (size_t)next;
        if (memcmp(s.at + at, part.at, part.len) == 0)
            return (ptrdiff_t)at;
        at++;
    }
    return -1;
}

bool str_split(struct str *rest, char sep, struct str *ret_part)
{
    ptrdiff_t at;

    if (!rest->at)
        return false;
    at = str_find_char(*rest, sep);
    if (at < 0) {
        *ret_part = *rest;
        *rest = (struct str){NULL, 0};
        return true;
    }
    *ret_part = str_head(*rest, (size_t)at);
    *rest = str_from(*rest, (size_t)at + 1);
    return true;
}

bool str_to_u64(struct str s, uint64_t *ret_value)
{
    uint64_t value = 0;
    size_t i;

    if (s.len == 0)
        return false;
    for (i = 0; i < s.len; i++) {
        unsigned digit = (unsigned char)s.at[i] - (unsigned)'0';

        if (digit > 9 || value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *ret_value = value;
    return true;
}

bool str_to_i64(struct str s, int64_t *ret_value)
{
    bool minus = s.len > 0 && s.at[0] == '-';
    uint64_t size;

    if (!str_to_u64(minus ? str_from(s, 1) : s, &size))
        return false;
    if (size > (uint64_t)INT64_MAX + (minus ? 1 : 0))
        return false;
    /* Two's complement: also correct for INT64_MIN. */
    *ret_value = (int64_t)(minus ? 0 - size : size);
    return true;
}

/* Rejects what strtod accepts besides decimal numbers: hexadecimal, "nan(7)",
 * "infinity". */
static bool has_only_decimal_chars(struct str s)
{
    size_t i;

    for (i = 0; i < s.len; i++)
        if (!strchr("0123456789+-.eE", s.at[i]) || s.at[i] == '\0')
            return false;
    return true;
}

static bool decimal_to_double(struct str s, double *ret_value)
{
    char few[64];
    char *copy = s.len < sizeof few ? few : malloc(s.len + 1);
    char *end;
    locale_t before;
    double value;
    bool whole;

    if (!copy)
        return false;
    memcpy(copy, s.at, s.len);
    copy[s.len] = '\0';
    before = plain_locale_enter();
    value = strtod(copy, &end);
    plain_locale_leave(before);
    whole = end == copy + s.len;
    if (copy != few)
        free(copy);
    if (whole)
        *ret_value = value;
    return whole;
}

bool str_to_double(struct str s, double *ret_value)
{
    if (str_is(s, "nan") || str_is(s, "NaN"))
        *ret_value = (double)NAN;
    else if (str_is(s, "inf") || str_is(s, "Infinity"))
        *ret_value = (double)INFINITY;
    else if (str_is(s, "-inf") || str_is(s, "-Infinity"))
        *ret_value = -(double)INFINITY;
    else
        return s.len > 0 && has_only_decimal_chars(s) &&
               decimal_to_double(s, ret_value);
    return true;
}

/* Up to eight bytes as a little-endian number, so that hashes are the same on every
 * machine. Compilers turn each into one load. */
static uint64_t load_u32(const unsigned char *at)
{
    return at[0] | (uint64_t)at[1] << 8 | (uint64_t)at[2] << 16 | (uint64_t)at[3] << 24;
}

static uint64_t load_u64(const unsigned char *at)
{
    return load_u32(at) | load_u32(at + 4) << 32;
}

static uint64_t load_tail(const unsigned char *at, size_t n)
{
    if (n >= 4) /* the halves overlap: covers all n bytes and reads none beyond */
        return load_u32(at) | load_u32(at + n - 4) << 32;
    return at[0] | (uint64_t)at[n / 2] << 8 | (uint64_t)at[n - 1] << 16;
}

/* Odd random constants, used if the system provides no randomness. */
uint64_t hash_seed[2] = {0x9e3779b97f4a7c15u, 0xd6e8feb86659fd93u};

__attribute__((constructor)) static void choose_seed(void)
{
    uint64_t chance[2];

    if (getentropy(chance, sizeof chance) == 0)
        for (int i = 0; i < 2; i++)
            hash_seed[i] ^= chance[i];
}

uint64_t str_hash(struct str s)
{
    const unsigned char *at = (const unsigned char *)s.at;
    size_t left = s.len;
    uint64_t hash = hash_mix(0, s.len);

    for (; left >= 8; left -= 8, at += 8)
        hash = hash_mix(hash, load_u64(at));
    if (left > 0)
        hash = hash_mix(hash, load_tail(at, left));
    return hash_mix(hash, s.len); /* mixes the last bytes into every bit */
}

bool str_glob(struct str s, const char *pattern)
{
    const char *star = NULL; /* where to resume after a mismatch */
    size_t at = 0, star_at = 0;

    while (at < s.len) {
        if (*pattern == '*') {
            star = pattern++;
            star_at = at;
        } else if (*pattern == s.at[at]) {
            pattern++;
            at++;
        } else if (star) {
            pattern = star + 1;
            at = ++star_at;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}
