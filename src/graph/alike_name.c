#include <ctype.h>

#include "graph/alike_in.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80);
}

static bool is_separator(char c)
{
    return !is_digit(c) && !is_letter(c);
}

static bool begins_token(struct str name, size_t at)
{
    return is_separator(name.at[at]) ||
           (is_digit(name.at[at - 1]) && is_letter(name.at[at]));
}

/* The end of the token that begins at `at`, perhaps with separators. */
static size_t token_end(struct str name, size_t at)
{
    size_t end, number;

    while (at < name.len && is_separator(name.at[at]))
        at++;
    for (end = at; end < name.len && (end == at || !begins_token(name, end));)
        end++;
    if (end >= name.len || end == at || is_digit(name.at[end - 1]) ||
        !is_separator(name.at[end]))
        return end;
    for (number = end + 1; number < name.len && is_digit(name.at[number]);)
        number++;
    return number > end + 1 ? number : end;
}

/* The beginning of the token that ends at `end`; separators stay outside. */
static size_t token_begin(struct str name, size_t end)
{
    while (end > 0 && is_separator(name.at[end - 1]))
        end--;
    while (end > 0 && !is_separator(name.at[end - 1]))
        end--;
    return end;
}

struct str alike_head(struct str name, uint32_t n, bool tail)
{
    size_t at = tail ? name.len : 0;

    for (; n > 0 && (tail ? at > 0 : at < name.len); n--)
        at = tail ? token_begin(name, at) : token_end(name, at);
    return tail ? str_from(name, at) : str_head(name, at);
}

/* How many bytes two names have in common at the beginning, or at the end. */
static size_t same_bytes(struct str a, struct str b, bool tail)
{
    size_t n = 0, most = a.len < b.len ? a.len : b.len;

    while (n < most &&
           (tail ? a.at[a.len - 1 - n] == b.at[b.len - 1 - n] : a.at[n] == b.at[n]))
        n++;
    return n;
}

struct str alike_common(struct str a, struct str b, bool tail)
{
    size_t same = same_bytes(a, b, tail), n = 0, x, y;

    while (n < same) {
        x = tail ? a.len - token_begin(a, a.len - n) : token_end(a, n);
        y = tail ? b.len - token_begin(b, b.len - n) : token_end(b, n);
        if (x != y || x > same)
            break;
        n = x;
    }
    return tail ? str_from(a, a.len - n) : str_head(a, n);
}

struct str alike_inside(struct str name, struct str head, bool tail)
{
    size_t at = head.len;

    if (head.len >= name.len || !(tail ? str_ends(name, head) : str_starts(name, head)))
        return name;
    if (tail) {
        for (at = name.len - head.len; at > 0 && is_separator(name.at[at - 1]);)
            at--;
        return at > 0 ? str_head(name, at) : name;
    }
    while (at > 0 && !is_separator(name.at[at]))
        at--;
    return at + 1 < name.len && is_separator(name.at[at]) ? str_from(name, at + 1)
                                                          : name;
}

struct str alike_stem(struct str name)
{
    size_t n = name.len;

    while (n > 0 && is_digit(name.at[n - 1]))
        n--;
    while (n > 0 && is_separator(name.at[n - 1]))
        n--;
    return str_head(name, n);
}

bool alike_is_nameless(struct str name, struct str class_name)
{
    struct str stem = alike_stem(name);
    size_t at = 0;

    for (size_t i = 0; i < stem.len; i++) {
        if (stem.at[i] == '_')
            continue;
        while (at < class_name.len && class_name.at[at] == '_')
            at++;
        if (at == class_name.len || tolower((unsigned char)stem.at[i]) !=
                                        tolower((unsigned char)class_name.at[at]))
            return false;
        at++;
    }
    return at > 0 && at == class_name.len;
}
