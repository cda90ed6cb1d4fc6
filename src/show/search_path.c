/* Full names, a letter at a time. A pattern of letters, classes of letters and repeats
 * of one is a row of atoms; after some letters of a name it is known which atoms may be
 * next: a bit for each. That is kept for each parent, so that of a place only its own
 * name is looked at, and only once after what came to the same. */
#include <string.h>

#include "base/base.h"
#include "show/search_in.h"

#define MOST_ATOMS 63   /* the bit behind the last says that all are there */
#define SOME_STEPS 4096 /* so many names are remembered; a power of two */

struct path_step {
    uint64_t from, to;
    uint32_t name; /* 0: none; the empty name needs no remembering */
    bool hit;
};

struct path_level {
    uint64_t next; /* for the children of a place */
    uint32_t stop; /* end[] of it */
    bool named;    /* the full name so far is not empty */
};

struct path_search {
    const struct outline *outline;
    struct arena *arena;
    uint64_t takes[256]; /* by byte: atoms that it is one of */
    uint64_t skips;      /* atoms that may be missing */
    uint64_t repeats;    /* atoms that may be missing, and come again and again */
    uint64_t begin;      /* atoms that may be the first */
    uint64_t all;        /* the bit behind the last atom */
    bool at_begin;       /* it matches from the first letter on */
    bool at_end;         /* it matches up to the last letter */
    bool plain_names;    /* it can only be held against printable ASCII */
    struct path_level *levels;
    uint32_t depth, room;
    struct path_step *steps; /* NULL: few names come again */
};

/* --- Making one */

/* Letters that one atom takes. */
struct atom {
    bool takes[256];
};

static uint64_t may_be_next(const struct path_search *path, uint64_t atoms)
{
    for (;;) {
        uint64_t more = atoms | (atoms & path->skips) << 1;

        if (more == atoms)
            return atoms;
        atoms = more;
    }
}

static bool add_atom(struct path_search *path, const struct atom *atom, bool skips,
                     bool repeats)
{
    if (path->all == (uint64_t)1 << MOST_ATOMS)
        return false;
    for (unsigned c = 0; c < 256; c++)
        if (atom->takes[c])
            path->takes[c] |= path->all;
    if (skips)
        path->skips |= path->all;
    if (repeats)
        path->repeats |= path->all;
    path->all <<= 1;
    return true;
}

static void take_range(struct atom *atom, unsigned char from, unsigned char to,
                       bool any_case)
{
    for (unsigned c = from; c <= to; c++) {
        atom->takes[c] = true;
        if (any_case && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
            atom->takes[c ^ 0x20] = true;
    }
}

static void turn(struct atom *atom)
{
    for (unsigned c = 0; c < 256; c++)
        atom->takes[c] = !atom->takes[c];
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* What stands behind a backslash. */
static bool take_escape(struct atom *atom, char c)
{
    switch (c) {
    case 'w':
        take_range(atom, '_', '_', false);
        take_range(atom, 'a', 'z', true);
        /* fall through */
    case 'd':
        take_range(atom, '0', '9', false);
        return true;
    case 's':
        take_range(atom, ' ', ' ', false);
        return true;
    default:
        take_range(atom, (unsigned char)c, (unsigned char)c, false);
        return !is_letter(c) && !(c & 0x80);
    }
}

/* "[a-z_]", behind its bracket. */
static bool take_class(struct atom *atom, struct str *rest, bool any_case)
{
    bool inverse = rest->len > 0 && rest->at[0] == '^';

    if (inverse)
        *rest = str_from(*rest, 1);
    while (rest->len > 1 && rest->at[0] != ']' && !(rest->at[0] & 0x80)) {
        char c = rest->at[0];

        if (c == '[') /* may be "[:alpha:]" */
            return false;
        if (c == '\\') {
            if (!take_escape(atom, rest->at[1]))
                return false;
            *rest = str_from(*rest, 2);
            if (rest->len > 0 && rest->at[0] == '-')
                return false;
        } else if (rest->len > 3 && rest->at[1] == '-' && rest->at[2] != ']') {
            if (rest->at[2] == '\\' || rest->at[2] == '[' || rest->at[2] < c)
                return false;
            take_range(atom, (unsigned char)c, (unsigned char)rest->at[2], any_case);
            *rest = str_from(*rest, 3);
        } else {
            take_range(atom, (unsigned char)c, (unsigned char)c, any_case);
            *rest = str_from(*rest, 1);
        }
    }
    if (rest->len == 0 || rest->at[0] != ']')
        return false;
    *rest = str_from(*rest, 1);
    if (inverse)
        turn(atom);
    return true;
}

/* The next atom of a regular expression, without what repeats it; false: it is more
 * than that. */
static bool next_atom(struct atom *atom, struct str *rest, bool any_case)
{
    char c = rest->at[0];

    *rest = str_from(*rest, 1);
    switch (c) {
    case '.':
        turn(atom);
        return true;
    case '[':
        return rest->len > 0 && rest->at[0] != ']' && take_class(atom, rest, any_case);
    case '\\':
        if (rest->len == 0 || !take_escape(atom, rest->at[0]))
            return false;
        *rest = str_from(*rest, 1);
        return true;
    default:
        take_range(atom, (unsigned char)c, (unsigned char)c, any_case);
        return !(c & 0x80) && !strchr("^$|(){}*+?", c);
    }
}

static bool add_repeated(struct path_search *path, const struct atom *atom,
                         struct str *rest)
{
    char c = rest->len > 0 ? rest->at[0] : '\0';

    if (c != '*' && c != '+' && c != '?')
        return c != '{' && add_atom(path, atom, false, false);
    *rest = str_from(*rest, 1);
    if (rest->len > 0 && (rest->at[0] == '?' || rest->at[0] == '+'))
        return false; /* as few as possible, or never less */
    if (c == '+' && !add_atom(path, atom, false, false))
        return false;
    return add_atom(path, atom, true, c != '?');
}

static bool read_regex(struct path_search *path, struct str rest, bool any_case)
{
    path->plain_names = true;
    path->at_begin = rest.at[0] == '^';
    if (path->at_begin)
        rest = str_from(rest, 1);
    while (rest.len > 0) {
        struct atom atom = {0};

        if (str_is(rest, "$")) {
            path->at_end = true;
            return true;
        }
        if (!next_atom(&atom, &rest, any_case) || !add_repeated(path, &atom, &rest))
            return false;
    }
    return true;
}

/* Letters; of a glob * and ? too, and the whole name. */
static bool read_letters(struct path_search *path, const struct search *search)
{
    path->at_begin = path->at_end = search->glob;
    for (size_t i = 0; i < search->text.len; i++) {
        unsigned char c = (unsigned char)search->text.at[i];
        bool star = search->glob && c == '*';
        struct atom atom = {0};

        if (star || (search->glob && c == '?'))
            turn(&atom);
        else
            take_range(&atom, c, c, !search->types);
        if (!add_atom(path, &atom, star, star))
            return false;
    }
    return true;
}

struct path_search *path_search_new(const struct search *search,
                                    const struct outline *outline, struct arena *arena)
{
    struct path_search *path = arena_alloc(arena, sizeof *path);

    if (!path || search->text.len == 0)
        return NULL;
    path->outline = outline;
    path->arena = arena;
    path->all = 1;
    if (search->regex ? !read_regex(path, search->text, !search->types)
                      : !read_letters(path, search))
        return NULL;
    path->begin = may_be_next(path, 1);
    if (!outline->diff && outline->show->model->strings.n < outline->n / 2)
        path->steps = arena_array(arena, SOME_STEPS, sizeof *path->steps);
    return path;
}

/* --- Looking */

static uint64_t after(const struct path_search *path, uint64_t atoms, char c)
{
    uint64_t took = atoms & path->takes[(unsigned char)c];

    atoms = (took & ~path->repeats) << 1 | (took & path->repeats);
    return may_be_next(path, atoms) | (path->at_begin ? 0 : path->begin);
}

/* After a name; -1: no regular expression of ours is to look at it. */
static int after_name(const struct path_search *path, struct str name,
                      struct path_step *step)
{
    uint64_t atoms = step->from;

    step->hit = false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.at[i];

        if (path->plain_names && (c < ' ' || c > '~'))
            return -1;
        atoms = after(path, atoms, c);
        step->hit = step->hit || atoms & path->all;
    }
    if (path->at_end)
        step->hit = atoms & path->all;
    step->to = atoms;
    return 0;
}

/* The same, remembered. */
static int find_step(struct path_search *path, uint32_t at, struct path_step *step)
{
    const struct outline *outline = path->outline;
    struct path_step *known = NULL;

    if (path->steps) {
        step->name = outline->show->model->name[at];
        known = &path->steps[hash_mix(step->from, step->name) % SOME_STEPS];
        if (step->name && known->name == step->name && known->from == step->from) {
            *step = *known;
            return 0;
        }
    }
    if (after_name(path, outline_name(outline, at), step) < 0)
        return -1;
    if (known)
        *known = *step;
    return 0;
}

enum path_found path_search_next(struct path_search *path, uint32_t at)
{
    const uint32_t *end = path->outline->end;
    struct path_level above = {.next = path->begin};
    struct path_step step = {0};

    while (path->depth > 0 && at >= path->levels[path->depth - 1].stop)
        path->depth--;
    if (path->depth > 0)
        above = path->levels[path->depth - 1];
    step.from = step.to = above.next;
    if (at > 0) { /* the root has no name */
        if (find_step(path, at, &step) < 0)
            return PATH_ODD;
        /* Nothing at all may be what is looked for. */
        step.hit =
            step.hit || (!above.named && !path->at_end && above.next & path->all);
    }
    if (end[at] > at + 1) {
        struct path_level level = {step.to, end[at], above.named};

        level.named =
            above.named || (at > 0 && outline_name(path->outline, at).len > 0);
        if (level.named)
            level.next = after(path, step.to, '.');
        if (arena_room(path->arena, &path->levels, path->depth, &path->room,
                       sizeof *path->levels) < 0)
            return PATH_SPENT;
        path->levels[path->depth++] = level;
    }
    return step.hit ? PATH_HIT : PATH_NONE;
}
