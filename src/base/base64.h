/* base64.h - bytes written as text, as in JSON. */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

/* Decode into the arena. Line ends are skipped; `=` at the end may be missing. False: a
 * character that is not base64, or the arena is spent. */
bool base64_decode(struct str text, struct arena *arena, struct str *ret_bytes);

#endif
