#include "base/base.h"
#include "read/keras/keras_in.h"

/* Loading a model creates each object of its configuration that has a class:
 *     {"module": "keras.layers", "class_name": "Dense", "config": {...},
 *      "registered_name": null}
 * Objects are read as a stream. Of repeated keys the last one counts, as in Python. */
struct object_frame {
    size_t at; /* where it begins */
    struct str module, class_name, registered, text, name, vocabulary;
    bool is_object; /* not an array */
    bool bytecode;  /* "function_type": "lambda" */
};

struct config_code {
    struct build *build;
    uint32_t stream;
    struct json_read json;
    struct object_frame frames[JSON_DEPTH + 1];
    uint32_t depth;
};

/* Objects of JSON itself: tensors, tuples, the inputs of layers. */
static bool is_data(struct str class_name)
{
    return str_starts(class_name, STR("__")) && !str_is(class_name, "__lambda__");
}

/* The innermost name around an object: the name of its layer. */
static uint32_t name_around(struct config_code *self)
{
    struct values *values = build_values(self->build);

    for (uint32_t i = self->depth; i > 0; i--)
        if (self->frames[i].name.len > 0) {
            uint32_t name = value_str(values, self->frames[i].name);

            return value_make(values, VALUE_TUPLE, STR(""), &name, 1);
        }
    return VALUE_ID_NONE;
}

static void log_use(struct config_code *self, struct str module, struct str name,
                    size_t at)
{
    build_code_use(self->build, self->stream, module, name, at, name_around(self),
                   FINDING_NOWHERE);
}

/* A function is an object, too: its name is the configuration. */
static void log_function(struct config_code *self, const struct object_frame *frame)
{
    struct str module = frame->module;

    if (str_is(module, "builtins"))
        module = STR(""); /* Keras writes this for any function of the user's */
    log_use(self, module, frame->text.len > 0 ? frame->text : frame->registered,
            frame->at);
}

static void log_object(struct config_code *self, const struct object_frame *frame)
{
    struct str module = frame->module;

    if (frame->bytecode || str_is(frame->class_name, "__lambda__"))
        log_use(self, STR("keras"), STR("__lambda__"), frame->at);
    if (frame->vocabulary.len > 0)
        log_use(self, STR("keras"), STR("__vocabulary__"), frame->at);
    if (frame->class_name.len == 0 || is_data(frame->class_name) ||
        str_is(frame->class_name, "__lambda__"))
        return;
    if (str_is(frame->class_name, "function")) {
        log_function(self, frame);
        return;
    }
    if (module.len == 0 && str_find_char(frame->registered, '>') >= 0) {
        log_use(self, module, frame->registered, frame->at);
        return;
    }
    if (module.len == 0)
        module = keras_module_of(frame->class_name);
    log_use(self, module, frame->class_name, frame->at);
}

static void take_text(struct object_frame *frame, struct str key, struct str text)
{
    if (str_is(key, "module"))
        frame->module = text;
    else if (str_is(key, "class_name"))
        frame->class_name = text;
    else if (str_is(key, "registered_name"))
        frame->registered = text;
    else if (str_is(key, "config"))
        frame->text = text;
    else if (str_is(key, "name"))
        frame->name = text;
    else if (str_is(key, "vocabulary"))
        frame->vocabulary = text;
    else if (str_ends(key, STR("_type")) && str_is(text, "lambda"))
        frame->bytecode = true;
}

void keras_code(struct build *build, struct str text, struct str name)
{
    struct config_code *self = arena_alloc(&build->scratch, sizeof *self);
    enum json_token token;
    struct str key = {0};

    if (!self) {
        build->model->pickle.lost = true;
        return;
    }
    self->build = build;
    self->stream = build_code_stream(build, name, text.len);
    json_read_init(&self->json, text, &build->scratch);
    self->json.allow_nonfinite = true;
    for (;;) {
        size_t at = self->json.offset;

        token = json_next(&self->json);
        if (token == JSON_END || token == JSON_ERROR)
            break;
        if (token == JSON_KEY)
            key = self->json.text;
        if (token == JSON_STRING)
            take_text(&self->frames[self->depth], key, self->json.text);
        if (token == JSON_OBJECT || token == JSON_ARRAY) {
            while (at < self->json.offset && text.at[at] != '{' && text.at[at] != '[')
                at++;
            self->frames[++self->depth] =
                (struct object_frame){.at = at, .is_object = token == JSON_OBJECT};
            key = (struct str){0};
        }
        if (token == JSON_OBJECT_END || token == JSON_ARRAY_END) {
            if (self->frames[self->depth].is_object)
                log_object(self, &self->frames[self->depth]);
            self->depth--;
        }
    }
    /* The unread rest may name anything. */
    if (token == JSON_ERROR && self->stream != UINT32_MAX)
        build->model->pickle.streams[self->stream].complete = false;
}
