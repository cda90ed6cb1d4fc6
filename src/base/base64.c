#include "base/base64.h"

static int digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool base64_decode(struct str text, struct arena *arena, struct str *ret_bytes)
{
    char *to = arena_alloc(arena, text.len / 4 * 3 + 4);
    uint32_t bits = 0, n_bits = 0;
    size_t n = 0, end = text.len;

    if (!to)
        return false;
    while (end > 0 && (text.at[end - 1] == '=' || text.at[end - 1] == '\n'))
        end--;
    for (size_t i = 0; i < end; i++) {
        int value = digit(text.at[i]);

        if (text.at[i] == '\n' || text.at[i] == '\r')
            continue;
        if (value < 0)
            return false;
        bits = bits << 6 | (uint32_t)value;
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            to[n++] = (char)(bits >> n_bits);
            bits &= ((uint32_t)1 << n_bits) - 1;
        }
    }
    *ret_bytes = str_span(to, n);
    return true;
}
