/* pickle_notes_in.h - what looking at a pickle's nodes keeps, so that looking twice is
 * cheap. Made by pickle_run(), in the scratch arena. */
#ifndef READ_PICKLE_PICKLE_NOTES_IN_H
#define READ_PICKLE_PICKLE_NOTES_IN_H

#include "base/map.h"
#include "read/pickle/pickle_in.h"

struct pickle_notes {
    struct map keys;      /* (dict, key) -> which item: for large dicts */
    struct map values;    /* node -> value, for containers folded before */
    uint32_t values_left; /* nodes that may still be folded into values */
    uint32_t *held;       /* values of the containers being folded */
    uint32_t n_held, held_room;
    bool finished; /* no node changes any more: an index may be made */
};

#endif
