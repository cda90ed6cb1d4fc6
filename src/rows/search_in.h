/* search_in.h - a search from inside: search.c understands what was typed and holds it
 * against a text, search_find.c against all rows of a tree, search_path.c against their
 * full names. */
#ifndef ROWS_SEARCH_IN_H
#define ROWS_SEARCH_IN_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "rows/outline.h"
#include "rows/search.h"

enum search_word { WORD_NONE, WORD_TRAINABLE, WORD_FROZEN };

struct search {
    char *copy;      /* of what was typed */
    struct str text; /* in it, without ! and slashes */
    enum search_word word;
    bool inverse;
    bool glob;         /* has * or ? */
    bool paths;        /* looks at full names */
    bool types;        /* looks at types, arguments and shapes too */
    bool exact;        /* case counts */
    bool whole;        /* finds the type that is just the text */
    bool by_type;      /* no name has the text: finds types that do */
    pcre2_code *regex; /* or NULL */
    pcre2_match_data *found;
    pcre2_match_context *limits;
    pcre2_jit_stack *stack;
    struct search *other; /* "a|b": the next choice, or NULL */
    bool gave_up;         /* a name took too many steps */
    struct buf about;     /* type, arguments or shape of the place being looked at */
};

/* May types be looked at because no name has the text? */
bool search_may_fall_back(const struct search *search);
/* Is it, or does it contain, the short name of a class, as the search has it? */
bool search_class(struct search *search, struct str name);
/* Does it match a text? It must end behind `own`, where the row's own name begins. */
bool search_text(struct search *search, struct str s, size_t own);
/* Are they the same letter, as far as case counts? */
bool search_same_char(const struct search *search, char a, char b);

/* A search that looks at full names, place after place in order. NULL: it is more than
 * letters, groups and repeats, or there is no memory: then full names are needed as
 * text. */
struct path_search;
struct path_search *path_search_new(const struct search *search,
                                    const struct outline *outline, struct arena *arena);

enum path_found {
    PATH_NONE,
    PATH_HIT,
    PATH_ODD,   /* this name needs more: look at all of them as text */
    PATH_SPENT, /* no memory */
};
enum path_found path_search_next(struct path_search *path, uint32_t at);

#endif
