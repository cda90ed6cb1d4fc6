#include "rows/search.h"

#include <stdlib.h>
#include <string.h>

#include "rows/search_in.h"

/* Give up on a pattern that needs more steps than this for one name. */
#define REGEX_STEPS 100000
#define REGEX_STACK ((size_t)256 * 1024)

/* --- Parsing */

static bool has_capital(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] >= 'A' && text.at[i] <= 'Z')
            return true;
    return false;
}

static int compile(struct search *search, struct err *err)
{
    uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF;
    PCRE2_UCHAR text[128];
    PCRE2_SIZE at;
    int code;

    if (!search->exact)
        options |= PCRE2_CASELESS;
    search->regex = pcre2_compile((PCRE2_SPTR)search->text.at, search->text.len,
                                  options, &code, &at, NULL);
    if (!search->regex) {
        pcre2_get_error_message(code, text, sizeof(text));
        return err_set(err, ERR_USAGE, "/%.*s/ is not a regular expression: at %zu: %s",
                       STR_ARG(search->text), (size_t)at + 1, (const char *)text);
    }
    search->found = pcre2_match_data_create_from_pattern(search->regex, NULL);
    search->limits = pcre2_match_context_create(NULL);
    if (!search->found || !search->limits)
        return err_set(err, ERR_LIMIT, "no memory for a regular expression");
    pcre2_set_match_limit(search->limits, REGEX_STEPS);
    pcre2_set_heap_limit(search->limits, 4096);
    /* Without JIT support the pattern is interpreted, which is only slower. */
    if (pcre2_jit_compile(search->regex, PCRE2_JIT_COMPLETE) == 0) {
        search->stack = pcre2_jit_stack_create(32 * 1024, REGEX_STACK, NULL);
        pcre2_jit_stack_assign(search->limits, NULL, search->stack);
    }
    return 0;
}

/* Choose what to match from the letters typed. */
static void look_where(struct search *search, bool regex)
{
    struct str text = search->text;

    search->exact = has_capital(text);
    search->paths = str_find_char(text, '.') >= 0;
    search->types =
        search->exact || str_find(text, STR("×")) >= 0 ||
        (!regex && (str_find_char(text, '(') >= 0 || str_find_char(text, '=') >= 0));
    search->glob =
        !regex && (str_find_char(text, '*') >= 0 || str_find_char(text, '?') >= 0);
    search->whole = text.len > 0 && !regex && !search->glob && !search->types &&
                    !search->paths && search->word == WORD_NONE;
}

static bool is_regex(struct str text)
{
    return text.len > 2 && text.at[0] == '/' && text.at[text.len - 1] == '/';
}

/* One alternative: the text, or a part of it between bars. */
static struct search *new_choice(struct str text, bool inverse, struct err *err)
{
    struct search *search = calloc(1, sizeof(*search));
    bool regex = is_regex(text);

    if (search)
        search->copy = malloc(text.len + 1);
    if (!search || !search->copy) {
        free(search);
        err_set(err, ERR_LIMIT, "no memory for a search");
        return NULL;
    }
    if (text.len > 0)
        memcpy(search->copy, text.at, text.len);
    search->inverse = inverse;
    if (str_is(text, "trainable"))
        search->word = WORD_TRAINABLE;
    else if (str_is(text, "frozen"))
        search->word = WORD_FROZEN;
    search->text = regex ? str_span(search->copy + 1, text.len - 2)
                         : str_span(search->copy, text.len);
    look_where(search, regex);
    if (regex && compile(search, err) < 0) {
        search_free(search);
        return NULL;
    }
    return search;
}

/* "conv1|bn1". Ignores empty alternatives, such as one not typed yet. */
static struct search *new_choices(struct str text, bool inverse, struct err *err)
{
    struct search *first = NULL, **next = &first;
    struct str choice;

    while (text.len > 0 && str_split(&text, '|', &choice)) {
        choice = str_trim(choice);
        if (choice.len == 0)
            continue;
        *next = new_choice(choice, inverse, err);
        if (!*next) {
            search_free(first);
            return NULL;
        }
        next = &(*next)->other;
    }
    return first ? first : new_choice(STR(""), inverse, err);
}

struct search *search_new(struct str text, struct err *err)
{
    bool inverse = text.len > 0 && text.at[0] == '!';

    if (inverse)
        text = str_from(text, 1);
    if (!is_regex(text) && str_find_char(text, '|') >= 0)
        return new_choices(text, inverse, err);
    return new_choice(text, inverse, err);
}

bool search_narrows(const struct search *search, const struct search *before)
{
    struct str old = before->text;

    if (search->regex || before->regex || search->glob || before->glob ||
        search->word != WORD_NONE || before->word != WORD_NONE ||
        search->paths != before->paths || search->types != before->types ||
        search->exact != before->exact || search->other || before->other)
        return false;
    /* A type equal to the text did not match with a letter missing. */
    if (search->whole || before->by_type)
        return false;
    /* "layer1." does not overlap the name of layer1.0, but "layer1.0" does. */
    return old.len > 0 && str_starts(search->text, old) &&
           !(search->paths && old.at[old.len - 1] == '.');
}

void search_free(struct search *search)
{
    while (search) {
        struct search *other = search->other;

        pcre2_code_free(search->regex);
        pcre2_match_data_free(search->found);
        pcre2_match_context_free(search->limits);
        pcre2_jit_stack_free(search->stack);
        buf_release(&search->about);
        free(search->copy);
        free(search);
        search = other;
    }
}

/* --- Matching one text; a match must end after `own`, the start of the own name */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool search_same_char(const struct search *search, char a, char b)
{
    return search->exact ? a == b : lower(a) == lower(b);
}

static bool contains(const struct search *search, struct str s, size_t own)
{
    size_t n = search->text.len;
    size_t begin = own + 1 > n ? own + 1 - n : 0;

    for (size_t i = begin; i + n <= s.len; i++) {
        size_t same = 0;

        while (same < n &&
               search_same_char(search, s.at[i + same], search->text.at[same]))
            same++;
        if (same == n)
            return true;
    }
    return false;
}

/* Match the whole text against * and ?; backtracks by extending the last *. */
static bool matches_glob(const struct search *search, struct str s)
{
    struct str glob = search->text;
    size_t at = 0, in_glob = 0, star = SIZE_MAX, from = 0;

    while (at < s.len) {
        if (in_glob < glob.len && glob.at[in_glob] == '*') {
            star = in_glob++;
            from = at;
        } else if (in_glob < glob.len &&
                   (glob.at[in_glob] == '?' ||
                    search_same_char(search, glob.at[in_glob], s.at[at]))) {
            in_glob++;
            at++;
        } else if (star != SIZE_MAX) {
            in_glob = star + 1;
            at = ++from;
        } else {
            return false;
        }
    }
    while (in_glob < glob.len && glob.at[in_glob] == '*')
        in_glob++;
    return in_glob == glob.len;
}

static int match_once(struct search *search, struct str s, size_t from)
{
    PCRE2_SPTR at = (PCRE2_SPTR)(s.at ? s.at : "");

    /* Call the JIT code directly, skipping the checks of the subject text. */
    if (search->stack)
        return pcre2_jit_match(search->regex, at, s.len, from, 0, search->found,
                               search->limits);
    return pcre2_match(search->regex, at, s.len, from, 0, search->found,
                       search->limits);
}

static bool matches_regex(struct search *search, struct str s, size_t own)
{
    size_t from = 0;

    while (from <= s.len) {
        const PCRE2_SIZE *span;
        int code = match_once(search, s, from);

        if (code < 0) {
            if (code != PCRE2_ERROR_NOMATCH)
                search->gave_up = true;
            return false;
        }
        span = pcre2_get_ovector_pointer(search->found);
        if (span[1] > own || own == 0)
            return true;
        from = span[0] + 1; /* match in a parent's name: continue */
    }
    return false;
}

bool search_text(struct search *search, struct str s, size_t own)
{
    if (search->regex)
        return matches_regex(search, s, own);
    if (search->glob)
        return matches_glob(search, s);
    return contains(search, s, own);
}

bool search_may_fall_back(const struct search *search)
{
    return !search->by_type && !search->types && !search->paths && !search->regex &&
           search->word == WORD_NONE && search->text.len > 0;
}

bool search_class(struct search *search, struct str name)
{
    if (search->by_type)
        return search_text(search, name, 0);
    return search->whole && name.len == search->text.len && contains(search, name, 0);
}

void search_library(struct buf *to)
{
    char text[64]; /* "10.42 2022-12-11"; the library asks for 24 */

    if (pcre2_config(PCRE2_CONFIG_VERSION, NULL) <= (int)sizeof(text) &&
        pcre2_config(PCRE2_CONFIG_VERSION, text) > 0)
        buf_add(to, text, strcspn(text, " "));
}
