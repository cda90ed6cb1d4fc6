#include "study/diverge/sequence.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/test.h"

struct two_sequences {
    struct arena arena;
    struct sequence_side side[2];
};

static uint64_t *make(struct two_sequences *two, int side, uint32_t n)
{
    uint64_t *signatures = arena_array(&two->arena, (size_t)n + 1, sizeof *signatures);
    uint32_t *match = arena_array(&two->arena, (size_t)n + 1, sizeof *match);

    CHECK(signatures && match);
    memset(match, 0xff, ((size_t)n + 1) * sizeof *match);
    two->side[side] = (struct sequence_side){signatures, match, n};
    return signatures;
}

static void from_text(struct two_sequences *two, const char *left, const char *right)
{
    const char *text[2] = {left, right};

    arena_init(&two->arena, GIB);
    for (int side = 0; side < 2; side++) {
        uint32_t n = (uint32_t)strlen(text[side]);
        uint64_t *to = make(two, side, n);

        for (uint32_t i = 0; i < n; i++)
            to[i] = text[side][i] == ' ' ? 0 : (uint64_t)text[side][i];
    }
}

/* What matched, as text; every match must be mutual, equal and in order. */
static const char *matched(struct two_sequences *two)
{
    char *text = arena_alloc(&two->arena, (size_t)two->side[0].n + 1);
    uint32_t last = 0, n = 0;

    CHECK(sequence_align(&two->side[0], &two->side[1], &two->arena) == 0);
    for (uint32_t i = 0; i < two->side[0].n; i++) {
        uint32_t to = two->side[0].match[i];

        if (to == SEQUENCE_NONE)
            continue;
        CHECK_INT(two->side[1].match[to], i);
        CHECK(two->side[0].signatures[i] == two->side[1].signatures[to]);
        CHECK(n == 0 || to > last);
        last = to;
        text[n++] = (char)two->side[0].signatures[i];
    }
    return text;
}

static const char *align_text(struct two_sequences *two, const char *left,
                              const char *right)
{
    from_text(two, left, right);
    return matched(two);
}

TEST(short_sequences_have_their_longest_common_subsequence)
{
    static const char *const cases[][3] = {
        {"abc", "abc", "abc"},
        {"abc", "axc", "ac"},
        {"abcabba", "cbabac", "baba"},
        {"", "abc", ""},
        {"abc", "", ""},
        {"xyz", "abc", ""},
        {"aab", "ab", "ab"},
        {"aXbXc", "XaXbcX", "aXbc"},
        {"a b", "a b", "ab"}, /* a blank matches nothing */
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct two_sequences two;
        const char *got = align_text(&two, cases[i][0], cases[i][1]);

        CHECK_INT(strlen(got), strlen(cases[i][2]));
        arena_release(&two.arena);
    }
}

TEST(given_matches_stay_and_separate_the_rest)
{
    struct two_sequences two;

    from_text(&two, "axbxc", "xbxxx");
    two.side[0].match[2] = 1;
    two.side[1].match[1] = 2;
    CHECK_STR(matched(&two), "xbx");
    CHECK_INT(two.side[0].match[1], 0);
    CHECK_INT(two.side[0].match[3], 2);
    arena_release(&two.arena);
}

/* A pattern that repeats 40,000 times, with items that only one side has. */
TEST(long_sequences_of_few_signatures_align_around_what_was_inserted)
{
    enum { N = 200000, INSERTED = 20 };
    struct two_sequences two;
    uint64_t *left, *right;
    uint32_t n = 0;

    arena_init(&two.arena, GIB);
    left = make(&two, 0, N);
    right = make(&two, 1, N + INSERTED);
    for (uint32_t i = 0; i < N; i++) {
        left[i] = 1 + i % 5;
        if (i % (N / INSERTED) == 77)
            right[n++] = 3;
        right[n++] = left[i];
    }
    CHECK_INT(n, N + INSERTED);
    CHECK(sequence_align(&two.side[0], &two.side[1], &two.arena) == 0);
    n = 0;
    for (uint32_t i = 0; i < N; i++)
        n += two.side[0].match[i] != SEQUENCE_NONE;
    CHECK_INT(n, N);
    arena_release(&two.arena);
}

/* The exact comparison would need far too many edits: it gives up. */
TEST(long_sequences_without_common_items_finish_quickly)
{
    enum { N = 100000 };
    struct two_sequences two;
    uint64_t *left, *right;
    uint32_t n = 0, random = 1;

    arena_init(&two.arena, GIB);
    left = make(&two, 0, N);
    right = make(&two, 1, N);
    for (uint32_t i = 0; i < N; i++) {
        random = random * 1664525u + 1013904223u;
        left[i] = 1 + (random >> 24) % 7;
        random = random * 1664525u + 1013904223u;
        right[i] = 1 + (random >> 24) % 7;
    }
    CHECK(sequence_align(&two.side[0], &two.side[1], &two.arena) == 0);
    for (uint32_t i = 0; i < N; i++)
        n += two.side[0].match[i] != SEQUENCE_NONE;
    CHECK(n < N / 2);
    arena_release(&two.arena);
}

TEST(items_that_occur_once_are_anchors_in_long_sequences)
{
    enum { N = 5000 };
    struct two_sequences two;
    uint64_t *left, *right;
    uint32_t anchors = 0;

    arena_init(&two.arena, GIB);
    left = make(&two, 0, N);
    right = make(&two, 1, N);
    for (uint32_t i = 0; i < N; i++) {
        left[i] = i % 10 == 0 ? 1000 + i : 1 + i % 3;
        right[i] = i % 10 == 0 ? 1000 + i : 4 + i % 3;
    }
    CHECK(sequence_align(&two.side[0], &two.side[1], &two.arena) == 0);
    for (uint32_t i = 0; i < N; i++)
        anchors += two.side[0].match[i] == i;
    CHECK_INT(anchors, N / 10);
    arena_release(&two.arena);
}
