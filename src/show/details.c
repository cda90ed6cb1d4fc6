#include "show/details.h"

#include "show/labels.h"
#include "show/value_text.h"
#include "text/text.h"

#define VALUE_BYTES_SHOWN 4000u    /* of a value among others */
#define VALUE_WHOLE       1000000u /* of a value by itself */

static void begin_line(struct buf *to, const char *label)
{
    text_pad(to, str_of(label), 11);
}

static void add_path(struct buf *to, const struct model *model, uint32_t place)
{
    struct buf path = BUF_INIT;

    place_path(model, place, &path);
    escape_terminal(to, buf_span(&path));
    buf_release(&path);
}

static void add_line(struct buf *to, const char *label, struct str text)
{
    if (text.len == 0)
        return;
    begin_line(to, label);
    escape_terminal(to, text);
    buf_char(to, '\n');
}

static void add_value_line(struct buf *to, const char *label, const struct model *model,
                           uint32_t value)
{
    if (value == VALUE_ID_NONE)
        return;
    begin_line(to, label);
    value_show(to, model, value, VALUE_BYTES_SHOWN);
    buf_char(to, '\n');
}

/* ---- a tensor ---- */

static void memory_line(struct buf *to, const struct model *model,
                        const struct tensor *tensor)
{
    const struct storage *storage;
    char text[STORAGE_NAME_MAX];
    struct str name;

    if (tensor->layout != LAYOUT_STRIDED || tensor->storage == NO_STORAGE)
        return;
    storage = &model->storages[tensor->storage];
    begin_line(to, "strides");
    for (int i = 0; i < tensor->rank; i++)
        buf_printf(to, "%s%lld", i == 0 ? "[" : ", ",
                   (long long)tensor_strides(model, tensor)[i]);
    buf_text(to, tensor->rank > 0 ? "]" : "[]");
    buf_printf(to, "  offset %llu  storage ", (unsigned long long)tensor->offset);
    name = storage_name(model, storage, text);
    if (name.len > 0)
        escape_terminal(to, name);
    else
        buf_printf(to, "%u", tensor->storage);
    buf_text(to, ", ");
    text_bytes(to, storage->bytes);
    buf_char(to, '\n');
}

static void ties_line(struct buf *to, const struct model *model, uint32_t place)
{
    uint32_t first = place_tensor(model, place)->place, other;

    if (first != place) {
        begin_line(to, "tied");
        buf_text(to, "to ");
        add_path(to, model, first);
        buf_char(to, '\n');
    }
    other = tensor_next_place(model, first);
    if (first != place || other == NO_PLACE)
        return;
    begin_line(to, "tied");
    buf_text(to, "also ");
    for (uint32_t n = 0; other != NO_PLACE && n < MOST_TIES; n++) {
        buf_text(to, n > 0 ? ", " : "");
        add_path(to, model, other);
        other = tensor_next_place(model, other);
    }
    if (other != NO_PLACE) {
        buf_text(to, ", … ");
        text_commas(to, place_tensor(model, place)->places - 1 - MOST_TIES);
        buf_text(to, " more");
    }
    buf_char(to, '\n');
}

static void parts_lines(struct buf *to, const struct model *model, uint32_t place)
{
    uint32_t part;

    for (part = place_first(model, place); part != NO_PLACE;
         part = place_next(model, part)) {
        const struct tensor *tensor;

        if (model->kind[part] != PLACE_TENSOR)
            continue;
        tensor = place_tensor(model, part);
        begin_line(to, "part");
        add_path(to, model, part);
        buf_text(to, "  ");
        text_shape(to, tensor_shape(model, tensor), tensor->rank);
        buf_printf(to, " %s\n", dtype_name(tensor->dtype));
    }
}

static void role_line(struct buf *to, const struct tensor *tensor)
{
    static const char *const roles[] = {"parameter", "buffer", "optimizer state",
                                        "plain tensor"};

    begin_line(to, "role");
    buf_text(to, roles[tensor->role & 3]);
    if (tensor->flags & TENSOR_ROLE_GUESSED)
        buf_text(to, ", told by name");
    if (tensor->flags & TENSOR_GRAD_KNOWN)
        buf_text(to, tensor->flags & TENSOR_GRAD ? ", requires grad" : ", no grad");
    buf_char(to, '\n');
}

/* Views that torch only marks: what is stored is not what is meant. */
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

void details_tensor(struct buf *to, const struct show *show, uint32_t place, bool all)
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
        role_line(to, tensor);
    if (all || !tensor_contiguous(model, tensor))
        memory_line(to, model, tensor);
    add_line(to, "layout", str_of(layouts[tensor->layout & 7]));
    add_line(to, "meant", str_of(lazy_name(tensor)));
    if (all || (device.len > 0 && !str_is(device, "cpu")))
        add_line(to, show->activity ? "device" : "saved from", device);
    if (tensor->class_id != NO_CLASS && all)
        add_line(to, "class",
                 model_string(model, model->classes[tensor->class_id].name));
    if (model->n_files > 1 && tensor->storage != NO_STORAGE &&
        model->storages[tensor->storage].file < model->n_files)
        add_line(to, "in",
                 model_string(
                     model, model->files[model->storages[tensor->storage].file].name));
    add_value_line(to, "more", model, tensor->extra);
    ties_line(to, model, place);
    parts_lines(to, model, place);
}

/* ---- a module or group ---- */

/* Its name and its label, as in the tree: "conv1  Conv2d(3→64, 7×7)". */
static void title_label(struct buf *to, const struct show *show, uint32_t place)
{
    struct row row = {.place = place, .count = 1, .above = NO_ROW};
    struct label label = {0};

    label_make(&label, show, &row, LABEL_PATH);
    buf_clear(&label.sign);
    buf_clear(&label.tail); /* has a line of its own */
    label.joint = "  ";
    label.always = false;
    label_write(to, &label, 0);
    label_release(&label);
}

/* "  25,557,032 params  97.7MB". In brackets is what is counted elsewhere; what can
 * have no numbers has none. */
static void title_numbers(struct buf *to, const struct show *show, uint32_t place)
{
    const struct place_counts *places = &show->session->places;
    uint64_t params = counts_params(places, place), bytes = counts_bytes(places, place);
    uint64_t tied_params = show->tied_params ? show->tied_params[place] : 0;
    uint64_t tied_bytes = show->tied_bytes ? show->tied_bytes[place] : 0;
    bool module = show->model->kind[place] == PLACE_MODULE;

    if (params == 0 && tied_params > 0) {
        buf_text(to, "  (");
        text_commas(to, tied_params);
        buf_text(to, " params)");
    } else if (params > 0 || module) {
        buf_text(to, "  ");
        text_commas(to, params);
        buf_text(to, " params");
    }
    if (bytes == 0 && tied_bytes > 0) {
        buf_text(to, "  (");
        text_bytes(to, tied_bytes);
        buf_char(to, ')');
    } else if (bytes > 0 || module) {
        buf_text(to, "  ");
        text_bytes(to, bytes);
    }
}

/* A class that the title tells in full: dict, list. */
static bool is_builtin(struct str class_name)
{
    return str_find_char(class_name, '.') < 0;
}

static void object_lines(struct buf *to, const struct show *show, uint32_t place,
                         const struct object *object)
{
    const struct model *model = show->model;
    const struct class_info *info =
        object->class_id == NO_CLASS ? NULL : &model->classes[object->class_id];

    if (info && !object->guessed && !is_builtin(model_string(model, info->name)))
        add_line(to, "class", model_string(model, info->name));
    if (model->flags[place] & PLACE_AGAIN) {
        begin_line(to, "same as");
        add_path(to, model, object->place);
        buf_char(to, '\n');
    }
    if (!object->guessed)
        add_value_line(to, "arguments", model, object->args);
    if (object->training >= 0)
        add_line(to, "training", object->training ? STR("True") : STR("False"));
    add_value_line(to, "hooks", model, object->hooks);
    if (object->version) {
        begin_line(to, "version");
        buf_printf(to, "%u\n", object->version);
    }
    add_value_line(to, "hidden", model, object->hidden);
    if (info && info->file) {
        begin_line(to, "written in");
        escape_terminal(to, model_string(model, info->file));
        if (info->line)
            buf_printf(to, ":%u", info->line);
        buf_char(to, '\n');
    }
}

/* Elements of a tensor, parameters of what holds some, and the bytes of both, as the
 * tree has them; in brackets what is counted elsewhere. */
static void child_numbers(struct buf *to, const struct show *show, uint32_t child)
{
    struct row row = {.place = child, .count = 1, .above = NO_ROW};
    struct buf number = BUF_INIT;

    if (show->model->kind[child] == PLACE_VALUE)
        return;
    column_find(STR("params"))->cell(&number, show, &row);
    if (number.len == 0 && show->model->kind[child] == PLACE_TENSOR)
        text_count(&number, counts_elements(show->model, child));
    text_pad_left(to, buf_span(&number), 9);
    buf_clear(&number);
    column_find(STR("memory"))->cell(&number, show, &row);
    text_pad_left(to, buf_span(&number), 11);
    buf_release(&number);
    while (to->at[to->len - 1] == ' ')
        to->len--;
}

static void child_label(struct buf *to, const struct show *show, uint32_t child,
                        size_t cells)
{
    struct row row = {.place = child, .count = 1, .above = NO_ROW};
    struct label label = {0};

    label_make(&label, show, &row, LABEL_NAME);
    label_write(to, &label, (unsigned)cells);
    label_release(&label);
}

#define NUMBER_CELLS 20
#define LEAST_CELLS  12
#define LABEL_CELLS  60 /* wider labels push their numbers to the right */

/* In columns. */
void details_children(struct buf *to, const struct show *show, uint32_t place,
                      uint32_t most, unsigned cells)
{
    const struct model *model = show->model;
    struct buf text = BUF_INIT;
    size_t width = 0,
           room = cells > NUMBER_CELLS + LEAST_CELLS ? cells - NUMBER_CELLS : 0;
    uint32_t child, n = 0;

    for (child = place_first(model, place); child != NO_PLACE && n < most;
         child = place_next(model, child), n++) {
        size_t own;

        buf_clear(&text);
        child_label(&text, show, child, 0);
        own = text_width(buf_span(&text));
        width = own > width && own <= LABEL_CELLS ? own : width;
    }
    width = room > 0 && width > room ? room : width;
    for (child = place_first(model, place), n = 0; child != NO_PLACE && n < most;
         child = place_next(model, child), n++) {
        bool alone = model->kind[child] == PLACE_VALUE;

        buf_clear(&text);
        child_label(&text, show, child, alone ? cells : 0);
        /* As in the tree, a tied tensor says to what rather than how much. */
        alone |= room > 0 && text_width(buf_span(&text)) > room &&
                 str_starts(buf_span(&text), STR("⇄"));
        if (room > 0 && text_width(buf_span(&text)) > (alone ? cells : room)) {
            buf_clear(&text);
            child_label(&text, show, child, alone ? cells : room);
        }
        buf_text(to, "  ");
        text_pad(to, buf_span(&text), alone ? 0 : width);
        if (!alone)
            child_numbers(to, show, child);
        buf_char(to, '\n');
    }
    for (n = 0; child != NO_PLACE; child = place_next(model, child))
        n++;
    if (n > 0) {
        buf_text(to, "  … ");
        text_commas(to, n);
        buf_text(to, " more\n");
    }
    buf_release(&text);
}

/* The text of its class, line by line, so that nothing in it reaches the terminal. */
static void source_lines(struct buf *to, const struct model *model,
                         const struct object *object)
{
    struct str rest, line;

    if (!object || object->class_id == NO_CLASS ||
        !model->classes[object->class_id].source)
        return;
    buf_text(to, "source\n");
    rest = model_string(model, model->classes[object->class_id].source);
    while (str_split(&rest, '\n', &line)) {
        if (!rest.at && line.len == 0)
            break;
        buf_text(to, "  ");
        escape_terminal(to, line);
        buf_char(to, '\n');
    }
}

void details_head(struct buf *to, const struct show *show, uint32_t place)
{
    const struct object *object = place_object(show->model, place);
    uint64_t tensors = counts_tensors(&show->session->places, place);

    title_label(to, show, place);
    title_numbers(to, show, place);
    buf_char(to, '\n');
    if (object)
        object_lines(to, show, place, object);
    if (tensors > 0) {
        begin_line(to, "holds");
        text_plural(to, tensors, "tensor", "tensors");
        buf_char(to, '\n');
    }
}

void details_module(struct buf *to, const struct show *show, uint32_t place)
{
    details_head(to, show, place);
    details_children(to, show, place, UINT32_MAX, 0);
    source_lines(to, show->model, place_object(show->model, place));
}

void details_value(struct buf *to, const struct show *show, uint32_t place)
{
    add_path(to, show->model, place);
    buf_text(to, ": ");
    value_show(to, show->model, show->model->object[place], VALUE_WHOLE);
    buf_char(to, '\n');
}
