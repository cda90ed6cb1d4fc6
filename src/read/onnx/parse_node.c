/* NodeProto and AttributeProto. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "read/onnx/parsed_in.h"

#define LIST_TEXT_MOST (64 * KIB) /* of names and classes of modules */
#define TRACE_TAIL     4096       /* bytes of a stack trace that are read */
#define NAMES_MOST     100        /* items of such a list */

/* ---- attributes ---- */

static uint32_t real_of(struct onnx_parsed *p, uint32_t bits)
{
    float real;

    memcpy(&real, &bits, sizeof real);
    return value_real(build_values(p->build), (double)real);
}

/* A string attribute, which may be any bytes. */
static uint32_t text_of(struct onnx_parsed *p, const struct wire_field *field)
{
    uint32_t id = onnx_string(p, field);

    return value_str(build_values(p->build), onnx_text(p, id));
}

static void add_item(struct onnx_parsed *p, uint32_t value)
{
    uint32_t i = value == VALUE_ID_FAILED ? ONNX_NONE : ONNX_ADD(p, items);

    if (i == ONNX_NONE) {
        p->spent = true;
        return;
    }
    p->items[i] = value;
}

static void add_ints(struct onnx_parsed *p, struct wire in,
                     const struct wire_field *field)
{
    uint64_t value = field->value;

    if (field->type == WIRE_VARINT) {
        add_item(p, value_int(build_values(p->build), wire_signed(value)));
        return;
    }
    while (!p->spent && wire_varint(&in, &value))
        add_item(p, value_int(build_values(p->build), wire_signed(value)));
}

static void add_floats(struct onnx_parsed *p, struct wire in,
                       const struct wire_field *field)
{
    uint32_t bits = (uint32_t)field->value;

    if (field->type == WIRE_I32) {
        add_item(p, real_of(p, bits));
        return;
    }
    while (!p->spent && wire_fixed32(&in, &bits))
        add_item(p, real_of(p, bits));
}

/* `again`: a second message is merged into the first graph. */
static void add_graph(struct onnx_parsed *p, struct onnx_attr *attr, uint32_t node,
                      const struct wire_field *field, bool again)
{
    uint32_t graph = again ? attr->graph : ONNX_NONE;

    if (graph == ONNX_NONE) {
        uint32_t depth =
            node == ONNX_NONE ? 0 : p->graphs[p->nodes[node].graph].depth + 1;

        graph = onnx_graph_new(p, node, attr->name, depth);
        if (graph == ONNX_NONE)
            return;
        if (attr->graph == ONNX_NONE)
            attr->graph = graph;
        else
            p->graphs[attr->last_graph].next = graph;
        attr->last_graph = graph;
    }
    onnx_parse_later(p, graph, field);
}

static void add_tensor(struct onnx_parsed *p, struct onnx_attr *attr, uint32_t node,
                       uint32_t tensor)
{
    if (tensor == ONNX_NONE || tensor == attr->tensor) /* merged */
        return;
    p->tensors[tensor].owner = node;
    if (attr->tensor == ONNX_NONE)
        attr->tensor = tensor;
}

/* Fields that hold messages or bytes. */
static void attr_message(struct onnx_parsed *p, struct onnx_attr *attr, uint32_t node,
                         struct wire in, const struct wire_field *field)
{
    switch (field->number) {
    case 4:
        attr->value = text_of(p, field);
        break;
    case 5: /* a second one is merged into the first */
        add_tensor(p, attr, node, onnx_parse_tensor(p, attr->tensor, in));
        break;
    case 6:
        add_graph(p, attr, node, field, true);
        break;
    case 7:
        add_floats(p, in, field);
        break;
    case 8:
        add_ints(p, in, field);
        break;
    case 9:
        add_item(p, text_of(p, field));
        break;
    case 10:
        add_tensor(p, attr, node, onnx_parse_tensor(p, ONNX_NONE, in));
        break;
    case 11:
        add_graph(p, attr, node, field, false);
        break;
    case 22:
    case 23:
        add_tensor(p, attr, node, onnx_parse_sparse(p, in));
        break;
    default:
        break;
    }
}

/* Files of IR versions 1 and 2 store no type: it follows from the field. */
static uint32_t implied_type(uint32_t number)
{
    static const uint8_t types[] = {
        [2] = ONNX_FLOAT,    [3] = ONNX_INT,     [4] = ONNX_STRING, [5] = ONNX_TENSOR,
        [6] = ONNX_GRAPH,    [7] = ONNX_FLOATS,  [8] = ONNX_INTS,   [9] = ONNX_STRINGS,
        [10] = ONNX_TENSORS, [11] = ONNX_GRAPHS, [14] = ONNX_TYPE,  [15] = ONNX_TYPES,
        [22] = ONNX_SPARSE,  [23] = ONNX_SPARSES};

    return number < sizeof types ? types[number] : 0;
}

static void attr_field(struct onnx_parsed *p, struct onnx_attr *attr, uint32_t node,
                       const struct wire *in, const struct wire_field *field)
{
    if (field->number == 1)
        attr->name = onnx_string(p, field);
    else if (field->number == 2 && field->type == WIRE_I32)
        attr->value = real_of(p, (uint32_t)field->value);
    else if (field->number == 3 && field->type == WIRE_VARINT)
        attr->value = value_int(build_values(p->build), wire_signed(field->value));
    else if (field->number == 7 && field->type == WIRE_I32)
        add_floats(p, *in, field);
    else if (field->number == 8 && field->type == WIRE_VARINT)
        add_ints(p, *in, field);
    else if (field->number == 21)
        attr->ref = onnx_string(p, field);
    else if (field->type == WIRE_LEN)
        attr_message(p, attr, node, wire_inside(in, field), field);
}

/* Sets lists, and the default of a value that is absent. */
static void attr_finish(struct onnx_parsed *p, struct onnx_attr *attr, uint32_t items)
{
    static const uint32_t none;
    uint32_t n = p->n_items - items;
    struct values *values = build_values(p->build);

    if (attr->type == ONNX_FLOATS || attr->type == ONNX_INTS ||
        attr->type == ONNX_STRINGS)
        attr->value = value_make(values, VALUE_LIST, STR(""),
                                 n > 0 ? p->items + items : &none, n);
    else if (attr->value == VALUE_ID_NONE && attr->type == ONNX_INT)
        attr->value = value_int(values, 0);
    else if (attr->value == VALUE_ID_NONE && attr->type == ONNX_FLOAT)
        attr->value = value_real(values, 0);
    else if (attr->value == VALUE_ID_NONE && attr->type == ONNX_STRING)
        attr->value = value_str(values, STR(""));
    if (attr->value == VALUE_ID_FAILED)
        p->spent = true;
    p->n_items = items; /* they are in the value */
}

uint32_t onnx_parse_attr(struct onnx_parsed *p, uint32_t node, struct wire in)
{
    struct onnx_attr attr = {
        .next = ONNX_NONE, .tensor = ONNX_NONE, .graph = ONNX_NONE};
    uint32_t items = p->n_items, implied = 0, i = ONNX_ADD(p, attrs);
    uint64_t begin = in.at;
    struct wire_field field;

    if (i == ONNX_NONE)
        return i;
    while (!p->spent && wire_next(&in, &field)) {
        if (field.number == 20 && field.type == WIRE_VARINT)
            attr.type = (uint32_t)field.value;
        else
            attr_field(p, &attr, node, &in, &field);
        if (implied_type(field.number))
            implied = implied_type(field.number);
    }
    if (attr.type == 0)
        attr.type = implied;
    attr_finish(p, &attr, items);
    if (attr.tensor != ONNX_NONE)
        onnx_tensor_merged(p, attr.tensor, begin, in.end - begin);
    p->attrs[i] = attr;
    return i;
}

const struct onnx_attr *onnx_attr_find(const struct onnx_parsed *p,
                                       const struct onnx_node *node, const char *name)
{
    for
        ONNX_EACH(i, p, attrs, node->attrs)
    if (str_is(onnx_text(p, p->attrs[i].name), name))
        return &p->attrs[i];
    return NULL;
}

/* ---- metadata of torch's exporter ---- */

/* Parses a list of strings in Python's syntax, "['', 'layer1', 'conv']"; else None. */
static uint32_t parse_texts(struct onnx_parsed *p, struct str text)
{
    struct values *values = build_values(p->build);
    uint32_t items[NAMES_MOST], n = 0;

    text = str_trim(text);
    if (text.len < 2 || text.at[0] != '[' || text.at[text.len - 1] != ']')
        return VALUE_ID_NONE;
    text = (struct str){text.at + 1, text.len - 2};
    while ((text = str_trim(text)).len > 0) {
        char quote = text.at[0];
        ptrdiff_t end = str_find_char(str_from(text, 1), quote);

        if ((quote != '\'' && quote != '"') || end < 0 || n >= NAMES_MOST)
            return VALUE_ID_NONE;
        items[n] = value_str(values, (struct str){text.at + 1, (size_t)end});
        if (items[n++] == VALUE_ID_FAILED)
            return VALUE_ID_NONE;
        text = str_trim(str_from(text, (size_t)end + 2));
        if (text.len > 0 && text.at[0] != ',')
            return VALUE_ID_NONE;
        text = str_from(text, 1);
    }
    n = value_make(values, VALUE_LIST, STR(""), items, n);
    return n == VALUE_ID_FAILED ? VALUE_ID_NONE : n;
}

/* The innermost line of a stack trace that is not torch's own, else the innermost:
 * 'File "/home/me/net.py", line 41, in forward'. "<eval_with_key>.3" is code that torch
 * generated. Starts behind `File "`. */
static struct str find_line(struct str text)
{
    struct str found = STR("");
    bool own = false;
    ptrdiff_t at;

    while ((at = str_find(text, STR("File \""))) >= 0) {
        struct str line = text = str_from(text, (size_t)at + 6);
        ptrdiff_t end = str_find_char(line, '\n');
        bool torch;

        line = end < 0 ? line : str_head(line, (size_t)end);
        torch = str_find(line, STR("/torch/")) >= 0 || str_starts(line, STR("<"));
        if (own && torch)
            continue;
        own = !torch;
        found = line;
    }
    return found;
}

/* "net.py" and 41. */
static void parse_trace(struct onnx_parsed *p, struct onnx_node *node,
                        struct wire_field field)
{
    struct str text, last, number;
    ptrdiff_t at;
    uint64_t line;

    if (field.value > TRACE_TAIL) {
        field.at += field.value - TRACE_TAIL;
        field.value = TRACE_TAIL;
    }
    text = wire_bytes(&p->window, &field, TRACE_TAIL, p->arena);
    last = find_line(text);
    at = str_find(last, STR("\", line "));
    if (at < 0)
        return;
    number = str_from(last, (size_t)at + 8);
    for (size_t i = 0; i < number.len; i++)
        if (number.at[i] < '0' || number.at[i] > '9')
            number.len = i;
    if (!str_to_u64(number, &line) || line == 0 || line > UINT32_MAX)
        return;
    last = str_head(last, (size_t)at);
    last = str_from(last, (size_t)(str_find_last_char(last, '/') + 1));
    node->file = build_string(p->build, last);
    node->line = (uint32_t)line;
    if (node->file == INTERN_NONE)
        node->file = node->line = 0;
}

static void parse_property(struct onnx_parsed *p, struct onnx_node *node,
                           struct wire in)
{
    struct wire_field value;
    uint32_t key;
    struct str name;

    onnx_parse_pair(p, in, &key, &value);
    name = onnx_text(p, key);
    if (str_is(name, "pkg.torch.onnx.name_scopes"))
        node->scopes =
            parse_texts(p, wire_bytes(&p->window, &value, LIST_TEXT_MOST, p->arena));
    else if (str_is(name, "pkg.torch.onnx.class_hierarchy"))
        node->classes =
            parse_texts(p, wire_bytes(&p->window, &value, LIST_TEXT_MOST, p->arena));
    else if (str_is(name, "pkg.torch.onnx.stack_trace"))
        parse_trace(p, node, value);
}

/* ---- nodes ---- */

static void add_name(struct onnx_parsed *p, struct onnx_list *list,
                     const struct wire_field *field)
{
    uint32_t i = ONNX_ADD(p, names);

    if (i == ONNX_NONE)
        return;
    p->names[i].name = onnx_string(p, field);
    ONNX_LINK(p, names, list, i);
}

static void node_attr(struct onnx_parsed *p, uint32_t node, struct wire in)
{
    uint32_t i = onnx_parse_attr(p, node, in);

    if (i != ONNX_NONE)
        ONNX_LINK(p, attrs, &p->nodes[node].attrs, i);
}

static void node_field(struct onnx_parsed *p, uint32_t i, struct wire in,
                       const struct wire_field *field)
{
    struct onnx_node *node = &p->nodes[i];

    switch (field->number) {
    case 1:
        add_name(p, &node->inputs, field);
        break;
    case 2:
        add_name(p, &node->outputs, field);
        break;
    case 3:
        node->name = onnx_string(p, field);
        break;
    case 4:
        node->op_type = onnx_string(p, field);
        break;
    case 5:
        node_attr(p, i, in);
        break;
    case 7:
        node->domain = onnx_string(p, field);
        break;
    case 8:
        node->overload = onnx_string(p, field);
        break;
    case 9:
        parse_property(p, node, in);
        break;
    default:
        break;
    }
}

void onnx_parse_node(struct onnx_parsed *p, uint32_t graph, struct wire in)
{
    uint32_t i = ONNX_ADD(p, nodes);
    struct wire_field field;

    if (i == ONNX_NONE)
        return;
    p->nodes[i].graph = graph;
    p->nodes[i].scope = NO_PLACE;
    while (!p->spent && wire_next(&in, &field))
        if (field.type == WIRE_LEN)
            node_field(p, i, wire_inside(&in, &field), &field);
    ONNX_LINK(p, nodes, &p->graphs[graph].nodes, i);
}

uint32_t onnx_input(const struct onnx_parsed *p, const struct onnx_node *node,
                    uint32_t i)
{
    for
        ONNX_EACH(at, p, names, node->inputs)
    if (i-- == 0)
        return p->names[at].name;
    return 0;
}
