/* flow_text_in.h - texts that the lines of a flow (flow_text.c) and one row in full
 * (flow_text_row.c) share. */
#ifndef FACTS_FLOW_TEXT_IN_H
#define FACTS_FLOW_TEXT_IN_H

#include "facts/flow_text.h"

/* "conv1", "x" for an input, "+" for an operation, "the result" */
void flow_row_name(struct buf *to, const struct show *show, const struct flow *flow,
                   uint32_t row);
/* "→ transformer.h.1": the next user of the result. */
void flow_next_name(struct buf *to, const struct show *show, const struct flow *flow);
/* "1×64×56×56", "3 × 1×128×768", "1×128×768 +2" if results differ. */
void flow_call_shapes(struct buf *to, const struct run *run, uint32_t call,
                      enum run_io_kind kind);
/* The place of the module that an operation belongs to; outside the model "outside the
 * model". */
void flow_op_place(struct buf *to, const struct show *show, const struct run_op *op);
/* The last operation of a row, whose results are those of the row. */
const struct run_op *flow_row_op(const struct flow *flow, const struct flow_row *row);

#endif
