#include "base/base64.h"

#include "base/test.h"

static bool gives(const char *text, const char *bytes)
{
    struct arena arena;
    struct str got = {0};
    bool same;

    arena_init(&arena, 0);
    same = base64_decode(str_of(text), &arena, &got) && str_is(got, bytes);
    arena_release(&arena);
    return same;
}

TEST(base64_gives_the_encoded_bytes)
{
    CHECK(gives("", ""));
    CHECK(gives("Zg==", "f"));
    CHECK(gives("Zm8=", "fo"));
    CHECK(gives("Zm9v", "foo"));
    CHECK(gives("Zm9vYmFy\n", "foobar"));
    CHECK(gives("Zm9v\nYmE", "fooba"));
    CHECK(gives("+/+/", "\xfb\xff\xbf"));
}

TEST(other_text_is_not_base64)
{
    CHECK(!gives("Zm9v!", ""));
    CHECK(!gives("Zm=9", ""));
}
