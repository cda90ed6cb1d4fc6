#include "rows/sort.h"

#include <string.h>

/* Merge two sorted neighbours, ids[0 .. half) and ids[half .. n). */
static void merge(uint32_t *ids, uint32_t half, uint32_t n, uint32_t *scratch,
                  sort_compare *compare, const void *about)
{
    uint32_t a = 0, b = half, to = 0;

    if (compare(about, ids[half - 1], ids[half]) <= 0)
        return;
    memcpy(scratch, ids, half * sizeof(*ids));
    while (a < half && b < n)
        ids[to++] = compare(about, scratch[a], ids[b]) <= 0 ? scratch[a++] : ids[b++];
    while (a < half)
        ids[to++] = scratch[a++];
}

void sort_ids(uint32_t *ids, uint32_t n, uint32_t *scratch, sort_compare *compare,
              const void *about)
{
    for (uint64_t width = 1; width < n; width *= 2)
        for (uint64_t at = 0; at + width < n; at += 2 * width) {
            uint64_t end = at + 2 * width < n ? at + 2 * width : n;

            merge(ids + at, (uint32_t)width, (uint32_t)(end - at), scratch, compare,
                  about);
        }
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The digits at the start of `s`, without leading zeros. */
static struct str number_at(struct str s)
{
    size_t n = 0;

    while (s.len > 1 && s.at[0] == '0' && is_digit(s.at[1]))
        s = str_from(s, 1);
    while (n < s.len && is_digit(s.at[n]))
        n++;
    return str_head(s, n);
}

int sort_names(struct str a, struct str b)
{
    struct str whole_a = a, whole_b = b;

    while (a.len > 0 && b.len > 0) {
        if (is_digit(a.at[0]) && is_digit(b.at[0])) {
            struct str x = number_at(a), y = number_at(b);
            int order;

            if (x.len != y.len)
                return x.len < y.len ? -1 : 1;
            order = str_cmp(x, y);
            if (order)
                return order;
            a = str_from(a, (size_t)(x.at + x.len - a.at));
            b = str_from(b, (size_t)(y.at + y.len - b.at));
        } else {
            if (a.at[0] != b.at[0])
                return (unsigned char)a.at[0] < (unsigned char)b.at[0] ? -1 : 1;
            a = str_from(a, 1);
            b = str_from(b, 1);
        }
    }
    if (a.len != b.len)
        return a.len < b.len ? -1 : 1;
    return str_cmp(whole_a, whole_b);
}
