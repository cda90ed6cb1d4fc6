/* rename.h - how names were changed, as a few rules.
 * A pure puzzle about dotted names: this file knows no tensors. Rules are meant to be
 * read by people and to be run by Python: whoever prints them relies on rename_apply()
 * and on each rule meaning exactly what its kind says. */
#ifndef STUDY_RENAME_H
#define STUDY_RENAME_H

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#define RENAME_NONE UINT32_MAX

enum rename_kind {
    RENAME_PREFIX, /* a name that begins with `from` begins with `to` instead; both end
                      in a dot or are empty: "module." -> "", "" -> "model." */
    RENAME_PART,   /* the whole components `from` ("attn.c_attn", one or more) become
                      `to` (perhaps none: then the component and its dot go), wherever
                      they stand: "layers.0.ln_1.weight" -> "layers.0.norm1.weight" */
    RENAME_SHIFT,  /* behind the prefix `from` ("layers.", ends in a dot; `to` is the
                      same) the number n that follows, if first <= n <= last, becomes
                      n + shift */
    RENAME_NAME,   /* this one name becomes that one */
};

struct rename_rule {
    enum rename_kind kind;
    struct str from, to;
    uint64_t first, last; /* RENAME_SHIFT; last UINT64_MAX: to the end */
    int64_t shift;
    uint32_t uses; /* names that it changes */
};

/* In the order in which they are applied: each to what the one before it left. Each
 * rule is applied at most once to a name, at its first match from the left; NAME rules
 * stand first and end the matter. */
struct rename_rules {
    struct rename_rule *at;
    uint32_t n;
    uint32_t names; /* of them, RENAME_NAME: what no rule explains */
};

/* A name on one side and the same thing's on the other; they may be equal, and such
 * pairs must come too: no rule may change them. */
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
