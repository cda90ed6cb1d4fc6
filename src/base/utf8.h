/* utf8.h - decoding and encoding UTF-8. text/ knows which characters are wide or
 * printable. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* Decode the character at the front of `s` (not empty). Returns its length in bytes, or
 * 0 if these bytes are not UTF-8 (overlong forms, surrogates, beyond U+10FFFF). */
int utf8_decode(struct str s, uint32_t *ret_code);

/* Write `code` as UTF-8; returns 1..4. Surrogates are encoded too (WTF-8). */
int utf8_encode(uint32_t code, char to[4]);

bool utf8_valid(struct str s);

#endif
