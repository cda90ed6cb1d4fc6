/* resnet_in.h - for tests: ResNet-50 and GPT-2 as hand-made live modules. */
#ifndef EXPLORER_RESNET_IN_H
#define EXPLORER_RESNET_IN_H

#include "rows/sample_rows.h"

/* 151 modules, 320 tensors, 25,557,032 parameters. `frozen`: all but `fc` are
 * frozen. */
void resnet_begin(struct sample *sample, bool frozen);
/* Twelve equal blocks; lm_head.weight is transformer.wte.weight. */
void gpt2_begin(struct sample *sample);

#endif
