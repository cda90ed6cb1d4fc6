/* diff_sample.h - for tests: small models over numbers in memory, from lines.
 *
 *     const struct model *m = diff_sample("layer1.weight 4x3 7\n"
 *                                   "layer1.bias 4 8\n");
 *
 * A line is a dotted name, a shape and the seed that its float32 values come from: 0
 * gives zeros, equal seeds equal values; "7~" the values of 7, each a little larger;
 * "7'" the transpose of the values of 7; "7+8+9" the values of 7, 8 and 9 one behind
 * the other; "=name" in place of the seed ties it to a tensor above; "lost": its data
 * is missing. A name that ends in running_mean is a buffer. "f16" behind the seed makes
 * a float16 of whole numbers. Instead of a shape, "value N" makes a plain integer,
 * "dict" marks a state_dict, "class NAME" gives a module its class. */
#ifndef STUDY_DIFF_DIFF_SAMPLE_H
#define STUDY_DIFF_DIFF_SAMPLE_H

#include "study/diff/diff.h"

const struct model *diff_sample(const char *lines); /* free it with model_free() */

struct both {
    const struct model *left, *right;
    struct arena arena;
    struct diff diff;
};
void both_make(struct both *both, const char *left, const char *right,
               const struct diff_wanted *wanted);
void both_drop(struct both *both);

/* The pair whose left (or right) full name is this one; the node below the root with
 * this name; all parts as text: "layer4 trained, fc replaced". */
const struct diff_pair *both_pair(const struct both *both, bool right,
                                  const char *name);
const struct diff_node *both_node(const struct both *both, const char *name);
const char *both_parts(const struct both *both);

/* What must hold of every diff: each place in one pair, sums that add up, a tree. */
void both_check(const struct both *both);

#endif
