/* op_words.h - one operation in words, for sentences about a run with operations. */
#ifndef FACTS_OP_WORDS_H
#define FACTS_OP_WORDS_H

#include "facts/fact.h"
#include "rows/show.h"

/* Append "net.py:41 detach() in layer1.0": its line if known, its name without "aten::"
 * and its module; "outside the model" if it ran there. Keys: "line", "op", "module". */
void op_words(struct facts *to, const struct show *show, uint32_t op);

#endif
