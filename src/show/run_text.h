/* run_text.h - a run in words: what the columns, the panels and the summary of a
 * recording share. All of it is for sessions with a run; show->activity is there then.
 */
#ifndef SHOW_RUN_TEXT_H
#define SHOW_RUN_TEXT_H

#include "base/buf.h"
#include "model/model.h"
#include "show/show.h"

/* ---- small parts ---- */

/* "1.52ms"; nothing under a microsecond. */
void run_time(struct buf *to, uint64_t ns);
/* "1×64×56×56", "scalar" */
void run_shape(struct buf *to, const struct run *run, uint32_t value);
/* Is it finite, as far as was measured? */
bool run_finite(const struct run *run, uint32_t value);
/* "NaN 12", "Inf 3", "NaN 12 Inf 3"; nothing if there are none. */
void run_not_finite(struct buf *to, uint64_t nan, uint64_t inf);
/* Bytes of all inputs or results of a call; one that is there twice
 * in a row counts once. */
uint64_t run_io_bytes(const struct run *run, uint32_t call, enum run_io_kind kind);
/* Why a module has no calls: "not called", "fused", "compiled region", "not reached".
 * NULL: it has some, or nothing is missing (a list of modules). */
const char *run_gap_word(const struct show *show, uint32_t place);
/* The full name; of the root its class. */
void run_place(struct buf *to, const struct show *show, uint32_t place);
/* "9%": truncated, without blanks */
void run_share(struct buf *to, uint64_t part, uint64_t whole);
/* A fact of the run: its number, or 0; its text, if it has one. */
uint64_t run_fact(const struct run *run, const char *key, struct str *ret_text);

/* ---- the summary ---- */

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
