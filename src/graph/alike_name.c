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

/* ---- keys ---- */

/* Keras names a layer after its class and counts ("conv2d_5") if its author did not.
 * Such a box belongs where the boxes around it belong. A level is a chain of *regions*:
 * each ends with a box that all data passes, an addition or a concatenation of
 * branches. */

/* By box: does all data pass it? Inputs may be read anywhere. */
static bool *find_passes(const struct alike_level *level)
{
    struct arena *scratch = level->parts->scratch;
    bool *passes = arena_array(scratch, (size_t)level->n + 1, sizeof *passes);
    int64_t *change = arena_array(scratch, (size_t)level->n + 1, sizeof *change);
    int64_t over = 0; /* lines that begin before a box and end after it */

    if (!passes || !change)
        return NULL;
    for (uint32_t i = 0; i < level->n_lines; i++) {
        const struct alike_line *line = &level->lines[i];

        if (level->boxes[line->source].stays)
            continue;
        change[line->source + 1]++;
        change[line->target]--;
    }
    for (uint32_t i = 0; i < level->n; i++) {
        over += change[i];
        passes[i] = over == 0;
    }
    return passes;
}

/* The common part of the keys in a region; counts its boxes without one. */
static struct str common_key(const struct alike_level *level, uint32_t begin,
                             uint32_t end, uint32_t *ret_without)
{
    struct str common = STR("");
    bool some = false;

    *ret_without = 0;
    for (uint32_t i = begin; i < end; i++) {
        struct str key = level->boxes[i].key;

        if (key.len == 0)
            ++*ret_without;
        else
            common = some ? alike_common(common, key, level->tail) : key;
        some |= key.len > 0;
    }
    return common;
}

static void fill_region(struct alike_level *level, uint32_t begin, uint32_t end)
{
    const struct alike_box *last = &level->boxes[end - 1];
    uint32_t without;
    struct str common = common_key(level, begin, end, &without);

    if (without == 0 || end - begin < ALIKE_LEAST)
        return;
    if (common.len > 0) {
        for (uint32_t i = begin; i < end; i++)
            if (level->boxes[i].key.len == 0)
                level->boxes[i].key = common;
        return;
    }
    if (without * 2 < end - begin || last->name.len == 0)
        return;
    for (uint32_t i = begin; i < end; i++) {
        level->boxes[i].key = last->name;
        if (last->nameless)
            level->boxes[i].n_tokens = UINT32_MAX;
    }
}

/* ---- boxes between others ---- */

/* The common part of the keys of several boxes. */
struct alike_near {
    struct str key;
    bool some, keyed; /* keyed: the key of one box */
    bool far;         /* some of them have no key of their own */
};

static void add_near(struct alike_near *to, struct alike_near one, bool tail)
{
    to->key = to->some ? alike_common(to->key, one.key, tail) : one.key;
    to->some = true;
    to->far |= !one.keyed || one.far;
}

/* The key of a box without one. An activation belongs to what it activates; another box
 * is inside a block if the boxes before it and those after it are. */
static struct str key_between(const struct alike_level *level, uint32_t box,
                              const struct alike_near *before,
                              const struct alike_near *after)
{
    uint32_t part = level->boxes[box].part;
    bool activation = level->parts->at[part].box.family == FAMILY_ACTIVATION;
    struct str key = alike_common(before->key, after->key, level->tail);

    if (activation && before->key.len > 0 && !before->far)
        return before->key;
    return activation && key.len == 0 && !after->far ? after->key : key;
}

static int fill_between(struct alike_level *level)
{
    struct arena *scratch = level->parts->scratch;
    struct alike_near *before =
        arena_array(scratch, (size_t)level->n + 1, sizeof *before);
    struct alike_near *after =
        arena_array(scratch, (size_t)level->n + 1, sizeof *after);

    if (!before || !after)
        return -1;
    for (uint32_t i = 0; i < level->n; i++)
        if (level->boxes[i].key.len > 0)
            before[i] = after[i] = (struct alike_near){
                .key = level->boxes[i].key, .some = true, .keyed = true};
    /* Lines are sorted by target, so their sources are complete. */
    for (uint32_t i = 0; i < level->n_lines; i++) {
        const struct alike_line *line = &level->lines[i];

        if (!before[line->target].keyed)
            add_near(&before[line->target], before[line->source], level->tail);
    }
    for (uint32_t i = level->n_lines; i-- > 0;) {
        const struct alike_line *line = &level->lines[i];

        if (!after[line->source].keyed)
            add_near(&after[line->source], after[line->target], level->tail);
    }
    for (uint32_t i = 0; i < level->n; i++)
        if (!before[i].keyed && !level->boxes[i].stays)
            level->boxes[i].key = key_between(level, i, &before[i], &after[i]);
    return 0;
}

int alike_keys(struct alike_level *level)
{
    bool *passes = find_passes(level);
    uint32_t begin = 0;

    if (!passes)
        return -1;
    for (uint32_t i = 0; i < level->n; i++) {
        struct alike_box *box = &level->boxes[i];

        box->n_tokens = 1;
        box->key = box->nameless || box->stays ? STR("") : box->name;
    }
    for (uint32_t i = 0; i < level->n; i++) {
        if (level->boxes[i].stays) {
            begin = i + 1;
        } else if (passes[i]) {
            fill_region(level, begin, i + 1);
            begin = i + 1;
        }
    }
    return fill_between(level);
}
