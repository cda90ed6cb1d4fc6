#include "study/op_scene_in.h"

#include <stdio.h>
#include <string.h>

#include "base/test.h"

void op_scene_begin(struct op_scene *s, const struct model *model)
{
    *s = (struct op_scene){.trace = trace_new(model, &(struct trace_wanted){0})};
    CHECK(s->trace && trace_ops_begin(s->trace, 0));
    arena_init(&s->arena, 0);
    CHECK_INT(op_scene_storage(s, 0, RUN_NONE, OP_STORAGE_OTHER), 0);
}

uint32_t op_scene_storage(struct op_scene *s, uint64_t bytes, uint32_t tensor,
                          enum op_storage_role role)
{
    return trace_op_storage(s->trace, bytes, trace_device(s->trace, "cpu"), tensor,
                            role);
}

static void put(struct op_scene *s, struct trace_op_tensor *to, uint32_t storage,
                enum op_io_kind kind, uint8_t dtype)
{
    const struct run_op_type like = {.dtype = dtype ? dtype : DTYPE_FLOAT32,
                                     .rank = 1,
                                     .device = trace_device(s->trace, "cpu")};
    const int64_t size = 2, stride = 1;

    *to =
        (struct trace_op_tensor){.type = trace_op_type(s->trace, &like, &size, &stride),
                                 .storage = storage,
                                 .item = OP_NO_ITEM,
                                 .kind = (uint8_t)kind};
}

uint32_t op_scene_op(struct op_scene *s, struct scene_op op)
{
    struct trace_op_tensor tensors[SCENE_READS + SCENE_MAKES + 1];
    uint32_t values[SCENE_READS + SCENE_MAKES + 1];
    struct trace_op_given given = {.phase = (uint8_t)op.phase,
                                   .flags = op.no_grad ? 0 : OP_GRAD_MODE,
                                   .call = RUN_NONE,
                                   .place = op.place,
                                   .cause = op.cause - 1,
                                   .gradient = op.of - 1,
                                   .flops = OP_NO_FLOPS,
                                   .tensors = tensors};
    char text[64];
    uint32_t i;

    for (i = 0; i < SCENE_READS && op.reads[i].storage; i++) {
        put(s, &tensors[given.n_tensors], op.reads[i].storage, OP_IN,
            op.reads[i].dtype);
        tensors[given.n_tensors].arg = (uint16_t)i;
        tensors[given.n_tensors++].flags =
            op.reads[i].grad ? OP_VALUE_GRAD : OP_VALUE_NO_GRAD;
    }
    for (i = 0; i < SCENE_MAKES && op.makes[i]; i++) {
        put(s, &tensors[given.n_tensors], op.makes[i], OP_OUT, op.dtype);
        tensors[given.n_tensors++].arg = (uint16_t)i;
    }
    if (op.writes)
        put(s, &tensors[given.n_tensors++], op.writes, OP_WRITTEN, op.dtype);
    snprintf(text, sizeof text, "aten::%s", op.name);
    given.kind = trace_op_kind(s->trace, text, "", NULL, 0, op.kind);
    snprintf(text, sizeof text, "net.py:%u", trace_op_next(s->trace) + 1);
    given.line = trace_string(s->trace, text, strlen(text));
    return trace_op(s->trace, &given, values);
}

void op_scene_finish(struct op_scene *s)
{
    s->run = trace_finish(s->trace, 1000, 0);
    CHECK(s->run && s->run->ops);
}

void op_scene_end(struct op_scene *s)
{
    run_free(s->run);
    arena_release(&s->arena);
}
