/* Rows about names: rename rules, joins, ties. */
#include <inttypes.h>

#include "base/map.h"
#include "compare/diff_rows_in.h"
#include "text/text.h"

/* ---- rules ---- */

/* "h.{}.ln_1" is shown as h.*.ln_1. */
static void add_components(struct buf *to, struct str components)
{
    ptrdiff_t hole;

    while ((hole = str_find(components, STR("{}"))) >= 0) {
        escape_terminal(to, str_head(components, (size_t)hole));
        buf_char(to, '*');
        components = str_from(components, (size_t)hole + 2);
    }
    escape_terminal(to, components);
}

/* "layers.3-11" */
static void add_range(struct buf *to, struct str head, uint64_t first, uint64_t last)
{
    add_components(to, head);
    buf_printf(to, "%" PRIu64, first);
    if (last == UINT64_MAX)
        buf_text(to, " and on");
    else if (last > first)
        buf_printf(to, "-%" PRIu64, last);
}

/* The number that follows `prefix` in a name; the prefix begins at a dot or the start. */
static bool number_behind(struct str name, struct str prefix, uint64_t *ret_number)
{
    ptrdiff_t at = prefix.len > 0 ? str_find(name, prefix) : 0;
    size_t digits = 0;

    if (at < 0 || (at > 0 && name.at[at - 1] != '.'))
        return false;
    name = str_from(name, (size_t)at + prefix.len);
    while (digits < name.len && name.at[digits] >= '0' && name.at[digits] <= '9')
        digits++;
    return digits > 0 && str_to_u64(str_head(name, digits), ret_number);
}

/* The last number of a shift; finds that of an open range, which is clearer to read. */
static uint64_t last_shifted(struct diff_rows_maker *maker,
                             const struct rename_rule *rule)
{
    const struct diff *diff = maker->diff;
    uint64_t most = 0, number;

    if (rule->last != UINT64_MAX || str_find(rule->from, STR("{}")) >= 0)
        return rule->last;
    for (uint32_t i = 0; i < diff->n_pairs; i++) {
        const struct diff_pair *pair = &diff->pairs[i];

        if (pair->left == NO_PLACE || pair->right == NO_PLACE ||
            !(pair->flags & DIFF_RENAMED))
            continue;
        buf_clear(&maker->name);
        place_path(diff->left, pair->left, &maker->name);
        if (number_behind(buf_span(&maker->name), rule->from, &number) && number > most)
            most = number;
    }
    return most >= rule->first ? most : rule->last;
}

static uint32_t count_left(const struct diff *diff)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < diff->n_pairs; i++)
        n += diff->pairs[i].left != NO_PLACE && diff->pairs[i].right != NO_PLACE;
    return n;
}

static void add_uses(struct buf *to, const struct rename_rule *rule, uint32_t most)
{
    if (rule->uses >= most && most > 1)
        buf_text(to, "all ");
    text_plural(to, rule->uses, "name", "names");
}

static void add_rule(struct diff_rows_maker *maker, const struct rename_rule *rule,
                     uint32_t most)
{
    struct buf *to = &maker->what;
    uint64_t last;

    switch (rule->kind) {
    case RENAME_PREFIX:
    case RENAME_PART:
        if (rule->to.len == 0) {
            add_components(to, rule->from);
            buf_text(to,
                     rule->kind == RENAME_PREFIX ? " taken off " : " taken out of ");
            add_uses(to, rule, most);
            return;
        }
        if (rule->from.len == 0) {
            add_components(to, rule->to);
            buf_text(to, " put before ");
            add_uses(to, rule, most);
            return;
        }
        add_components(to, rule->from);
        buf_text(to, " became ");
        add_components(to, rule->to);
        break;
    case RENAME_SHIFT:
        last = last_shifted(maker, rule);
        add_range(to, rule->from, rule->first, last);
        buf_text(to, " became ");
        add_range(to, rule->from, rule->first + (uint64_t)rule->shift,
                  last == UINT64_MAX ? last : last + (uint64_t)rule->shift);
        break;
    case RENAME_SWAP:
        add_components(to, rule->from);
        buf_text(to, " and ");
        add_components(to, rule->to);
        buf_text(to, " changed places");
        break;
    case RENAME_NAME:
        escape_terminal(to, rule->from);
        buf_text(to, " became ");
        escape_terminal(to, rule->to);
        return;
    }
    buf_text(to, " (");
    text_plural(to, rule->uses, "tensor", "tensors");
    buf_char(to, ')');
}

static void add_rules(struct diff_rows_maker *maker)
{
    const struct rename_rules *rules = &maker->diff->rules;
    uint32_t most = count_left(maker->diff);

    /* General rules first, then single names. */
    for (int names = 0; names < 2; names++) {
        diff_list_begin(maker);
        for (uint32_t i = 0; i < rules->n; i++) {
            if ((rules->at[i].kind == RENAME_NAME) != names)
                continue;
            add_rule(maker, &rules->at[i], most);
            diff_row_add(maker, "→", COLOUR_TYPE);
        }
        diff_list_end(maker);
    }
}

/* ---- joins ---- */

struct diff_names_fold {
    uint32_t join, n; /* the first join with this text; how many have it */
};

/* The length of the common prefix of all names, up to a dot. */
static size_t common_head(const struct str *names, uint32_t n)
{
    size_t same = names[0].len, dot = 0;

    for (uint32_t i = 1; i < n; i++) {
        size_t k = 0;

        while (k < same && k < names[i].len && names[i].at[k] == names[0].at[k])
            k++;
        same = k;
    }
    for (size_t k = 0; k < same; k++)
        if (names[0].at[k] == '.')
            dot = k + 1;
    return dot;
}

/* The length of the common suffix, from a dot on; never a whole name. */
static size_t common_tail(const struct str *names, uint32_t n, size_t head)
{
    size_t same = names[0].len - head, dot = 0;

    for (uint32_t i = 1; i < n; i++) {
        size_t k = 0;

        while (k < same && k + head < names[i].len &&
               names[i].at[names[i].len - 1 - k] == names[0].at[names[0].len - 1 - k])
            k++;
        same = k;
    }
    for (size_t k = 0; k < same; k++)
        if (names[0].at[names[0].len - 1 - k] == '.' && k + 1 < names[0].len - head)
            dot = k + 1;
    return dot;
}

/* "blk.*.ffn_up_exps.weight": the stacks of all layers are one row. */
static struct str without_layer(struct diff_rows_maker *maker, struct str name)
{
    struct buf text = BUF_INIT;
    struct str part, kept;
    bool starred = false;
    uint64_t number;

    while (str_split(&name, '.', &part)) {
        bool star = !starred && str_to_u64(part, &number);

        buf_text(&text, text.len > 0 ? "." : "");
        buf_str(&text, star ? STR("*") : part);
        starred = starred || star;
    }
    kept = arena_str(maker->rows->arena, buf_span(&text));
    buf_release(&text);
    return kept;
}

static struct str *join_names(struct diff_rows_maker *maker,
                              const struct diff_join *join)
{
    struct arena *arena = maker->rows->arena;
    struct str *names = arena_array(arena, (size_t)join->n + 1, sizeof *names);

    for (uint32_t i = 0; names && i <= join->n; i++) {
        buf_clear(&maker->name);
        diff_name(maker->diff, i == 0 ? join->fused : !join->fused,
                  i == 0 ? join->one : join->many[i - 1], &maker->name);
        names[i] = join->stacked ? without_layer(maker, buf_span(&maker->name))
                                 : arena_str(arena, buf_span(&maker->name));
    }
    return names;
}

/* "q_proj + k_proj + v_proj → qkv.weight", without the common prefix, which goes to
 * *ret_head. */
static void add_join(struct diff_rows_maker *maker, const struct diff_join *join,
                     struct buf *to, struct str *ret_head)
{
    struct str *names = join_names(maker, join);
    size_t head, tail;

    if (!names)
        return;
    head = common_head(names, join->n + 1);
    tail = join->stacked ? 0 : common_tail(names + 1, join->n, head);
    *ret_head = str_head(names[0], head);
    if (!join->fused) {
        escape_terminal(to, str_from(names[0], head));
        buf_text(to, " → ");
    }
    for (uint32_t i = 1; i <= join->n; i++) {
        struct str part = str_from(names[i], head);

        if (join->stacked && i > 1 && i < join->n)
            continue;
        buf_text(to, i == 1 ? "" : join->stacked ? " … " : " + ");
        part.len -= part.len > tail ? tail : 0;
        escape_terminal(to, part);
    }
    if (join->fused) {
        buf_text(to, " → ");
        escape_terminal(to, str_from(names[0], head));
    }
}

static void add_joins(struct diff_rows_maker *maker)
{
    const struct diff *diff = maker->diff;
    struct arena *arena = maker->rows->arena;
    struct diff_names_fold *folds =
        arena_array(arena, (size_t)diff->n_joins + 1, sizeof *folds);
    struct str head = {NULL, 0};
    uint32_t n = 0, at;
    struct map by_text;

    map_init(&by_text, arena);
    diff_list_begin(maker);
    for (uint32_t i = 0; folds && i < diff->n_joins; i++) {
        uint64_t hash;

        buf_clear(&maker->what);
        add_join(maker, &diff->joins[i], &maker->what, &head);
        hash = str_hash(buf_span(&maker->what));
        if (map_find(&by_text, hash, &at)) {
            folds[at].n++;
            continue;
        }
        folds[n] = (struct diff_names_fold){i, 1};
        if (map_put(&by_text, hash, n++) < 0)
            return;
    }
    for (uint32_t i = 0; folds && i < n; i++) {
        buf_clear(&maker->what);
        add_join(maker, &diff->joins[folds[i].join], &maker->what, &head);
        if (folds[i].n > 1) {
            buf_printf(&maker->what, " (%u times)", (unsigned)folds[i].n);
        } else if (head.len > 0) {
            buf_text(&maker->what, ", in ");
            escape_terminal(&maker->what, str_head(head, head.len - 1));
        }
        diff_row_add(maker, "⇉", COLOUR_TYPE);
    }
    diff_list_end(maker);
}

void diff_name_rows(struct diff_rows_maker *maker)
{
    add_rules(maker);
    add_joins(maker);
}

/* ---- ties ---- */

/* Another place of the tensor at `place`, or NO_PLACE. */
static uint32_t other_place(const struct model *model, uint32_t place)
{
    uint32_t first = place_tensor(model, place)->place;

    return first != place ? first : tensor_next_place(model, place);
}

void diff_tie_rows(struct diff_rows_maker *maker)
{
    const struct diff *diff = maker->diff;

    diff_list_begin(maker);
    for (uint32_t i = 0; i < diff->n_pairs; i++) {
        const struct diff_pair *pair = &diff->pairs[i];
        bool right = pair->flags & DIFF_TIED;
        uint32_t place = right ? pair->right : pair->left, other;

        if (!(pair->flags & (DIFF_TIED | DIFF_UNTIED)) || place == NO_PLACE)
            continue;
        other = other_place(right ? diff->right : diff->left, place);
        if (other == NO_PLACE)
            continue;
        diff_write_pair(&maker->what, diff, i);
        buf_text(&maker->rest, right ? "now tied to " : "no longer tied to ");
        diff_write_place(&maker->rest, diff, right, other);
        diff_row_add(maker, "⇄", COLOUR_TENSOR);
    }
    diff_list_end(maker);
}
