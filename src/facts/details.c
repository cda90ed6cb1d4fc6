#include "facts/details.h"

#include <math.h>

#include "facts/ops_text.h"
#include "rows/labels.h"
#include "rows/value_text.h"
#include "text/text.h"

#define VALUE_BYTES_SHOWN 4000u    /* bytes of a value among other facts */
#define MOST_TIES         100u     /* maximum other places of a tensor listed */
#define VALUE_WHOLE       1000000u /* bytes of a value shown alone */

static void add_path(struct facts *to, const struct model *model, uint32_t place)
{
    struct figure figure = fact_figure(to);
    struct buf path = BUF_INIT;

    place_path(model, place, &path);
    escape_terminal(figure.text, buf_span(&path));
    fact_named(to, "place", FIGURE_PLACE, place);
    buf_release(&path);
}

static void text_fact(struct facts *to, const char *label, struct str text)
{
    fact_text(to, label, text);
    fact_end(to, label, COLOUR_NONE);
}

static void value_fact(struct facts *to, const char *label, const struct model *model,
                       uint32_t value)
{
    if (value == VALUE_ID_NONE)
        return;
    value_show(&to->text, model, value, VALUE_BYTES_SHOWN);
    fact_end(to, label, COLOUR_NONE);
}

/* ---- a tensor ---- */

static void memory_fact(struct facts *to, const struct model *model,
                        const struct tensor *tensor)
{
    const struct storage *storage;
    char text[STORAGE_NAME_MAX];
    struct str name;

    if (tensor->layout != LAYOUT_STRIDED || tensor->storage == NO_STORAGE)
        return;
    storage = &model->storages[tensor->storage];
    for (int i = 0; i < tensor->rank; i++)
        buf_printf(&to->text, "%s%lld", i == 0 ? "[" : ", ",
                   (long long)tensor_strides(model, tensor)[i]);
    buf_text(&to->text, tensor->rank > 0 ? "]" : "[]");
    buf_text(&to->text, "  offset ");
    fact_figure(to);
    buf_printf(&to->text, "%llu", (unsigned long long)tensor->offset);
    fact_named(to, "offset", FIGURE_COUNT, tensor->offset);
    buf_text(&to->text, "  storage ");
    name = storage_name(model, storage, text);
    if (name.len > 0)
        fact_text(to, "storage", name);
    else
        buf_printf(&to->text, "%u", tensor->storage);
    buf_text(&to->text, ", ");
    fact_bytes(to, "bytes", storage->bytes);
    fact_end(to, "strides", COLOUR_NONE);
}

/* A tensor counts at its first place, so the others are tied to that place. */
static void ties_facts(struct facts *to, const struct model *model, uint32_t place)
{
    const struct tensor *tensor = place_tensor(model, place);
    uint32_t p = tensor->place, n = 0;

    for (; p != NO_PLACE && n < MOST_TIES; p = tensor_next_place(model, p)) {
        if (p == place)
            continue;
        buf_text(&to->text, p == tensor->place ? "to " : "also ");
        add_path(to, model, p);
        fact_end(to, n++ == 0 ? "tied" : "", COLOUR_NONE);
    }
    if (tensor->places > n + 1) {
        buf_text(&to->text, "… ");
        fact_count(to, "more", tensor->places - n - 1);
        buf_text(&to->text, " more");
        fact_end(to, "", COLOUR_NONE);
    }
}

static void parts_facts(struct facts *to, const struct model *model, uint32_t place)
{
    uint32_t part;

    for (part = place_first(model, place); part != NO_PLACE;
         part = place_next(model, part)) {
        if (model->kind[part] != PLACE_TENSOR)
            continue;
        add_path(to, model, part);
        buf_text(&to->text, "  ");
        fact_tensor_shape(to, "shape", model, part);
        buf_char(&to->text, ' ');
        fact_dtype(to, place_tensor(model, part)->dtype);
        fact_end(to, "part", COLOUR_NONE);
    }
}

static void role_fact(struct facts *to, const struct tensor *tensor)
{
    static const char *const roles[] = {"parameter", "buffer", "optimizer state",
                                        "plain tensor"};

    buf_text(&to->text, roles[tensor->role & 3]);
    if (tensor->flags & TENSOR_ROLE_GUESSED)
        buf_text(&to->text, ", guessed by name");
    if (tensor->flags & TENSOR_GRAD_KNOWN)
        buf_text(&to->text,
                 tensor->flags & TENSOR_GRAD ? ", requires grad" : ", no grad");
    fact_end(to, "role", COLOUR_NONE);
}

static void device_fact(struct facts *to, const char *label, struct str device)
{
    fact_text(to, "device", device);
    fact_end_as(to, "device", label, COLOUR_NONE);
}

/* Lazy views, which torch only flags: the stored data differs from the logical values.
 */
static const char *lazy_name(const struct tensor *tensor)
{
    switch (tensor->flags & (TENSOR_CONJ | TENSOR_NEG)) {
    case TENSOR_CONJ:
        return "the conjugate of what is stored";
    case TENSOR_NEG:
        return "the negative of what is stored";
    case TENSOR_CONJ | TENSOR_NEG:
        return "the negative conjugate of what is stored";
    default:
        return "";
    }
}

/* "‖grad‖ 0.0348, ‖weight‖ 0.7828, update/w 0.004357 of step 409" */
static void step_fact(struct facts *to, const struct show *show, uint32_t place)
{
    double value;

    if (!show->step || show->step->at[place].known == 0)
        return;
    for (int i = 0; i < STEP_NUMBERS; i++) {
        struct figure figure;

        if (!step_number(&show->step->at[place], (enum step_number)i, &value))
            continue;
        buf_printf(&to->text, "%s ", step_words[i].word);
        figure = fact_figure(to);
        if (i == STEP_DEAD)
            figure_share(&figure, value, 1);
        else
            figure_real(&figure, value);
        fact_value(to, step_words[i].key, &figure);
        fact_part(to, isfinite(value) ? COLOUR_NONE : COLOUR_ALARM);
    }
    buf_text(&to->text, "of ");
    at_step_text(&to->text, show->step);
    fact_end(to, "history", COLOUR_NONE);
}

void details_tensor(struct facts *to, const struct show *show, uint32_t place, bool all)
{
    static const char *const layouts[] = {"",
                                          "sparse, COO",
                                          "sparse, CSR",
                                          "sparse, CSC",
                                          "sparse, BSR",
                                          "sparse, BSC",
                                          "nested",
                                          "wrapped: its values are its parts"};
    const struct model *model = show->model;
    const struct tensor *tensor = place_tensor(model, place);
    struct str device = tensor_device(model, tensor);

    if (all)
        role_fact(to, tensor);
    if (all || !tensor_contiguous(model, tensor))
        memory_fact(to, model, tensor);
    text_fact(to, "layout",
              tensor->layout == LAYOUT_WRAPPED && tensor->flags & TENSOR_DERIVED
                  ? STR("wrapped: its values are computed from its parts")
                  : str_of(layouts[tensor->layout & 7]));
    text_fact(to, "meant", str_of(lazy_name(tensor)));
    if (all || (device.len > 0 && !str_is(device, "cpu")))
        device_fact(to, show->activity ? "device" : "saved from", device);
    if (tensor->class_id != NO_CLASS && all)
        text_fact(to, "class",
                  model_string(model, model->classes[tensor->class_id].name));
    if (model->n_files > 1 && tensor->storage != NO_STORAGE &&
        model->storages[tensor->storage].file < model->n_files)
        text_fact(to, "in",
                  model_string(
                      model, model->files[model->storages[tensor->storage].file].name));
    value_fact(to, "more", model, tensor->extra);
    step_fact(to, show, place);
    ties_facts(to, model, place);
    parts_facts(to, model, place);
}

/* ---- a module or group ---- */

/* Its label, as in the tree: "conv1  Conv2d(3→64, 7×7)". */
static void title_label(struct buf *to, const struct show *show, uint32_t place,
                        bool named)
{
    struct row row = {.place = place, .count = 1, .above = NO_ROW};
    struct label label = {0};

    label_make(&label, show, &row, LABEL_PATH);
    buf_clear(&label.sign);
    buf_clear(&label.tail); /* has its own fact */
    if (!named)
        buf_clear(&label.name);
    label.joint = named ? "  " : "";
    label.always = false;
    label_write(to, &label, 0);
    label_release(&label);
}

/* "25,557,032 params  97.7MB". Numbers counted elsewhere are in brackets; nothing for
 * places without numbers. */
static void title_numbers(struct facts *facts, const struct show *show, uint32_t place)
{
    const struct place_counts *places = &show->session->places;
    uint64_t params = counts_params(places, place), bytes = counts_bytes(places, place);
    uint64_t tied_params = show->tied_params ? show->tied_params[place] : 0;
    uint64_t tied_bytes = show->tied_bytes ? show->tied_bytes[place] : 0;
    struct buf *to = &facts->text;
    bool module = show->model->kind[place] == PLACE_MODULE;

    if (params == 0 && tied_params > 0) {
        buf_text(to, fact_is_empty(facts) ? "(" : "  (");
        fact_count(facts, "tied_params", tied_params);
        buf_text(to, " params)");
    } else if (params > 0 || module) {
        buf_text(to, fact_is_empty(facts) ? "" : "  ");
        fact_count(facts, "params", params);
        buf_text(to, " params");
    }
    if (bytes == 0 && tied_bytes > 0) {
        buf_text(to, fact_is_empty(facts) ? "(" : "  (");
        fact_bytes(facts, "tied_bytes", tied_bytes);
        buf_char(to, ')');
    } else if (bytes > 0 || module) {
        buf_text(to, fact_is_empty(facts) ? "" : "  ");
        fact_bytes(facts, "bytes", bytes);
    }
}

/* Is it a class that the title already names in full: dict, list? */
static bool is_builtin(struct str class_name)
{
    return str_find_char(class_name, '.') < 0;
}

static void class_facts(struct facts *to, const struct model *model,
                        const struct object *object)
{
    const struct class_info *info = &model->classes[object->class_id];
    const uint32_t *bases;

    if (!is_builtin(model_string(model, info->name)))
        text_fact(to, "class", model_string(model, info->name));
    if (value_at(&model->values, info->bases)->kind != VALUE_LIST)
        return;
    bases = value_items(&model->values, info->bases);
    for (uint32_t i = 0; i < value_at(&model->values, info->bases)->n; i++) {
        buf_text(&to->text, i > 0 ? ", " : "");
        escape_terminal(&to->text, value_text(&model->values, bases[i]));
    }
    fact_end(to, "bases", COLOUR_NONE);
}

static bool is_empty_value(const struct model *model, uint32_t value)
{
    return value == VALUE_ID_NONE || value_at(&model->values, value)->n == 0;
}

static void object_facts(struct facts *to, const struct show *show, uint32_t place,
                         const struct object *object)
{
    const struct model *model = show->model;
    const struct class_info *info =
        object->class_id == NO_CLASS ? NULL : &model->classes[object->class_id];

    if (info && !object->guessed)
        class_facts(to, model, object);
    if (model->flags[place] & PLACE_AGAIN) {
        add_path(to, model, object->place);
        fact_end_as(to, "same_as", "same as", COLOUR_NONE);
    }
    if (!object->guessed && !is_empty_value(model, object->args))
        value_fact(to, "arguments", model, object->args);
    if (object->training >= 0)
        text_fact(to, "training", object->training ? STR("True") : STR("False"));
    value_fact(to, "hooks", model, object->hooks);
    if (object->version) {
        fact_count(to, "version", object->version);
        fact_end(to, "version", COLOUR_NONE);
    }
    value_fact(to, "hidden", model, object->hidden);
    if (info && info->file) {
        escape_terminal(&to->text, model_string(model, info->file));
        if (info->line)
            buf_printf(&to->text, ":%u", info->line);
        fact_named(to, "line", FIGURE_LINE, info->line);
        fact_end_as(to, "source", "written in", COLOUR_NONE);
    }
}

/* The trainable part of everything below, if known. */
static void trained_fact(struct facts *to, const struct show *show, uint32_t place)
{
    const struct model *model = show->model;
    struct counts counts = {0};

    for (uint32_t p = place; p < model->end[place]; p++) {
        const struct tensor *tensor;

        if (model->kind[p] != PLACE_TENSOR || !counts_here(model, p))
            continue;
        tensor = place_tensor(model, p);
        if (tensor->role != ROLE_PARAMETER)
            continue;
        counts.params += counts_elements(model, p);
        if (!(tensor->flags & TENSOR_GRAD_KNOWN))
            continue;
        counts.grad_known++;
        *(tensor->flags & TENSOR_GRAD ? &counts.trainable : &counts.frozen) +=
            counts_elements(model, p);
    }
    if (counts.grad_known == 0)
        return;
    if (counts.trainable == counts.params || counts.frozen == counts.params) {
        buf_text(&to->text, counts.trainable == counts.params ? "all" : "nothing");
    } else {
        fact_count(to, "trainable", counts.trainable);
        buf_text(&to->text, " of ");
        fact_count(to, "params", counts.params);
    }
    buf_text(&to->text, counts.trainable == 0 ? ": frozen" : " trainable");
    fact_end(to, "trained", COLOUR_NONE);
}

/* Elements of a tensor or parameters of a container, and their bytes, as in the tree;
 * in brackets if counted elsewhere. */
static void child_numbers(struct buf *to, const struct show *show, uint32_t child)
{
    struct row row = {.place = child, .count = 1, .above = NO_ROW};
    struct buf number = BUF_INIT;

    if (show->model->kind[child] == PLACE_VALUE)
        return;
    column_figure(&number, column_find(STR("params")), show, &row);
    if (number.len == 0 && show->model->kind[child] == PLACE_TENSOR)
        text_count(&number, counts_elements(show->model, child));
    text_pad_left(to, buf_span(&number), 9);
    buf_clear(&number);
    column_figure(&number, column_find(STR("memory")), show, &row);
    text_pad_left(to, buf_span(&number), 11);
    buf_release(&number);
    while (to->at[to->len - 1] == ' ')
        to->len--;
}

/* Append the label of a child; true if it is tied. */
static bool child_label(struct buf *to, const struct show *show, uint32_t child,
                        size_t cells)
{
    struct row row = {.place = child, .count = 1, .above = NO_ROW};
    struct label label = {0};
    bool tied;

    label_make(&label, show, &row, LABEL_NAME);
    label_write(to, &label, (unsigned)cells);
    tied = label.tail.len > 0;
    label_release(&label);
    return tied;
}

#define NUMBER_CELLS 20
#define LEAST_CELLS  12
#define LABEL_CELLS  60 /* wider labels push their numbers to the right */

/* The width of the widest label that still leaves room for numbers. */
static size_t labels_width(const struct show *show, uint32_t place, uint32_t most)
{
    const struct model *model = show->model;
    struct buf text = BUF_INIT;
    size_t width = 0;
    uint32_t n = 0;

    for (uint32_t child = place_first(model, place); child != NO_PLACE && n < most;
         child = place_next(model, child), n++) {
        size_t own;

        buf_clear(&text);
        child_label(&text, show, child, 0);
        own = text_width(buf_span(&text));
        width = own > width && own <= LABEL_CELLS ? own : width;
    }
    buf_release(&text);
    return width;
}

/* "conv1: Conv2d(3→64, 7×7)     9.4K     36.8KB" */
static void add_child(struct buf *to, const struct show *show, uint32_t child,
                      size_t width, size_t room, size_t cells)
{
    struct buf text = BUF_INIT;
    bool alone = show->model->kind[child] == PLACE_VALUE;
    bool tied = child_label(&text, show, child, alone ? cells : 0);

    /* As in the tree, a tied tensor shows what it is tied to instead of its size. */
    alone |= room > 0 && text_width(buf_span(&text)) > room && tied;
    if (room > 0 && text_width(buf_span(&text)) > (alone ? cells : room)) {
        buf_clear(&text);
        child_label(&text, show, child, alone ? cells : room);
    }
    text_pad(to, buf_span(&text), alone ? 0 : width);
    if (!alone)
        child_numbers(to, show, child);
    buf_release(&text);
}

void details_children(struct lines *to, const struct show *show, uint32_t place,
                      uint32_t most, unsigned indent, unsigned cells)
{
    const struct model *model = show->model;
    size_t room = cells > NUMBER_CELLS + LEAST_CELLS ? cells - NUMBER_CELLS : 0;
    size_t width = labels_width(show, place, most);
    struct buf text = BUF_INIT;
    uint32_t child, n = 0;

    width = room > 0 && width > room ? room : width;
    for (child = place_first(model, place); child != NO_PLACE && n < most;
         child = place_next(model, child), n++) {
        buf_clear(&text);
        buf_fill(&text, ' ', indent);
        add_child(&text, show, child, width, room, cells);
        lines_add(to, COLOUR_NONE, 0, buf_span(&text));
        lines_end_target(to, child);
    }
    for (n = 0; child != NO_PLACE; child = place_next(model, child))
        n++;
    if (n > 0) {
        buf_clear(&text);
        buf_fill(&text, ' ', indent);
        buf_text(&text, "… ");
        text_commas(&text, n);
        buf_text(&text, " more");
        lines_add(to, COLOUR_NONE, 0, buf_span(&text));
        lines_end(to);
    }
    buf_release(&text);
}

/* Escape line by line, so that no control character reaches the terminal. */
void details_source(struct lines *to, const struct show *show, uint32_t place)
{
    const struct model *model = show->model;
    const struct object *object = place_object(model, place);
    struct buf text = BUF_INIT;
    struct str rest, line;

    if (!object || object->class_id == NO_CLASS ||
        !model->classes[object->class_id].source)
        return;
    lines_text(to, COLOUR_NONE, "source");
    lines_end(to);
    rest = model_string(model, model->classes[object->class_id].source);
    while (str_split(&rest, '\n', &line)) {
        if (!rest.at && line.len == 0)
            break;
        buf_clear(&text);
        escape_terminal(&text, line);
        lines_text(to, COLOUR_NONE, line.len > 0 ? "  " : "");
        lines_add(to, COLOUR_NONE, 0, buf_span(&text));
        lines_end(to);
    }
    buf_release(&text);
}

void details_module(struct facts *to, const struct show *show, uint32_t place,
                    enum details_title title)
{
    const struct object *object = place_object(show->model, place);
    uint64_t tensors = counts_tensors(&show->session->places, place);

    if (title != DETAILS_UNTITLED) {
        title_label(&to->text, show, place, title == DETAILS_NAME);
        title_numbers(to, show, place);
        fact_end_as(to, "title", NULL, COLOUR_NONE);
    }
    if (object)
        object_facts(to, show, place, object);
    if (tensors > 0) {
        fact_plural(to, "tensors", tensors, "tensor", "tensors");
        fact_end(to, "holds", COLOUR_NONE);
    }
    trained_fact(to, show, place);
    step_fact(to, show, place);
    ops_text_facts(to, show, place);
}

void details_value(struct facts *to, const struct show *show, uint32_t place)
{
    add_path(to, show->model, place);
    buf_text(&to->text, ": ");
    value_show(&to->text, show->model, show->model->object[place], VALUE_WHOLE);
    fact_end_as(to, "value", NULL, COLOUR_NONE);
}
