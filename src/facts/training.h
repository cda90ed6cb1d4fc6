/* training.h - the verdict on a training run in one sentence: the one that `check`
 * prints about its steps. */
#ifndef FACTS_TRAINING_H
#define FACTS_TRAINING_H

#include "base/arena.h"
#include "base/err.h"
#include "session/session.h"
#include "text/colour.h"

struct training_verdict {
    /* The worst alarm, the first of them: "step 315: fc: first NaN ...". Or "healthy in
     * 1,000 logged steps". NULL: no step of training was logged. */
    const char *text;
    const char *lead; /* "healthy until step 200, finite until step 314"; or NULL */
    enum colour role; /* COLOUR_GOOD, COLOUR_WARNING, COLOUR_ALARM; COLOUR_DIM: only
                         evaluation was logged */
    uint32_t place;   /* the place concerned, or NO_PLACE */
    const char *name; /* the name of that place, even if the model lacks it; or NULL */
    bool has_step;
    uint64_t step;
};

/* For a session with a history. `alarms` as returned by history_read_alarms(); texts
 * are in the arena. */
int training_verdict(const struct session *session, const struct history_alarm *alarms,
                     uint32_t n, struct arena *arena,
                     struct training_verdict *ret_verdict, struct err *err);

/* "step 7: the loss is NaN" */
void training_loss_text(struct buf *to, const struct history_summary *training);
/* Is the newest loss not finite, although the file has no alarm? */
bool training_has_bad_loss(const struct history_summary *training);

#endif
