/* rename.h - how names were changed, as a few rules.
 * A pure puzzle about dotted names: this file knows no tensors. Rules are meant to be
 * read by people and to be run by Python: whoever prints them relies on rename_apply()
 * and on each rule meaning exactly what its kind says. */
#ifndef STUDY_DIFF_RENAME_H
#define STUDY_DIFF_RENAME_H

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#define RENAME_NONE UINT32_MAX

/* A name is its components: what stands between dots (k.split('.')). Beside each kind
 * is the Python that does the same; A and B are re.escape()d `from` and `to`. A
 * component that is exactly "{}" in a PART or in the `from` of a SHIFT is a hole: it
 * stands for one component of digits, ([0-9]+); holes of `to` are those of `from`, in
 * order: \1, \2. */
enum rename_kind {
    /* A name that begins with `from` begins with `to` instead; both end in a dot or are
     * empty: "module." -> "", "" -> "model.", "transformer.h." -> "blocks.".
     *     re.sub(r'\AA', 'B', k) */
    RENAME_PREFIX,
    /* The whole components `from` (one or more: "attn.c_attn", "h.{}.ln_1") become
     * `to`, wherever they stand, as often as they stand, from the left.
     *     re.sub(r'(?<![^.])A(?![^.])', 'B', k)
     * `to` may be empty: then the components go, with their dots, but a name that is
     * nothing else stays.
     *     re.sub(r'(?:(?<![^.])A\.)+|(?:\.A)+\Z', '', k) */
    RENAME_PART,
    /* Behind the prefix `from` ("layers.", "h.{}.mlp.": ends in a dot or is empty; `to`
     * is the same) the number n that follows, if first <= n <= last, becomes n + shift.
     * A number has at most 18 digits and no needless zero in front.
     *     re.sub(r'\A(A)(0|[1-9][0-9]{0,17})(?![^.])', ..., k) */
    RENAME_SHIFT,
    /* The whole components `from` become `to` and `to` become `from`, wherever they
     * stand: "conv1" <-> "conv2". No holes.
     *     re.sub(r'(?<![^.])(?:(A)|B)(?![^.])', lambda m: 'B' if m[1] else 'A', k)
     */
    RENAME_SWAP,
    RENAME_NAME, /* this one name becomes that one */
};

struct rename_rule {
    enum rename_kind kind;
    struct str from, to;
    uint64_t first, last; /* RENAME_SHIFT; last UINT64_MAX: to the end */
    int64_t shift;
    uint32_t uses; /* names that it changes */
};

/* In the order in which they are applied: each once, to what the one before it left.
 * NAME rules stand first, sorted by `from` (str_cmp), and end the matter: a name that
 * has one meets no other rule. */
struct rename_rules {
    struct rename_rule *at;
    uint32_t n;
    uint32_t names; /* of them, RENAME_NAME: what no rule explains */
};

/* A name on one side and the same thing's on the other; they may be equal, and such
 * pairs must come too: no rule may change them. Of two pairs with the same `from` the
 * first counts. Nothing is known of names that are in no pair: drop those first, for a
 * rule may give them a name that another one gets. */
struct rename_pair {
    struct str from, to;
};

/* Few rules that turn every `from` into its `to`, checked by applying them to all. What
 * no rule explains has a RENAME_NAME of its own. Time is about linear in the names.
 * Names, `from` and `to` of rules live in the arena or are those given. */
int rename_find(const struct rename_pair *pairs, uint32_t n, struct arena *arena,
                struct rename_rules *ret_rules, struct err *err);
void rename_apply(const struct rename_rules *rules, struct str name, struct buf *to);

/* Which of the names on the right is which on the left, where contents do not tell.
 * `shape` stands for all else that must be equal (shape, perhaps dtype). Those with
 * `match` set are matched already and show the way. A match is made only where a rule
 * covers several names and fits all shapes under it, or where names are alike and the
 * only ones of their shape; better none than a wrong one. */
struct rename_item {
    struct str name;
    uint64_t shape;
    uint32_t match; /* index on the other side, or RENAME_NONE: to be filled in */
};
int rename_match(struct rename_item *left, uint32_t n_left, struct rename_item *right,
                 uint32_t n_right, struct arena *arena, struct err *err);

#endif
