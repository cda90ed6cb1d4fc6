/* script_program_in.h - turns the code of a TorchScript archive into the program of the
 * model (model/program.h). */
#ifndef READ_TORCH_SCRIPT_PROGRAM_IN_H
#define READ_TORCH_SCRIPT_PROGRAM_IN_H

#include "read/torch/torchscript_code_in.h"

/* Follows forward() of the module at `root`, or its first method if it has no forward.
 * The tree is complete; class_of[node] is the index of the node's class in
 * code->classes + 1, or 0. Adds no findings: the program records what is missing. */
void script_program(struct build *build, const struct script_code *code, uint32_t root,
                    const uint32_t *class_of);

#endif
