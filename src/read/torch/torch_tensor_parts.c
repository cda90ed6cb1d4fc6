/* torch_tensor_parts.c - tensors made of other tensors, or of none: quantised, sparse,
 * nested and meta tensors, and wrapper subclasses such as DTensor. */
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "read/torch/torch_tensor_in.h"

/* Take the dtype and device from the tensor's values. */
static void like_part(struct torch_fold *fold, struct tensor_spec *spec, node_id part)
{
    const struct pickle *pickle = fold->pickle;
    const struct persistent *storage;

    switch (fold_callee_name(fold, part)) {
    case NAME_REBUILD_TENSOR:
    case NAME_REBUILD_TENSOR_V2:
    case NAME_REBUILD_TENSOR_V3:
        storage = fold_persistent(fold, pickle_arg(pickle, part, 0));
        spec->tensor.device = storage->device;
        spec->tensor.dtype = storage->dtype;
        if (fold_callee_name(fold, part) == NAME_REBUILD_TENSOR_V3)
            spec->tensor.dtype = (uint8_t)fold_dtype(fold, pickle_arg(pickle, part, 6));
        break;
    default:
        break;
    }
}

/* The i-th size of a part, or -1: unknown. */
static int64_t part_size(struct torch_fold *fold, node_id node, uint32_t i)
{
    const struct pickle *pickle = fold->pickle;
    int64_t size = -1;

    switch (fold_callee_name(fold, node)) {
    case NAME_REBUILD_TENSOR:
    case NAME_REBUILD_TENSOR_V2:
    case NAME_REBUILD_TENSOR_V3:
        pickle_int(pickle, pickle_item(pickle, pickle_arg(pickle, node, 2), i), &size);
        break;
    default:
        if (i == 0 && pickle_is_list(pickle, node))
            size = pickle_list_n(pickle, node);
        break;
    }
    return size;
}

/* (torch.per_tensor_affine, scale, zero_point) or (torch.per_channel_affine, scales,
 * zero_points, axis); the latter two were lists once and are tensors now. */
static void read_quantiser(struct torch_fold *fold, struct tensor_spec *spec,
                           node_id params)
{
    const struct pickle *pickle = fold->pickle;
    node_id scale = pickle_item(pickle, params, 1);
    node_id zero = pickle_item(pickle, params, 2);
    int64_t axis, n;

    if (!fold_is(fold, pickle_item(pickle, params, 0), NODE_GLOBAL)) {
        spec_bad(fold, spec, "its quantiser has no name");
        return;
    }
    spec_extra(fold, spec, "scheme", fold_value(fold, pickle_item(pickle, params, 0)));
    if (pickle_count(pickle, params) == 3) {
        spec_extra(fold, spec, "scale", fold_value(fold, scale));
        spec_extra(fold, spec, "zero_point", fold_value(fold, zero));
        return;
    }
    if (!pickle_int(pickle, pickle_item(pickle, params, 3), &axis)) {
        spec_bad(fold, spec, "its quantiser has no axis");
        return;
    }
    spec_extra(fold, spec, "axis", value_int(build_values(fold->build), axis));
    spec_part(spec, "scales", scale);
    spec_part(spec, "zero_points", zero);
    if (spec->rank < 0)
        return;
    if (axis < 0 || axis >= spec->rank) {
        spec_bad(fold, spec, "it is quantised along axis %lld", (long long)axis);
        return;
    }
    n = part_size(fold, scale, 0);
    if (n >= 0 && n != spec->shape[axis])
        spec_bad(fold, spec, "%lld scales for %lld channels", (long long)n,
                 (long long)spec->shape[axis]);
}

void spec_quantised(struct torch_fold *fold, struct tensor_spec *spec, node_id args)
{
    spec_strided(fold, spec, args);
    read_quantiser(fold, spec, pickle_item(fold->pickle, args, 4));
    spec_grad(fold, spec, pickle_item(fold->pickle, args, 5));
}

struct sparse {
    const char *layout;
    enum layout id;
    const char *compressed, *plain; /* NULL: coordinates in one tensor, "indices" */
};

static const struct sparse sparses[] = {
    {"torch.sparse_coo", LAYOUT_COO, NULL, NULL},
    {"torch.sparse_csr", LAYOUT_CSR, "crow_indices", "col_indices"},
    {"torch.sparse_csc", LAYOUT_CSC, "ccol_indices", "row_indices"},
    {"torch.sparse_bsr", LAYOUT_BSR, "crow_indices", "col_indices"},
    {"torch.sparse_bsc", LAYOUT_BSC, "ccol_indices", "row_indices"},
};

/* The layout is a global, or torch.serialization._get_layout('torch.sparse_coo'). */
static const struct sparse *find_sparse(struct torch_fold *fold, node_id layout)
{
    struct str name = pickle_text(fold->pickle, layout);

    if (!name.at)
        name = pickle_text(fold->pickle, pickle_arg(fold->pickle, layout, 0));
    for (size_t i = 0; i < COUNT_OF(sparses); i++)
        if (str_is(name, sparses[i].layout))
            return &sparses[i];
    return NULL;
}

void spec_sparse(struct torch_fold *fold, struct tensor_spec *spec, node_id args)
{
    const struct pickle *pickle = fold->pickle;
    const struct sparse *sparse = find_sparse(fold, pickle_item(pickle, args, 0));
    node_id data = pickle_item(pickle, args, 1), values;
    uint32_t first; /* which item holds the values */

    spec->tensor.flags |= TENSOR_SHAPE_ONLY;
    if (!sparse) {
        spec->tensor.layout = LAYOUT_WRAPPED;
        spec_bad(fold, spec, "its sparse layout is unknown");
        return;
    }
    spec->tensor.layout = (uint8_t)sparse->id;
    first = sparse->compressed ? 2 : 1;
    values = pickle_item(pickle, data, first);
    if (pickle_count(pickle, data) < first + 2) {
        spec_bad(fold, spec, "it is sparse but has %u parts",
                 pickle_count(pickle, data));
        return;
    }
    spec_part(spec, sparse->compressed ? sparse->compressed : "indices",
              pickle_item(pickle, data, 0));
    if (sparse->compressed)
        spec_part(spec, sparse->plain, pickle_item(pickle, data, 1));
    spec_part(spec, "values", values);
    spec_shape(fold, spec, pickle_item(pickle, data, first + 1));
    like_part(fold, spec, values);
    if (!sparse->compressed && fold_is(fold, pickle_item(pickle, data, 3), NODE_BOOL))
        spec_extra(fold, spec, "is_coalesced",
                   fold_value(fold, pickle_item(pickle, data, 3)));
}

/* A list of tensors in one buffer. Its shape is their number; their sizes are in
 * another tensor. */
void spec_nested(struct torch_fold *fold, struct tensor_spec *spec, node_id args)
{
    const struct pickle *pickle = fold->pickle;
    node_id buffer = pickle_item(pickle, args, 0), sizes = pickle_item(pickle, args, 1);

    spec->tensor.flags |= TENSOR_SHAPE_ONLY;
    spec->tensor.layout = LAYOUT_NESTED;
    like_part(fold, spec, buffer);
    spec_part(spec, "buffer", buffer);
    spec_part(spec, "sizes", sizes);
    spec_part(spec, "strides", pickle_item(pickle, args, 2));
    spec_part(spec, "offsets", pickle_item(pickle, args, 3));
    spec->shape[0] = part_size(fold, sizes, 0);
    spec->rank = 1;
    if (spec->shape[0] < 0) {
        spec->shape[0] = 0;
        spec_bad(fold, spec, "the sizes of a nested tensor are not a tensor");
    }
}

/* A tensor made by an unknown function: its shape is unknown, but the tensors in its
 * attributes are shown. */
void spec_unknown(struct torch_fold *fold, struct tensor_spec *spec, node_id function)
{
    struct str name = pickle_text(fold->pickle, function);

    spec->tensor.flags |= TENSOR_SHAPE_ONLY;
    spec->tensor.layout = LAYOUT_WRAPPED;
    spec->rank = 1;
    spec->shape[0] = 0;
    build_finding(fold->build, FINDING_UNSUPPORTED, SEVERITY_NOTE, spec->place,
                  "its shape is unknown: it is made by %.*s", STR_ARG(name));
}

void spec_meta(struct torch_fold *fold, struct tensor_spec *spec, node_id args)
{
    const struct pickle *pickle = fold->pickle;

    spec->tensor.flags |= TENSOR_META;
    spec->tensor.device = build_device(fold->build, STR("meta"));
    spec_dtype(fold, spec, pickle_item(pickle, args, 0));
    spec_shape(fold, spec, pickle_item(pickle, args, 1));
    spec_strides(fold, spec, pickle_item(pickle, args, 2));
    spec_grad(fold, spec, pickle_item(pickle, args, 3));
}

/* torch.device('cuda', 0), or a plain text. */
static uint16_t device_of(struct torch_fold *fold, node_id node)
{
    struct str type;
    int64_t index;
    char text[64];

    if (fold_is(fold, node, NODE_STR))
        return fold_device(fold, node);
    type = pickle_text(fold->pickle, pickle_arg(fold->pickle, node, 0));
    if (!type.at || type.len > 32)
        return 0;
    if (!pickle_int(fold->pickle, pickle_arg(fold->pickle, node, 1), &index))
        return build_device(fold->build, type);
    snprintf(text, sizeof text, "%.*s:%lld", STR_ARG(type), (long long)index);
    return build_device(fold->build, str_of(text));
}

/* (class, dtype, size, stride, offset, layout, device, requires_grad): a shape without
 * bytes; its tensors are attributes in the state around it. */
void spec_wrapper(struct torch_fold *fold, struct tensor_spec *spec, node_id args)
{
    const struct pickle *pickle = fold->pickle;

    if (spec->tensor.class_id == NO_CLASS)
        spec->tensor.class_id = fold_class(fold, pickle_item(pickle, args, 0));
    spec->tensor.flags |= TENSOR_SHAPE_ONLY;
    spec->tensor.layout = LAYOUT_WRAPPED;
    spec_dtype(fold, spec, pickle_item(pickle, args, 1));
    spec_shape(fold, spec, pickle_item(pickle, args, 2));
    spec_strides(fold, spec, pickle_item(pickle, args, 3));
    spec->tensor.device = device_of(fold, pickle_item(pickle, args, 6));
    spec_grad(fold, spec, pickle_item(pickle, args, 7));
}
