/* Matches full names with a bit-parallel automaton. A pattern of letters, character
 * classes, groups, alternatives and repeats has atoms that take one letter each. The
 * state is a bit for each atom that may come next. Each parent's state is kept, so only
 * a place's own name is scanned, and only once per name and state. */
#include <string.h>

#include "base/base.h"
#include "rows/search_in.h"

#define MOST_ATOMS  63
#define SOME_STEPS  4096 /* cached steps; a power of two */
#define MOST_GROUPS 16   /* maximum nesting */

/* Not an atom: the pattern may end here. */
#define ALL_THERE ((uint64_t)1 << MOST_ATOMS)

struct path_step {
    uint64_t from, to;
    uint32_t name; /* 0: empty slot; the empty name is not cached */
    bool hit;
};

struct path_level {
    uint64_t next; /* state for the children of a place */
    uint32_t stop; /* end[] of the place */
    bool named;    /* the full name so far is not empty */
};

struct path_search {
    const struct outline *outline;
    struct arena *arena;
    uint64_t takes[256];         /* by byte: atoms that take it */
    uint64_t behind[MOST_ATOMS]; /* atoms that may follow each atom */
    unsigned n_atoms;
    uint64_t begin;   /* atoms that may be the first */
    bool at_begin;    /* anchored at the start */
    bool at_end;      /* anchored at the end */
    bool plain_names; /* supports printable ASCII only */
    struct path_level *levels;
    uint32_t depth, room;
    struct path_step *steps; /* NULL: few names repeat */
};

/* --- Parsing a pattern */

/* Letters that one atom takes. */
struct atom {
    bool takes[256];
};

/* A piece of the pattern: the atoms that it may begin and end with. */
struct piece {
    uint64_t first, last;
    bool may_miss;
};

/* The rest of a regular expression while parsing. */
struct search_path_reader {
    struct path_search *path;
    struct str rest;
    bool any_case;
    unsigned groups; /* that are open */
};

static bool add_atom(struct path_search *path, const struct atom *atom,
                     struct piece *ret_piece)
{
    uint64_t bit = (uint64_t)1 << path->n_atoms;

    if (bit == ALL_THERE)
        return false;
    path->n_atoms++;
    for (unsigned c = 0; c < 256; c++)
        if (atom->takes[c])
            path->takes[c] |= bit;
    *ret_piece = (struct piece){bit, bit, false};
    return true;
}

/* The atoms that may follow any of `atoms`. */
static uint64_t behind(const struct path_search *path, uint64_t atoms)
{
    uint64_t all = 0;

    for (; atoms; atoms &= atoms - 1)
        all |= path->behind[__builtin_ctzll(atoms)];
    return all;
}

static void put_behind(struct path_search *path, uint64_t atoms, uint64_t next)
{
    for (; atoms; atoms &= atoms - 1)
        path->behind[__builtin_ctzll(atoms)] |= next;
}

static struct piece one_behind_other(struct path_search *path, struct piece a,
                                     struct piece b)
{
    put_behind(path, a.last, b.first);
    return (struct piece){a.first | (a.may_miss ? b.first : 0),
                          b.last | (b.may_miss ? a.last : 0), a.may_miss && b.may_miss};
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

/* Parse the character after a backslash. */
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

/* Parse "[a-z_]", after its opening bracket. */
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

static bool read_either(struct search_path_reader *in, struct piece *ret_piece);

static char next_char(const struct search_path_reader *in)
{
    return in->rest.len > 0 ? in->rest.at[0] : '\0';
}

static void skip(struct search_path_reader *in, size_t n)
{
    in->rest = str_from(in->rest, n);
}

/* Parse a group, after its opening bracket. */
static bool read_group(struct search_path_reader *in, struct piece *ret_piece)
{
    if (str_starts(in->rest, STR("?:")))
        skip(in, 2);
    else if (next_char(in) == '?' || next_char(in) == '*')
        return false;
    if (++in->groups > MOST_GROUPS || !read_either(in, ret_piece) ||
        next_char(in) != ')')
        return false;
    in->groups--;
    skip(in, 1);
    return true;
}

/* Parse a letter, a class or a group; false: unsupported. */
static bool read_one(struct search_path_reader *in, struct piece *ret_piece)
{
    char c = next_char(in);
    struct atom atom = {0};

    skip(in, 1);
    switch (c) {
    case '(':
        return read_group(in, ret_piece);
    case '.':
        turn(&atom);
        break;
    case '[':
        if (next_char(in) == ']' || !take_class(&atom, &in->rest, in->any_case))
            return false;
        break;
    case '\\':
        if (in->rest.len == 0 || !take_escape(&atom, next_char(in)))
            return false;
        skip(in, 1);
        break;
    default:
        if (c & 0x80 || strchr("^$|){}*+?", c))
            return false;
        take_range(&atom, (unsigned char)c, (unsigned char)c, in->any_case);
    }
    return add_atom(in->path, &atom, ret_piece);
}

/* Parse one of those and its repeat count. */
static bool read_repeated(struct search_path_reader *in, struct piece *ret_piece)
{
    char c;

    if (!read_one(in, ret_piece))
        return false;
    c = next_char(in);
    if (c != '*' && c != '+' && c != '?')
        return c != '{';
    skip(in, 1);
    if (next_char(in) == '?' || next_char(in) == '+')
        return false; /* lazy or possessive */
    if (c != '?')
        put_behind(in->path, ret_piece->last, ret_piece->first);
    ret_piece->may_miss = ret_piece->may_miss || c != '+';
    return true;
}

/* Parse up to the end of the expression or group, or to the next `|`. */
static bool read_row(struct search_path_reader *in, struct piece *ret_piece)
{
    *ret_piece = (struct piece){.may_miss = true};
    while (in->rest.len > 0 && next_char(in) != '|' && next_char(in) != ')') {
        struct piece piece;

        if (in->groups == 0 && str_is(in->rest, "$")) {
            in->path->at_end = true;
            skip(in, 1);
            return true;
        }
        if (!read_repeated(in, &piece))
            return false;
        *ret_piece = one_behind_other(in->path, *ret_piece, piece);
    }
    return true;
}

static bool read_either(struct search_path_reader *in, struct piece *ret_piece)
{
    if (!read_row(in, ret_piece))
        return false;
    while (next_char(in) == '|') {
        struct piece other;

        skip(in, 1);
        if (!read_row(in, &other))
            return false;
        ret_piece->first |= other.first;
        ret_piece->last |= other.last;
        ret_piece->may_miss = ret_piece->may_miss || other.may_miss;
        /* ^ and $ apply to one alternative only: unsupported. */
        if (in->groups == 0 && (in->path->at_begin || in->path->at_end))
            return false;
    }
    return true;
}

static bool read_regex(struct path_search *path, const struct search *search,
                       struct piece *ret_piece)
{
    struct search_path_reader in = {path, search->text, !search->exact, 0};

    path->plain_names = true;
    path->at_begin = next_char(&in) == '^';
    if (path->at_begin)
        skip(&in, 1);
    return read_either(&in, ret_piece) && in.rest.len == 0;
}

/* Parse plain letters; for a glob also * and ?, matching the whole name. */
static bool read_letters(struct path_search *path, const struct search *search,
                         struct piece *ret_piece)
{
    path->at_begin = path->at_end = search->glob;
    *ret_piece = (struct piece){.may_miss = true};
    for (size_t i = 0; i < search->text.len; i++) {
        unsigned char c = (unsigned char)search->text.at[i];
        bool star = search->glob && c == '*';
        struct atom atom = {0};
        struct piece piece;

        if (star || (search->glob && c == '?'))
            turn(&atom);
        else
            take_range(&atom, c, c, !search->exact);
        if (!add_atom(path, &atom, &piece))
            return false;
        if (star)
            put_behind(path, piece.last, piece.first);
        piece.may_miss = star;
        *ret_piece = one_behind_other(path, *ret_piece, piece);
    }
    return true;
}

struct path_search *path_search_new(const struct search *search,
                                    const struct outline *outline, struct arena *arena)
{
    struct path_search *path = arena_alloc(arena, sizeof *path);
    struct piece all;

    if (!path || search->text.len == 0)
        return NULL;
    path->outline = outline;
    path->arena = arena;
    if (!(search->regex ? read_regex : read_letters)(path, search, &all))
        return NULL;
    put_behind(path, all.last, ALL_THERE);
    path->begin = all.first | (all.may_miss ? ALL_THERE : 0);
    if (!outline->diff && outline->show->model->strings.n < outline->n / 2)
        path->steps = arena_array(arena, SOME_STEPS, sizeof *path->steps);
    return path;
}

/* --- Matching */

static uint64_t after(const struct path_search *path, uint64_t atoms, char c)
{
    return behind(path, atoms & path->takes[(unsigned char)c]) |
           (path->at_begin ? 0 : path->begin);
}

/* The state after a name; -1: the name is not supported. */
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
        step->hit = step->hit || atoms & ALL_THERE;
    }
    if (path->at_end)
        step->hit = atoms & ALL_THERE;
    step->to = atoms;
    return 0;
}

/* The same, cached. */
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
        /* The pattern may match the empty text. */
        step.hit =
            step.hit || (!above.named && !path->at_end && above.next & ALL_THERE);
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
