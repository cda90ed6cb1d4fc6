#include "ext/torch/native.h"

#include <dlfcn.h>
#include <string.h>

#include "ext/torch/torch.h"

static struct {
    bool searched;
    bool (*grad_mode)(void);
    int (*graph_task)(void);
    uint64_t (*sequence)(void);
} native;

static int64_t number_of(PyObject *function, int64_t otherwise)
{
    PyObject *answer = function ? PyObject_CallNoArgs(function) : NULL;
    int64_t number = answer ? (int64_t)PyLong_AsLongLong(answer) : otherwise;

    Py_XDECREF(answer);
    return ext_swallow() ? otherwise : number;
}

/* The library of torch._C; symbols are searched in it and in those that it needs. */
static void *library(void)
{
    PyObject *file = PyObject_GetAttrString(torch_find()->c, "__file__");
    const char *path = file ? PyUnicode_AsUTF8AndSize(file, NULL) : NULL;
    void *found = path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;

    ext_swallow();
    Py_XDECREF(file);
    return found;
}

static void find_symbol(void *in, const char *name, void *to)
{
    void *found = dlsym(in, name);

    memcpy(to, &found, sizeof found);
}

static void search(void)
{
    const struct torch *torch = torch_find();
    void *in = library();

    native.searched = true;
    if (!in)
        return;
    find_symbol(in, "_ZN3c108GradMode10is_enabledEv", &native.grad_mode);
    find_symbol(in, "_ZN5torch8autograd25get_current_graph_task_idEv",
                &native.graph_task);
    find_symbol(in, "_ZN2at15sequence_number4peekEv", &native.sequence);
    if (native.grad_mode &&
        native.grad_mode() != torch_ask(torch->is_grad_enabled, false))
        native.grad_mode = NULL;
    if (native.graph_task && native.graph_task() != number_of(torch->graph_task, -1))
        native.graph_task = NULL;
    if (native.sequence &&
        native.sequence() != (uint64_t)number_of(torch->sequence_nr, 0))
        native.sequence = NULL;
    dlclose(in); /* torch keeps it loaded */
}

bool native_grad_mode(void)
{
    if (!native.searched)
        search();
    return native.grad_mode ? native.grad_mode()
                            : torch_ask(torch_find()->is_grad_enabled, false);
}

int64_t native_graph_task(void)
{
    if (!native.searched)
        search();
    return native.graph_task ? native.graph_task()
                             : number_of(torch_find()->graph_task, -1);
}

uint64_t native_sequence(void)
{
    if (!native.searched)
        search();
    return native.sequence ? native.sequence()
                           : (uint64_t)number_of(torch_find()->sequence_nr, 0);
}
