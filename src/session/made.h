/* made.h - a slow result computed from values: a picture, a histogram with other bins,
 * the numbers of a kept value. The caller provides the function and the question;
 * jobs.h runs it in the background. */
#ifndef SESSION_MADE_H
#define SESSION_MADE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/work.h"
#include "model/model.h"

#define MADE_QUESTION 96 /* bytes of a question, at most */

struct making {
    /* Allocates the result in the arena. This thread may read the model. */
    int (*make)(const struct model *model, const void *question, struct arena *arena,
                struct work *work, const void **ret_made, struct err *err);
    const void *question; /* compared by its bytes: no padding */
    size_t size;
};

/* One result, or its error. All zero: nothing requested yet. */
struct made {
    int (*make)(const struct model *model, const void *question, struct arena *arena,
                struct work *work, const void **ret_made, struct err *err);
    char question[MADE_QUESTION];
    size_t size;
    const void *at;     /* in the arena; NULL: err says why */
    struct arena arena; /* of at most 64 MB */
    struct err err;
};

/* Sets the question; computes nothing yet. */
void made_init(struct made *made, const struct making *making);
/* Computes it. Fails if its function does; made->err holds the error. */
int made_make(struct made *made, const struct model *model, struct work *work);
void made_release(struct made *made);
/* Is it the result of this question, finished or not? */
bool made_answers(const struct made *made, const struct making *making);

#endif
