/* sha256.h - SHA-256, using the CPU's instructions if available. */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

struct sha256 {
    uint32_t state[8];
    uint64_t bytes;
    uint8_t block[64];
};

void sha256_init(struct sha256 *sha);
void sha256_add(struct sha256 *sha, const void *at, size_t n);
void sha256_hex(struct sha256 *sha, char hex[65]); /* ends it; 64 digits and NUL */

#endif
