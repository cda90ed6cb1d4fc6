/* pickle_notes_in.h - caches for looking at the nodes of a pickle. Made by pickle_run()
 * in the scratch arena. */
#ifndef READ_PICKLE_PICKLE_NOTES_IN_H
#define READ_PICKLE_PICKLE_NOTES_IN_H

#include "base/map.h"
#include "read/pickle/pickle_in.h"

struct pickle_notes {
    struct map keys;      /* (dict, key) -> index of the item, for large dicts */
    struct map values;    /* node -> value, for containers */
    uint32_t values_left; /* nodes that may still be folded into values */
    uint32_t *held;       /* values of the containers being folded */
    uint32_t n_held, held_room;
    bool finished; /* the run has ended: nodes do not change */
};

#endif
