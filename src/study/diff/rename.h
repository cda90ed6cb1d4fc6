/* rename.h - rules that turn one set of dotted names into another.
 * It knows nothing of tensors. People read the rules, and Python runs them: each kind
 * has an exact meaning, which rename_apply() implements. */
#ifndef STUDY_DIFF_RENAME_H
#define STUDY_DIFF_RENAME_H

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#define RENAME_NONE UINT32_MAX

/* The components of a name are k.split('.'). Each kind lists the equivalent Python; A
 * and B are the re.escape()d `from` and `to`. A component "{}" in a PART or in the
 * `from` of a SHIFT is a hole: it matches one component of digits, ([0-9]+); the holes
 * of `to` are those of `from`, in order: \1, \2. */
enum rename_kind {
    /* Replaces `from` at the beginning by `to`; both end in a dot or are empty:
     * "module." -> "", "" -> "model.", "transformer.h." -> "blocks.".
     *     re.sub(r'\AA', 'B', k) */
    RENAME_PREFIX,
    /* Replaces the whole components `from` (one or more: "attn.c_attn", "h.{}.ln_1") by
     * `to`, everywhere, from the left.
     *     re.sub(r'(?<![^.])A(?![^.])', 'B', k)
     * If `to` is empty, removes the components with their dots, except from a name that
     * has no others.
     *     re.sub(r'(?:(?<![^.])A\.)+|(?:\.A)+\Z', '', k) */
    RENAME_PART,
    /* Replaces the number n after the prefix `from` ("layers.", "h.{}.mlp.": ends in a
     * dot or is empty; `to` is equal) by n + shift, if first <= n <= last. A number has
     * at most 18 digits and no leading zero.
     *     re.sub(r'\A(A)(0|[1-9][0-9]{0,17})(?![^.])', ..., k) */
    RENAME_SHIFT,
    /* Swaps the whole components `from` and `to` everywhere: "conv1" <-> "conv2". No
     * holes.
     *     re.sub(r'(?<![^.])(?:(A)|B)(?![^.])', lambda m: 'B' if m[1] else 'A', k)
     */
    RENAME_SWAP,
    RENAME_NAME, /* renames one name */
};

struct rename_rule {
    enum rename_kind kind;
    struct str from, to;
    uint64_t first, last; /* RENAME_SHIFT; last = UINT64_MAX: no limit */
    int64_t shift;
    uint32_t uses; /* names that it changes */
};

/* Applied in order, each once, to the result of the one before. NAME rules come first,
 * sorted by `from` (str_cmp); no other rule applies to a name that has one. */
struct rename_rules {
    struct rename_rule *at;
    uint32_t n;
    uint32_t names; /* how many are RENAME_NAME */
};

/* An old name and its new name. Pairs of equal names are needed too: no rule may change
 * them. If two pairs have the same `from`, the first counts. Drop names that are in no
 * pair before applying rules, which might rename them to the name of another. */
struct rename_pair {
    struct str from, to;
};

/* Find few rules that turn every `from` into its `to`, verified on all pairs. Names that
 * no rule explains get a RENAME_NAME each. Time is about linear in the number of names.
 * `from` and `to` of rules are in the arena or borrowed from the pairs. */
int rename_find(const struct rename_pair *pairs, uint32_t n, struct arena *arena,
                struct rename_rules *ret_rules, struct err *err);
void rename_apply(const struct rename_rules *rules, struct str name, struct buf *to);

/* Match names of both sides without knowing contents. `shape` identifies what must be
 * equal (shape, possibly dtype). Items whose `match` is set guide the others. Matches
 * only if a rule covers several names and fits all their shapes, or if names are similar
 * and the only ones of their shape: no match is better than a wrong one. */
struct rename_item {
    struct str name;
    uint64_t shape;
    uint32_t match; /* in and out: index on the other side, or RENAME_NONE */
};
int rename_match(struct rename_item *left, uint32_t n_left, struct rename_item *right,
                 uint32_t n_right, struct arena *arena, struct err *err);

#endif
