/* torchscript.c - the format of torch.jit.save(): a zip with the root object in
 * data.pkl, its classes in code/, tensor constants in constants.pkl and, for mobile,
 * the same program as bytecode.pkl. The tree and its tensors come from data.pkl; the
 * classes, their constant arguments and the source from code/. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "read/file/input_in.h"
#include "read/torch/script_program_in.h"
#include "read/torch/torch_fold_in.h"
#include "read/torch/torch_records_in.h"
#include "read/torch/torchscript_code_in.h"

struct script {
    struct input *input;
    struct build *build;
    struct script_code code;
    struct torch_records records; /* data/ */
    struct script_object {
        uint32_t node, class; /* index in code.classes */
    } * objects;
    uint32_t n_objects, objects_room;
};

static uint32_t script_storage(void *user, const struct pickle *pickle,
                               node_id persistent)
{
    struct script *self = user;

    return torch_records_storage(&self->records, pickle, persistent);
}

static int torchscript_knows(const struct input *input)
{
    if (!input->zip || zip_find(input->zip, "constants.pkl") < 0)
        return 0;
    return zip_find(input->zip, "data.pkl") < 0 ? 0 : SURE_MAGIC;
}

/* The model's class for a class of the archive. Several versions of one class
 * ("mangled") have the same name but their own source. */
static uint32_t class_of(struct script *self, struct str name)
{
    struct model *model = self->build->model;
    const struct script_class *class = script_class_find(&self->code, name);
    uint32_t id = build_class(self->build, name), plain;

    if (id == NO_CLASS)
        return NO_CLASS;
    plain = build_string(self->build, script_plain_name(self->build, name));
    if (plain != INTERN_NONE)
        model->classes[id].name = plain;
    if (!class || model->classes[id].source)
        return id;
    model->classes[id].source = build_string(self->build, class->source);
    model->classes[id].file = build_string(self->build, class->record);
    model->classes[id].line = class->line;
    return id;
}

/* The constants in the code, then the attributes of the object. */
static uint32_t join_dicts(struct build *build, uint32_t first, uint32_t second)
{
    struct values *values = build_values(build);
    uint32_t a = value_at(values, first)->n, b = value_at(values, second)->n;
    uint32_t *items;

    if (first == VALUE_ID_NONE || second == VALUE_ID_NONE)
        return first == VALUE_ID_NONE ? second : first;
    items = arena_array(&build->scratch, (size_t)a + b, sizeof *items);
    if (!items)
        return first;
    memcpy(items, value_items(values, first), a * sizeof *items);
    memcpy(items + a, value_items(values, second), b * sizeof *items);
    return value_make(values, VALUE_DICT, STR(""), items, a + b);
}

static void note_class(struct script *self, uint32_t node,
                       const struct script_class *class)
{
    if (arena_room(&self->build->scratch, &self->objects, self->n_objects,
                   &self->objects_room, sizeof *self->objects) < 0)
        return;
    self->objects[self->n_objects++] = (struct script_object){
        .node = node, .class = (uint32_t)(class - self->code.classes)};
}

static bool flat_object(void *user, uint32_t place, struct str class_name)
{
    struct script *self = user;
    const struct script_class *class = script_class_find(&self->code, class_name);
    uint32_t id = class_of(self, class_name), args;
    struct object *object = build_object(self->build, place);

    if (!object)
        return true;
    object->class_id = id;
    if (!class)
        return true;
    note_class(self, place, class);
    args = join_dicts(self->build, class->constants, object->args);
    if (args != VALUE_ID_FAILED)
        object->args = args;
    return str_is(class->base, "Module");
}

static enum tensor_role flat_role(void *user, struct str class_name,
                                  struct str attribute)
{
    struct script *self = user;
    const struct script_class *class = script_class_find(&self->code, class_name);

    if (class && script_list_has(class->parameters, attribute))
        return ROLE_PARAMETER;
    if (class && script_list_has(class->buffers, attribute))
        return ROLE_BUFFER;
    return ROLE_PLAIN;
}

/* Keep functions and classes without an object in the tree, so that two archives can be
 * compared. */
static void keep_code(struct script *self)
{
    for (uint32_t i = 0; i < self->code.names.n; i++)
        if (!str_is(self->code.classes[i].base, "Module"))
            class_of(self, self->code.classes[i].name);
}

/* A damaged record that the tree does not need. */
static void say_lost(struct script *self, const char *record, const struct err *why)
{
    build_finding(self->build, FINDING_DAMAGED, SEVERITY_WARNING, self->input->node,
                  "%s cannot be read: %s", record, why->text);
}

/* Tensor constants, which the code calls CONSTANTS.c0, CONSTANTS.c1, ... */
static void read_constants(struct script *self)
{
    struct torch_records records;
    struct torch_dialect dialect = {.storage = torch_records_storage, .user = &records};
    struct build *build = self->build;
    struct pickle pickle;
    struct err why = {0};
    uint32_t group, node;
    char name[16];

    if (torch_records_init(&records, self->input, build, "constants/", &why) < 0 ||
        torch_records_pickle(&records, "constants.pkl", &pickle, &why) < 0) {
        say_lost(self, "constants.pkl", &why);
        return;
    }
    if (pickle_count(&pickle, pickle.result) == 0)
        return;
    group = build_node(build, self->input->node, PLACE_GROUP, STR("CONSTANTS"));
    for (uint32_t i = 0; group != NO_PLACE && i < pickle_count(&pickle, pickle.result);
         i++) {
        snprintf(name, sizeof name, "c%u", i);
        node = build_node(build, group, PLACE_VALUE, str_of(name));
        if (node == NO_PLACE ||
            torch_fold(build, node, &pickle, pickle_item(&pickle, pickle.result, i),
                       &dialect, &why) < 0)
            return;
    }
}

/* The mobile program: (version, (method, (("instructions", ...), ...)), ...). Only its
 * version and number of methods are facts; it has no tensors of its own. */
static void read_bytecode(struct script *self)
{
    struct values *values = build_values(self->build);
    struct pickle pickle;
    struct err why = {0};
    int64_t version = 0;
    int status = torch_records_pickle(&self->records, "bytecode.pkl", &pickle, &why);

    if (status < 0)
        say_lost(self, "bytecode.pkl", &why);
    if (status != 0)
        return;
    if (pickle_int(&pickle, pickle_item(&pickle, pickle.result, 0), &version))
        build_fact(self->build, "bytecode version", value_int(values, version));
    build_fact(self->build, "bytecode methods",
               value_int(values, (int64_t)pickle_count(&pickle, pickle.result) - 1));
}

/* The program of forward(); not for a file inside another one. */
static void read_program(struct script *self)
{
    struct build *build = self->build;
    uint32_t *class_of;

    if (self->input->inner || build_spent(build))
        return;
    class_of = calloc(build->n_nodes, sizeof *class_of);
    if (!class_of)
        return;
    for (uint32_t i = 0; i < self->n_objects; i++)
        class_of[self->objects[i].node] = self->objects[i].class + 1;
    script_program(build, &self->code, self->input->node, class_of);
    free(class_of);
}

static int torchscript_read(struct input *input, struct build *build, struct err *err)
{
    struct script self = {.input = input, .build = build};
    struct torch_dialect dialect = {.storage = script_storage,
                                    .user = &self,
                                    .input = input,
                                    .flat_state = true,
                                    .flat_object = flat_object,
                                    .flat_role = flat_role};
    struct pickle pickle;

    if (script_code_load(&self.code, input, build, err) < 0 ||
        torch_records_init(&self.records, input, build, "data/", err) < 0 ||
        torch_records_pickle(&self.records, "data.pkl", &pickle, err) < 0)
        return -1;
    torch_records_facts(&self.records, &pickle);
    build_fact(
        build, "classes",
        value_int(build_values(build), self.code.names.n - self.code.n_functions));
    if (torch_fold(build, input->node, &pickle, pickle.result, &dialect, err) < 0)
        return -1;
    keep_code(&self);
    read_constants(&self);
    read_bytecode(&self);
    read_program(&self);
    torch_records_finish(&self.records);
    return 0;
}

const struct reader torchscript_reader = {
    .name = "TorchScript", .knows = torchscript_knows, .read = torchscript_read};
