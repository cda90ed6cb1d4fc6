/* torch_tensor.c - adds one tensor to the build: the wrappers around its rebuild
 * function, its role, its parts. */
#include "base/base.h"
#include "read/torch/torch_fold_state_in.h"
#include "read/torch/torch_tensor_in.h"

#define WRAPPERS 32 /* limit for calls around calls */

/* The call that makes a tensor, as its wrappers are removed. */
struct rebuild_call {
    enum torch_name name;
    node_id node, args;
    node_id function; /* the maker of a subclass; else NO_NODE */
};

static struct rebuild_call call_of(struct torch_fold *fold, node_id node)
{
    struct rebuild_call call = {fold_callee_name(fold, node), node, NO_NODE, NO_NODE};

    if (fold_is(fold, node, NODE_CALL) || fold_is(fold, node, NODE_NEW))
        call.args = fold_node(fold, node)->call.args;
    return call;
}

static void set_class(struct torch_fold *fold, struct tensor_spec *spec, node_id global)
{
    struct str text = pickle_text(fold->pickle, global);

    if (spec->tensor.class_id != NO_CLASS || str_is(text, "torch.Tensor") ||
        str_is(text, "torch._tensor.Tensor"))
        return;
    spec->tensor.class_id = fold_class(fold, global);
}

/* Tensors, Variables and Parameters of torch 0.1 to 0.3: an object whose state is
 * (storage, offset, size, stride), (data, grad, hooks, requires_grad, volatile) or
 * (requires_grad, volatile, hooks). True: *call is inside. */
static bool spec_old_object(struct torch_fold *fold, struct tensor_spec *spec,
                            struct rebuild_call *call)
{
    const struct pickle *pickle = fold->pickle;
    node_id state = fold_state(fold, call->node);
    node_id data = pickle_item(pickle, call->args, 0);

    set_class(fold, spec, fold_node(fold, call->node)->call.callee);
    switch (pickle_count(pickle, state)) {
    case 4:
        spec_strided(fold, spec, state);
        return false;
    case 5:
        data = pickle_item(pickle, state, 0);
        spec_grad(fold, spec, pickle_item(pickle, state, 3));
        break;
    case 3:
        spec_grad(fold, spec, pickle_item(pickle, state, 0));
        break;
    default:
        spec_grad(fold, spec, pickle_item(pickle, call->args, 1));
        break;
    }
    if (data == NO_NODE) {
        spec_bad(fold, spec, "it has neither a storage nor a tensor");
        return false;
    }
    *call = call_of(fold, data);
    return true;
}

/* Remove one wrapper: a Parameter, a subclass, another device. True: *call is inside.
 */
static bool spec_unwrap(struct torch_fold *fold, struct tensor_spec *spec,
                        struct rebuild_call *call)
{
    const struct pickle *pickle = fold->pickle;
    node_id args = call->args;

    switch (call->name) {
    case NAME_REBUILD_PARAMETER_STATE:
        spec->attributes = pickle_item(pickle, args, 3);
        /* fall through */
    case NAME_REBUILD_PARAMETER:
        if (spec->tensor.class_id == NO_CLASS)
            spec->tensor.class_id = fold->parameter_class;
        spec_grad(fold, spec, pickle_item(pickle, args, 1));
        *call = call_of(fold, pickle_item(pickle, args, 0));
        return true;
    case NAME_REBUILD_FROM_TYPE:
        set_class(fold, spec, pickle_item(pickle, args, 1));
        spec->attributes = pickle_item(pickle, args, 3);
        call->function = pickle_item(pickle, args, 0);
        call->name = fold_name(fold, call->function);
        call->args = pickle_item(pickle, args, 2);
        return true;
    case NAME_REBUILD_FROM_CPU:
        spec_grad(fold, spec, pickle_item(pickle, args, 3));
        *call = call_of(fold, pickle_item(pickle, args, 0));
        return true;
    case NAME_PARAMETER_CLASS:
    case NAME_TENSOR_CLASS:
        return fold_callee_name(fold, call->node) == call->name &&
               spec_old_object(fold, spec, call);
    default:
        return false;
    }
}

/* A tensor with a persistent id (torch 0.1), or a bare storage. */
static void spec_persistent(struct torch_fold *fold, struct tensor_spec *spec,
                            node_id node)
{
    const struct torch_dialect *dialect = fold->dialect;
    struct torch_storage_id id;

    if (dialect->tensor) {
        spec->rank = dialect->tensor(dialect->user, fold->pickle, node, &spec->tensor,
                                     spec->shape, spec->strides);
        spec->has_strides = true;
        if (spec->rank >= 0)
            return;
    }
    spec_storage(fold, spec, node);
    spec->rank = 1;
    spec->has_strides = false;
    spec->shape[0] = 0;
    if (torch_storage_id(fold->pickle, node, &id)) {
        spec->shape[0] = id.numel;
        /* A view of a storage, (key, offset, size), has a size of its own. */
        pickle_int(fold->pickle, pickle_item(fold->pickle, id.view, 2),
                   &spec->shape[0]);
        spec->tensor.class_id = build_class(fold->build, id.class_name);
    }
}

static void spec_read(struct torch_fold *fold, struct tensor_spec *spec, node_id node)
{
    struct rebuild_call call = call_of(fold, node);
    int hops = 0;

    while (hops < WRAPPERS && spec_unwrap(fold, spec, &call))
        hops++;
    if (call.name == NAME_UNINITIALIZED)
        set_class(fold, spec, pickle_callee(fold->pickle, call.node));
    if (hops == WRAPPERS)
        spec_bad(fold, spec, "it is wrapped more than %d times", WRAPPERS);
    else if (call.args == NO_NODE && fold_is(fold, call.node, NODE_PERSISTENT))
        spec_persistent(fold, spec, call.node);
    else if (call.name == NAME_NUMPY_RECONSTRUCT ||
             call.name == NAME_NUMPY_FROMBUFFER || call.name == NAME_JOBLIB_ARRAY)
        spec_numpy(fold, spec, call.node);
    else if (call.name == NAME_OTHER && call.function != NO_NODE)
        spec_unknown(fold, spec, call.function);
    else if (call.name != NAME_PARAMETER_CLASS && call.name != NAME_TENSOR_CLASS)
        spec_rebuild(fold, spec, call.name, call.args);
}

/* How a DTensor is spread over a mesh of devices. Its placements become an extra of the
 * tensor; the mesh, which thousands of tensors share, is shown below the first only.
 * True: do not show it. */
static bool is_known_placement(struct torch_fold *fold, struct tensor_spec *spec,
                               node_id value)
{
    const struct pickle *pickle = fold->pickle;
    node_id slots, attributes = fold_attributes(fold, value, &slots), mesh, placements;
    bool known;

    if (!str_ends(pickle_text(pickle, pickle_callee(pickle, value)),
                  STR(".DTensorSpec")))
        return false;
    mesh = pickle_dict_get(pickle, attributes, "mesh");
    placements = pickle_dict_get(pickle, attributes, "placements");
    if (mesh == NO_NODE || placements == NO_NODE)
        return false;
    spec_extra(fold, spec, "placements", fold_value(fold, placements));
    known = mesh == fold->mesh;
    fold->mesh = mesh;
    return known;
}

/* Attributes of a subclass: those with tensors become places below it, the others
 * extras. */
static void add_attributes(struct torch_fold *fold, struct tensor_spec *spec,
                           const struct fold_task *up, node_id dict)
{
    struct fold_pairs pairs = fold_pairs(fold, dict);
    node_id key, value;

    while (fold_next(fold, &pairs, &key, &value)) {
        if (!fold_is(fold, key, NODE_STR) || is_known_placement(fold, spec, value))
            continue;
        if (fold_weight(fold, value) == WEIGHT_HOLDS) {
            fold_add_later(fold, up, spec->place, fold_key(fold, key), value);
        } else if (spec->n_extra + 2 <= COUNT_OF(spec->extra)) {
            spec->extra[spec->n_extra++] = fold_value(fold, key);
            spec->extra[spec->n_extra++] = fold_value(fold, value);
        }
    }
}

static void add_parts(struct torch_fold *fold, struct tensor_spec *spec,
                      const struct fold_task *up)
{
    node_id slots = NO_NODE, attributes = spec->attributes;

    for (int i = 0; i < spec->n_parts; i++)
        fold_add_later(fold, up, spec->place, str_of(spec->parts[i].name),
                       spec->parts[i].node);
    if (fold_is(fold, attributes, NODE_TUPLE)) {
        slots = pickle_item(fold->pickle, attributes, 1);
        attributes = pickle_item(fold->pickle, attributes, 0);
    }
    if (pickle_is_dict(fold->pickle, attributes))
        add_attributes(fold, spec, up, attributes);
    if (pickle_is_dict(fold->pickle, slots))
        add_attributes(fold, spec, up, slots);
}

/* Set the role, and whether requires_grad is known: a state_dict holds detached copies,
 * so "no gradient" is unknown there. */
static void set_role(struct torch_fold *fold, struct tensor_spec *spec, unsigned role)
{
    bool parameter = spec->tensor.class_id == fold->parameter_class &&
                     spec->tensor.class_id != NO_CLASS;

    spec->tensor.role = (uint8_t)(role & ~FOLD_GUESSED);
    if (parameter) {
        if (spec->tensor.role == ROLE_PLAIN)
            spec->tensor.role = ROLE_PARAMETER;
    } else if (role & FOLD_GUESSED) {
        spec->tensor.flags |= TENSOR_ROLE_GUESSED;
        if (!(spec->tensor.flags & TENSOR_GRAD))
            spec->tensor.flags &= (uint16_t)~TENSOR_GRAD_KNOWN;
    }
}

static void check_spec(struct torch_fold *fold, struct tensor_spec *spec)
{
    if (spec->rank < 0)
        spec_bad(fold, spec, "its shape is unknown");
    if (!spec->why)
        return;
    build_finding(fold->build, FINDING_BAD_TENSOR, SEVERITY_ALARM, spec->place,
                  "tensor not usable: %s", spec->why);
    spec->tensor.flags |= TENSOR_INVALID;
    spec->tensor.storage = NO_STORAGE;
    spec->tensor.offset = 0;
    spec->has_strides = false;
    if (spec->rank < 0)
        spec->rank = 0;
}

/* Add another place of a known tensor; its role may be more specific. */
static void again(struct torch_fold *fold, uint32_t place, uint32_t id, unsigned role)
{
    struct tensor *tensor = &fold->build->model->tensors[id];

    build_tensor_again(fold->build, place, id);
    if ((role & ~FOLD_GUESSED) < tensor->role)
        tensor->role = (uint8_t)(role & ~FOLD_GUESSED);
}

void fold_tensor(struct torch_fold *fold, const struct fold_task *up, uint32_t place,
                 node_id node, unsigned role)
{
    bool call = !fold_is(fold, node, NODE_PERSISTENT);
    struct tensor_spec spec;
    uint32_t id;

    if (call && fold->mark[node] != 0) {
        again(fold, place, fold->mark[node] - 1, role);
        return;
    }
    spec.place = place;
    spec.tensor = (struct tensor){.storage = NO_STORAGE, .class_id = NO_CLASS};
    spec.rank = -1;
    spec.has_strides = spec.owns_grad = false;
    spec.why = NULL;
    spec.n_parts = 0;
    spec.n_extra = 0;
    spec.attributes = NO_NODE;

    spec_read(fold, &spec, node);
    set_role(fold, &spec, role);
    check_spec(fold, &spec);
    if (spec.n_parts > 0 || spec.attributes != NO_NODE)
        add_parts(fold, &spec, up);
    if (spec.n_extra > 0) {
        id = value_make(build_values(fold->build), VALUE_DICT, STR(""), spec.extra,
                        spec.n_extra);
        spec.tensor.extra = id == VALUE_ID_FAILED ? 0 : id;
    }
    id = build_tensor(fold->build, place, &spec.tensor, spec.shape,
                      spec.has_strides ? spec.strides : NULL, spec.rank);
    if (id == NO_OBJECT)
        return;
    if (call)
        fold->mark[node] = id + 1;
}
