#include "study/diff/rename.h"

#include "study/diff/rename_in.h"

#define NO_END SIZE_MAX

/* The components matched by the holes of a rule. */
struct holes {
    struct str at[RENAME_HOLES];
    uint32_t n;
};

static size_t part_end(struct str name, size_t at)
{
    ptrdiff_t dot = str_find_char(str_from(name, at), '.');

    return dot < 0 ? name.len : at + (size_t)dot;
}

static bool is_digits(struct str part)
{
    size_t i;

    for (i = 0; i < part.len; i++)
        if (part.at[i] < '0' || part.at[i] > '9')
            return false;
    return part.len > 0;
}

static bool has_holes(struct str pattern)
{
    return str_find(pattern, STR("{}")) >= 0;
}

/* The end of the components `text` in `name` at `at` (the start of a component), or
 * NO_END: (?<![^.])TEXT(?![^.]). */
static size_t match_text(struct str text, struct str name, size_t at)
{
    size_t end = at + text.len;

    if (name.len - at < text.len || memcmp(name.at + at, text.at, text.len) != 0)
        return NO_END;
    return end == name.len || name.at[end] == '.' ? end : NO_END;
}

/* The same for a pattern with holes. */
static size_t match_pattern(struct str pattern, struct str name, size_t at,
                            struct holes *holes)
{
    struct str want;
    size_t end = at;
    bool more = false;

    holes->n = 0;
    while (str_split(&pattern, '.', &want)) {
        struct str part;

        if (more && end == name.len)
            return NO_END;
        end += more;
        more = true;
        part = str_head(str_from(name, end), part_end(name, end) - end);
        if (str_is(want, "{}")) {
            if (!is_digits(part) || holes->n == RENAME_HOLES)
                return NO_END;
            holes->at[holes->n++] = part;
        } else if (!str_eq(want, part)) {
            return NO_END;
        }
        end += part.len;
    }
    return end;
}

static void fill_holes(struct str pattern, const struct holes *holes, struct buf *to)
{
    struct str part;
    uint32_t i = 0;
    bool more = false;

    while (str_split(&pattern, '.', &part)) {
        if (more)
            buf_char(to, '.');
        more = true;
        if (str_is(part, "{}") && i < holes->n)
            part = holes->at[i++];
        buf_str(to, part);
    }
}

/* re.sub(r'\AA', 'B', k) */
static bool apply_prefix(const struct rename_rule *rule, struct str name,
                         struct buf *to)
{
    if (!str_starts(name, rule->from))
        return false;
    buf_str(to, rule->to);
    buf_str(to, str_from(name, rule->from.len));
    return true;
}

/* A PART or SWAP at one position. */
struct replacer {
    const struct rename_rule *rule;
    bool holes_in;
    struct holes holes;
    struct str by; /* the replacement: `to`, or `from` if a swap matched `to` */
};

static size_t replacer_match(struct replacer *replacer, struct str name, size_t at)
{
    const struct rename_rule *rule = replacer->rule;
    size_t end;

    replacer->by = rule->to;
    if (replacer->holes_in)
        return match_pattern(rule->from, name, at, &replacer->holes);
    end = match_text(rule->from, name, at);
    if (end == NO_END && rule->kind == RENAME_SWAP) {
        replacer->by = rule->from;
        end = match_text(rule->to, name, at);
    }
    return end;
}

/* re.sub(r'(?<![^.])A(?![^.])', 'B', k), or both directions at once. */
static bool replace_all(struct replacer *replacer, struct str name, struct buf *to)
{
    size_t at = 0, copied = 0;
    bool any = false;

    for (;;) {
        size_t end = replacer_match(replacer, name, at);

        if (end == NO_END) {
            end = part_end(name, at);
        } else {
            any = true;
            buf_add(to, name.at + copied, at - copied);
            if (replacer->holes_in)
                fill_holes(replacer->by, &replacer->holes, to);
            else
                buf_str(to, replacer->by);
            copied = end;
        }
        if (end == name.len)
            break;
        at = end + 1;
    }
    if (any)
        buf_str(to, str_from(name, copied));
    return any;
}

/* Is the rest of the name from `at` on only repetitions of the components? */
static bool runs_to_the_end(struct replacer *replacer, struct str name, size_t at)
{
    for (;;) {
        size_t end = replacer_match(replacer, name, at);

        if (end == NO_END || end == name.len)
            return end != NO_END;
        at = end + 1;
    }
}

/* re.sub(r'(?:(?<![^.])A\.)+|(?:\.A)+\Z', '', k) */
static bool remove_all(struct replacer *replacer, struct str name, struct buf *to)
{
    size_t at = 0, copied = 0;
    bool any = false, taken = false; /* taken: the dot before `at` was removed */

    for (;;) {
        size_t end = replacer_match(replacer, name, at);
        bool found = end != NO_END;

        if (found && at > 0 && !taken && runs_to_the_end(replacer, name, at)) {
            buf_add(to, name.at + copied, at - 1 - copied);
            return true;
        }
        if (found && end < name.len) {
            buf_add(to, name.at + copied, at - copied);
            copied = end + 1;
            any = true;
        }
        taken = found;
        if (!found)
            end = part_end(name, at);
        if (end == name.len)
            break;
        at = end + 1;
    }
    if (any)
        buf_str(to, str_from(name, copied));
    return any;
}

static bool apply_parts(const struct rename_rule *rule, struct str name, struct buf *to)
{
    struct replacer replacer = {
        .rule = rule, .holes_in = rule->kind == RENAME_PART && has_holes(rule->from)};

    if (rule->to.len == 0)
        return remove_all(&replacer, name, to);
    return replace_all(&replacer, name, to);
}

bool rename_number(struct str part, uint64_t *ret_number)
{
    if (part.len > 18 || !is_digits(part) || (part.len > 1 && part.at[0] == '0'))
        return false;
    return str_to_u64(part, ret_number);
}

/* re.sub(r'\A(A)(0|[1-9][0-9]{0,17})(?![^.])', ..., k) */
static bool apply_shift(const struct rename_rule *rule, struct str name, struct buf *to)
{
    struct holes holes;
    struct str part;
    size_t at = 0;
    uint64_t n;

    if (rule->from.len > 0) {
        at = match_pattern(str_head(rule->from, rule->from.len - 1), name, 0, &holes);
        if (at == NO_END || at == name.len)
            return false;
        at++;
    }
    part = str_head(str_from(name, at), part_end(name, at) - at);
    if (!rename_number(part, &n) || n < rule->first || n > rule->last)
        return false;
    buf_str(to, str_head(name, at));
    buf_printf(to, "%llu", (unsigned long long)(n + (uint64_t)rule->shift));
    buf_str(to, str_from(name, at + part.len));
    return true;
}

bool rename_apply_rule(const struct rename_rule *rule, struct str name, struct buf *to)
{
    switch (rule->kind) {
    case RENAME_PREFIX:
        return apply_prefix(rule, name, to);
    case RENAME_PART:
    case RENAME_SWAP:
        return apply_parts(rule, name, to);
    case RENAME_SHIFT:
        return apply_shift(rule, name, to);
    case RENAME_NAME:
        break;
    }
    return false;
}

static const struct rename_rule *find_name(const struct rename_rules *rules,
                                           struct str name)
{
    uint32_t low = 0, high = rules->names;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = str_cmp(rules->at[middle].from, name);

        if (order == 0)
            return &rules->at[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

void rename_apply(const struct rename_rules *rules, struct str name, struct buf *to)
{
    const struct rename_rule *whole = find_name(rules, name);
    struct buf now = BUF_INIT, next = BUF_INIT;
    uint32_t i;

    if (whole) {
        buf_str(to, whole->to);
        return;
    }
    for (i = rules->names; i < rules->n; i++) {
        buf_clear(&next);
        if (rename_apply_rule(&rules->at[i], name, &next)) {
            struct buf swap = now;

            now = next;
            next = swap;
            name = buf_span(&now);
        }
    }
    buf_str(to, name);
    to->bad = to->bad || now.bad || next.bad;
    buf_release(&now);
    buf_release(&next);
}
