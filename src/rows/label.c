#include "rows/labels.h"

#include "base/base.h"
#include "rows/args.h"
#include "rows/below.h"
#include "rows/value_text.h"
#include "text/escape.h"
#include "text/glyph.h"
#include "text/number.h"

#define MOST_VALUE 72  /* bytes of a plain value in a row */
#define MOST_CALL  240 /* bytes of a call */

void label_release(struct label *label)
{
    buf_release(&label->sign);
    buf_release(&label->name);
    buf_release(&label->type);
    buf_release(&label->args);
    buf_release(&label->tail);
}

static void clear(struct label *label)
{
    buf_clear(&label->sign);
    buf_clear(&label->name);
    buf_clear(&label->type);
    buf_clear(&label->args);
    buf_clear(&label->tail);
    label->joint = ": ";
    label->brackets = true;
    label->is_class = label->always = label->is_shape = label->is_path = false;
    label->guessed = label->keep_tail = false;
    label->times = 0;
    label->sign_colour = COLOUR_TENSOR;
}

static void add_path(struct buf *to, const struct model *model, uint32_t place)
{
    struct buf raw = BUF_INIT;

    place_path(model, place, &raw);
    escape_terminal(to, buf_span(&raw));
    buf_release(&raw);
}

/* --- Groups */

/* Does the class index its members by number? */
static bool is_list(struct str class_name)
{
    return str_is(class_name, "list") || str_is(class_name, "tuple") ||
           str_is(class_name, "set") || str_is(class_name, "deque") ||
           str_is(class_name, "Size") || str_is(class_name, "ndarray");
}

/* "dict with 2 keys", "list with 3 items", "OrderedDict, 122 tensors". */
static void make_group(struct label *label, const struct show *show, uint32_t place)
{
    const struct model *model = show->model;
    struct str name = class_short(place_class(model, place));
    const struct object *object = place_object(model, place);
    uint32_t members;

    if (show_bare(model, place)) {
        buf_text(&label->type, show_bare(model, place));
        return;
    }
    if (model->flags[place] & PLACE_STATE_DICT && place == 0) {
        label->guessed = object && object->guessed;
        if (label->guessed)
            escape_terminal(&label->type, name);
        buf_text(&label->type, label->guessed ? " state_dict" : "state_dict");
        return;
    }
    members = below_members(show, object ? object->place : place);
    if (name.len == 0 && members > 0 &&
        str_is(place_name(model, place_first(model, place)), "pickle 1")) {
        text_plural(&label->type, members, "pickle", "pickles");
        label->is_count = true;
        return;
    }
    if (name.len == 0)
        name = model->flags[place] & PLACE_STATE_DICT ? STR("state_dict") : STR("dict");
    escape_terminal(&label->type, name);
    if (model->flags[place] & PLACE_STATE_DICT) {
        buf_text(&label->type, ", ");
        text_plural(&label->type, counts_tensors(&show->session->places, place),
                    "tensor", "tensors");
        return;
    }
    buf_text(&label->type, " with ");
    if (is_list(name))
        text_plural(&label->type, members, "item", "items");
    else if (str_ends(name, STR("dict")) || str_ends(name, STR("Dict")) ||
             str_is(name, "Counter"))
        text_plural(&label->type, members, "key", "keys");
    else
        text_plural(&label->type, members, "attribute", "attributes");
}

/* --- Modules */

static void make_again(struct label *label, const struct show *show, uint32_t place)
{
    const struct object *object = place_object(show->model, place);
    bool module = show->model->kind[place] == PLACE_MODULE;

    if (!object)
        return;
    buf_text(&label->sign, "⇄ ");
    buf_printf(&label->tail, "  same %s as ", module ? "module" : "object");
    if (object->place == 0)
        buf_text(&label->tail, "the whole");
    else
        add_path(&label->tail, show->model, object->place);
}

/* The wrapper that adds this prefix to the names of a state_dict. */
static const char *wrapper_of(struct str name)
{
    if (str_is(name, "module"))
        return "(DataParallel)";
    return str_is(name, "_orig_mod") ? "(torch.compile)" : "(wrapper)";
}

/* Are its arguments known? A traced module has none. */
static bool has_args(const struct model *model, const struct object *object)
{
    const struct value *args = value_at(&model->values, object->args);

    return args->kind == VALUE_DICT && args->n > 0;
}

static void make_module(struct label *label, const struct show *show, uint32_t place)
{
    const struct model *model = show->model;
    const struct object *object = place_object(model, place);
    bool known = object && object->class_id != NO_CLASS;

    if (model->flags[place] & PLACE_PREFIX && (!known || object->guessed))
        buf_printf(&label->tail, "  %s", wrapper_of(place_name(model, place)));
    if (!known)
        return;
    if (object->guessed)
        buf_char(&label->type, '~');
    escape_terminal(&label->type, class_short(place_class(model, place)));
    label->brackets = !object->guessed;
    label->guessed = object->guessed;
    label->is_class = true;
    label->always = label->brackets && has_args(model, object) &&
                    !(model->flags[place] & PLACE_AGAIN) && show_is_leaf(model, place);
    args_show(&label->args, model, object);
}

/* --- Tensors */

static const char *const layout_names[] = {
    [LAYOUT_STRIDED] = "",        [LAYOUT_COO] = " sparse coo",
    [LAYOUT_CSR] = " sparse csr", [LAYOUT_CSC] = " sparse csc",
    [LAYOUT_BSR] = " sparse bsr", [LAYOUT_BSC] = " sparse bsc",
    [LAYOUT_NESTED] = " nested",  [LAYOUT_WRAPPED] = " wrapped",
};

/* The class of a tensor, unless it is an ordinary one. */
static void add_tensor_class(struct buf *to, const struct model *model,
                             const struct tensor *tensor)
{
    struct str name;

    if (tensor->class_id == NO_CLASS)
        return;
    name = class_short(model_string(model, model->classes[tensor->class_id].name));
    if (str_is(name, "Parameter") || str_is(name, "Tensor") || str_is(name, "Buffer"))
        return;
    buf_char(to, ' ');
    escape_terminal(to, name);
}

static void make_tensor(struct label *label, const struct show *show, uint32_t place)
{
    const struct model *model = show->model;
    const struct tensor *tensor = place_tensor(model, place);
    uint32_t other = tensor->place;
    const char *why = NULL;

    if (other == place)
        other = tensor_next_place(model, place);
    label->joint = "  ";
    label->brackets = false;
    label->is_shape = true;
    text_shape(&label->type, tensor_shape(model, tensor), tensor->rank);
    buf_text(&label->args, dtype_name(tensor->dtype));
    if (tensor->layout < COUNT_OF(layout_names))
        buf_text(&label->args, layout_names[tensor->layout]);
    add_tensor_class(&label->args, model, tensor);
    if (other != NO_PLACE) {
        buf_text(&label->sign, "⇄ ");
        buf_text(&label->tail, tensor->place == place ? "  tied: also " : "  tied to ");
        add_path(&label->tail, model, other);
    } else {
        buf_text(&label->sign, tensor->role == ROLE_PARAMETER ? "▪ " : "▫ ");
    }
    if (tensor->flags & TENSOR_DERIVED)
        buf_text(&label->tail, "  computed");
    /* Do not repeat a reason that applies to the whole file. */
    if (!tensor_readable(model, tensor, &why) && why && why != model->no_values &&
        !(tensor->flags & TENSOR_SHAPE_ONLY))
        buf_printf(&label->tail, "  %s", why);
}

/* --- Values */

/* Shows a call and that it was not run, unless it is known to be harmless. */
static void make_value(struct label *label, const struct show *show, uint32_t place)
{
    const struct model *model = show->model;
    uint32_t id = model->object[place];
    const struct value *value = value_at(&model->values, id);
    enum trust trust = TRUST_KNOWN;

    if (value->kind == VALUE_CALL || value->kind == VALUE_OBJECT ||
        value->kind == VALUE_GLOBAL)
        trust = show_trust(show, value->text);
    value_show(&label->type, model, id,
               value->kind == VALUE_CALL ? MOST_CALL : MOST_VALUE);
    if (trust == TRUST_KNOWN)
        return;
    buf_text(&label->sign, trust == TRUST_DANGER ? "✗ " : "! ");
    label->sign_colour = trust == TRUST_DANGER ? COLOUR_ALARM : COLOUR_WARNING;
    if (value->kind == VALUE_CALL)
        buf_text(&label->tail, "   not run");
    label->keep_tail = true;
}

/* --- Rows that represent several places */

static void add_class(struct buf *to, const struct model *model, uint32_t place)
{
    const struct object *object = place_object(model, place);

    if (!object || object->class_id == NO_CLASS) {
        escape_terminal(to, place_name(model, place));
        return;
    }
    if (object->guessed)
        buf_char(to, '~');
    escape_terminal(to, class_short(place_class(model, place)));
}

static size_t digits(struct str s)
{
    size_t n = 0;

    while (n < s.len && s.at[n] >= '0' && s.at[n] <= '9')
        n++;
    return n;
}

/* "-11": the last name of a run, after its first. If the names differ in one number
 * only, such as encoder_layer_0 and encoder_layer_11, just that number. */
static void add_last(struct buf *to, struct str first, struct str last)
{
    size_t same = 0, a, b;

    while (same < first.len && same < last.len && first.at[same] == last.at[same])
        same++;
    while (same > 0 && digits(str_from(first, same - 1)) > 0)
        same--;
    a = digits(str_from(first, same));
    b = digits(str_from(last, same));
    buf_char(to, '-');
    if (a > 0 && a == first.len - same && b > 0 && b == last.len - same)
        last = str_from(last, same);
    escape_terminal(to, last);
}

/* "0-11: 12 × GPT2Block, 7.1M each". */
static void make_run(struct label *label, const struct show *show,
                     const struct row *row)
{
    const struct model *model = show->model;
    bool pairs = row->flags & ROW_PAIRS;
    uint32_t times = pairs ? row->count / 2 : row->count;
    const struct object *object = place_object(model, row->place);
    uint64_t each = counts_params(&show->session->places, row->place);

    add_last(&label->name, place_name(model, row->place),
             place_name(model, below_last(show, row->place, row->count)));
    label->times = times;
    text_commas(&label->type, times);
    if (pairs) {
        each += counts_params(&show->session->places, model->end[row->place]);
        buf_text(&label->type, " × (");
        add_class(&label->type, model, row->place);
        buf_text(&label->type, ", ");
        add_class(&label->type, model, model->end[row->place]);
        buf_char(&label->type, ')');
    } else if (object && object->class_id != NO_CLASS) {
        buf_text(&label->type, " × ");
        add_class(&label->type, model, row->place);
        if (show_is_leaf(model, row->place))
            args_show(&label->args, model, object);
        label->brackets = !object->guessed;
    } else {
        buf_text(&label->type, " equal modules");
    }
    if (each > 0) {
        buf_text(&label->tail, ", ");
        text_count(&label->tail, each);
        buf_text(&label->tail, " each");
    }
}

static void make_kind(struct label *label, const struct show *show, uint32_t place)
{
    if (show->model->flags[place] & PLACE_AGAIN)
        make_again(label, show, place);
    switch ((enum place_kind)show->model->kind[place]) {
    case PLACE_MODULE:
        make_module(label, show, place);
        break;
    case PLACE_GROUP:
        make_group(label, show, place);
        break;
    case PLACE_TENSOR:
        make_tensor(label, show, place);
        break;
    case PLACE_VALUE:
        make_value(label, show, place);
        break;
    }
}

static void make_name(struct label *label, const struct show *show,
                      const struct row *row, enum label_name name)
{
    if (row->place == 0)
        escape_terminal(&label->name, show->file_name);
    else if (place_name(show->model, row->place).len == 0 && name == LABEL_NAME)
        buf_text(&label->name, "\"\"");
    else if (name == LABEL_PATH)
        add_path(&label->name, show->model, row->place);
    else
        escape_terminal(&label->name, place_name(show->model, row->place));
    label->is_path = name == LABEL_PATH && row->place != 0;
}

/* ASCII text may be wider, so convert before cutting. */
static void make_ascii(struct label *label)
{
    struct buf *const parts[] = {&label->sign, &label->name, &label->type, &label->args,
                                 &label->tail};
    struct buf ascii = BUF_INIT;

    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        buf_clear(&ascii);
        glyph_to_ascii(&ascii, parts[i]->at, parts[i]->len);
        buf_clear(parts[i]);
        buf_str(parts[i], buf_span(&ascii));
    }
    buf_release(&ascii);
}

/* For a recording: mark the module that raised or made the first NaN or Inf, and the
 * rows that contain it. All rows merged into a run share this state. */
static void add_alarm(struct label *label, const struct show *show,
                      const struct row *row)
{
    unsigned flags;

    if (!show->activity || show->pair || row->flags & ROW_MORE)
        return;
    flags = show->activity->at[row->place].flags;
    if (flags & (ACTIVITY_RAISED | ACTIVITY_PRODUCER)) {
        buf_text(&label->sign, "✗ ");
        label->sign_colour = COLOUR_ALARM;
    } else if (flags & ACTIVITY_BELOW) {
        buf_text(&label->sign, "! ");
        label->sign_colour = COLOUR_WARNING;
    }
}

void label_make(struct label *label, const struct show *show, const struct row *row,
                enum label_name name)
{
    clear(label);
    if (row->flags & ROW_MORE) {
        buf_text(&label->name, "… ");
        text_commas(&label->name, row->count);
        buf_text(&label->name, " more");
    } else if (show->pair) {
        label->is_path = name == LABEL_PATH;
        show->pair_label(label, show, row);
    } else {
        make_name(label, show, row, name);
        if (row->flags & ROW_RUN)
            make_run(label, show, row);
        else
            make_kind(label, show, row->place);
    }
    add_alarm(label, show, row);
    if (label->ascii)
        make_ascii(label);
}
