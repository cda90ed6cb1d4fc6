#include "explorer/copy.h"

#include "base/base.h"
#include "compare/diff_text.h"
#include "session/pair.h"
#include "text/escape.h"

/* The row's place in its model: in a pair the right one's, if it exists. */
static uint32_t place_of(const struct show *show, const struct row *row,
                         const struct model **ret_model)
{
    const struct diff_node *node;

    *ret_model = show->model;
    if (!show->pair)
        return row->place;
    node = &show->pair->diff.nodes[row->place];
    *ret_model =
        node->right != NO_PLACE ? show->pair->diff.right : show->pair->diff.left;
    return node->right != NO_PLACE ? node->right : node->left;
}

void copy_name(struct buf *to, const struct show *show, const struct row *row)
{
    struct buf raw = BUF_INIT;

    if (row->place == 0)
        buf_str(&raw,
                show->pair ? diff_file(&show->pair->diff, true) : show->file_name);
    else if (show->pair)
        diff_node_name(&show->pair->diff, row->place, &raw);
    else
        place_path(show->model, row->place, &raw);
    escape_terminal(to, buf_span(&raw));
    buf_release(&raw);
}

/* ---- the Python expression ---- */

static bool is_number(struct str name)
{
    uint64_t value;

    return name.len > 0 && (name.len == 1 || name.at[0] != '0') &&
           str_to_u64(name, &value);
}

static bool is_identifier(struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.at[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';

        if (!letter && (i == 0 || c < '0' || c > '9'))
            return false;
    }
    return name.len > 0;
}

/* Are the children of this class indexed by number, or by key? For an unknown class,
 * children called 0, 1, 2 are indexed by number. */
static bool class_holds(const struct model *model, uint32_t place,
                        const char *const *names, size_t n, bool unknown)
{
    const struct object *object = place_object(model, place);
    struct str name = class_short(place_class(model, place));
    const struct values *values = &model->values;
    uint32_t bases;

    if (!object || object->class_id == NO_CLASS || object->guessed)
        return unknown;
    for (size_t i = 0; i < n; i++)
        if (str_is(name, names[i]))
            return true;
    bases = model->classes[object->class_id].bases;
    if (value_at(values, bases)->kind != VALUE_LIST)
        return false;
    for (uint32_t k = 0; k < value_at(values, bases)->n; k++) {
        struct str base =
            class_short(value_text(values, value_items(values, bases)[k]));

        for (size_t i = 0; i < n; i++)
            if (str_is(base, names[i]))
                return true;
    }
    return false;
}

static bool by_number(const struct model *model, uint32_t place)
{
    static const char *const names[] = {"Sequential", "ModuleList", "ParameterList"};

    return class_holds(model, place, names, COUNT_OF(names), true);
}

static bool by_key(const struct model *model, uint32_t place)
{
    static const char *const names[] = {"ModuleDict", "ParameterDict"};

    return class_holds(model, place, names, COUNT_OF(names), false);
}

/* Is the place part of a model: below a module or a state_dict, or the root of one? */
static bool in_model(const struct model *model, uint32_t place)
{
    for (; place != NO_PLACE; place = model->parent[place])
        if (model->kind[place] == PLACE_MODULE ||
            model->flags[place] & PLACE_STATE_DICT)
            return true;
    return false;
}

/* Append one step down to `place` to the expression that starts at `begin`. */
static void add_step(struct buf *to, size_t begin, const struct model *model,
                     uint32_t place)
{
    uint32_t parent = model->parent[place];
    struct str name = place_name(model, place);
    bool module = in_model(model, parent);
    struct buf before = BUF_INIT;

    if (is_number(name) && (!module || by_number(model, parent))) {
        buf_printf(to, "[%.*s]", STR_ARG(name));
    } else if (!module || by_key(model, parent)) {
        buf_char(to, '[');
        escape_quoted(to, name);
        buf_char(to, ']');
    } else if (is_identifier(name)) {
        buf_printf(to, ".%.*s", STR_ARG(name));
    } else {
        buf_str(&before, str_from(buf_span(to), begin));
        to->len = begin;
        buf_printf(to, "getattr(%s, ", buf_cstr(&before));
        escape_quoted(to, name);
        buf_char(to, ')');
        buf_release(&before);
    }
}

#define MOST_STEPS 256

void copy_python(struct buf *to, const struct show *show, const struct row *row)
{
    const struct model *model;
    uint32_t place = place_of(show, row, &model), steps[MOST_STEPS], n = 0;
    bool inside = in_model(model, place);
    size_t begin = to->len;

    for (; place != 0 && place != NO_PLACE && n < MOST_STEPS;
         place = model->parent[place]) {
        /* The state_dict represents the model itself. */
        if (inside && (model->flags[place] & PLACE_STATE_DICT ||
                       !in_model(model, model->parent[place])))
            break;
        steps[n++] = place;
    }
    buf_text(to, inside ? "model" : "checkpoint");
    while (n-- > 0)
        add_step(to, begin, model, steps[n]);
}

/* ---- the state_dict key ---- */

static uint32_t first_tensor(const struct model *model, uint32_t place)
{
    if (model->kind[place] == PLACE_TENSOR)
        return place;
    for (uint32_t c = place_first(model, place); c != NO_PLACE;
         c = place_next(model, c))
        if (model->kind[c] == PLACE_TENSOR && !(model->flags[c] & PLACE_BUFFER_TEMP))
            return c;
    return NO_PLACE;
}

void copy_key(struct buf *to, const struct show *show, const struct row *row)
{
    const struct model *model;
    uint32_t place = place_of(show, row, &model), tensor, up;
    struct buf raw = BUF_INIT, above = BUF_INIT;

    tensor = first_tensor(model, place);
    if (tensor == NO_PLACE)
        return;
    place_path(model, tensor, &raw);
    for (up = model->parent[tensor]; up != NO_PLACE && up != 0; up = model->parent[up])
        if (model->flags[up] & PLACE_STATE_DICT)
            break;
    if (up != NO_PLACE && up != 0)
        place_path(model, up, &above);
    escape_terminal(to, str_from(buf_span(&raw), above.len ? above.len + 1 : 0));
    buf_release(&raw);
    buf_release(&above);
}

uint32_t copy_lines(struct buf *to, const struct lines *lines)
{
    size_t end = to->len;
    uint32_t n = 0;

    for (uint32_t i = 0; i < lines->n; i++) {
        size_t begin = to->len;

        line_plain(to, lines, i);
        while (to->len > begin && to->at[to->len - 1] == ' ')
            to->len--;
        if (to->len > begin) {
            n = i + 1;
            end = to->len + 1;
        }
        buf_char(to, '\n');
    }
    if (to->len > end) {
        to->len = end;
        to->at[end] = '\0';
    }
    return n;
}
