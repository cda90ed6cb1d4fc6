/* place_tree.c - numbers with range updates: the occupied width of each row. */
#include "layout/place_in.h"

int place_tree_init(struct placing *p, struct place_tree *tree, uint32_t n)
{
    tree->size = 1;
    while (tree->size < n)
        tree->size *= 2;
    tree->least = place_array(p, (size_t)tree->size * 2, sizeof(int64_t));
    tree->most = place_array(p, (size_t)tree->size * 2, sizeof(int64_t));
    return tree->least && tree->most ? 0 : -1;
}

static void tree_refresh(struct place_tree *tree, uint32_t at)
{
    while ((at /= 2) > 0)
        tree->most[at] = place_larger(
            tree->least[at], place_larger(tree->most[2 * at], tree->most[2 * at + 1]));
}

static void raise_node(struct place_tree *tree, uint32_t at, int64_t value)
{
    tree->least[at] = place_larger(tree->least[at], value);
    tree->most[at] = place_larger(tree->most[at], value);
}

void place_tree_raise(struct place_tree *tree, uint32_t from, uint32_t to,
                      int64_t value)
{
    uint32_t low = from + tree->size, high = to + tree->size + 1;

    for (; low < high; low /= 2, high /= 2) {
        if (low & 1)
            raise_node(tree, low++, value);
        if (high & 1)
            raise_node(tree, --high, value);
    }
    tree_refresh(tree, from + tree->size);
    tree_refresh(tree, to + tree->size);
}

int64_t place_tree_most(const struct place_tree *tree, uint32_t from, uint32_t to)
{
    uint32_t low = from + tree->size, high = to + tree->size + 1;
    int64_t most = 0;

    for (; low < high; low /= 2, high /= 2) {
        if (low & 1)
            most = place_larger(most, tree->most[low++]);
        if (high & 1)
            most = place_larger(most, tree->most[--high]);
    }
    for (low = from + tree->size; low > 0; low /= 2)
        most = place_larger(most, tree->least[low]);
    for (high = to + tree->size; high > 0; high /= 2)
        most = place_larger(most, tree->least[high]);
    return most;
}
