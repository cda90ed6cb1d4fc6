/* ops_text.h - sums over the operations of a module and all below it: count, FLOPs with
 * coverage, memory, the slowest ones. For runs with operations; each sum is one of
 * study/op_use.h. */
#ifndef FACTS_OPS_TEXT_H
#define FACTS_OPS_TEXT_H

#include "facts/fact.h"
#include "rows/show.h"
#include "study/op_use.h"

/* Three facts of a place; none if it has no operations, or they were not recorded:
 *     operations  16 forward, 1 backward
 *     FLOPs       350.5K forward by 4 of 16 operations, all matrix work
 *                 294.9K backward by 1 of 1 operation, all matrix work
 *     allocated   21.8KB forward, 2.3KB backward */
void ops_text_facts(struct facts *to, const struct show *show, uint32_t place);

/* The FLOPs of a sum, with their coverage: "8.2G by 54 of 175 operations, all matrix
 * work", "at least 8.2G by 53 of 175 operations, 98% of those that do matrix work",
 * "none: no matrix work in 7 operations". Appended to the current fact. */
void ops_text_flops(struct facts *to, const struct op_sum *sum);

/* Only the coverage: "by 54 of 175 operations, all matrix work". */
void ops_text_coverage(struct facts *to, const struct op_sum *sum);

/* The `most` slowest kinds of operations of a place and all below it, in a table that
 * drops columns to fit into `width` (0: no limit):
 *     operations     calls       time  of ops   FLOPs  memory  phase
 *     convolution        3   700.00μs     54%  350.2K   6.0KB  forward
 * Nothing if it has no operations. */
int ops_text_slowest(struct lines *to, const struct show *show, uint32_t place,
                     uint32_t most, unsigned width, unsigned indent, struct err *err);

#endif
