/* recorder_watch_in.h - a watched training, for recorder_watch.c and
 * recorder_late.c. */
#ifndef EXT_RECORD_RECORDER_WATCH_IN_H
#define EXT_RECORD_RECORDER_WATCH_IN_H

#include "ext/record/recorder_in.h"

#include "history/run_points.h"
#include "measure/update.h"

/* A parameter in an optimizer's step. */
struct watched_param {
    uint32_t tensor; /* of the model */
    bool on_device;  /* the device has its elements before and after */
    bool measured;
    struct update kept;
    struct update_change change;
    size_t spread, n_spread; /* its packed spread in `spreads` */
};

/* The parameters of one logged step. */
struct watched_params {
    struct watched_param *at;
    uint32_t n, room;
    struct buf spreads; /* of updates */
    bool checked;       /* they have a checksum: */
    uint64_t checksum;
};

/* A step that is complete except for results on its device. */
struct late_step {
    PyObject *writer, *scalars;
    PyObject *sent; /* result of device.send(); NULL: nothing is pending */
    struct trace *trace;
    struct watched_params params;
    struct recorder_attached *attached; /* or NULL */
    uint64_t number, wall_ns;
    unsigned kinds;
    enum history_phase graded;
    PyObject *loss;          /* a float, or None */
    bool skipped, relu_loss; /* as in judge/judge.h */
};

struct recorder_watch {
    struct spread_counter *counter;
    struct spread spread;
    struct buf packed;
    struct watched_params params; /* of the current step */
    uint8_t *known;               /* by tensor of the model: whether it is in
                                     `params` */
    uint32_t *places;       /* in the file, by place of the model; NULL: the same */
    struct late_step *late; /* the previous step; NULL: it was written */
    struct buf owed;  /* alarms of steps that were not logged, as a parcel: sent to rank
                         0 with the next logged step */
    PyObject *alarms; /* of written steps, for log() or settle(): a list, or NULL */
};

void watched_params_release(struct watched_params *params);
/* Adds the checksum of a parameter. The sum does not depend on their order. Sharded
 * parameters are skipped, because their parts differ between ranks. */
void watched_checksum(struct watched_params *params, uint32_t number, uint64_t one);
/* Compares the kept elements with the current ones. If both are samples, `of` is the
 * number of elements of the tensor. */
void watched_change(struct recorder_watch *watch, struct watched_params *params,
                    struct watched_param *param, const struct memory *now, uint64_t of);

/* Writes and judges watch->late, if any. May set an exception. */
void late_step_write(struct recorder *recorder);
void late_step_release(struct late_step *step); /* NULL is allowed */

#endif
