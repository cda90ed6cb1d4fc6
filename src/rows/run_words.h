/* run_words.h - short texts about a run: times, shapes, places. They need a session
 * with a run, so that show->activity is set. */
#ifndef ROWS_RUN_WORDS_H
#define ROWS_RUN_WORDS_H

#include "base/buf.h"
#include "model/model.h"
#include "rows/show.h"

/* "1.52ms"; empty below a microsecond. */
void run_time(struct buf *to, uint64_t ns);
/* "1×64×56×56", "scalar" */
void run_shape(struct buf *to, const struct run *run, uint32_t value);
/* False if a measurement found NaN or Inf in it. */
bool run_finite(const struct run *run, uint32_t value);
/* "NaN 12", "Inf 3", "NaN 12 Inf 3"; nothing if there are none. */
void run_not_finite(struct buf *to, uint64_t nan, uint64_t inf);
/* Bytes of all inputs or results of a call; a value listed twice in a row counts once.
 */
uint64_t run_io_bytes(const struct run *run, uint32_t call, enum run_io_kind kind);
/* Why a module has no calls. RUN_ABSENT_NOT: it has calls, or needs none (a list of
 * modules). */
enum run_absent {
    RUN_ABSENT_NOT,
    RUN_NOT_REACHED,
    RUN_NOT_CALLED,
    RUN_IN_FUSED,
    RUN_IN_COMPILED,
    RUN_IN_SCRIPTED,
    RUN_CALLED_DIRECTLY,
};
enum run_absent run_absent(const struct show *show, uint32_t place);
/* The same in words: "not called", "fused", "compiled region"; NULL: not absent. */
const char *run_gap_word(const struct show *show, uint32_t place);
/* The full name of a place; for the root, its class. */
void run_place(struct buf *to, const struct show *show, uint32_t place);
/* "9%": without blanks */
void run_share(struct buf *to, uint64_t part, uint64_t whole);
/* Look up a fact of the run: returns its number, or 0, and its text if it has one. */
uint64_t run_fact(const struct run *run, const char *key, struct str *ret_text);

/* The backward time of a place, if known. Else sums the times of the outermost modules
 * below it that have one, and sets *ret_least: the sum is a lower bound. */
uint64_t run_backward(const struct show *show, uint32_t place, bool *ret_least);

#endif
