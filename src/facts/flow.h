/* flow.h - the flow of values through one call of a module: a row for each call
 * directly inside it, in order of time, with the inputs above and the result below, and
 * rails that connect the producer of a value with its users.
 *
 *     ●         [0]                1×64×56×56
 *     ├─╮       conv1  Conv2d      1×64×56×56    306.22μs
 *     │ ●       bn1  BatchNorm2d   1×64×56×56    124.24μs
 *
 * Only module calls are recorded. They prove that one call returned a value and another
 * took the same value. They do not show whether anything else uses a value, nor what
 * happens between modules. If a value shares its storage with a result, an operation
 * viewed it or changed it in place (`out += identity`) and may have used other values
 * too: such an edge ends in `?`, as does a row with an input whose producer was not
 * recorded. Shapes are never used to infer an edge. */
#ifndef FACTS_FLOW_H
#define FACTS_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "run/run.h"

#define FLOW_RAILS 8 /* drawn side by side; further ones share a … */
#define NO_FLOW    UINT32_MAX

enum flow_kind { FLOW_INPUT, FLOW_CALL, FLOW_RESULT };

/* How the producer of a value was determined. */
enum flow_source {
    FROM_ROW,       /* a row returned the same value */
    FROM_STORAGE,   /* a row returned a value in the same storage; an operation
                       viewed or changed it */
    FROM_OUTSIDE,   /* an earlier call returned it; not drawn */
    FROM_PARAMETER, /* it is a parameter or buffer of the model */
    FROM_OPERATION, /* no recorded call returned it */
};

/* A tensor that is an input of a row. */
struct flow_edge {
    uint32_t io;    /* index in run->ios */
    uint32_t row;   /* for FROM_ROW and FROM_STORAGE; else NO_FLOW */
    uint32_t call;  /* for FROM_OUTSIDE; else RUN_NONE */
    uint8_t source; /* enum flow_source */
};

/* The directions in which lines leave a cell of the rails. */
enum flow_way { WAY_UP = 1, WAY_DOWN = 2, WAY_LEFT = 4, WAY_RIGHT = 8, WAY_NODE = 16 };

struct flow_row {
    uint8_t kind;                 /* enum flow_kind */
    uint8_t column;               /* of its rail; FLOW_RAILS: not drawn */
    uint8_t ways[FLOW_RAILS + 1]; /* enum flow_way; the last is for all other rails */
    uint32_t call;                /* for FLOW_CALL; else the module's own call */
    uint32_t io;                  /* for FLOW_INPUT: index in run->ios */
    uint32_t from, n_from;        /* its inputs, in flow->from */
    uint32_t to, n_to;            /* rows that use its outputs, in flow->to */
};

/* The first user of the result. */
enum flow_next {
    NEXT_UNKNOWN, /* no module call uses it; an operation may */
    NEXT_CALL,    /* flow->next */
    NEXT_RESULT,  /* it is the result of the enclosing call, flow->next */
    NEXT_CALLER,  /* there is no enclosing call */
};

struct flow {
    const struct run *run;
    uint32_t call; /* of the module */
    struct flow_row *rows;
    uint32_t n;
    struct flow_edge *from;
    uint32_t *to;
    uint32_t n_from, n_to, rows_room, from_room;
    uint32_t columns;    /* columns used, including the one for other rails */
    uint64_t missing_ns; /* time of calls inside it that were merged with others */
    enum flow_next next_kind;
    uint32_t next;
};

/* Linear in the calls inside and after it. Allocates in the arena. */
int flow_make(struct flow *ret_flow, const struct run *run, uint32_t call,
              struct arena *arena, struct err *err);

/* The call to show for a module that was called: its own if it called other modules,
 * else the enclosing one; *ret_inner is then the call inside that one. */
uint32_t flow_block(const struct run *run, uint32_t call, uint32_t *ret_inner);

/* Did an input of this row pass through an unrecorded operation? Drawn as `?`. */
bool flow_loose(const struct flow *flow, uint32_t row);

/* The rails of a row, `flow->columns * 2` cells wide. */
void flow_rails(struct buf *to, const struct flow *flow, uint32_t row);

#endif
