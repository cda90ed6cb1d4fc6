/* summary.h - one-line summaries: the verdict, the last line of a printed tree. */
#ifndef FACTS_SUMMARY_H
#define FACTS_SUMMARY_H

#include "base/buf.h"
#include "rows/show.h"
#include "text/colour.h"

/* "✓ SAFE", "! NEEDS CODE", "✗ UNSAFE", "? INCONCLUSIVE". */
const char *summary_verdict_word(enum verdict verdict);
const char *summary_verdict_name(enum verdict verdict); /* without its sign */
enum colour summary_verdict_colour(enum verdict verdict);

/* The verdict and its reason: "! NEEDS CODE: __main__.Net and 2 more". Appends nothing
 * if there is no verdict (session_judged). */
void summary_verdict(struct buf *to, const struct show *show);

/* "10 tensors, 62,006 parameters, torch legacy file": without the verdict. */
void summary_counts(struct buf *to, const struct show *show);

/* "all trainable", "0.8M of 7.2B trainable", "all frozen"; nothing if unknown. */
void summary_trainable(struct buf *to, const struct counts *counts);
/* The remark after counts->bytes: "with buffers, 89.2MB of other tensors". */
void summary_bytes(struct buf *to, const struct counts *counts);

#endif
