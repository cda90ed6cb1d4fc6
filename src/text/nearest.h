/* nearest.h - suggests the intended word for a typo. */
#ifndef TEXT_NEAREST_H
#define TEXT_NEAREST_H

#include <stddef.h>

/* The closest of `n` names to a mistyped `word`, or NULL. `stride` is the distance in
 * bytes between the pointers to the names, which may be members of structs. */
const char *text_nearest(const char *word, const void *names, size_t n, size_t stride);

#endif
