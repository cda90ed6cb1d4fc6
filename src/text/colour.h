/* colour.h - what colours mean. One role, one code; without colour each role is still
 * told by a sign or a word, so both functions may give "". */
#ifndef TEXT_COLOUR_H
#define TEXT_COLOUR_H

#include <stdbool.h>

enum colour {
    COLOUR_NONE,
    COLOUR_DIM,     /* guides, zeros, hints, guesses, frozen rows */
    COLOUR_TYPE,    /* class names */
    COLOUR_TENSOR,  /* ▪ ▫ ⇄ */
    COLOUR_GOOD,    /* ✓ SAFE */
    COLOUR_WARNING, /* ! NEEDS CODE, ? INCONCLUSIVE */
    COLOUR_ALARM,   /* ✗, NaN, Inf, UNSAFE */
    COLOUR_MATCH,   /* what a search found */
    COLOUR_STRONG,  /* names of files, headings */
    COLOUR_COUNT
};

/* The code that begins the role on a terminal of sixteen colours, and the one that ends
 * it; "" when colours are off. */
const char *colour_begin(enum colour role, bool on);
const char *colour_end(enum colour role, bool on);

#endif
