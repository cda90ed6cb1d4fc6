/* Searches all rows of a tree. A million rows have few distinct names and types, so
 * results are cached by id. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "rows/args.h"
#include "rows/rows.h"
#include "rows/search_in.h"
#include "text/number.h"

#define LONG_PATH  1024 /* longer full names are matched by their end */
#define SOME_TYPES 8192 /* cached types; a power of two */

/* Cached result for a name. */
enum search_known {
    KNOWN = 1,
    KNOWN_MATCHES = 2,
};

struct type_known {
    uint64_t key; /* 0: none */
    bool matches;
};

/* Builds the full names of places in order, reusing the prefix shared with the previous
 * place. */
struct search_walk {
    struct buf path;
    uint32_t *ends; /* of the path, by depth */
    uint32_t room, depth;
    uint32_t *stops; /* end[] of the places on the path, by depth */
    uint32_t stops_room;
    struct arena arena;
};

struct search_finder {
    struct search *search;
    const struct outline *outline;
    struct arena arena;
    uint8_t *names; /* by string id: enum search_known; NULL: names have no ids */
    struct type_known *types; /* SOME_TYPES of them */
    struct path_search *path; /* matches full names; NULL: use `walk` */
    bool odd;                 /* `path` met an unsupported name */
    struct search_walk walk;
};

/* --- Types */

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

/* "Conv2d(64→64, 3×3)" for a module, "64×64×3×3 float32" for a tensor. */
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

/* Does its class equal or contain the text? */
static bool class_matches(struct search *search, const struct model *model,
                          uint32_t place)
{
    if (model->kind[place] == PLACE_VALUE || model->kind[place] == PLACE_TENSOR)
        return false;
    return search_class(search, class_short(place_class(model, place)));
}

/* A cache key for the text of about(); 0: none. */
static uint64_t about_key(const struct model *model, uint32_t place)
{
    const struct tensor *tensor;
    const struct object *object;

    switch ((enum place_kind)model->kind[place]) {
    case PLACE_TENSOR:
        tensor = place_tensor(model, place);
        return 1 | (uint64_t)tensor->rank << 2 | (uint64_t)tensor->dtype << 10 |
               (uint64_t)tensor->shape << 18;
    case PLACE_MODULE:
        object = place_object(model, place);
        return object ? hash_mix(hash_mix(object->guessed, object->class_id),
                                 object->args) |
                            2
                      : 0;
    default:
        return 0;
    }
}

static bool type_matches(struct search_finder *f, const struct model *model,
                         uint32_t place)
{
    uint64_t key = about_key(model, place);
    struct type_known *known = &f->types[hash_u64(key) % SOME_TYPES];

    if (key == 0 || f->outline->diff)
        return search_text(f->search, about(f->search, model, place), 0);
    if (known->key != key) {
        known->key = key;
        known->matches = search_text(f->search, about(f->search, model, place), 0);
    }
    return known->matches;
}

/* --- Names */

/* Build the full name of the next place. */
static int walk_to(struct search_walk *walk, const struct outline *outline,
                   uint32_t place)
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
    if (depth >= walk->room && (arena_room(&walk->arena, &walk->ends, depth,
                                           &walk->room, sizeof *walk->ends) < 0 ||
                                arena_room(&walk->arena, &walk->stops, depth,
                                           &walk->stops_room, sizeof *walk->stops) < 0))
        return -1;
    walk->ends[depth] = (uint32_t)walk->path.len;
    walk->stops[depth] = outline->end[place];
    walk->depth = depth + 1;
    return walk->path.bad ? -1 : 0;
}

static bool name_matches(struct search_finder *f, uint32_t at)
{
    uint8_t *known;

    if (!f->names)
        return search_text(f->search, outline_name(f->outline, at), 0);
    known = &f->names[f->outline->show->model->name[at]];
    if (!*known)
        *known = search_text(f->search, outline_name(f->outline, at), 0)
                     ? KNOWN | KNOWN_MATCHES
                     : KNOWN;
    return *known & KNOWN_MATCHES;
}

/* Matches the full name of the current place of `walk`. */
static bool path_matches(struct search_finder *f, uint32_t at)
{
    struct str name = outline_name(f->outline, at), path = buf_span(&f->walk.path);

    if (path.len > LONG_PATH)
        path = str_from(path, path.len - LONG_PATH);
    return search_text(f->search, path, path.len > name.len ? path.len - name.len : 0);
}

/* `hit`: its full name is known to match. */
static bool matches(struct search_finder *f, uint32_t at, bool hit)
{
    struct search *search = f->search;
    uint32_t place;
    const struct model *model = outline_place(f->outline, at, &place);

    if (search->word != WORD_NONE)
        return place != NO_PLACE && matches_word(search, model, place);
    if (search->text.len == 0 || hit)
        return true;
    if (!search->paths ? name_matches(f, at) : !f->path && path_matches(f, at))
        return true;
    if (place == NO_PLACE)
        return false;
    return search->types ? type_matches(f, model, place)
                         : (search->whole || search->by_type) &&
                               class_matches(search, model, place);
}

/* --- All places */

static int finder_begin(struct search_finder *f)
{
    arena_init(&f->arena, 0);
    arena_init(&f->walk.arena, 0);
    if (!f->outline->diff) {
        f->names = arena_alloc(&f->arena, f->outline->show->model->strings.n);
        if (!f->names)
            return -1;
    }
    f->types = arena_array(&f->arena, SOME_TYPES, sizeof *f->types);
    if (!f->types)
        return -1;
    if (f->search->paths)
        f->path = path_search_new(f->search, f->outline, &f->arena);
    return 0;
}

static void finder_end(struct search_finder *f)
{
    buf_release(&f->walk.path);
    arena_release(&f->walk.arena);
    arena_release(&f->arena);
}

/* Check one place; -1: out of memory for its full name. */
static int look(struct search_finder *f, uint32_t at, bool asked, uint8_t *match,
                uint32_t *count)
{
    enum path_found found = f->path ? path_search_next(f->path, at) : PATH_NONE;

    f->odd = found == PATH_ODD;
    if (f->odd || found == PATH_SPENT)
        return -1;
    if (f->search->paths && !f->path && walk_to(&f->walk, f->outline, at) < 0)
        return -1;
    if (asked && at > 0 && matches(f, at, found == PATH_HIT)) {
        match[at / 8] |= (uint8_t)(1u << (at % 8));
        ++*count;
    }
    return 0;
}

/* Check all places, or those in `among`. */
static int look_at_all(struct search_finder *f, const uint8_t *among, uint8_t *match,
                       uint32_t *ret_count)
{
    uint32_t n = f->outline->n, count = 0;
    bool skip = among && !f->search->paths;

    memset(match, 0, bit_bytes(n));
    for (uint32_t p = 0; p < n && !f->search->gave_up; p++) {
        if (skip && p % 8 == 0 && among[p / 8] == 0)
            p += 7;
        else if (look(f, p, !among || bit_get(among, p), match, &count) < 0)
            return -1;
    }
    *ret_count = count;
    return 0;
}

static int find_choice(struct search *search, const struct outline *outline,
                       const uint8_t *among, uint8_t *match, uint32_t *ret_matches,
                       struct err *err)
{
    struct search_finder f = {.search = search, .outline = outline};
    uint32_t count = 0;
    int status = finder_begin(&f);

    if (status == 0)
        status = look_at_all(&f, among, match, &count);
    if (f.odd) {
        f.path = NULL;
        status = look_at_all(&f, among, match, &count);
    }
    if (status < 0)
        err_set(err, ERR_LIMIT, "no memory for the names of the model");
    if (search->gave_up)
        status =
            err_set(err, ERR_LIMIT, "/%.*s/ takes too long on the names of this file",
                    STR_ARG(search->text));
    if (status == 0)
        *ret_matches = count;
    finder_end(&f);
    return status;
}

/* Match any alternative; fall back to types if no name matches. */
static int find_either(struct search *search, const struct outline *outline,
                       const uint8_t *among, uint8_t *match, uint32_t *ret_matches,
                       struct err *err)
{
    search->by_type = false;
    if (find_choice(search, outline, among, match, ret_matches, err) < 0)
        return -1;
    if (*ret_matches > 0 || !search_may_fall_back(search))
        return 0;
    search->by_type = true;
    return find_choice(search, outline, NULL, match, ret_matches, err);
}

static uint32_t count_bits(const uint8_t *bits, uint32_t n)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < bit_bytes(n); i++)
        count += (uint32_t)__builtin_popcount(bits[i]);
    return count;
}

int search_find(struct search *search, const struct outline *outline,
                const uint8_t *among, uint8_t *match, uint32_t *ret_matches,
                struct err *err)
{
    uint32_t n = 0;
    uint8_t *more = NULL;
    int status = find_either(search, outline, among, match, &n, err);

    if (status == 0 && search->other) {
        more = malloc(bit_bytes(outline->n) + 1);
        if (!more)
            return err_set(err, ERR_LIMIT, "no memory for a search");
    }
    for (struct search *other = search->other; other && status == 0;
         other = other->other) {
        status = find_either(other, outline, NULL, more, &n, err);
        for (uint32_t i = 0; status == 0 && i < bit_bytes(outline->n); i++)
            match[i] |= more[i];
    }
    if (status == 0)
        *ret_matches = search->other ? count_bits(match, outline->n) : n;
    free(more);
    return status;
}

/* Keep matches, their descendants and their ancestors. */
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

/* Drop matches and their descendants. */
static void keep_others(const struct model *model, const uint8_t *match, uint8_t *keep)
{
    bit_set(keep, 0, true);
    for (uint32_t p = 1; p < model->n_places; p++)
        bit_set(keep, p, bit_get(keep, model->parent[p]) && !bit_get(match, p));
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
