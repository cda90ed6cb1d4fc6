#include <stdio.h>

#include "base/test.h"
#include "read/remote/fetch_in.h"
#include "read/remote/remote_in.h"

static bool parses(const char *text, uint64_t from, uint64_t to, uint64_t total)
{
    uint64_t a = 0, b = 0, c = 0;

    return fetch_parse_range(str_of(text), &a, &b, &c) && a == from && b == to &&
           c == total;
}

TEST(content_ranges_are_parsed)
{
    static const char *const wrong[] = {
        "",
        "bytes",
        "bytes 0-9",
        "bytes 0-9/*",
        "bytes */10",
        "bytes 9-0/10",
        "bytes 0-10/10",
        "bytes -1-3/10",
        "items 0-9/10",
        "bytes 0-9/10x",
        "bytes 0-99999999999999999999999/100000000000000000000000",
    };

    CHECK(parses("bytes 0-9/10", 0, 9, 10));
    CHECK(parses(" bytes 65536-131071/4294967296\r\n", 65536, 131071, 4294967296));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(!parses(wrong[i], 0, 9, 10));
}

static const char *shown(const char *url)
{
    static char text[200];
    struct arena arena;

    arena_init(&arena, 0);
    snprintf(text, sizeof text, "%s", remote_shown(url, &arena));
    arena_release(&arena);
    return text;
}

TEST(secrets_in_an_address_are_not_shown)
{
    CHECK(remote_is_url("https://x/y.pth") && remote_is_url("HTTP://x"));
    CHECK(!remote_is_url("https:/x") && !remote_is_url("ftp://x") &&
          !remote_is_url(""));
    CHECK_STR(shown("https://x.org/a/m.pth"), "https://x.org/a/m.pth");
    CHECK_STR(shown("https://me:pa@ss@x.org:80/m.pth?sig=1#f"),
              "https://x.org:80/m.pth");
    CHECK_STR(shown("http://x?a@b"), "http://x");
    CHECK_STR(shown("https://x/a@b.pth"), "https://x/a@b.pth");
}

static const char *beside(const char *url, const char *name)
{
    static char text[200];
    struct arena arena;

    arena_init(&arena, 0);
    snprintf(text, sizeof text, "%s", remote_beside(url, str_of(name), &arena));
    arena_release(&arena);
    return text;
}

TEST(a_file_beside_another_keeps_the_query)
{
    CHECK_STR(beside("https://x/a/i.json", "m-1.safetensors"),
              "https://x/a/m-1.safetensors");
    CHECK_STR(beside("https://x/a/i.json?t=1/2#z", "m 1?#%.st"),
              "https://x/a/m%201%3F%23%25.st?t=1/2");
}
