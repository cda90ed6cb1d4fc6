/* scan_in.h - count the plain bytes at the front of a span.
 * Eight bytes are tested at once: a mark is the top bit of a byte that is not plain. A
 * borrow can also mark the byte after a marked one, never one before it, so the first
 * mark is always correct. */
#ifndef BASE_SCAN_IN_H
#define BASE_SCAN_IN_H

#include <stdbool.h>
#include <string.h>

#include "base/str.h"

#define SCAN_ONES   0x0101010101010101u
#define SCAN_TOPS   0x8080808080808080u
#define SCAN_LITTLE (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

/* Is this byte written unchanged in JSON text: ASCII, but no control character, DEL,
 * quote or backslash? */
static inline bool scan_is_plain(char c)
{
    return (signed char)c >= 0x20 && c != '"' && c != '\\' && c != 0x7f;
}

static inline uint64_t scan_marks(uint64_t eight)
{
    uint64_t quote = eight ^ SCAN_ONES * '"';
    uint64_t slash = eight ^ SCAN_ONES * '\\';
    uint64_t del = eight ^ SCAN_ONES * 0x7f;

    return ((quote - SCAN_ONES) | (slash - SCAN_ONES) | (del - SCAN_ONES) |
            (eight - SCAN_ONES * 0x20) | eight) &
           SCAN_TOPS;
}

static inline size_t scan_plain(struct str s)
{
    size_t i = 0;

    for (; s.len - i >= 8; i += 8) {
        uint64_t eight, marks;

        memcpy(&eight, s.at + i, 8);
        marks = scan_marks(eight);
        if (marks && SCAN_LITTLE)
            return i + (size_t)__builtin_ctzll(marks) / 8;
        if (marks)
            break;
    }
    while (i < s.len && scan_is_plain(s.at[i]))
        i++;
    return i;
}

static inline size_t scan_ascii(struct str s)
{
    size_t i = 0;

    for (; s.len - i >= 8; i += 8) {
        uint64_t eight;

        memcpy(&eight, s.at + i, 8);
        if (eight & SCAN_TOPS)
            break;
    }
    while (i < s.len && (signed char)s.at[i] >= 0)
        i++;
    return i;
}

#endif
