/* measured.h - how many values of a model were measured, and whether they are finite.
 * The title, the gutter, `!` and Details all use this, so that they agree; "not
 * measured" is never shown as "none". */
#ifndef EXPLORER_MEASURED_H
#define EXPLORER_MEASURED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct explorer;

struct measured {
    uint32_t known;      /* tensors with statistics */
    uint32_t left;       /* tensors that can be measured but are not yet */
    uint32_t unreadable; /* tensors whose values cannot be read */
    uint32_t spoilt;     /* those of `known` with NaN or Inf */
    uint64_t left_bytes; /* of `left` */
    bool nan, inf;       /* which of the two were found */
    uint32_t first;      /* place of the first spoilt tensor, or NO_PLACE */
};

/* Count the tensors at a place and below; at the root, those of the whole model. */
void measured_below(struct measured *ret_measured, const struct explorer *explorer,
                    uint32_t place);
/* Is this tensor known to hold NaN or Inf? */
bool measured_spoilt(const struct explorer *explorer, uint32_t tensor);

/* "12 of 320 tensors measured, the rest is being measured", "not measured (97.7MB)",
 * "122 tensors measured: no NaN, no Inf". Nothing without tensors. */
void measured_text(struct buf *to, const struct explorer *explorer,
                   const struct measured *measured);

/* Measure a small model, once: in the background if there are jobs, and without
 * progress in the status line. Large models, live models and pairs are skipped. */
bool measured_start(struct explorer *explorer);

#endif
