/* sample_block.h - for tests of this room and those above it: an evaluated network with
 * a residual block, its operations and module calls, which know each other's values.
 *
 *     (root)    Net          object 0
 *       stem    Conv2d       1
 *       block   Block        2
 *         conv1 Conv2d       3
 *         relu  ReLU         4: called twice
 *         conv2 Conv2d       5
 *         drop  Dropout      6: passes its argument on, without an operation
 *       head    Linear       7
 *
 *   net.py
 *    1  class Block(nn.Module):
 *    2      def forward(self, x):
 *    3          identity = x
 *    4          out = self.relu(self.conv1(x))
 *    5          out = self.conv2(out)
 *    6          out = self.drop(out)
 *    7          out += identity
 *    8          return self.relu(out)
 *    9
 *   10  class Net(nn.Module):
 *   11      def forward(self, x):
 *   12          x = self.block(self.stem(x))
 *   13          a, b = x.split(4, 1)
 *   14          x = torch.cat([b, a], 1)
 *   15          x = x.mean((2, 3))
 *   16          x = x.view(2, 2, 4).transpose(1, 2).reshape(2, 8)
 *   17          return self.head(x) * 2 */
#ifndef RUN_SAMPLE_BLOCK_H
#define RUN_SAMPLE_BLOCK_H

#include "run/trace_ops.h"

enum {
    BLOCK_NET,
    BLOCK_STEM,
    BLOCK_BLOCK,
    BLOCK_CONV1,
    BLOCK_RELU,
    BLOCK_CONV2,
    BLOCK_DROP,
    BLOCK_HEAD
};

struct sample_block_wanted {
    bool nan;       /* the residual produces 3 NaN */
    bool uncounted; /* the second convolution has no FLOPs */
    bool backward;  /* the backward of conv1 follows: 294,912 FLOPs in 400 μs */
    bool twice;     /* two passes */
    uint32_t adds;  /* number of additional additions after the head, in sequence */
};
struct run *sample_block(struct sample_block_wanted wanted);

#endif
