/* owner.h - passes requests for a live model to its owner, the Python thread that may
 * read it. The server's threads queue requests; the owner answers them at the end of a
 * training step, or while it waits. Until then the newest copy is used, with its step
 * number.
 *
 * Tensors are copied whole and measured on the server's threads, so training only
 * pauses for the copy, and numbers never mix two steps. */
#ifndef WEB_OWNER_H
#define WEB_OWNER_H

#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"

struct owner;

struct owner *owner_new(void); /* NULL: no memory is left */
/* Call it after owner_end(), when no thread uses the owner any more; accepts NULL. */
void owner_free(struct owner *owner);

/* ---- for the owner ---- */

#define OWNER_NO_STEP UINT64_MAX
/* Answers waiting requests; returns their number. `step`: the step that just ended, or
 * OWNER_NO_STEP. A nested call does nothing. */
unsigned owner_answer(struct owner *owner, uint64_t step);
/* Pending and later requests fail. */
void owner_end(struct owner *owner);
/* Is the caller inside owner_answer()? */
bool owner_answers_here(struct owner *owner);

/* ---- for the server ---- */

/* The number of steps that the owner reported; values change with each. */
uint64_t owner_steps(struct owner *owner);

/* The age of an answer. */
struct owner_age {
    bool used;     /* live values were needed */
    bool old;      /* the owner did not answer: an older copy was used */
    uint64_t step; /* of the copy; OWNER_NO_STEP: unknown */
};

/* A source for other threads, which requests the data of `real` from the owner; borrows
 * both. Close it with source_close(). NULL: no memory is left. */
struct source *owner_source_new(struct owner *owner, const struct model *model,
                                struct source *real);
/* Begin and end a question, which requests older copies again. Between the calls only
 * one thread may use the source. */
void owner_source_begin(struct source *source);
void owner_source_end(struct source *source);
/* The age of the answers to the current or last question. */
struct owner_age owner_source_age(const struct source *source);

#endif
