/* Explains why a file has no graph, and how to get one. */
#include "graph/parts_in.h"

static bool has_fact(const struct model *model, const char *name)
{
    for (uint32_t i = 0; i < model->n_facts; i++)
        if (str_is(model_string(model, model->facts[i].key), name))
            return true;
    return false;
}

/* Is it a module with its class, not just tensors? */
static bool is_module(const struct model *model)
{
    return model->n_places > 0 && model->kind[0] == PLACE_MODULE &&
           place_class(model, 0).len > 0;
}

#define INSTEAD                                                                        \
    " Draw the model's code instead: torchoscope graph model.py::make -i 1x3x224x224"

static const char *why(const struct model *model)
{
    struct str format = str_of(model->format ? model->format : "");

    if (model->live)
        return "a model has a graph once it has run: pass inputs to graph(model, ...), "
               "or "
               "draw a recording";
    if (model->program)
        return "its code needs more memory than the limit allows: there is nothing "
               "to draw." INSTEAD;
    if (str_is(format, "TorchScript") && has_fact(model, "bytecode version"))
        return "this archive for mobile has only bytecode, which is not drawn; save "
               "it with torch.jit.save() as well." INSTEAD;
    if (str_is(format, "TorchScript"))
        return "this TorchScript archive has no code of a method that can be "
               "followed." INSTEAD;
    if (str_starts(format, STR("Keras")) && is_module(model))
        return "the class of this Keras model is code that is not in the file: only "
               "Sequential and Functional models have their graph in the "
               "configuration.";
    if (str_starts(format, STR("Keras")))
        return "this file has only the weights of a Keras model. Save the model "
               "itself: "
               "model.save('model.keras')";
    if (is_module(model))
        return "a pickled module has no graph: its code is not in the file, only the "
               "names of its classes." INSTEAD;
    if (str_starts(format, STR("safetensors")))
        return "a safetensors file has no graph: it holds tensors, not code." INSTEAD;
    return "a state_dict has no graph: it holds tensors, not code." INSTEAD;
}

int parts_from_nothing(const struct session *session, struct err *err)
{
    const struct model *model = session->model;

    return err_set_about(err, ERR_UNSUPPORTED, model->path ? model->path : "model",
                         ": %s", why(model));
}
