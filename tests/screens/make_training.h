/* make_training.h - training histories for the golden screens, always the same. */
#ifndef SCREENS_MAKE_TRAINING_H
#define SCREENS_MAKE_TRAINING_H

#include "run/run.h"

/* FOLDER/diverged.scope: 318 steps; the learning rate grows until the loss is NaN.
 * FOLDER/trained.scope: 400 steps of training, 8 of evaluation, resumed once. Takes
 * neither run. Returns 0 or -1. */
int make_diverged(const char *folder, const struct run *run);
int make_trained(const char *folder, const struct run *run);

#endif
