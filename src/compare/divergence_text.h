/* divergence_text.h - where the results of two recordings begin to differ, in words.
 *
 *     results    12 of 40 results differ
 *     first      aten::relu in act → aten::gelu in act  net.py:9
 *                its inputs agree to 3e-07: the error begins here
 *     left       3×8 float32  min 0  max 1.9  mean 0.31  std 0.4
 *     right      3×8 float32  min -0.17  max 1.9  mean 0.25  std 0.43
 *     apart      0.21 of the RMS, tolerance 1e-05  max |Δ| 0.17
 *     inputs     self 3e-07 apart
 *     later      b  0.31  (inputs 0.21) */
#ifndef COMPARE_DIVERGENCE_TEXT_H
#define COMPARE_DIVERGENCE_TEXT_H

#include "base/arena.h"
#include "facts/fact.h"
#include "study/diverge/divergence.h"

/* Later differences listed without --all. */
#define DIVERGENCE_LATER 5

struct divergence_words {
    const struct divergence *divergence;
    uint32_t most;           /* of the later differences */
    const char *all;         /* what shows the rest: "--all"; NULL: nothing does */
    const struct diff *diff; /* links are its nodes; NULL: places of the left model */
};

/* All facts. ERR_LIMIT: no memory left. */
int divergence_facts(struct facts *to, const struct divergence_words *words,
                     struct err *err);

/* What differs at and below a node of the diff: "3 of 5 differ, the first is act, 0.2
 * apart". Nothing if no result there was compared. */
void divergence_node(struct facts *to, const struct divergence_words *words,
                     uint32_t node);

/* The sentence alone: "all 40 results agree ...". */
void divergence_sentence(struct facts *to, const struct divergence *divergence);

/* What the error does at a result, judged by its inputs: "its inputs agree to 3e-07:
 * the error begins here". */
void divergence_verdict(struct buf *to, const struct divergence_result *result);

/* The name of a result on one side, escaped: "aten::relu in act", "act", "the gradient
 * of a.weight". */
void divergence_subject(struct buf *to, const struct divergence *divergence,
                        const struct divergence_result *result, bool right);

/* The source line of a result, "net.py:9"; empty if unknown. */
struct str divergence_line(const struct divergence *divergence,
                           const struct divergence_result *result, bool right);

/* An argument of an operation that is not a tensor and differs: "eps", "1e-05", "0.001".
 * Texts are escaped. */
struct divergence_attribute {
    struct buf name, left, right;
};
/* The next one of a result; false: there is none. *at begins at 0. Empty texts: that
 * side does not have it. Only of operations of one name. */
bool divergence_next_attribute(const struct divergence *divergence,
                               const struct divergence_result *result, uint32_t *at,
                               struct divergence_attribute *to);
void divergence_attribute_release(struct divergence_attribute *attribute);

/* "min -1  max 2  mean 0.1  std 0.5", and how many are not finite. */
void divergence_numbers(struct facts *to, const struct stats *stats);

/* Two numbers of digits: 3e-07, 0.21, infinite. */
void divergence_distance(struct buf *to, double distance);

#endif
