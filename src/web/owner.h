/* owner.h - what only the owner of a live model may read: the threads of Python, one at
 * a time. The server's threads ask; the owner answers when it suits it: at the end of a
 * training step, or while it waits. Until then the newest copy is used, with the number of
 * its step.
 *
 * Values are copied whole and measured elsewhere, so that a training is held up for as
 * long as copying takes, and numbers never mix two steps. */
#ifndef WEB_OWNER_H
#define WEB_OWNER_H

#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"

struct owner;

struct owner *owner_new(void); /* NULL: no memory is left */
/* After owner_end() and when no thread asks any more; NULL is allowed. */
void owner_free(struct owner *owner);

/* ---- for the owner ---- */

#define OWNER_NO_STEP UINT64_MAX
/* Answers what waits; returns how many. `step`: the number of the step that just ended, or
 * OWNER_NO_STEP. A call inside another one does nothing. */
unsigned owner_answer(struct owner *owner, uint64_t step);
/* Who asks now or later gets an error. */
void owner_end(struct owner *owner);
/* Is the caller inside owner_answer()? */
bool owner_answers_here(struct owner *owner);

/* ---- for the server ---- */

/* How many steps the owner told of: values have changed since. */
uint64_t owner_steps(struct owner *owner);

/* How old an answer is. */
struct owner_age {
    bool used;     /* the owner was asked, or a copy was read */
    bool old;      /* the owner did not answer: an older copy was used */
    uint64_t step; /* of the copy; OWNER_NO_STEP: unknown */
};

/* A source for another thread, which asks the owner for what `real` knows of the model;
 * both are borrowed. Close it with source_close(). NULL: no memory is left. */
struct source *owner_source_new(struct owner *owner, const struct model *model,
                                struct source *real);
/* A question begins: copies that are older are asked for again. Between these calls one
 * thread uses the source. */
void owner_source_begin(struct source *source);
void owner_source_end(struct source *source);
/* How old the answers of this question, or the last one, are. */
struct owner_age owner_source_age(const struct source *source);

#endif
