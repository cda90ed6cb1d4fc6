/* nearest.h - what a mistyped word was probably meant to be. */
#ifndef TEXT_NEAREST_H
#define TEXT_NEAREST_H

#include <stddef.h>

/* The name among `n` names that `word` was probably meant to be, or NULL. `stride` is
 * the distance between the pointers to the names: they may lie in a table of structs.
 */
const char *text_nearest(const char *word, const void *names, size_t n, size_t stride);

#endif
