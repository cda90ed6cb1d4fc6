/* pickle_notes_in.h - what looking at a finished pickle keeps, so that looking twice is
 * cheap. Made at the end of pickle_run(), in the scratch arena. */
#ifndef READ_PICKLE_NOTES_IN_H
#define READ_PICKLE_NOTES_IN_H

#include "base/map.h"
#include "read/pickle_in.h"

struct pickle_notes {
    struct map keys;      /* (dict, key) -> which item: for large dicts */
    struct map values;    /* node -> value, for containers folded before */
    uint32_t values_made; /* nodes folded into values so far */
};

#endif
