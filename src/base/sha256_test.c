#include "base/sha256.h"

#include <string.h>

#include "base/sha256_in.h"
#include "base/test.h"

static void check_hash(const char *text, size_t times, const char *expected)
{
    struct sha256 sha;
    char hex[65];

    sha256_init(&sha);
    for (; times > 0; times--)
        sha256_add(&sha, text, strlen(text));
    sha256_hex(&sha, hex);
    CHECK_STR(hex, expected);
}

TEST(known_texts_have_their_known_digests)
{
    check_hash("", 1,
               "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check_hash("abc", 1,
               "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check_hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
               "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    check_hash("a", 1000000,
               "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    check_hash("aaaaaaaaaa", 100000,
               "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* Pseudo-random bytes, the same in every run. */
static void fill(uint8_t *at, size_t n)
{
    uint32_t state = 1;
    size_t i;

    for (i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        at[i] = (uint8_t)(state >> 24);
    }
}

TEST(the_cpu_agrees_with_the_plain_code)
{
    uint32_t plain[8] = {1, 2, 3, 4, 5, 6, 7, 0xffffffff}, cpu[8];
    uint8_t bytes[64 * 20 + 1];
    size_t n;

    if (!sha256_has_cpu())
        SKIP("this CPU has no instructions for it");
    fill(bytes, sizeof bytes);
    memcpy(cpu, plain, sizeof cpu);
    for (n = 0; n <= 20; n++) {
        sha256_blocks_plain(plain, bytes + n % 2, n);
        sha256_blocks_cpu(cpu, bytes + n % 2, n);
        CHECK_MEM(cpu, plain, sizeof cpu);
    }
}

TEST(the_digest_does_not_depend_on_the_split_into_updates)
{
    uint8_t bytes[300];
    size_t len, step;

    fill(bytes, sizeof bytes);
    for (len = 0; len <= sizeof bytes; len += 7) {
        char whole[65], pieces[65];
        struct sha256 sha;

        sha256_init(&sha);
        sha256_add(&sha, bytes, len);
        sha256_hex(&sha, whole);
        for (step = 1; step < 140; step += 3) {
            size_t at;

            sha256_init(&sha);
            for (at = 0; at < len; at += step)
                sha256_add(&sha, bytes + at, len - at < step ? len - at : step);
            sha256_hex(&sha, pieces);
            CHECK_STR(pieces, whole);
        }
    }
}
