/* program_graph.h - the graph of a program (model/program.h), in the form of
 * op_graph.h: nodes are indices in program->ops and ->calls, `io` is an index in
 * program->ios, values of edges are those of the program. It excludes numbers
 * (program_data.h) and branches that are known not to be taken.
 *
 * Code that was not understood is a separate node. A value that depends on a condition
 * has an edge from each candidate, with the value that the candidate made. A value that
 * a loop passes to its next iteration is an edge to an earlier node, so the graph may
 * have cycles. */
#ifndef STUDY_PROGRAM_GRAPH_H
#define STUDY_PROGRAM_GRAPH_H

#include "model/model.h"
#include "study/op_graph.h"

struct program_graph_wanted {
    enum op_graph_level level;
    uint32_t within; /* limits the graph to this call; 0: the program */
};

/* Linear in the program and in edges; beyond the limit, the last edges are missing and
 * `cut` is set. Allocates in the arena. The model must have a program with calls. */
int program_graph_make(struct op_graph *ret_graph, const struct model *model,
                       struct program_graph_wanted wanted, struct arena *arena,
                       struct err *err);

#endif
