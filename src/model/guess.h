/* guess.h - what a state_dict does not say: the kinds of its layers.
 * From the names and shapes of a module's own tensors: conv, linear, batchnorm,
 * layernorm, embedding, lstm, attention ... Guesses are classes marked `guessed`, with
 * arguments in order (in, out, kernel_size); they are told apart everywhere by a ~.
 * Also marks buffers by name (running_mean, ...) and wrappers (module., _orig_mod.). */
#ifndef MODEL_GUESS_H
#define MODEL_GUESS_H

#include "model/model.h"

/* Guess below every state_dict of a finished model; read_model() does this once, before
 * it hands the model out. -1: memory is spent (what was guessed stays). */
int guess_layers(struct model *model);

/* Is this the name of a buffer, as far as a name tells? */
bool guess_is_buffer(struct str last_name);

#endif
