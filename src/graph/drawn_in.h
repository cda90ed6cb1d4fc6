/* drawn_in.h - for tests: diagrams of runs, held against all rules as they are made. */
#ifndef GRAPH_DRAWN_IN_H
#define GRAPH_DRAWN_IN_H

#include "graph/graph.h"

struct drawn_graph {
    struct session *session;
    struct session *old; /* of a diff; or NULL */
    struct arena arena;
    struct diagram diagram;
};

/* Takes the run. */
struct drawn_graph drawn_of(struct run *run);
struct drawn_graph drawn_wanted(struct run *run, struct graph_wanted wanted);
/* Of the program of a model, which it takes. */
struct drawn_graph drawn_model(const struct model *model, struct graph_wanted wanted);
/* What differs; takes both. */
struct drawn_graph drawn_diff(struct run *old, struct run *new,
                              struct graph_wanted wanted);
void drawn_drop(struct drawn_graph *drawn);
/* The box with this id, or PLAN_NONE. */
uint32_t drawn_box(const struct drawn_graph *drawn, const char *id);
/* Does a value go from one box to another, whatever groups are between them? */
bool drawn_wire(struct drawn_graph *drawn, const char *source, const char *target);
/* "name: word, word" */
const char *drawn_words(struct drawn_graph *drawn, const char *id);

#endif
