/* details_in.h - the parts of the Details panel. Each adds facts to d->facts; what is
 * drawn otherwise comes behind details_flush(). */
#ifndef EXPLORER_DETAILS_IN_H
#define EXPLORER_DETAILS_IN_H

#include "explorer/explorer.h"
#include "facts/fact.h"

struct details {
    struct facts facts;
    struct lines *to;
    struct explorer *explorer;
    const struct show *show;
    unsigned width;
    unsigned indent; /* cells left of what a label says */
    bool roomy;      /* what is as expected is told too */
};

#define DETAILS_INDENT 11 /* of the file as a whole */

/* Draw the facts so far. */
void details_flush(struct details *d);

/* The file or recording as a whole. */
void details_file(struct details *d);
/* What a load would run, every global and its uses. */
void details_safety(struct details *d);
/* What is known of the values below: one fact, or none where there are no tensors. */
void details_measured(struct details *d, const struct measured *measured);
/* Of one tensor: its extremes, whether they are finite, or why that is not known. */
void details_tensor_values(struct details *d, uint32_t tensor);

#endif
