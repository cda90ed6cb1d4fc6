/* search_in.h - internals of a search: search.c parses the text and matches it against
 * a text, search_find.c against all rows of a tree, search_path.c against full names.
 */
#ifndef ROWS_SEARCH_IN_H
#define ROWS_SEARCH_IN_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "rows/outline.h"
#include "rows/search.h"

enum search_word { WORD_NONE, WORD_TRAINABLE, WORD_FROZEN };

struct search {
    char *copy;      /* the text as typed */
    struct str text; /* part of `copy`, without ! and slashes */
    enum search_word word;
    bool inverse;
    bool glob;         /* has * or ? */
    bool paths;        /* matches full names */
    bool types;        /* also matches types, arguments and shapes */
    bool exact;        /* case-sensitive */
    bool whole;        /* also matches a type that equals the text */
    bool by_type;      /* fallback: no name contains the text; match types that do */
    pcre2_code *regex; /* or NULL */
    pcre2_match_data *found;
    pcre2_match_context *limits;
    pcre2_jit_stack *stack;
    struct search *other; /* "a|b": the next choice, or NULL */
    bool gave_up;         /* a name took too many steps */
    struct buf about;     /* type, arguments or shape of the current place */
};

/* May the search fall back to types if no name contains the text? */
bool search_may_fall_back(const struct search *search);
/* Does the short name of a class equal or contain the text, depending on the search? */
bool search_class(struct search *search, struct str name);
/* Does the search match a text? The match must end after `own`, the start of the row's
 * own name. */
bool search_text(struct search *search, struct str s, size_t own);
/* Are the two letters equal, ignoring case unless the search is case-sensitive? */
bool search_same_char(const struct search *search, char a, char b);

/* Matches full names, place by place in order. NULL: the pattern uses more than
 * letters, groups and repeats, or out of memory; match full names as text instead. */
struct path_search;
struct path_search *path_search_new(const struct search *search,
                                    const struct outline *outline, struct arena *arena);

enum path_found {
    PATH_NONE,
    PATH_HIT,
    PATH_ODD,   /* unsupported name: match all full names as text */
    PATH_SPENT, /* out of memory */
};
enum path_found path_search_next(struct path_search *path, uint32_t at);

#endif
