/* flow_text.h - a flow as lines: what panel 6 shows.
 *      ●     [0]                                1×64×56×56
 *      ├─╮   conv1  Conv2d                      1×64×56×56   306.22μs
 *      │ ●   bn1  BatchNorm2d                   1×64×56×56   124.24μs
 *        ●   relu  ReLU  producer not recorded 1×256×56×56    69.11μs
 *      → layer1.1                              1×256×56×56
 * The cells of all rows are made once, so that moving through ten thousand is quick. */
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
    bool alarm; /* it raised, or made what is not finite */
};

struct flow_text {
    struct flow flow;
    struct flow_cells *cells;         /* by row */
    unsigned shape_cells, time_cells; /* the widest */
};

/* Of one call of a run, that of the show's session. All of it lies in the arena. */
int flow_text_make(struct flow_text *ret_text, const struct show *show, uint32_t call,
                   struct arena *arena, struct err *err);

/* A line for each row, its target is the row; then what has to be said of all. */
void flow_text_lines(struct lines *to, const struct flow_text *text, unsigned width);
/* One row in full, in at most `most` lines: what it is, in, out, from whom, used by
 * whom, called where. */
void flow_text_row(struct lines *to, const struct show *show,
                   const struct flow_text *text, uint32_t row, unsigned width,
                   unsigned most);

/* "layer1.0 Bottleneck", escaped; and " call 2 of 5" where there are several. */
void flow_text_subject(struct buf *to, const struct show *show, uint32_t call);

#endif
