/* program_facts_in.h - inputs and outputs of the program of a file, for `info`. */
#ifndef READ_FILE_PROGRAM_FACTS_IN_H
#define READ_FILE_PROGRAM_FACTS_IN_H

#include "model/build.h"

/* Adds the facts "inputs" and "outputs" of the first call, which has its ios: for each
 * tensor {'name': 'x', 'dtype': 'float32', 'shape': [None, 3, 224, 224]}. */
void program_facts(struct build *build);

#endif
