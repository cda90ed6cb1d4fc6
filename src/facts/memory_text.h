/* memory_text.h - the tensor memory of a run with operations: its peak and its parts,
 * and what modules save for backward. Appends nothing for other runs. */
#ifndef FACTS_MEMORY_TEXT_H
#define FACTS_MEMORY_TEXT_H

#include "facts/fact.h"
#include "rows/show.h"

/* The run; at most `most` modules are named:
 *     peak    420.0MB of tensors at train.py:12 mm() in layer1.0, in backward
 *             parameters 97.5MB   gradients 97.5MB   saved for backward 140.1MB
 *     saved   310.0MB for backward   layer1.0 80.2MB, 26%   layer1.1 44.0MB, 14% */
void memory_run(struct facts *to, const struct show *show, uint32_t most);

/* One module: "12.3MB 4% of all that is saved for backward by itself 2.0MB". The fact's
 * share is relative to all modules. */
void memory_place(struct facts *to, const struct show *show, uint32_t place);

#endif
