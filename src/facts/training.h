/* training.h - what a training run came to, in one sentence: the one that `check` prints
 * about its steps. */
#ifndef FACTS_TRAINING_H
#define FACTS_TRAINING_H

#include "base/arena.h"
#include "base/err.h"
#include "session/session.h"
#include "text/colour.h"

struct training_verdict {
    /* The worst alarm, the first of them: "step 315: fc: first NaN ...". Or "healthy in
     * 1,000 steps". NULL: no step of training was logged. */
    const char *text;
    const char *lead; /* "healthy until step 200, finite until step 314"; or NULL */
    enum colour role; /* COLOUR_GOOD, COLOUR_WARNING, COLOUR_ALARM; COLOUR_DIM: only
                         evaluation was logged */
    uint32_t place;   /* that it is about, or NO_PLACE */
    const char *name; /* of the place, also if it is not in the model; or NULL */
    bool has_step;
    uint64_t step;
};

/* Of a session with a history. `alarms` as history_read_alarms() gives them; texts are in
 * the arena. */
int training_verdict(const struct session *session, const struct history_alarm *alarms,
                     uint32_t n, struct arena *arena,
                     struct training_verdict *ret_verdict, struct err *err);

/* "step 7: the loss is NaN" */
void training_loss_text(struct buf *to, const struct history_summary *training);
/* Is the newest loss not finite, without any alarm in the file? */
bool training_has_bad_loss(const struct history_summary *training);

#endif
