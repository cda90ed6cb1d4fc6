#include "base/arena.h"

#include <stdalign.h>
#include <string.h>

#include "base/base.h"
#include "base/test.h"

TEST(allocations_are_zeroed_aligned_and_disjoint)
{
    struct arena arena;
    char *before = NULL;
    int i;

    arena_init(&arena, 0);
    for (i = 0; i < 3000; i++) {
        size_t size = (size_t)i % 97;
        char *at = arena_alloc(&arena, size);
        size_t k;

        CHECK(at && at != before);
        CHECK((uintptr_t)at % alignof(max_align_t) == 0);
        for (k = 0; k < size; k++)
            CHECK(at[k] == 0);
        memset(at, 0xff, size);
        arena_str(&arena, STR("odd"));
        before = at;
    }
    arena_release(&arena);
}

TEST(a_small_arena_takes_little)
{
    struct arena arena;

    arena_init(&arena, 0);
    CHECK_INT(arena.used, 0);
    CHECK(arena_alloc(&arena, 1));
    CHECK(arena.used <= 16 * KIB);
    arena_release(&arena);
    CHECK_INT(arena.used, 0);
}

TEST(the_limit_applies_to_small_allocations)
{
    struct arena arena;
    size_t n = 0;

    arena_init(&arena, 100 * KIB);
    while (arena_alloc(&arena, 100))
        n++;
    CHECK(arena.spent && arena.used <= 100 * KIB);
    CHECK(n > 700); /* most of the limit was used */
    arena_release(&arena);
}

TEST(the_limit_applies_to_large_allocations)
{
    struct arena arena;

    arena_init(&arena, MIB);
    CHECK(!arena_alloc(&arena, MIB));
    CHECK(arena.spent && arena.used == 0);
    CHECK(arena_alloc(&arena, MIB / 2));
    CHECK(!arena_alloc(&arena, MIB / 2));
    CHECK(arena.used <= MIB);
    arena_release(&arena);
    CHECK(!arena.spent);
}

TEST(a_size_that_wraps_around_is_refused)
{
    struct arena arena;

    arena_init(&arena, 0);
    CHECK(!arena_array(&arena, SIZE_MAX / 2, 4));
    CHECK(!arena_alloc(&arena, SIZE_MAX));
    CHECK(!arena_alloc(&arena, SIZE_MAX - 8));
    CHECK(!arena_str(&arena, str_span("", SIZE_MAX)).at);
    CHECK(arena.spent);
    arena_release(&arena);
}

TEST(copies_of_text_end_in_nul)
{
    struct arena arena;
    struct str copy;

    arena_init(&arena, 0);
    copy = arena_str(&arena, str_head(STR("weights"), 6));
    CHECK_STR(copy.at, "weight");
    copy = arena_str(&arena, str_of(NULL));
    CHECK(copy.len == 0);
    CHECK_STR(copy.at, "");
    CHECK_STR(arena_printf(&arena, "%s[%d]", "layer", 3), "layer[3]");
    arena_release(&arena);
}

TEST(a_growing_array_keeps_its_items_and_zeroes_the_rest)
{
    struct arena arena;
    uint32_t *items = NULL, room = 0, n;

    arena_init(&arena, 0);
    for (n = 0; n < 300000; n++) {
        CHECK(arena_room(&arena, &items, n, &room, sizeof *items) == 0);
        CHECK(items[n] == 0 && items[room - 1] == 0);
        items[n] = n + 1;
        if (n % 1000 == 0)
            CHECK(arena_alloc(&arena, n)); /* blocks growth in place */
    }
    for (n = 0; n < 300000; n++)
        CHECK(items[n] == n + 1);
    arena_release(&arena);
}

TEST(several_large_arrays_grow_side_by_side)
{
    struct arena arena;
    uint64_t *items[5] = {0};
    uint32_t room[5] = {0}, n, k;

    arena_init(&arena, 0);
    for (n = 0; n < 40000; n++)
        for (k = 0; k < 5; k++) {
            CHECK(arena_room(&arena, &items[k], n, &room[k], sizeof *items[k]) == 0);
            items[k][n] = n * 5 + k;
        }
    for (n = 0; n < 40000; n++)
        for (k = 0; k < 5; k++)
            CHECK(items[k][n] == n * 5 + k);
    /* Each has one block of its current size, and small earlier ones. */
    CHECK(arena.used < 5 * (room[0] * sizeof(uint64_t) + 256 * KIB));
    arena_release(&arena);
}

TEST(an_array_that_cannot_grow_is_unchanged)
{
    struct arena arena;
    uint64_t *items = NULL, *before = NULL;
    uint32_t room = 0, n;

    arena_init(&arena, 400 * KIB);
    for (n = 0; arena_room(&arena, &items, n, &room, sizeof *items) == 0; n++) {
        items[n] = n;
        before = items;
    }
    CHECK(arena.spent && items == before && room == n && n >= 8192);
    CHECK(items[n - 1] == n - 1);
    arena_release(&arena);
}

TEST(an_array_of_impossible_size_is_refused)
{
    struct arena arena;
    char *items = NULL;
    uint32_t room = 0;

    arena_init(&arena, 0);
    CHECK(arena_room(&arena, &items, 0, &room, SIZE_MAX / 2) == -1);
    CHECK(arena.spent && room == 0 && !items);
    arena_release(&arena);
}

TEST(a_spent_arena_names_its_purpose)
{
    struct arena arena;
    struct err err = {0};

    arena_init(&arena, 2 * MIB);
    CHECK(arena_err(&arena, "a.gguf", &err) == -1);
    CHECK_INT(err.code, ERR_LIMIT);
    CHECK_STR(err.text, "a.gguf needs more than 2 MiB of memory");
    arena_init(&arena, 100);
    arena_err(&arena, "a.gguf", &err);
    CHECK_STR(err.text, "a.gguf needs more than 100 bytes of memory");
    arena_init(&arena, 0);
    arena_err(&arena, "a.gguf", &err);
    CHECK_STR(err.text, "a.gguf needs more memory than is available");
}

TEST(a_reserve_is_a_hint_that_a_limit_cuts)
{
    struct arena arena;
    uint64_t *items = NULL;
    uint32_t room = 0;

    arena_init(&arena, 3 * MIB);
    arena_reserve(&arena, &items, 100, &room, sizeof *items);
    CHECK(!items && room == 0); /* small arrays grow on demand */
    arena_reserve(&arena, &items, SIZE_MAX, &room, sizeof *items);
    CHECK(items && room * sizeof *items <= MIB && !arena.spent);
    items[room - 1] = 7;
    CHECK(arena_room(&arena, &items, room, &room, sizeof *items) == 0);
    arena_release(&arena);
}

TEST(a_block_of_many_pages_keeps_its_content_when_it_grows)
{
    struct arena arena;
    uint32_t *items = NULL;
    uint32_t room = 0, n = 3000000, i;

    arena_init(&arena, 0);
    for (i = 0; i < n; i++) {
        CHECK(arena_room(&arena, &items, i, &room, sizeof *items) == 0);
        if (items[i] != 0)
            break; /* new items are zeroed */
        items[i] = i;
    }
    CHECK_INT(i, n);
    for (i = 0; i < n && items[i] == i; i++)
        ;
    CHECK_INT(i, n);
    arena_release(&arena);
}

TEST(dropped_pages_leave_the_bytes_after_them)
{
    struct arena arena;
    char *text;

    arena_init(&arena, 0);
    text = arena_alloc(&arena, 3 * MIB);
    CHECK(text != NULL);
    memset(text, 'x', 3 * MIB);
    arena_drop(text, 1 * MIB + 5);
    arena_drop(text, 2 * MIB + 5);
    for (size_t i = 2 * MIB + 5; i < 3 * MIB; i++)
        CHECK(text[i] == 'x');
    arena_release(&arena);
}
