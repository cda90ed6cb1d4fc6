/* made.h - something that takes long to make of values: a picture, a histogram of other
 * steps, the numbers of a value that was kept. Whoever wants it brings the function and
 * the question; jobs.h has it made in the background. */
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
    /* Made in the arena, of a model that may be asked by this thread. */
    int (*make)(const struct model *model, const void *question, struct arena *arena,
                struct work *work, const void **ret_made, struct err *err);
    const void *question; /* two are the same if their bytes are: no padding */
    size_t size;
};

/* One such thing, or why there is none. All zero: nothing was made yet. */
struct made {
    int (*make)(const struct model *model, const void *question, struct arena *arena,
                struct work *work, const void **ret_made, struct err *err);
    char question[MADE_QUESTION];
    size_t size;
    const void *at;     /* in the arena; NULL: err says why */
    struct arena arena; /* of at most 64 MB */
    struct err err;
};

/* Begin with a question; nothing is made yet. */
void made_init(struct made *made, const struct making *making);
/* Make it. Fails as its function does, which `err` of it tells, too. */
int made_make(struct made *made, const struct model *model, struct work *work);
void made_release(struct made *made);
/* Does it answer this question, or would it, once it is made? */
bool made_answers(const struct made *made, const struct making *making);

#endif
