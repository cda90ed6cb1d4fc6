#include "study/sample_program.h"

#include "base/test.h"

static struct program *program_of(struct sample_program *s)
{
    return s->build.program;
}

static struct program_value blank(enum program_value_kind kind)
{
    return (struct program_value){.kind = (uint8_t)kind,
                                  .dtype = DTYPE_UNKNOWN,
                                  .shape = PROGRAM_NONE,
                                  .producer = PROGRAM_NONE,
                                  .tensor = PROGRAM_NONE,
                                  .place = PROGRAM_NONE,
                                  .plain = PROGRAM_NONE};
}

void sample_program_begin(struct sample_program *s)
{
    *s = (struct sample_program){.region = PROGRAM_NONE};
    CHECK(build_init(&s->build, "m.pt", 0, NULL, NULL) == 0);
    s->build.model->format = "TorchScript";
}

uint32_t sample_program_module(struct sample_program *s, const char *name,
                               const char *class_name)
{
    uint32_t node = build_node(&s->build, 0, PLACE_MODULE, str_of(name));

    build_object(&s->build, node)->class_id =
        build_class(&s->build, str_of(class_name));
    return node;
}

void sample_program_code(struct sample_program *s)
{
    struct program_call call = {.parent = PROGRAM_NONE, .region = PROGRAM_NONE};

    CHECK(build_program(&s->build));
    program_of(s)->method = build_string(&s->build, STR("forward"));
    CHECK_INT(build_program_call(&s->build, &call), 0);
}

uint32_t sample_program_input(struct sample_program *s, const char *name, bool number)
{
    struct program_value value = blank(PROGRAM_INPUT);

    value.name = build_string(&s->build, str_of(name));
    value.number = number;
    return build_program_value(&s->build, &value);
}

uint32_t sample_program_merge(struct sample_program *s, bool loop)
{
    struct program_value value = blank(PROGRAM_MERGE);

    value.loop = loop;
    return build_program_value(&s->build, &value);
}

uint32_t sample_program_op(struct sample_program *s, const char *name, uint32_t a,
                           uint32_t b)
{
    struct program_value made = blank(PROGRAM_RESULT);
    struct program_op op = {.name = build_string(&s->build, str_of(name)),
                            .attributes = VALUE_ID_NONE,
                            .call = s->call,
                            .place = program_of(s)->calls[s->call].place,
                            .region = s->region,
                            .n_out = 1};
    struct program_io ios[3];

    made.producer = program_of(s)->n_ops;
    if (a != PROGRAM_NONE)
        ios[op.n_in++] = (struct program_io){.value = a, .item = PROGRAM_NONE};
    if (b != PROGRAM_NONE)
        ios[op.n_in++] = (struct program_io){.value = b, .item = PROGRAM_NONE};
    ios[op.n_in] = (struct program_io){.value = build_program_value(&s->build, &made),
                                       .item = PROGRAM_NONE};
    CHECK_INT(build_program_op(&s->build, &op, ios), made.producer);
    return ios[op.n_in].value;
}

uint32_t sample_program_item(struct sample_program *s, uint32_t list, uint16_t item)
{
    struct program_value made = program_of(s)->values[list];

    made.output = item;
    return build_program_value(&s->build, &made);
}

uint32_t sample_program_enter(struct sample_program *s, uint32_t module, uint32_t in)
{
    struct program_call call = {.place = module,
                                .parent = s->call,
                                .region = s->region,
                                .ops = program_of(s)->n_ops};
    uint32_t made = build_program_call(&s->build, &call);
    struct program_io ios[] = {{.value = in, .item = PROGRAM_NONE},
                               {.value = in, .item = PROGRAM_NONE}};

    CHECK(build_program_call_ios(&s->build, made, ios, 1, 1) == 0);
    s->call = made;
    return made;
}

void sample_program_leave(struct sample_program *s, uint32_t out)
{
    struct program_call *call = &program_of(s)->calls[s->call];

    call->end = program_of(s)->n_ops;
    program_of(s)->ios[call->io + 1].value = out;
    s->call = call->parent;
}

uint32_t sample_program_region(struct sample_program *s, enum program_region_kind kind,
                               int taken, uint32_t condition)
{
    s->region = build_program_region(
        &s->build, &(struct program_region){.kind = (uint8_t)kind,
                                            .taken = (int8_t)taken,
                                            .parent = s->region,
                                            .call = s->call,
                                            .condition = condition,
                                            .ops = program_of(s)->n_ops});
    return s->region;
}

void sample_program_region_end(struct sample_program *s)
{
    struct program_region *region = &program_of(s)->regions[s->region];

    region->end = program_of(s)->n_ops;
    s->region = region->parent;
}

const struct model *sample_program_end(struct sample_program *s, uint32_t in,
                                       uint32_t out)
{
    uint32_t name = program_of(s)->values[in].name;
    struct program_io ios[] = {{.value = in, .arg = name, .item = PROGRAM_NONE},
                               {.value = out, .item = PROGRAM_NONE}};
    const struct model *model;

    program_of(s)->calls[0].end = program_of(s)->n_ops;
    CHECK(build_program_call_ios(&s->build, 0, ios, 1, 1) == 0);
    model = build_finish(&s->build, NULL);
    CHECK(model && model->program);
    build_release(&s->build);
    return model;
}
