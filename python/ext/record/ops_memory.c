/* Finds the storage of a tensor. Querying torch costs more than everything else, so
 * addresses of elements are cached: while a storage lives, no other storage has its
 * addresses. */
#include "ext/record/ops_in.h"

#include <stdlib.h>
#include <string.h>

#include "ext/torch/torch.h"

#include "base/str.h"

#define FIRST_ROOM 1024u

/* ---- tables ---- */

static struct ops_table_entry *slot_of(const struct ops_table *table, uintptr_t key)
{
    uint32_t i = (uint32_t)hash_mix(1, key) & table->mask;

    while (table->entries[i].key && table->entries[i].key != key)
        i = (i + 1) & table->mask;
    return &table->entries[i];
}

bool ops_table_find(const struct ops_table *table, const void *key, uint32_t *ret_index)
{
    const struct ops_table_entry *entry;

    if (!table->entries)
        return false;
    entry = slot_of(table, (uintptr_t)key);
    *ret_index = entry->index;
    return entry->key != 0;
}

/* Doubles the table if half of it is in use; drops entries of dead storages. */
static bool make_room(struct ops_table *table, const struct recorder_ops *ops)
{
    struct ops_table old = *table;
    uint32_t living = 0, room = old.entries ? old.mask + 1 : FIRST_ROOM;
    bool kinds = table == &ops->by_func;

    for (uint32_t i = 0; old.entries && i <= old.mask; i++)
        living +=
            old.entries[i].key && (kinds || !ops->storages[old.entries[i].index].dead);
    if (living > room / 4)
        room *= 2;
    table->entries = calloc(room, sizeof *table->entries);
    if (!table->entries) {
        *table = old;
        return false;
    }
    table->mask = room - 1;
    table->n = 0;
    for (uint32_t i = 0; old.entries && i <= old.mask; i++)
        if (old.entries[i].key &&
            (kinds || !ops->storages[old.entries[i].index].dead)) {
            *slot_of(table, old.entries[i].key) = old.entries[i];
            table->n++;
        }
    free(old.entries);
    return true;
}

void ops_table_put(struct ops_table *table, const struct recorder_ops *ops,
                   const void *key, uint32_t index)
{
    struct ops_table_entry *entry;

    if ((!table->entries || table->n >= (table->mask + 1) / 2) &&
        !make_room(table, ops) && (!table->entries || table->n >= table->mask))
        return;
    entry = slot_of(table, (uintptr_t)key);
    table->n += entry->key == 0;
    *entry = (struct ops_table_entry){(uintptr_t)key, index};
}

/* ---- the end of a storage ---- */

static PyObject *storage_died(PyObject *capsule, PyObject *ref)
{
    struct recorder_ops *ops = PyCapsule_GetPointer(capsule, NULL);
    uint32_t index;

    if (!ops) {
        ext_swallow();
        Py_RETURN_NONE;
    }
    if (ops_table_find(&ops->by_ref, ref, &index) && !ops->storages[index].dead) {
        struct ops_storage *storage = &ops->storages[index];

        storage->dead = true;
        if (ops->recorder->trace)
            trace_op_died(ops->recorder->trace, storage->number);
        Py_CLEAR(storage->ref);
    }
    Py_RETURN_NONE;
}

static PyMethodDef died_method = {"storage_died", storage_died, METH_O, NULL};

bool ops_memory_begin(struct recorder_ops *ops)
{
    PyObject *capsule = PyCapsule_New(ops, NULL, NULL);

    ops->watch = capsule ? PyCFunction_New(&died_method, capsule) : NULL;
    Py_XDECREF(capsule);
    return ops->watch;
}

void ops_memory_end(struct recorder_ops *ops)
{
    for (uint32_t i = 0; i < ops->n_storages; i++) {
        ops->storages[i].dead = true;
        Py_CLEAR(ops->storages[i].ref);
    }
    Py_CLEAR(ops->watch);
    free(ops->by_object.entries);
    free(ops->by_address.entries);
    free(ops->by_ref.entries);
    ops->by_object = ops->by_address = ops->by_ref = (struct ops_table){0};
}

/* ---- storages ---- */

/* The parameter or buffer that a new storage belongs to. */
static void describe_storage(struct recorder_ops *ops, PyObject *tensor,
                             uint32_t *ret_tensor, enum op_storage_role *ret_role)
{
    const struct model *model = ops->recorder->model;
    uint32_t number = live_tensor_number(ops->recorder->live, tensor);

    *ret_tensor = RUN_NONE;
    *ret_role = OP_STORAGE_OTHER;
    if (number == NO_OBJECT || number >= model->n_tensors)
        return;
    *ret_tensor = number;
    *ret_role = model->tensors[number].role == ROLE_PARAMETER ? OP_STORAGE_PARAMETER
                                                              : OP_STORAGE_BUFFER;
}

static void keep_storage(struct recorder_ops *ops, uint32_t number, PyObject *object)
{
    PyObject *done =
        PyObject_CallMethod(ops->replay, "storage", "IO", (unsigned)number, object);

    Py_XDECREF(done);
    if (!done)
        recorder_failed(ops->recorder);
}

/* Adds a new storage; returns its index, or UINT32_MAX. */
static uint32_t add_storage(struct recorder_ops *ops, PyObject *tensor,
                            PyObject *object, uintptr_t base, uint64_t bytes,
                            uint16_t device)
{
    PyObject *ref = PyWeakref_NewRef(object, ops->watch);
    enum op_storage_role role;
    uint32_t index = ops->n_storages, of;

    if (!ref || !buf_grow_array(&ops->storages, index, &ops->storages_room,
                                sizeof *ops->storages)) {
        Py_XDECREF(ref);
        ext_swallow();
        return UINT32_MAX;
    }
    /* Neither refers to anything that the garbage collector could follow. If it counted
     * them, thousands that live until backward would make it search all objects of the
     * process. A storage without other users is referred to only by us and torch. */
    PyObject_GC_UnTrack(ref);
    if (Py_REFCNT(object) <= 2 && PyObject_GC_IsTracked(object))
        PyObject_GC_UnTrack(object);
    describe_storage(ops, tensor, &of, &role);
    ops->storages[index] = (struct ops_storage){
        .ref = ref,
        .base = base,
        .bytes = bytes,
        .number = trace_op_storage(ops->recorder->trace, bytes, device, of, role)};
    ops->n_storages++;
    ops_table_put(&ops->by_object, ops, object, index);
    ops_table_put(&ops->by_ref, ops, ref, index);
    if (ops->replay && ops->reading)
        keep_storage(ops, ops->storages[index].number, object);
    return index;
}

/* Asks torch for the storage of a tensor. */
static uint32_t ask_storage(struct recorder_ops *ops, PyObject *tensor,
                            const struct live_tensor *look, uint64_t span,
                            uint64_t element, uint16_t device)
{
    const struct torch *torch = torch_find();
    PyObject *object = PyObject_CallFunctionObjArgs(torch->storage_of, tensor, NULL);
    uintptr_t at = (uintptr_t)look->at;
    uint32_t index = UINT32_MAX;
    Py_ssize_t bytes;

    if (!object) {
        ext_swallow();
        return UINT32_MAX;
    }
    if (!ops_table_find(&ops->by_object, object, &index) || ops->storages[index].dead) {
        index = UINT32_MAX;
        bytes = PyObject_Size(object);
        if (bytes < 0) {
            ext_swallow();
            bytes = 0;
        }
        if (at && (uint64_t)bytes != span)
            at -= (uintptr_t)torch_call_int(tensor, NAME_storage_offset, 0) * element;
        index = add_storage(ops, tensor, object, at, (uint64_t)bytes, device);
    } else if (at && !ops->storages[index].base) {
        ops->storages[index].base =
            at - (uintptr_t)torch_call_int(tensor, NAME_storage_offset, 0) * element;
    }
    Py_DECREF(object);
    if (index != UINT32_MAX && look->at)
        ops_table_put(&ops->by_address, ops, look->at, index);
    return index;
}

/* ---- tensors ---- */

/* Bytes from the first element to the end of the last one. */
static uint64_t span_of(const struct live_tensor *look, uint64_t element)
{
    uint64_t last = 0;

    if (look->numel == 0)
        return 0;
    for (int i = 0; i < look->rank; i++)
        if (look->shape[i] > 1 && look->strides[i] > 0)
            last += (uint64_t)(look->shape[i] - 1) * (uint64_t)look->strides[i];
    return (last + 1) * element;
}

static uint32_t storage_of(struct recorder_ops *ops, PyObject *tensor,
                           const struct live_tensor *look, uint64_t element,
                           uint16_t device)
{
    uint32_t index;

    if (look->at && ops_table_find(&ops->by_address, look->at, &index) &&
        !ops->storages[index].dead)
        return index;
    return ask_storage(ops, tensor, look, span_of(look, element), element, device);
}

static uint64_t offset_of(struct recorder_ops *ops, PyObject *tensor,
                          const struct live_tensor *look, uint32_t index,
                          uint64_t element)
{
    const struct ops_storage *storage = &ops->storages[index];

    if (look->at && storage->base && element)
        return ((uintptr_t)look->at - storage->base) / element;
    return (uint64_t)torch_call_int(tensor, NAME_storage_offset, 0);
}

static uint32_t type_of(struct recorder_ops *ops, PyObject *tensor,
                        const struct live_tensor *look, bool strided)
{
    struct trace *trace = ops->recorder->trace;
    struct run_op_type like = {.dtype = look->dtype,
                               .layout = look->layout,
                               .rank = look->rank,
                               .device = ops->cpu};

    if (!(look->flags & LIVE_CPU))
        like.device = trace_device(trace, look->device);
    if (!(look->flags & LIVE_EXACT)) {
        char text[TORCH_CLASS_NAME];
        struct str name = torch_class_name(tensor, text);

        like.class_name = trace_string(trace, name.at, name.len);
    }
    return trace_op_type(trace, &like, look->shape, strided ? look->strides : NULL);
}

/* Perhaps x.detach().requires_grad_(). */
static bool is_detached_leaf(struct recorder_ops *ops, PyObject *tensor,
                             const struct live_tensor *look, uint32_t storage)
{
    return trace_op_detached(ops->recorder->trace, storage) &&
           look->flags & LIVE_EXACT && Py_TYPE(tensor) != torch_find()->parameter &&
           torch_flag(tensor, NAME_is_leaf);
}

bool ops_look(struct recorder_ops *ops, PyObject *tensor, struct trace_op_tensor *to)
{
    struct live_tensor look;
    uint64_t element = 0;
    uint32_t index;
    bool strided;

    if (!tensor_outline(tensor, to->kind == OP_IN, &look))
        return false;
    strided = look.layout == LAYOUT_STRIDED;
    to->type = type_of(ops, tensor, &look, strided);
    if (to->type == RUN_NONE)
        return false;
    to->storage = RUN_NONE;
    to->offset = 0;
    if (look.flags & LIVE_GRAD)
        to->flags = OP_VALUE_GRAD;
    if (ops->full || !strided || look.flags & LIVE_LOCAL || !torch_find()->storage_of)
        return true;
    dtype_size(look.dtype, 1, &element);
    index = storage_of(ops, tensor, &look, element,
                       look.flags & LIVE_CPU
                           ? ops->cpu
                           : trace_device(ops->recorder->trace, look.device));
    if (index == UINT32_MAX)
        return true;
    to->storage = ops->storages[index].number;
    if (look.flags & LIVE_GRAD && is_detached_leaf(ops, tensor, &look, to->storage))
        to->flags |= TRACE_OP_LEAF;
    to->offset = offset_of(ops, tensor, &look, index, element);
    return true;
}
