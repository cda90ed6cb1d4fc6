/* measured.h - how much is known about the values of a model, and whether they are
 * finite. The title, the gutter, `!` and Details all say it from here, so that they
 * agree; "not measured" is never shown as "none". */
#ifndef EXPLORER_MEASURED_H
#define EXPLORER_MEASURED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct explorer;

struct measured {
    uint32_t known;      /* tensors with statistics */
    uint32_t left;       /* tensors that can be measured and are not yet */
    uint32_t unreadable; /* tensors whose values cannot be read */
    uint32_t spoilt;     /* of `known`: those with NaN or Inf */
    uint64_t left_bytes; /* of `left` */
    bool nan, inf;       /* which of the two */
    uint32_t first;      /* place of the first spoilt tensor, or NO_PLACE */
};

/* Of the tensors at a place and below; the root's are those of the whole model. */
void measured_below(struct measured *ret_measured, const struct explorer *explorer,
                    uint32_t place);
/* Is this tensor known to hold NaN or Inf? */
bool measured_spoilt(const struct explorer *explorer, uint32_t tensor);

/* "12 of 320 tensors measured, the rest is being measured", "not measured (97.7MB)",
 * "122 tensors measured: no NaN, no Inf": what is known and what is not. Nothing where
 * there are no tensors. */
void measured_text(struct buf *to, const struct explorer *explorer,
                   const struct measured *measured);

/* Measure a small model, once: in the background if there are jobs, and quietly, so
 * that the status line does not report it. Large models, live ones and pairs are left
 * alone.
 */
bool measured_start(struct explorer *explorer);

#endif
