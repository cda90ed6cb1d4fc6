/* drawn_in.h - for tests: makes diagrams of runs and checks them against all rules. */
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
/* The diagram of a model's program; takes the model. */
struct drawn_graph drawn_model(const struct model *model, struct graph_wanted wanted);
/* The diagram of a diff; takes both runs. */
struct drawn_graph drawn_diff(struct run *old, struct run *new,
                              struct graph_wanted wanted);
void drawn_drop(struct drawn_graph *drawn);
/* The box with this id, or PLAN_NONE. */
uint32_t drawn_box(const struct drawn_graph *drawn, const char *id);
/* Does a value flow from one box to another, through any number of groups? */
bool drawn_wire(struct drawn_graph *drawn, const char *source, const char *target);
/* "name: word, word" */
const char *drawn_words(struct drawn_graph *drawn, const char *id);

#endif
