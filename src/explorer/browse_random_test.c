/* Random keys: afterwards the cursor is on a visible row, and the rows form a tree. */
#include "base/test.h"
#include "compare/diff_view.h"
#include "explorer/browse_in.h"
#include "explorer/resnet_in.h"
#include "session/pair.h"
#include "study/diff/diff_sample.h"

static uint32_t chance(uint32_t *seed, uint32_t n)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % n;
}

static void press_fold(struct browse *b, uint32_t *seed)
{
    switch (chance(seed, 7)) {
    case 0:
        browse_depth(b, chance(seed, 4));
        break;
    case 1:
        browse_runs(b);
        break;
    case 2:
        browse_open(b);
        break;
    case 3:
        browse_close(b);
        break;
    default:
        browse_fold(b, (enum fold)chance(seed, FOLD_CLASS_BELOW + 1));
    }
}

static void press_search(struct browse *b, uint32_t *seed)
{
    static const char *const texts[] = {
        "c",   "co",     "conv",   "conv2",    "layer1.", "layer1.0",
        "!bn", "Conv2d", "/bn.$/", "/[/",      "",        "trainable",
        "12×", "zzz",    "weight", "*.weight", "mlp",     "h.1"};
    uint32_t pick = chance(seed, 24);

    if (pick < sizeof(texts) / sizeof(*texts))
        browse_search(b, str_of(texts[pick]), NULL);
    else if (pick == 20)
        browse_clear(b);
    else if (pick == 21)
        browse_only_matches(b);
    else if (pick == 22)
        browse_search_class(b);
    else
        browse_next_match(b, chance(seed, 2) ? 1 : -1);
}

static void press_move(struct browse *b, uint32_t *seed)
{
    switch (chance(seed, 9)) {
    case 0:
        browse_move(b, (int64_t)chance(seed, 60) - 30);
        break;
    case 1:
        browse_select(b, chance(seed, 300));
        break;
    case 2:
        browse_scroll(b, (int64_t)chance(seed, 40) - 20);
        break;
    case 3:
        browse_sibling(b, chance(seed, 2) ? 1 : -1);
        break;
    case 4:
        browse_go(b, chance(seed, b->of.outline.n + 1));
        break;
    case 5:
        browse_back(b);
        break;
    case 6:
        browse_parent(b);
        break;
    case 7:
        browse_child(b);
        break;
    default:
        browse_resize(b, 1 + chance(seed, 40));
    }
}

static void press_any(struct browse *b, uint32_t *seed)
{
    switch (chance(seed, 8)) {
    case 0:
        browse_sort(b, (enum rows_sort)chance(seed, SORT_COUNT), chance(seed, 2));
        break;
    case 1:
        browse_flat(b, (enum rows_flat)chance(seed, 3));
        break;
    case 2:
        browse_hide_equal(b);
        break;
    case 3:
    case 4:
        press_fold(b, seed);
        break;
    case 5:
        press_search(b, seed);
        break;
    default:
        press_move(b, seed);
    }
}

static void check_tree(const struct browse *b)
{
    const struct row_cell *cells = b->rows.cells;

    CHECK(b->rows.n > 0 && cells[0].place == 0 && cells[0].above == NO_ROW);
    for (uint32_t i = 1; i < b->rows.n; i++) {
        const struct row_cell *above = &cells[cells[i].above];
        uint32_t next = i + 1;

        CHECK(cells[i].above < i && above->flags & ROW_OPEN);
        CHECK(cells[i].depth == above->depth + 1);
        CHECK(b->of.outline.parent[cells[i].place] == above->place);
        CHECK(!b->view.keep || bit_get(b->keep, cells[i].place));
        while (next < b->rows.n && cells[next].depth > cells[i].depth)
            next++;
        CHECK(!(cells[i].flags & ROW_LAST) ==
              (next < b->rows.n && cells[next].above == cells[i].above));
    }
}

static void check_all(const struct browse *b)
{
    uint32_t height = b->height, number = browse_match_number(b);

    if (b->rows.n > 0) {
        CHECK(b->cursor < b->rows.n);
        CHECK(b->rows.cells[b->cursor].place == b->place);
        CHECK(b->top <= b->cursor && b->cursor - b->top < height);
        CHECK(b->top == 0 || b->top + height <= b->rows.n);
    }
    if (b->view.flat == FLAT_NO)
        check_tree(b);
    CHECK(number <= browse_matches(b));
    CHECK((number > 0) ==
          (b->filtered && b->rows.n > 0 && b->rows.cells[b->cursor].flags & ROW_MATCH));
    CHECK(b->filtered == (browse_filter(b).len > 0));
}

static void press_many(const struct show *show, uint32_t seed)
{
    struct browse *b = browse_new(show, NULL);

    CHECK(b);
    browse_resize(b, 20);
    for (int i = 0; i < 3000; i++) {
        press_any(b, &seed);
        check_all(b);
    }
    browse_free(b);
}

TEST(random_keys_keep_a_valid_tree)
{
    struct sample s;

    resnet_begin(&s, true);
    press_many(&s.show, 1);
    press_many(&s.show, 2);
    sample_release(&s);
    gpt2_begin(&s);
    press_many(&s.show, 3);
    press_many(&s.show, 4);
    sample_release(&s);
}

TEST(random_keys_keep_a_valid_tree_of_two_models)
{
    struct diff_wanted wanted = {.values = true};
    struct pair *pair =
        pair_of(session_of(diff_sample("conv1.weight 4x3 1\nbn1.weight 4 2\n"
                                       "layer1.0.weight 3x3 4\nold.bias 2 8\n"),
                           NULL),
                session_of(diff_sample("conv1.weight 4x3 1\nbn1.weight 4 7\n"
                                       "layer1.0.weight 3x3 4~\nnew.bias 3 9\n"),
                           NULL),
                &wanted, NULL, NULL);
    struct show show = {0};

    CHECK(pair);
    diff_show(&show, pair);
    show.session = pair->right;
    show.model = pair->right->model;
    press_many(&show, 5);
    press_many(&show, 6);
    pair_close(pair);
}
