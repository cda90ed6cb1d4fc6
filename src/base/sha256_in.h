/* sha256_in.h - the two implementations of block digests, for sha256.c and its test. */
#ifndef BASE_SHA256_IN_H
#define BASE_SHA256_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Digest n blocks of 64 bytes each into the state. */
void sha256_blocks_plain(uint32_t state[8], const uint8_t *at, size_t n);

/* The same with the CPU's own instructions; only where sha256_has_cpu() is true. */
void sha256_blocks_cpu(uint32_t state[8], const uint8_t *at, size_t n);
bool sha256_has_cpu(void);

extern const uint32_t sha256_round[64];

#endif
