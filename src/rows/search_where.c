/* Finds where a search matches in a text, for highlighting. */
#include "rows/search_in.h"

static bool find_plain(const struct search *search, struct str s, size_t from,
                       size_t *ret_begin, size_t *ret_end)
{
    size_t n = search->text.len;

    for (size_t i = from; i + n <= s.len; i++) {
        size_t same = 0;

        while (same < n &&
               search_same_char(search, s.at[i + same], search->text.at[same]))
            same++;
        if (same == n) {
            *ret_begin = i;
            *ret_end = i + n;
            return true;
        }
    }
    return false;
}

static bool find_text(struct search *search, struct str s, size_t from,
                      size_t *ret_begin, size_t *ret_end)
{
    const PCRE2_SIZE *span;

    if (search->text.len == 0 || search->word != WORD_NONE || search->inverse ||
        from >= s.len)
        return false;
    if (search->glob) {
        *ret_begin = 0;
        *ret_end = s.len;
        return from == 0 && search_text(search, s, 0);
    }
    if (!search->regex)
        return find_plain(search, s, from, ret_begin, ret_end);
    if (pcre2_match(search->regex, (PCRE2_SPTR)s.at, s.len, from, 0, search->found,
                    search->limits) < 0)
        return false;
    span = pcre2_get_ovector_pointer(search->found);
    *ret_begin = span[0];
    *ret_end = span[1];
    return span[1] > span[0];
}

static bool in_name(struct search *search, struct str path, size_t own, size_t from,
                    size_t *ret_begin, size_t *ret_end)
{
    size_t before = path.len - own, at = before + from;

    if (!search->paths)
        return find_text(search, str_from(path, before), from, ret_begin, ret_end);
    /* A match that starts in a parent's name may end in the row's own name. */
    for (size_t look = from == 0 ? 0 : at;
         find_text(search, path, look, ret_begin, ret_end); look = *ret_begin + 1) {
        if (*ret_end <= at)
            continue;
        *ret_begin = *ret_begin > at ? *ret_begin - before : from;
        *ret_end -= before;
        return true;
    }
    return false;
}

/* In "Conv2d(64→64, 3×3)", or in the type alone. */
static bool in_type(struct search *search, struct str about, size_t from,
                    size_t *ret_begin, size_t *ret_end)
{
    size_t type = 0;

    if (search->types)
        return find_text(search, about, from, ret_begin, ret_end);
    while (type < about.len && about.at[type] != '(' && about.at[type] != ' ')
        type++;
    about.len = type;
    if (search->whole && !search->by_type && about.len != search->text.len)
        return false;
    return (search->whole || search->by_type) &&
           find_text(search, about, from, ret_begin, ret_end);
}

typedef bool find_in(struct search *search, struct str s, size_t own, size_t from,
                     size_t *ret_begin, size_t *ret_end);

static bool in_type_of(struct search *search, struct str about, size_t own, size_t from,
                       size_t *ret_begin, size_t *ret_end)
{
    (void)own;
    return in_type(search, about, from, ret_begin, ret_end);
}

/* The first match of all alternatives. */
static bool first_of(find_in *find, struct search *search, struct str s, size_t own,
                     size_t from, size_t *ret_begin, size_t *ret_end)
{
    size_t begin, end;
    bool any = false;

    for (; search; search = search->other) {
        if (!find(search, s, own, from, &begin, &end) || (any && begin >= *ret_begin))
            continue;
        *ret_begin = begin;
        *ret_end = end;
        any = true;
    }
    return any;
}

bool search_in_name(struct search *search, struct str path, size_t own, size_t from,
                    size_t *ret_begin, size_t *ret_end)
{
    return first_of(in_name, search, path, own, from, ret_begin, ret_end);
}

bool search_in_type(struct search *search, struct str about, size_t from,
                    size_t *ret_begin, size_t *ret_end)
{
    return first_of(in_type_of, search, about, 0, from, ret_begin, ret_end);
}
