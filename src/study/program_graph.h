/* program_graph.h - the graph of a program (model/program.h), as op_graph.h has it for
 * runs: nodes are indices in program->ops and ->calls, `io` is an index in program->ios,
 * values of edges are those of the program. Numbers are not part of it
 * (program_data.h), nor are branches that the file does not take.
 *
 * Code that was not understood is a node of its own. A value that depends on a condition
 * comes from all that it may be; the value of each edge is then the one that its source
 * made. What a loop hands on to its next turn is an edge that
 * leads back, to a node that comes earlier: a graph of a program may have cycles. */
#ifndef STUDY_PROGRAM_GRAPH_H
#define STUDY_PROGRAM_GRAPH_H

#include "model/model.h"
#include "study/op_graph.h"

struct program_graph_wanted {
    enum op_graph_level level;
    uint32_t within; /* a call: only what is inside it; 0: the program */
};

/* Linear in the program and in edges; if these are too many, the last ones are missing,
 * and `cut` is set. Allocates in the arena. The model has a program with calls. */
int program_graph_make(struct op_graph *ret_graph, const struct model *model,
                       struct program_graph_wanted wanted, struct arena *arena,
                       struct err *err);

#endif
