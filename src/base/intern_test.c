#include "base/intern.h"

#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/test.h"

TEST(the_same_bytes_get_the_same_id)
{
    struct arena arena;
    struct intern intern;
    char text[32];
    uint32_t i;

    arena_init(&arena, 0);
    CHECK(intern_init(&intern, &arena) == 0);
    for (i = 1; i < 50000; i++) {
        snprintf(text, sizeof text, "layer.%u", i);
        CHECK(intern_add(&intern, str_of(text)) == i);
        CHECK(intern_add(&intern, str_of(text)) == i);
    }
    for (i = 1; i < 50000; i++) {
        snprintf(text, sizeof text, "layer.%u", i);
        CHECK(intern_find(&intern, str_of(text)) == i);
        CHECK_STR(intern_str(&intern, i).at, text);
    }
    CHECK_INT(intern.n, 50000);
    arena_release(&arena);
}

TEST(id_zero_is_the_empty_string)
{
    struct arena arena;
    struct intern intern;

    arena_init(&arena, 0);
    CHECK(intern_init(&intern, &arena) == 0);
    CHECK_INT(intern_add(&intern, STR("")), 0);
    CHECK_INT(intern_add(&intern, str_of(NULL)), 0);
    CHECK_INT(intern_str(&intern, 0).len, 0);
    CHECK(intern_find(&intern, STR("x")) == INTERN_NONE);
    CHECK_INT(intern_add(&intern, str_span("a\0b", 3)), 1);
    CHECK_INT(intern_add(&intern, str_span("a\0c", 3)), 2);
    arena_release(&arena);
}

TEST(strings_of_any_length_read_back_and_do_not_move)
{
    static char text[5000];
    const char *at[sizeof text];
    struct arena arena;
    struct intern intern;

    memset(text, 'x', sizeof text);
    arena_init(&arena, 0);
    CHECK(intern_init(&intern, &arena) == 0);
    for (uint32_t len = 1; len < sizeof text; len++) {
        CHECK_INT(intern_add(&intern, str_span(text, len)), len);
        at[len] = intern_str(&intern, len).at;
    }
    for (uint32_t len = 1; len < sizeof text; len++) {
        CHECK(str_eq(intern_str(&intern, len), str_span(text, len)));
        CHECK(intern_str(&intern, len).at == at[len] && at[len][len] == '\0');
    }
    arena_release(&arena);
}

TEST(short_strings_take_six_extra_bytes)
{
    struct arena arena, table;
    struct intern intern;
    char text[32];

    arena_init(&arena, 0);
    arena_init(&table, 0);
    CHECK(intern_init_apart(&intern, &arena, &table) == 0);
    for (uint32_t i = 100000; i < 200000; i++) {
        snprintf(text, sizeof text, "%u", i);
        CHECK(intern_add(&intern, str_of(text)) != INTERN_NONE);
    }
    /* An array may reserve up to twice what it needs. */
    CHECK(arena.used < 100000 * (6 + 8 + 4 + 1));
    arena_release(&table);
    arena_release(&arena);
}

TEST(a_spent_arena_gives_no_id_and_keeps_the_old_ones)
{
    struct arena arena;
    struct intern intern;
    char text[32];
    uint32_t i = 0, n;

    arena_init(&arena, 256 * KIB);
    CHECK(intern_init(&intern, &arena) == 0);
    do
        snprintf(text, sizeof text, "layer.%u", ++i);
    while (intern_add(&intern, str_of(text)) != INTERN_NONE);
    CHECK(arena.spent && i > 1000);
    n = i;
    for (i = 1; i < n; i++) {
        snprintf(text, sizeof text, "layer.%u", i);
        CHECK(intern_find(&intern, str_of(text)) == i);
    }
    arena_release(&arena);
}

TEST(a_sealed_table_returns_strings_and_adds_none)
{
    struct arena arena, table;
    struct intern intern;

    arena_init(&arena, 0);
    arena_init(&table, 0);
    CHECK(intern_init_apart(&intern, &arena, &table) == 0);
    CHECK_INT(intern_add(&intern, STR("weight")), 1);
    arena_release(&table);
    intern_seal(&intern);
    CHECK(str_is(intern_str(&intern, 1), "weight"));
    CHECK(intern_find(&intern, STR("weight")) == INTERN_NONE);
    CHECK(intern_add(&intern, STR("bias")) == INTERN_NONE);
    arena_release(&arena);
}
