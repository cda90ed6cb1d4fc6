/* ModelProto, GraphProto and FunctionProto. */
#include <string.h>

#include "base/base.h"
#include "read/onnx/parsed_in.h"

#define STRING_MOST (16 * MIB)

uint32_t onnx_string(struct onnx_parsed *p, const struct wire_field *field)
{
    uint32_t id;

    if (field->type != WIRE_LEN)
        return 0;
    id = build_string(p->build, wire_bytes(&p->window, field, STRING_MOST, p->arena));
    if (id == INTERN_NONE) {
        p->spent = true;
        return 0;
    }
    return id;
}

struct str onnx_text(const struct onnx_parsed *p, uint32_t id)
{
    return model_string(p->build->model, id);
}

bool onnx_is_standard(struct str domain)
{
    return domain.len == 0 || str_is(domain, "ai.onnx");
}

uint32_t onnx_graph_new(struct onnx_parsed *p, uint32_t owner, uint32_t attr,
                        uint32_t depth)
{
    uint32_t i = ONNX_ADD(p, graphs);

    if (i == ONNX_NONE)
        return i;
    p->graphs[i].owner = owner;
    p->graphs[i].function = ONNX_NONE;
    p->graphs[i].attr = attr;
    p->graphs[i].depth = depth;
    p->graphs[i].next = ONNX_NONE;
    p->graphs[i].group = NO_PLACE;
    return i;
}

void onnx_parse_later(struct onnx_parsed *p, uint32_t graph,
                      const struct wire_field *field)
{
    uint32_t i;

    if (p->graphs[graph].depth > ONNX_DEPTH) {
        p->too_deep++;
        return;
    }
    i = ONNX_ADD(p, laters);
    if (i != ONNX_NONE)
        p->laters[i] = (struct onnx_later){field->at, field->value, graph};
}

void onnx_parse_pair(struct onnx_parsed *p, struct wire in, uint32_t *ret_key,
                     struct wire_field *ret_value)
{
    struct wire_field field;

    *ret_key = 0;
    *ret_value = (struct wire_field){.type = WIRE_LEN};
    while (wire_next(&in, &field)) {
        if (field.number == 1)
            *ret_key = onnx_string(p, &field);
        else if (field.number == 2 && field.type == WIRE_LEN)
            *ret_value = field;
    }
}

/* ---- graphs ---- */

/* TensorAnnotation: the tensor, and pairs of "SCALE_TENSOR" and a name. */
static void parse_quant(struct onnx_parsed *p, uint32_t graph, struct wire in)
{
    uint32_t i = ONNX_ADD(p, quants), key;
    struct wire_field field, value;

    if (i == ONNX_NONE)
        return;
    while (wire_next(&in, &field)) {
        if (field.number == 1)
            p->quants[i].tensor = onnx_string(p, &field);
        if (field.number != 2 || field.type != WIRE_LEN)
            continue;
        onnx_parse_pair(p, wire_inside(&in, &field), &key, &value);
        if (str_is(onnx_text(p, key), "SCALE_TENSOR"))
            p->quants[i].scale = onnx_string(p, &value);
        else if (str_is(onnx_text(p, key), "ZERO_POINT_TENSOR"))
            p->quants[i].zero_point = onnx_string(p, &value);
    }
    ONNX_LINK(p, quants, &p->graphs[graph].quants, i);
}

static void add_initialiser(struct onnx_parsed *p, uint32_t graph, uint32_t tensor)
{
    if (tensor == ONNX_NONE)
        return;
    p->tensors[tensor].owner = graph;
    p->tensors[tensor].initialiser = true;
}

static void add_type(struct onnx_parsed *p, struct onnx_list *list, struct wire in)
{
    uint32_t i = onnx_parse_type(p, in);

    if (i != ONNX_NONE)
        ONNX_LINK(p, types, list, i);
}

static void parse_graph(struct onnx_parsed *p, uint32_t graph, struct wire in)
{
    struct wire_field field;
    struct wire inside;

    while (!p->spent && wire_next(&in, &field)) {
        if (field.type != WIRE_LEN)
            continue;
        inside = wire_inside(&in, &field);
        if (field.number == 1)
            onnx_parse_node(p, graph, inside);
        else if (field.number == 2)
            p->graphs[graph].name = onnx_string(p, &field);
        else if (field.number == 5)
            add_initialiser(p, graph, onnx_parse_tensor(p, ONNX_NONE, inside));
        else if (field.number == 11)
            add_type(p, &p->graphs[graph].inputs, inside);
        else if (field.number == 12)
            add_type(p, &p->graphs[graph].outputs, inside);
        else if (field.number == 13)
            add_type(p, &p->graphs[graph].infos, inside);
        else if (field.number == 14)
            parse_quant(p, graph, inside);
        else if (field.number == 15)
            add_initialiser(p, graph, onnx_parse_sparse(p, inside));
    }
}

/* ---- functions ---- */

static void add_name(struct onnx_parsed *p, struct onnx_list *list,
                     const struct wire_field *field)
{
    uint32_t i = ONNX_ADD(p, names);

    if (i == ONNX_NONE)
        return;
    p->names[i].name = onnx_string(p, field);
    ONNX_LINK(p, names, list, i);
}

static void function_field(struct onnx_parsed *p, uint32_t f, struct wire in,
                           const struct wire_field *field)
{
    struct onnx_function *function = &p->functions[f];
    uint32_t attr;

    switch (field->number) {
    case 1:
        function->name = onnx_string(p, field);
        break;
    case 4:
        add_name(p, &function->inputs, field);
        break;
    case 5:
        add_name(p, &function->outputs, field);
        break;
    case 6:
        add_name(p, &function->attr_names, field);
        break;
    case 7:
        onnx_parse_node(p, function->graph, in);
        break;
    case 10:
        function->domain = onnx_string(p, field);
        break;
    case 11:
        attr = onnx_parse_attr(p, ONNX_NONE, in);
        if (attr != ONNX_NONE)
            ONNX_LINK(p, attrs, &function->defaults, attr);
        break;
    case 12:
        add_type(p, &p->graphs[function->graph].infos, in);
        break;
    case 13:
        function->overload = onnx_string(p, field);
        break;
    default:
        break;
    }
}

static void parse_function(struct onnx_parsed *p, struct wire in)
{
    uint32_t f = ONNX_ADD(p, functions), graph;
    struct wire_field field;

    if (f == ONNX_NONE)
        return;
    graph = onnx_graph_new(p, ONNX_NONE, 0, 0);
    if (graph == ONNX_NONE)
        return;
    p->functions[f].graph = graph;
    p->graphs[graph].function = f;
    while (!p->spent && wire_next(&in, &field))
        if (field.type == WIRE_LEN)
            function_field(p, f, wire_inside(&in, &field), &field);
}

/* ---- the model ---- */

static void parse_opset(struct onnx_parsed *p, struct wire in)
{
    uint32_t i = ONNX_ADD(p, opsets);
    struct wire_field field;

    if (i == ONNX_NONE)
        return;
    while (wire_next(&in, &field)) {
        if (field.number == 1)
            p->opsets[i].domain = onnx_string(p, &field);
        else if (field.number == 2 && field.type == WIRE_VARINT)
            p->opsets[i].version = wire_signed(field.value);
    }
}

static void parse_metadata(struct onnx_parsed *p, struct wire in)
{
    struct values *values = build_values(p->build);
    struct wire_field value;
    uint32_t key;

    onnx_parse_pair(p, in, &key, &value);
    build_metadata(p->build, onnx_text(p, key),
                   value_str(values, onnx_text(p, onnx_string(p, &value))));
}

static void model_number(struct onnx_parsed *p, const struct wire_field *field)
{
    if (field->number == 1)
        p->ir_version = wire_signed(field->value);
    else if (field->number == 5)
        p->model_version = wire_signed(field->value);
}

static void model_field(struct onnx_parsed *p, struct wire in,
                        const struct wire_field *field)
{
    switch (field->number) {
    case 2:
        p->producer = onnx_string(p, field);
        break;
    case 3:
        p->producer_version = onnx_string(p, field);
        break;
    case 4:
        p->domain = onnx_string(p, field);
        break;
    case 7: /* a second one is merged into the first */
        p->has_graph = true;
        onnx_parse_later(p, 0, field);
        break;
    case 8:
        parse_opset(p, in);
        break;
    case 14:
        parse_metadata(p, in);
        break;
    case 20:
        p->n_training++;
        break;
    case 25:
        parse_function(p, in);
        break;
    default:
        break;
    }
}

/* Parses the graphs in file order; each may add more. */
static int parse_laters(struct onnx_parsed *p, struct err *err)
{
    for (uint32_t i = 0; i < p->n_laters && !p->spent; i++) {
        struct onnx_later later = p->laters[i];

        parse_graph(p, later.graph, wire_of(&p->window, later.at, later.size));
        if (!work_step(p->build->work, 0))
            return err_set_about(err, ERR_CANCELLED, p->input->path, ": stopped");
    }
    return 0;
}

int onnx_parse(struct onnx_parsed *p, struct input *input, struct build *build,
               struct err *err)
{
    struct wire_field field;
    struct wire in;

    *p = (struct onnx_parsed){.input = input, .build = build, .arena = &build->scratch};
    if (wire_init(&p->window, input->blob, p->arena) < 0 ||
        onnx_graph_new(p, ONNX_NONE, 0, 0) == ONNX_NONE)
        return arena_err(p->arena, input->path, err);
    in = wire_of(&p->window, 0, input->blob->size);
    while (!p->spent && wire_next(&in, &field)) {
        if (field.type == WIRE_VARINT)
            model_number(p, &field);
        else if (field.type == WIRE_LEN)
            model_field(p, wire_inside(&in, &field), &field);
    }
    return parse_laters(p, err);
}
