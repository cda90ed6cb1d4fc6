/* run_text.h - a run in sentences: what ran, what it cost, alarms and gaps. For sessions
 * with a run. */
#ifndef FACTS_RUN_TEXT_H
#define FACTS_RUN_TEXT_H

#include "base/buf.h"
#include "model/model.h"
#include "rows/run_words.h"
#include "rows/show.h"

/* "ResNet: 1 pass, forward 87.29ms, backward 160.10ms; recording added 2.10ms, 0% of
 * 250.00ms" */
void run_ran(struct buf *to, const struct show *show);
/* "1 pass, forward 87.29ms, backward 160.10ms" */
void run_passes(struct buf *to, const struct show *show);
/* "2.10ms, 0% of 250.00ms": our cost, and its share of what it would have taken without
 * us. */
void run_cost(struct buf *to, const struct run *run);

struct run_line {
    enum severity severity;
    const char *text; /* escaped */
};
struct run_lines {
    struct run_line *at;
    uint32_t n, room;
};

/* The alarms (who made the first NaN, what raised), then the gaps, one line for each
 * kind: "12 modules were not called: a, b, ...". */
int run_notes(struct run_lines *ret_lines, const struct show *show, struct arena *arena,
              struct err *err);
/* Is there an alarm among them? */
bool run_alarmed(const struct activities *activity);

#endif
