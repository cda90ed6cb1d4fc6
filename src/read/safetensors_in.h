/* safetensors_in.h - parts of the safetensors reader. */
#ifndef READ_SAFETENSORS_IN_H
#define READ_SAFETENSORS_IN_H

#include "model/build.h"

/* Adds the names of tied tensors from the metadata (from `first_metadata` on) below
 * `parent`; the tensors are at nodes from `first_node` on. -1: the arena is spent. */
int safetensors_ties(struct build *build, uint32_t parent, uint32_t first_node,
                     uint32_t first_metadata);

#endif
