/* parting_text.h - where two training runs part, in words.
 *
 *     training   the runs part at step 40
 *     first      fc.weight  parameter  step 40, and 17 more of 60 series in this step
 *     left       min -0.5  max 0.5  mean 0.001  std 0.29
 *     right      min -0.5  max 0.9  mean 0.002  std 0.29
 *     scalars    loss at step 40: 2.3012 → 2.3055
 *     steps      100 common ones, 0 to 99; left has 120, right 100 */
#ifndef COMPARE_PARTING_TEXT_H
#define COMPARE_PARTING_TEXT_H

#include "facts/fact.h"
#include "study/diverge/parting.h"

void parting_facts(struct facts *to, const struct parting *parting);
/* The first sentence alone. */
void parting_sentence(struct facts *to, const struct parting *parting);

#endif
