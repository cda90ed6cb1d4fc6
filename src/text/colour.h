/* colour.h - roles of text, and the terminal codes of their colours. Every role is also
 * visible without colour, by a sign or a word. */
#ifndef TEXT_COLOUR_H
#define TEXT_COLOUR_H

#include <stdbool.h>

#define HEAT_STEPS     8 /* of one side: low to high */
#define HEAT_HALFSTEPS 4 /* of each side of zero: near to far */

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
    COLOUR_SAME,    /* rows of the selected row's class */
    COLOUR_FOCUS,   /* the title rule of what has the focus */
    COLOUR_CURSOR,  /* the selected row: a background */
    COLOUR_HEAT,    /* COLOUR_HEAT + 0 .. 7: low to high */
    COLOUR_COLD = COLOUR_HEAT + HEAT_STEPS,     /* COLOUR_COLD + 0 .. 3: below zero */
    COLOUR_WARM = COLOUR_COLD + HEAT_HALFSTEPS, /* COLOUR_WARM + 0 .. 3: above zero */
    COLOUR_COUNT = COLOUR_WARM + HEAT_HALFSTEPS
};

/* The code that begins the role on a terminal of sixteen colours, and the one that ends
 * it; "" when colours are off. */
const char *colour_begin(enum colour role, bool on);
const char *colour_end(enum colour role, bool on);

#endif
