/* row_state.h - properties of a row that a page marks beside its numbers, as bits. */
#ifndef ROWS_ROW_STATE_H
#define ROWS_ROW_STATE_H

#include "rows/labels.h"

enum row_state {                    /* the report's script knows the bits up to 16 */
                 STATE_RUN = 1,     /* represents several equal rows */
                 STATE_ALARM = 2,   /* something went wrong here */
                 STATE_WARNING = 4, /* something below it went wrong */
                 STATE_SPOILT = 8,  /* NaN or Inf in its results */
                 STATE_NOT_CALLED = 16,
                 STATE_FROZEN = 32,   /* it has parameters, none of them trainable */
                 STATE_TIED = 64,     /* a tensor with several places */
                 STATE_SHARED = 128,  /* another place of a module or object */
                 STATE_GUESSED = 256, /* its class is a guess from names and shapes */
                 STATE_HIDDEN =
                     512, /* the explorer's tree has no row for it; set by callers */
                 STATES = 10
};

/* The name of bit `i`: "alarm", "not called", ... */
const char *row_state_name(unsigned i);
/* The bits of a row; `label` was made for it. */
unsigned row_state(const struct show *show, const struct label *label,
                   const struct row *row);

#endif
