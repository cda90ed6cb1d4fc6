/* flow_text.h - a flow as lines, for panel 6.
 *      ●     x                                  1×64×56×56
 *      ├─╮   conv1  Conv2d                      1×64×56×56   306.22μs
 *      │ ●   bn1  BatchNorm2d                   1×64×56×56   124.24μs
 *      ├─╯   +  resnet.py:59                    1×64×56×56    10.79μs
 *      ●     → layer1.1                         1×64×56×56
 * The cells of all rows are made once, so scrolling through ten thousand is fast. */
#ifndef FACTS_FLOW_TEXT_H
#define FACTS_FLOW_TEXT_H

#include "facts/flow.h"
#include "rows/show.h"
#include "text/lines.h"

struct flow_cells {
    struct str rails, name, type, note, shape, time; /* escaped */
    uint16_t label_cells; /* of name, type and note, with blanks between */
    uint16_t shape_cells; /* of the shape */
    uint8_t time_cells;
    bool alarm; /* it raised, or produced NaN or Inf */
    bool dim;   /* nothing was computed: views */
    bool line;  /* the note is a line of code: its end matters most */
};

struct flow_text {
    struct flow flow;
    struct flow_cells *cells;         /* by row */
    unsigned shape_cells, time_cells; /* the widest */
};

/* Make the text of one call of the session's run. Allocates in the arena. */
int flow_text_make(struct flow_text *ret_text, const struct show *show, uint32_t call,
                   struct arena *arena, struct err *err);

/* A line for each row, with the row as its target; then remarks about the whole flow.
 */
void flow_text_lines(struct lines *to, const struct flow_text *text, unsigned width);
/* One row in full, in at most `most` lines: type, inputs, outputs, producers, users,
 * call site. */
void flow_text_row(struct lines *to, const struct show *show,
                   const struct flow_text *text, uint32_t row, unsigned width,
                   unsigned most);

/* "layer1.0 Bottleneck", escaped; plus " call 2 of 5" if there are several. */
void flow_text_subject(struct buf *to, const struct show *show, uint32_t call);

#endif
