/* The texts of the boxes of calls, inputs and outputs, for all front ends. */
#include "graph/from_in.h"

#include <math.h>

#include "rows/args.h"

/* ---- values ---- */

uint32_t from_value(struct from *from, uint32_t value)
{
    uint32_t found;

    if (map_find(&from->values, value, &found))
        return found;
    found = parts_value(from->parts, from->as->look(from, value));
    if (found == PART_NONE || map_put(&from->values, value, found) < 0)
        return PART_NONE;
    return found;
}

/* ---- inputs and outputs ---- */

static struct str io_name(struct from *from, const struct op_graph_node *node)
{
    struct str name;

    if (node->io == RUN_NONE)
        name = from->as->outside_name(from, node);
    else
        name = from->as->io_path(from, node);
    if (node->kind != OP_GRAPH_OUTPUT)
        return name.len > 0 ? name : STR("tensor");
    if (str_starts(name, STR(".")))
        name = str_from(name, 1);
    return name.len > 0 ? name : STR("output");
}

int from_io_box(struct from *from, uint32_t part, uint32_t node, uint32_t number)
{
    const struct op_graph_node *of = &from->graph.nodes[node];
    struct diagram_box *box = &from->parts->at[part].box;
    struct part_value value = from->as->look(from, of->value);

    box->name = parts_text(from->parts, io_name(from, of));
    box->family = FAMILY_NONE;
    if (of->kind == OP_GRAPH_OUTPUT)
        box->id = parts_printf(from->parts, "out:%u", number);
    else if (of->kind == OP_GRAPH_INPUT)
        box->id = parts_printf(from->parts, "in:%.*s", STR_ARG(box->name));
    else
        box->id = parts_printf(from->parts, "in:%u", number);
    if (parts_word(from->parts, part, value.shape) < 0)
        return -1;
    return parts_word(from->parts, part, value.dtype);
}

int from_ios_box(struct from *from, uint32_t part, struct str name, uint32_t n,
                 uint32_t number)
{
    struct diagram_box *box = &from->parts->at[part].box;

    box->name = parts_text(from->parts, name);
    if (box->kind == DIAGRAM_OUTPUT)
        box->id = parts_printf(from->parts, "out:%u", number);
    else
        box->id = parts_printf(from->parts, "in:%.*s", STR_ARG(box->name));
    return parts_word(from->parts, part, parts_printf(from->parts, "%u tensors", n));
}

/* ---- calls ---- */

/* Its name relative to the calling module: "conv1", "h.0". */
static struct str name_below(struct from *from, uint32_t place, uint32_t above)
{
    const struct model *model = from->model;
    struct buf path = BUF_INIT, around = BUF_INIT;
    struct str name, prefix;

    if (model->parent[place] == above) {
        name = parts_text(from->parts, place_name(model, place));
        return name.len > 0 ? name : STR("model");
    }
    place_path(model, place, &path);
    place_path(model, above, &around);
    name = buf_span(&path);
    prefix = buf_span(&around);
    if (prefix.len > 0 && name.len > prefix.len && str_starts(name, prefix) &&
        name.at[prefix.len] == '.')
        name = str_from(name, prefix.len + 1);
    name = parts_text(from->parts, name);
    buf_release(&path);
    buf_release(&around);
    return name.len > 0 ? name : STR("model");
}

static struct str call_id(struct from *from, uint32_t place, uint32_t number)
{
    struct buf path = BUF_INIT;
    struct str id;

    place_path(from->model, place, &path);
    if (path.len == 0)
        buf_text(&path, "model");
    if (number > 1)
        buf_printf(&path, "#%u", number);
    id = parts_text(from->parts, buf_span(&path));
    buf_release(&path);
    return id;
}

/* A hash of class and arguments. */
static uint64_t look_of(const struct from *from, uint32_t place)
{
    const struct object *object = place_object(from->model, place);

    if (!object)
        return 0;
    return hash_mix(object->class_id, args_hash(from->model, object)) | 1;
}

/* The class, then its arguments. */
static int module_words(struct from *from, uint32_t part, uint32_t place)
{
    const struct object *object = place_object(from->model, place);
    struct str name = class_short(place_class(from->model, place));
    struct args_list list = {0};
    uint32_t begin = 0;
    int status = 0;

    if (name.len > 0 &&
        parts_word(from->parts, part, parts_text(from->parts, name)) < 0)
        return -1;
    if (!object)
        return 0;
    args_words(&list, from->model, object);
    for (uint32_t i = 0; i < list.n && status == 0; i++) {
        struct str word = str_from(str_head(buf_span(&list.text), list.ends[i]), begin);

        status = parts_word(from->parts, part, parts_text(from->parts, word));
        begin = list.ends[i];
    }
    buf_release(&list.text);
    return status;
}

void from_count_call(struct from *from, uint32_t call, uint32_t object)
{
    if (object < from->model->n_objects)
        from->number[call] = ++from->n_numbers[object];
}

int from_call_box(struct from *from, uint32_t part, uint32_t call, uint32_t place,
                  uint32_t above)
{
    struct diagram_box *box = &from->parts->at[part].box;
    uint32_t object = from->model->object[place];

    from->parts->at[part].same = look_of(from, place);
    box->call = call;
    box->place = place;
    box->family = (uint8_t)family_of_place(from->model, place);
    box->number = from->number[call] > 0 ? from->number[call] : 1;
    if (from->number[call] > 0 && object < from->model->n_objects &&
        from->n_numbers[object] > 0)
        box->n_calls = from->n_numbers[object];
    box->name = name_below(from, place, above);
    box->id = call_id(from, place, box->number);
    return module_words(from, part, place);
}

/* ---- metrics ---- */

void from_params(struct from *from, struct diagram_box *box, uint32_t place)
{
    uint64_t own = counts_params(&from->session->places, place), tied = 0;

    if (from->show.tied_params)
        tied = from->show.tied_params[place];
    box->metric[DIAGRAM_PARAMS] = (double)(own > 0 ? own : tied);
    if (own == 0 && tied == 0)
        return;
    if (box->number > 1) {
        box->flags |= DIAGRAM_SHARED;
        box->metric[DIAGRAM_PARAMS] = NAN;
    } else if (own == 0) {
        box->flags |= DIAGRAM_TIED;
    }
}

static void add_to(double *metric, double amount)
{
    if (!isnan(amount))
        *metric = isnan(*metric) ? amount : *metric + amount;
}

/* Parts come after the parts around them. */
void from_add_up(struct from *from)
{
    struct parts *parts = from->parts;

    for (uint32_t i = parts->n; i-- > 1;) {
        const struct diagram_box *box = &parts->at[i].box;
        struct diagram_box *up = &parts->at[parts->at[i].parent].box;

        up->n_ops += box->n_ops;
        add_to(&up->metric[DIAGRAM_MEMORY], box->metric[DIAGRAM_MEMORY]);
        add_to(&up->metric[DIAGRAM_FLOPS], box->metric[DIAGRAM_FLOPS]);
    }
}
