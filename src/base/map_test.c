#include "base/map.h"

#include "base/base.h"
#include "base/test.h"

TEST(a_map_returns_the_stored_values)
{
    struct arena arena;
    struct map map;
    uint32_t i, value = 7;

    arena_init(&arena, 0);
    map_init(&map, &arena);
    CHECK(!map_find(&map, 0, &value) && value == 7);
    for (i = 0; i < 100000; i++)
        CHECK(map_put(&map, (uint64_t)i << 32, i) == 0);
    for (i = 0; i < 100000; i++)
        CHECK(map_find(&map, (uint64_t)i << 32, &value) && value == i);
    CHECK(!map_find(&map, 1, &value));
    CHECK_INT(map.n, 100000);
    arena_release(&arena);
}

TEST(putting_a_key_again_changes_its_value)
{
    struct arena arena;
    struct map map;
    uint32_t value;

    arena_init(&arena, 0);
    map_init(&map, &arena);
    CHECK(map_put(&map, UINT64_MAX, 1) == 0);
    CHECK(map_put(&map, UINT64_MAX, UINT32_MAX) == 0);
    CHECK(map_find(&map, UINT64_MAX, &value) && value == UINT32_MAX);
    CHECK_INT(map.n, 1);
    arena_release(&arena);
}

TEST(a_spent_arena_leaves_a_map_unchanged)
{
    struct arena arena;
    struct map map;
    uint32_t i, n, value;

    arena_init(&arena, 200 * KIB);
    map_init(&map, &arena);
    for (n = 0; map_put(&map, n, n) == 0; n++)
        ;
    CHECK(arena.spent && map.n == n && n > 1000);
    CHECK(!map_find(&map, n, &value));
    for (i = 0; i < n; i++)
        CHECK(map_find(&map, i, &value) && value == i);
    arena_release(&arena);
}

TEST(names_get_indices_in_order_of_insertion)
{
    struct name_map names;
    struct arena arena;
    uint32_t i;

    arena_init(&arena, 0);
    name_map_init(&names, &arena);
    CHECK(!name_map_find(&names, STR("a"), &i));
    CHECK(name_map_add(&names, STR("a"), &i) == 1 && i == 0);
    CHECK(name_map_add(&names, STR(""), &i) == 1 && i == 1);
    CHECK(name_map_add(&names, STR("a"), &i) == 0 && i == 0);
    CHECK(name_map_find(&names, STR(""), &i) && i == 1);
    CHECK(names.n == 2);
    arena_release(&arena);
}

TEST(a_map_without_memory_stays_empty)
{
    struct arena arena;
    struct map map;
    uint32_t value;

    arena_init(&arena, 16);
    map_init(&map, &arena);
    CHECK(map_put(&map, 1, 1) == -1);
    CHECK(!map_find(&map, 1, &value));
    CHECK(map_put(&map, 1, 1) == -1);
    arena_release(&arena);
}
