#include "base/sha256.h"

#include <string.h>

#include "base/sha256_in.h"

const uint32_t sha256_round[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
    0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
    0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
    0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
    0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
    0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
    0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
    0xc67178f2};

static uint32_t turn(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

/* Names as in FIPS 180-4: the message schedule w, working variables a to h. */
static void schedule(uint32_t w[64], const uint8_t *at)
{
    int i;

    for (i = 0; i < 16; i++, at += 4)
        w[i] = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 |
               at[3];
    for (; i < 64; i++) {
        uint32_t x = w[i - 15], y = w[i - 2];

        w[i] = w[i - 16] + w[i - 7] + (turn(x, 7) ^ turn(x, 18) ^ x >> 3) +
               (turn(y, 17) ^ turn(y, 19) ^ y >> 10);
    }
}

static void digest_block(uint32_t state[8], const uint8_t *at)
{
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    uint32_t w[64];
    int i;

    schedule(w, at);
    for (i = 0; i < 64; i++) {
        uint32_t t1 = h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) +
                      ((e & f) ^ (~e & g)) + sha256_round[i] + w[i];
        uint32_t t2 =
            (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));

        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
}

void sha256_blocks_plain(uint32_t state[8], const uint8_t *at, size_t n)
{
    for (; n > 0; n--, at += 64)
        digest_block(state, at);
}

static void digest(struct sha256 *sha, const uint8_t *at, size_t n)
{
    if (n == 0)
        return;
    if (sha256_has_cpu())
        sha256_blocks_cpu(sha->state, at, n);
    else
        sha256_blocks_plain(sha->state, at, n);
}

void sha256_init(struct sha256 *sha)
{
    *sha = (struct sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void sha256_add(struct sha256 *sha, const void *at, size_t n)
{
    const uint8_t *next = at;
    size_t held = sha->bytes % 64;

    if (n == 0)
        return;
    sha->bytes += n;
    if (held > 0) {
        size_t more = n < 64 - held ? n : 64 - held;

        memcpy(sha->block + held, next, more);
        if (held + more < 64)
            return;
        digest(sha, sha->block, 1);
        next += more;
        n -= more;
    }
    digest(sha, next, n / 64);
    memcpy(sha->block, next + n / 64 * 64, n % 64);
}

/* Padding: a one bit, zeros, and the length in bits as a big-endian u64, filling the
 * last block. */
static void add_end(struct sha256 *sha)
{
    uint64_t bits = sha->bytes * 8;
    uint8_t end[72] = {0x80};
    size_t zeros_to = 64 - (sha->bytes + 8) % 64; /* 1..64, including the one bit */
    int i;

    for (i = 0; i < 8; i++)
        end[zeros_to + (size_t)i] = (uint8_t)(bits >> (56 - 8 * i));
    sha256_add(sha, end, zeros_to + 8);
}

void sha256_hex(struct sha256 *sha, char hex[65])
{
    static const char digits[] = "0123456789abcdef";
    int i;

    add_end(sha);
    for (i = 0; i < 64; i++)
        hex[i] = digits[sha->state[i / 8] >> (28 - 4 * (i % 8)) & 15];
    hex[64] = '\0';
}
