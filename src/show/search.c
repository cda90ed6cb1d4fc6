#include "show/search.h"

#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "show/args.h"
#include "show/rows.h"
#include "text/number.h"

/* A pattern that needs more steps than this on one name is not worth waiting for. */
#define REGEX_STEPS 100000
#define LONG_PATH   4096 /* of longer full names, the end is looked at */

enum search_word { WORD_NONE, WORD_TRAINABLE, WORD_FROZEN };

struct search {
    struct str text; /* without ! and slashes */
    enum search_word word;
    bool inverse;
    bool glob;         /* has * or ? */
    bool paths;        /* looks at full names */
    bool types;        /* looks at types, arguments and shapes too; case counts */
    pcre2_code *regex; /* or NULL */
    pcre2_match_data *found;
    pcre2_match_context *limits;
    bool gave_up;     /* a name took too many steps */
    struct buf about; /* type, arguments or shape of the place being looked at */
};

/* --- Understanding */

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

    if (!search->types)
        options |= PCRE2_CASELESS;
    search->regex = pcre2_compile((PCRE2_SPTR)search->text.at, search->text.len,
                                  options, &code, &at, NULL);
    if (!search->regex) {
        pcre2_get_error_message(code, text, sizeof(text));
        return err_set(err, ERR_USAGE, "/%.*s/ is no regular expression: at %zu: %s",
                       STR_ARG(search->text), (size_t)at + 1, (const char *)text);
    }
    search->found = pcre2_match_data_create_from_pattern(search->regex, NULL);
    search->limits = pcre2_match_context_create(NULL);
    if (!search->found || !search->limits)
        return err_set(err, ERR_LIMIT, "no memory for a regular expression");
    pcre2_set_match_limit(search->limits, REGEX_STEPS);
    pcre2_set_heap_limit(search->limits, 4096);
    return 0;
}

struct search *search_new(struct str text, struct err *err)
{
    struct search *search = calloc(1, sizeof(*search));
    bool regex;

    if (!search) {
        err_set(err, ERR_LIMIT, "no memory for a search");
        return NULL;
    }
    search->inverse = text.len > 0 && text.at[0] == '!';
    if (search->inverse)
        text = str_from(text, 1);
    if (str_is(text, "trainable"))
        search->word = WORD_TRAINABLE;
    else if (str_is(text, "frozen"))
        search->word = WORD_FROZEN;
    regex = text.len > 2 && text.at[0] == '/' && text.at[text.len - 1] == '/';
    if (regex)
        text = str_span(text.at + 1, text.len - 2);
    search->text = text;
    search->paths = str_find_char(text, '.') >= 0;
    search->types =
        has_capital(text) || str_find(text, STR("×")) >= 0 ||
        (!regex && (str_find_char(text, '(') >= 0 || str_find_char(text, '=') >= 0));
    search->glob =
        !regex && (str_find_char(text, '*') >= 0 || str_find_char(text, '?') >= 0);
    if (regex && compile(search, err) < 0) {
        search_free(search);
        return NULL;
    }
    return search;
}

void search_free(struct search *search)
{
    if (!search)
        return;
    pcre2_code_free(search->regex);
    pcre2_match_data_free(search->found);
    pcre2_match_context_free(search->limits);
    buf_release(&search->about);
    free(search);
}

/* --- Matching one text; it must end behind `own`, where the row's own name begins */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same_char(const struct search *search, char a, char b)
{
    return search->types ? a == b : lower(a) == lower(b);
}

static bool contains(const struct search *search, struct str s, size_t own)
{
    size_t n = search->text.len;
    size_t begin = own + 1 > n ? own + 1 - n : 0;

    for (size_t i = begin; i + n <= s.len; i++) {
        size_t same = 0;

        while (same < n && same_char(search, s.at[i + same], search->text.at[same]))
            same++;
        if (same == n)
            return true;
    }
    return false;
}

/* The whole text against * and ?; where a * took too little, it takes one more. */
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
                    same_char(search, glob.at[in_glob], s.at[at]))) {
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

static bool matches_regex(struct search *search, struct str s, size_t own)
{
    size_t from = 0;

    while (from <= s.len) {
        const PCRE2_SIZE *span;
        int code = pcre2_match(search->regex, (PCRE2_SPTR)(s.at ? s.at : ""), s.len,
                               from, 0, search->found, search->limits);

        if (code < 0) {
            if (code != PCRE2_ERROR_NOMATCH)
                search->gave_up = true;
            return false;
        }
        span = pcre2_get_ovector_pointer(search->found);
        if (span[1] > own || own == 0)
            return true;
        from = span[0] + 1; /* that one lies in a parent's part: look further on */
    }
    return false;
}

static bool matches_text(struct search *search, struct str s, size_t own)
{
    if (search->regex)
        return matches_regex(search, s, own);
    if (search->glob)
        return matches_glob(search, s);
    return contains(search, s, own);
}

/* --- Matching a place */

static bool matches_word(const struct search *search, const struct model *model,
                         uint32_t place)
{
    const struct tensor *tensor;
    bool trained;

    if (model->kind[place] != PLACE_TENSOR)
        return false;
    tensor = place_tensor(model, place);
    trained = tensor->flags & TENSOR_GRAD;
    return tensor->role == ROLE_PARAMETER && (tensor->flags & TENSOR_GRAD_KNOWN) &&
           trained == (search->word == WORD_TRAINABLE);
}

/* "Conv2d(64→64, 3×3)" of a module, "64×64×3×3 float32" of a tensor. */
static struct str about(struct search *search, const struct model *model,
                        uint32_t place)
{
    struct buf *to = &search->about;
    const struct tensor *tensor;
    const struct object *object;

    buf_clear(to);
    if (model->kind[place] == PLACE_TENSOR) {
        tensor = place_tensor(model, place);
        text_shape(to, tensor_shape(model, tensor), tensor->rank);
        buf_printf(to, " %s", dtype_name(tensor->dtype));
    } else if (model->kind[place] != PLACE_VALUE) {
        object = place_object(model, place);
        buf_str(to, class_short(place_class(model, place)));
        if (object && model->kind[place] == PLACE_MODULE) {
            buf_char(to, '(');
            args_show(to, model, object);
            buf_char(to, ')');
        }
    }
    return buf_span(to);
}

/* Does the row match? `path` is its full name, whose last part is its own name. */
static bool matches(struct search *search, const struct outline *outline, uint32_t at,
                    struct str path)
{
    struct str name = outline_name(outline, at);
    uint32_t place;
    const struct model *model = outline_place(outline, at, &place);

    if (search->word != WORD_NONE)
        return place != NO_PLACE && matches_word(search, model, place);
    if (search->text.len == 0)
        return true;
    if (search->paths) {
        if (path.len > LONG_PATH)
            path = str_from(path, path.len - LONG_PATH);
        if (matches_text(search, path, path.len > name.len ? path.len - name.len : 0))
            return true;
    } else if (matches_text(search, name, 0)) {
        return true;
    }
    return search->types && place != NO_PLACE &&
           matches_text(search, about(search, model, place), 0);
}

/* --- All places */

/* The full name of place after place, in order: what a place has in common with the one
 * before is kept. */
struct walk {
    struct buf path;
    uint32_t *ends; /* of the path, by depth */
    uint32_t room, depth;
    uint32_t *stops; /* end[] of the places on the path, by depth */
    uint32_t stops_room;
    struct arena arena;
};

static int walk_to(struct walk *walk, const struct outline *outline, uint32_t place)
{
    uint32_t depth = walk->depth;

    while (depth > 0 && place >= walk->stops[depth - 1])
        depth--;
    walk->path.len = depth > 0 ? walk->ends[depth - 1] : 0;
    if (place > 0) { /* the root has no name */
        if (walk->path.len > 0)
            buf_char(&walk->path, '.');
        buf_str(&walk->path, outline_name(outline, place));
    }
    if (arena_room(&walk->arena, &walk->ends, depth, &walk->room, sizeof *walk->ends) <
            0 ||
        arena_room(&walk->arena, &walk->stops, depth, &walk->stops_room,
                   sizeof *walk->stops) < 0)
        return -1;
    walk->ends[depth] = (uint32_t)walk->path.len;
    walk->stops[depth] = outline->end[place];
    walk->depth = depth + 1;
    return walk->path.bad ? -1 : 0;
}

/* Keep what matches, what stands below it, and what leads to it. */
static void keep_matches(const struct model *model, const uint8_t *match, uint8_t *keep)
{
    uint32_t below = 0;

    for (uint32_t p = 0; p < model->n_places; p++) {
        if (p > 0 && bit_get(match, p) && model->end[p] > below)
            below = model->end[p];
        bit_set(keep, p, p == 0 || p < below);
    }
    for (uint32_t p = model->n_places; p-- > 1;)
        if (bit_get(keep, p))
            bit_set(keep, model->parent[p], true);
}

/* Drop what matches, and what stands below it. */
static void keep_others(const struct model *model, const uint8_t *match, uint8_t *keep)
{
    bit_set(keep, 0, true);
    for (uint32_t p = 1; p < model->n_places; p++)
        bit_set(keep, p, bit_get(keep, model->parent[p]) && !bit_get(match, p));
}

int search_find(struct search *search, const struct outline *outline,
                const uint8_t *among, uint8_t *match, uint32_t *ret_matches,
                struct err *err)
{
    struct walk walk = {0};
    uint32_t n = 0;
    int status = 0;

    arena_init(&walk.arena, 0);
    for (uint32_t p = 0; p < outline->n && !search->gave_up; p++) {
        bool matched;

        if (search->paths && walk_to(&walk, outline, p) < 0) {
            status = err_set(err, ERR_LIMIT, "no memory for the names of the model");
            break;
        }
        matched = p > 0 && (!among || bit_get(among, p)) &&
                  matches(search, outline, p, buf_span(&walk.path));
        bit_set(match, p, matched);
        n += matched;
    }
    if (search->gave_up)
        status =
            err_set(err, ERR_LIMIT, "/%.*s/ takes too long on the names of this file",
                    STR_ARG(search->text));
    if (status == 0)
        *ret_matches = n;
    buf_release(&walk.path);
    arena_release(&walk.arena);
    return status;
}

int search_all(struct search *search, const struct show *show, uint8_t *match,
               uint8_t *keep, uint32_t *ret_matches, struct err *err)
{
    const struct model *model = show->model;
    struct outline outline;
    uint32_t n;

    if (outline_init(&outline, show, NULL, err) < 0 ||
        search_find(search, &outline, NULL, match, &n, err) < 0)
        return -1;
    (search->inverse ? keep_others : keep_matches)(model, match, keep);
    *ret_matches = search->inverse ? model->n_places - 1 - n : n;
    return 0;
}

void search_library(struct buf *to)
{
    char text[64]; /* "10.42 2022-12-11"; the library asks for 24 */

    if (pcre2_config(PCRE2_CONFIG_VERSION, NULL) <= (int)sizeof(text) &&
        pcre2_config(PCRE2_CONFIG_VERSION, text) > 0)
        buf_add(to, text, strcspn(text, " "));
}
