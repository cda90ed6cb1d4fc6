/* run_points.h - turns the recording of one step into points of its history.
 *
 * A call belongs to the phase of its pass. A pass without gradients (torch.no_grad())
 * is evaluation; the phase of one with gradients is set by the caller, because only the
 * caller knows whether an optimizer stepped. Parameters and updates belong to
 * training. */
#ifndef HISTORY_RUN_POINTS_H
#define HISTORY_RUN_POINTS_H

#include "history/writer.h"

/* The change of a parameter in this step (measure/update.h). */
struct history_update {
    uint32_t tensor; /* of the model */
    struct stats stats;
    double ratio;
    struct str histogram; /* packed */
};

/* A tensor that the user attached to a module. */
struct history_attached {
    uint32_t place, call;
    uint8_t kind; /* HISTORY_OUTPUT, HISTORY_GRAD_OUTPUT */
    bool graded;  /* its pass had gradients */
    struct str path;
    struct stats stats;
    struct str histogram; /* packed; or empty */
};

struct run_points {
    const struct run *run;
    unsigned kinds;            /* wanted: bits 1 << enum history_kind */
    enum history_phase graded; /* of passes with gradients */
    const struct history_update *updates;
    uint32_t n_updates;
    const uint32_t *places; /* by place of the run's model: its place in the file's
                               model, or HISTORY_NONE; NULL: the same model */
    const struct history_attached *attached;
    uint32_t n_attached;
};

/* Was there a pass of this phase? */
bool run_points_has(const struct run_points *points, enum history_phase phase);
/* Adds the points of this phase to the writer's current step. -1: out of memory, some
 * points are missing. */
int run_points_write(const struct run_points *points, enum history_phase phase,
                     struct history_writer *writer);
/* The same into a parcel (parcel.h). */
int run_points_pack(const struct run_points *points, enum history_phase phase,
                    struct buf *parcel);
/* The L2 norm of the newest gradients of all parameters together; NaN or infinite if an
 * element is. It is an estimate if gradients were sampled. False: there are no gradients,
 * or one of them could not be measured (sparse). */
bool run_points_gradient_norm(const struct run *run, double *ret_norm);

#endif
