#include "explorer/resnet_in.h"

#include <stdio.h>

#include "base/test.h"

static void set_grad(struct sample *s, uint32_t tensor, bool grad)
{
    struct tensor *at = &s->build.model->tensors[tensor];

    at->flags |= TENSOR_GRAD_KNOWN;
    at->flags &= (uint16_t)~TENSOR_GRAD;
    if (grad)
        at->flags |= TENSOR_GRAD;
}

static void parameter(struct sample *s, uint32_t node, const char *name,
                      const char *shape, bool grad)
{
    set_grad(s, sample_tensor(s, node, name, shape), grad);
}

static void buffer(struct sample *s, uint32_t node, const char *name, const char *shape)
{
    uint32_t tensor = sample_tensor(s, node, name, shape);

    s->build.model->tensors[tensor].role = ROLE_BUFFER;
}

static void add_conv(struct sample *s, uint32_t parent, const char *name, int in,
                     int out, int size, bool grad)
{
    char text[160];
    uint32_t node;

    snprintf(text, sizeof(text), "in_channels=%d out_channels=%d kernel_size=%d,%d", in,
             out, size, size);
    node = sample_module(s, parent, name, "torch.nn.modules.conv.Conv2d", text);
    snprintf(text, sizeof(text), "%d %d %d %d", out, in, size, size);
    parameter(s, node, "weight", text, grad);
}

static void add_norm(struct sample *s, uint32_t parent, const char *name, int n,
                     bool grad)
{
    char text[32];
    uint32_t node;

    snprintf(text, sizeof(text), "num_features=%d", n);
    node =
        sample_module(s, parent, name, "torch.nn.modules.batchnorm.BatchNorm2d", text);
    snprintf(text, sizeof(text), "%d", n);
    parameter(s, node, "weight", text, grad);
    parameter(s, node, "bias", text, grad);
    buffer(s, node, "running_mean", text);
    buffer(s, node, "running_var", text);
    buffer(s, node, "num_batches_tracked", "");
}

static void add_block(struct sample *s, uint32_t layer, int number, int in, int width,
                      bool grad)
{
    char name[24];
    uint32_t block, node;

    snprintf(name, sizeof(name), "%d", number);
    block = sample_module(s, layer, name, "models.resnet.Bottleneck", "");
    add_conv(s, block, "conv1", in, width, 1, grad);
    add_norm(s, block, "bn1", width, grad);
    add_conv(s, block, "conv2", width, width, 3, grad);
    add_norm(s, block, "bn2", width, grad);
    add_conv(s, block, "conv3", width, 4 * width, 1, grad);
    add_norm(s, block, "bn3", 4 * width, grad);
    sample_module(s, block, "relu", "torch.nn.modules.activation.ReLU", "inplace=True");
    if (number > 0)
        return;
    node = sample_module(s, block, "downsample",
                         "torch.nn.modules.container.Sequential", "");
    add_conv(s, node, "0", in, 4 * width, 1, grad);
    add_norm(s, node, "1", 4 * width, grad);
}

void resnet_begin(struct sample *s, bool frozen)
{
    static const int blocks[] = {3, 4, 6, 3};
    int in = 64;
    uint32_t node;
    char name[24];

    sample_begin(s, "ResNet");
    build_set_kind(&s->build, 0, PLACE_MODULE);
    build_object(&s->build, 0)->class_id =
        build_class(&s->build, STR("models.resnet.ResNet"));
    add_conv(s, 0, "conv1", 3, 64, 7, !frozen);
    add_norm(s, 0, "bn1", 64, !frozen);
    sample_module(s, 0, "relu", "torch.nn.modules.activation.ReLU", "inplace=True");
    sample_module(s, 0, "maxpool", "torch.nn.modules.pooling.MaxPool2d",
                  "kernel_size=3");
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof(name), "layer%d", i + 1);
        node = sample_module(s, 0, name, "torch.nn.modules.container.Sequential", "");
        for (int k = 0; k < blocks[i]; k++) {
            add_block(s, node, k, in, 64 << i, !frozen);
            in = 256 << i;
        }
    }
    sample_module(s, 0, "avgpool", "torch.nn.modules.pooling.AdaptiveAvgPool2d",
                  "output_size=1,1");
    node = sample_module(s, 0, "fc", "torch.nn.modules.linear.Linear",
                         "in_features=2048 out_features=1000");
    parameter(s, node, "weight", "1000 2048", true);
    parameter(s, node, "bias", "1000", true);
    sample_finish(s);
}

static void add_linear(struct sample *s, uint32_t parent, const char *name,
                       const char *shape)
{
    uint32_t node = sample_module(s, parent, name, "transformers.Conv1D", "");

    sample_tensor(s, node, "weight", shape);
}

void gpt2_begin(struct sample *s)
{
    uint32_t node, list, block, inner, tied;
    char name[24];

    sample_begin(s, "GPT2LMHeadModel");
    build_set_kind(&s->build, 0, PLACE_MODULE);
    build_object(&s->build, 0)->class_id =
        build_class(&s->build, STR("transformers.GPT2LMHeadModel"));
    node = sample_module(s, 0, "transformer", "transformers.GPT2Model", "");
    inner = sample_module(s, node, "wte", "torch.nn.modules.sparse.Embedding", "");
    tied = sample_tensor(s, inner, "weight", "50257 768");
    sample_module(s, node, "drop", "torch.nn.modules.dropout.Dropout", "p=0.1");
    list = sample_module(s, node, "h", "torch.nn.modules.container.ModuleList", "");
    for (int i = 0; i < 12; i++) {
        snprintf(name, sizeof(name), "%d", i);
        block = sample_module(s, list, name, "transformers.GPT2Block", "");
        inner = sample_module(s, block, "attn", "transformers.GPT2Attention", "");
        add_linear(s, inner, "c_attn", "768 2304");
        add_linear(s, inner, "c_proj", "768 768");
        add_linear(s, block, "mlp", "768 3072");
    }
    node = sample_module(s, 0, "lm_head", "torch.nn.modules.linear.Linear", "");
    build_tensor_again(&s->build,
                       build_node(&s->build, node, PLACE_TENSOR, STR("weight")), tied);
    sample_finish(s);
}
