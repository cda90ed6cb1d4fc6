/* sample_attention.h - for tests of this room and those above it: one pass of a model
 * with a transformer block, its operations and module calls.
 *
 *     (root)     net.Model
 *       block    net.Block           x + attn(ln_1(x)), then x + mlp(ln_2(x))
 *         ln_1   LayerNorm
 *         attn   net.Attention       q, k and v as heads, attention, proj
 *           q k v proj   Linear
 *         ln_2   LayerNorm
 *         mlp    Sequential
 *           0 1 2        Linear, GELU, Linear
 *       head     Linear */
#ifndef RUN_SAMPLE_ATTENTION_H
#define RUN_SAMPLE_ATTENTION_H

#include "run/run.h"

struct run *sample_attention(void);

#endif
