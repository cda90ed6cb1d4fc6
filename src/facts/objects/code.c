#include "facts/objects/code.h"

int code_split(struct code *code, struct str text, struct arena *arena)
{
    struct str rest = text, line;
    uint32_t n = 0;

    while (str_split(&rest, '\n', &line))
        n++;
    code->lines = arena_array(arena, (size_t)n + 1, sizeof *code->lines);
    if (!code->lines)
        return -1;
    rest = text;
    for (code->n = 0; code->n < n && str_split(&rest, '\n', &line); code->n++)
        code->lines[code->n] =
            str_ends(line, STR("\r")) ? str_head(line, line.len - 1) : line;
    /* Drop blank lines at the end. */
    while (code->n > 0 && str_trim(code->lines[code->n - 1]).len == 0)
        code->n--;
    for (code->forward = 0; code->forward < code->n; code->forward++) {
        struct str trimmed = str_trim(code->lines[code->forward]);

        if (str_starts(trimmed, STR("def forward(")) ||
            str_starts(trimmed, STR("async def forward(")))
            break;
    }
    return 0;
}

/* ---- which class ---- */

uint32_t code_module(const struct model *model, uint32_t place)
{
    while (place != 0 &&
           (model->kind[place] == PLACE_TENSOR || model->kind[place] == PLACE_VALUE))
        place = model->parent[place];
    return place;
}

uint32_t code_class(const struct model *model, uint32_t module)
{
    const struct object *object = place_object(model, module);

    return object && !object->guessed ? object->class_id : NO_CLASS;
}

const char *code_why_none(const struct model *model)
{
    if (model->flags[0] & PLACE_STATE_DICT || !model->live)
        return "no source: not in a state_dict, nor are the classes of its modules";
    return "no source: not an instance of a class";
}

/* ---- reading ---- */

/* Read the inherited forward, if the class does not define one. */
static void read_base(struct class_source *source, const struct class_code *code,
                      struct arena *arena)
{
    source->base = (struct code){.name = code->base,
                                 .file = code->base_file,
                                 .first = code->base_line ? code->base_line : 1};
    if (source->code.forward < source->code.n || code->base_text.len == 0 ||
        code_split(&source->base, code->base_text, arena) < 0)
        source->base.n = 0;
}

void class_source_read(struct class_source *ret_source, const struct model *model,
                       uint32_t class_id, struct arena *arena)
{
    struct class_source *source = ret_source;
    struct class_code code = {.why = NULL};
    struct err err = {0};

    *source = (struct class_source){.code = {.name = class_short(model_string(
                                                 model, model->classes[class_id].name)),
                                             .first = 1}};
    if (class_code(model, class_id, arena, &code, &err) < 0) {
        source->why = arena_printf(arena, "%s", err.text);
        source->why = source->why ? source->why : "it is too long";
        return;
    }
    source->code.file = code.file;
    source->code.first = code.line ? code.line : 1;
    if (code.text.len == 0)
        source->why = code.why ? code.why : "its code is not in this file";
    else if (code_split(&source->code, code.text, arena) < 0)
        source->why = "its code is too long";
    read_base(source, &code, arena);
}
