/* flow.h - the way that values took through one call of a module: a row for each call
 * directly inside it, in the order of time, its inputs above, its result below; and
 * rails that join who made a value with who used it.
 *
 *     ●         [0]                1×64×56×56
 *     ├─╮       conv1  Conv2d      1×64×56×56    306.22μs
 *     │ ●       bn1  BatchNorm2d   1×64×56×56    124.24μs
 *
 * Only module calls are recorded. What is certain from them: the same value came out
 * there and went in here. What is not: that nothing else uses a value, and what happens
 * between modules. A value in the same storage as a result was viewed or changed in
 * place by an operation (`out += identity`), which may have taken other values too:
 * such an edge ends in `?`, as does a row with an input whose producer was not
 * recorded. Nothing is concluded from shapes. */
#ifndef FACTS_FLOW_H
#define FACTS_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "run/run.h"

#define FLOW_RAILS 8 /* that are drawn side by side; more are one sign: … */
#define NO_FLOW    UINT32_MAX

enum flow_kind { FLOW_INPUT, FLOW_CALL, FLOW_RESULT };

/* How it is known where a value comes from. */
enum flow_source {
    FROM_ROW,       /* the same value came out there */
    FROM_STORAGE,   /* one in the same storage did; an operation viewed or changed it */
    FROM_OUTSIDE,   /* it came out of a call before this one; not drawn */
    FROM_PARAMETER, /* it is a parameter or buffer of the model */
    FROM_OPERATION, /* no recorded call gave it out */
};

/* A tensor that goes into a row. */
struct flow_edge {
    uint32_t io;    /* in run->ios */
    uint32_t row;   /* of FROM_ROW and FROM_STORAGE; else NO_FLOW */
    uint32_t call;  /* of FROM_OUTSIDE; else RUN_NONE */
    uint8_t source; /* enum flow_source */
};

/* Which way a line leaves a cell of the rails. */
enum flow_way { WAY_UP = 1, WAY_DOWN = 2, WAY_LEFT = 4, WAY_RIGHT = 8, WAY_NODE = 16 };

struct flow_row {
    uint8_t kind;                 /* enum flow_kind */
    uint8_t column;               /* of its rail; FLOW_RAILS: one that is not drawn */
    uint8_t ways[FLOW_RAILS + 1]; /* enum flow_way; the last stands for all others */
    uint32_t call;                /* of FLOW_CALL; else the module's own */
    uint32_t io;                  /* of FLOW_INPUT: in run->ios */
    uint32_t from, n_from;        /* what goes in, in flow->from */
    uint32_t to, n_to;            /* who uses what comes out: rows, in flow->to */
};

/* Who uses the result first. */
enum flow_next {
    NEXT_UNKNOWN, /* no module call takes it; an operation may */
    NEXT_CALL,    /* flow->next */
    NEXT_RESULT,  /* it is the result of the call around, flow->next */
    NEXT_CALLER,  /* there is no call around it */
};

struct flow {
    const struct run *run;
    uint32_t call; /* of the module */
    struct flow_row *rows;
    uint32_t n;
    struct flow_edge *from;
    uint32_t *to;
    uint32_t n_from, n_to, rows_room, from_room;
    uint32_t columns;    /* of rails that are used, with the one for the others */
    uint64_t missing_ns; /* of calls inside it that were merged with others */
    enum flow_next next_kind;
    uint32_t next;
};

/* Linear in the calls inside and after it. All of it lies in the arena. */
int flow_make(struct flow *ret_flow, const struct run *run, uint32_t call,
              struct arena *arena, struct err *err);

/* The call to show for a module that was called: its own if other modules were called
 * in it, else the one around it (of which *ret_inner is the part that was meant). */
uint32_t flow_block(const struct run *run, uint32_t call, uint32_t *ret_inner);

/* Went an input of this row through an operation that was not recorded? Drawn as `?`.
 */
bool flow_loose(const struct flow *flow, uint32_t row);

/* The rails of a row, `flow->columns * 2` cells wide. */
void flow_rails(struct buf *to, const struct flow *flow, uint32_t row);

#endif
