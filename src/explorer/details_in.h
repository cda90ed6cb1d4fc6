/* details_in.h - the parts of the Details panel. Each adds facts to d->facts. */
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
    unsigned indent; /* width of the label column */
    bool roomy;      /* show expected facts too */
};

#define DETAILS_INDENT 11 /* for the file as a whole */

/* The file or recording as a whole. */
void details_file(struct details *d);
/* Code that loading the file would run: every global and its uses. */
void details_safety(struct details *d);
/* The measurements of the values below: one fact, or none without tensors. */
void details_measured(struct details *d, const struct measured *measured);
/* The extremes of one tensor, and whether all values are finite; if unknown, the
 * reason. */
void details_tensor_values(struct details *d, uint32_t tensor);

#endif
