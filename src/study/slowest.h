/* slowest.h - exclusive times of a run by place and by class: nothing is counted
 * twice. */
#ifndef STUDY_SLOWEST_H
#define STUDY_SLOWEST_H

#include "base/arena.h"
#include "base/err.h"
#include "study/activity.h"

struct slow {
    uint32_t place; /* for a class: of its slowest module */
    uint32_t class_id, places;
    uint64_t calls, self_ns;
};
struct slow_list {
    struct slow *at; /* slowest first */
    uint32_t n;
};

/* All called modules by place, and their classes; in the arena. */
int slowest_of(struct slow_list *ret_places, struct slow_list *ret_classes,
               const struct activities *activities, const struct model *model,
               struct arena *arena, struct err *err);

#endif
