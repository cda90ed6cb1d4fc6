/* kept_text.h - a kept value of a recording: its properties, producer and readers. */
#ifndef FACTS_OBJECTS_KEPT_TEXT_H
#define FACTS_OBJECTS_KEPT_TEXT_H

#include "facts/fact.h"
#include "rows/show.h"

/* shape, dtype, memory, strides, device, "made by", "read by", step. The value is a result
 * of the call. */
void kept_facts(struct facts *to, const struct show *show, uint32_t call,
                uint32_t value);

#endif
