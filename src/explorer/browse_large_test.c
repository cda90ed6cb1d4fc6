/* Large models: the memory a tree needs besides its model, and that no operation is
 * slower than linear (it would take minutes here). */
#include <stdio.h>

#include "base/test.h"
#include "explorer/browse_in.h"
#include "rows/sample_rows.h"

#define MANY 200000

/* Linear and ReLU alternating, all below the root; or each below the previous one. */
static void begin_many(struct sample *s, bool nested)
{
    uint32_t parent = 0, node;
    char name[16];

    sample_begin(s, "many.pt");
    build_set_kind(&s->build, 0, PLACE_MODULE);
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof(name), "%d", nested ? i % 2 : i);
        node = sample_module(s, parent, name, i % 2 ? "x.ReLU" : "x.Linear", "");
        if (i % 4 == 0)
            sample_tensor(s, node, "weight", "4 4");
        if (nested)
            parent = node;
    }
    sample_finish(s);
}

static void press_all(struct browse *b)
{
    browse_fold(b, FOLD_ALL);
    browse_fold(b, FOLD_ALL);
    browse_runs(b);
    browse_last(b);
    browse_fold(b, FOLD_CLASS);
    browse_fold(b, FOLD_SUBTREE);
    browse_fold(b, FOLD_SIBLINGS_BELOW);
    browse_sort(b, SORT_PARAMS, false);
    browse_sort(b, SORT_NAME, true);
    browse_flat(b, FLAT_LEAVES);
    browse_flat(b, FLAT_TENSORS);
    browse_flat(b, FLAT_NO);
    browse_sort(b, SORT_MODEL, false);
    CHECK(browse_search(b, STR("1"), NULL) == 0);
    CHECK(browse_search(b, STR("19"), NULL) == 0);
    CHECK(browse_search(b, STR("0.1.0"), NULL) == 0);
    CHECK(browse_search(b, STR("/0.*1$/"), NULL) == 0);
    CHECK(browse_search(b, STR("Linear"), NULL) == 0);
    CHECK_INT(browse_matches(b), MANY / 2);
    browse_next_match(b, 1);
    browse_next_match(b, -1);
    browse_only_matches(b);
    browse_go(b, b->of.outline.n - 1);
    CHECK_INT(browse_place(b), b->of.outline.n - 1);
    browse_clear(b);
    browse_depth(b, 3);
    browse_back(b);
}

TEST(a_tree_takes_at_most_sixteen_bytes_a_place)
{
    struct sample s;
    struct browse *b;

    begin_many(&s, false);
    b = browse_new(&s.show, NULL);
    CHECK(b);
    press_all(b);
    CHECK(b->rows.n > 1);
    CHECK(b->arena.used < (size_t)16 * s.model->n_places);
    browse_free(b);
    sample_release(&s);
}

TEST(modules_may_be_nested_very_deep)
{
    struct sample s;
    struct browse *b;

    begin_many(&s, true);
    b = browse_new(&s.show, NULL);
    CHECK(b);
    press_all(b);
    browse_free(b);
    sample_release(&s);
}
