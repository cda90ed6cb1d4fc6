/* json_timeline_in.h - the document `timeline` being written: json_timeline.c has the
 * boxes, json_timeline_sums.c memory and where the time goes. */
#ifndef EXPORT_JSON_JSON_TIMELINE_IN_H
#define EXPORT_JSON_JSON_TIMELINE_IN_H

#include "export/export_in.h"
#include "study/timeline.h"

struct timeline_writing {
    struct json *json;
    const struct session *session;
    const struct run *run;
    struct arena arena;
    struct show show;
    struct timeline timeline;
    struct intern texts;
    uint32_t *list; /* as many as boxes, for one column */
    struct buf spare;
    struct err *err;
};

/* The number of the text in `spare`, which is cleared. */
uint32_t timeline_writing_text(struct timeline_writing *w);
/* The family of a place, or none. */
uint8_t timeline_writing_family(const struct timeline_writing *w, uint32_t place);

/* "phases", "sentence", "flops_text". */
void timeline_writing_sums(struct timeline_writing *w);
/* "memory"; null and why without one. */
int timeline_writing_memory(struct timeline_writing *w);
/* "modules". */
int timeline_writing_modules(struct timeline_writing *w);

#endif
