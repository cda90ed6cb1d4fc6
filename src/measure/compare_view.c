#include <string.h>

#include "measure/compare_in.h"

/* A copy of the tensor with a shape and strides that can be changed. */
static void copy_tensor(const struct compare_input *input, struct compare_view *view)
{
    const struct model *model = input->side.model;
    const struct tensor *tensor = input->side.tensor;
    size_t bytes = tensor->rank * sizeof *view->dims;

    view->model = *model;
    view->tensor = *tensor;
    memcpy(view->dims, tensor_shape(model, tensor), bytes);
    memcpy(view->dims + tensor->rank, tensor_strides(model, tensor), bytes);
    view->model.dims = view->dims;
    view->model.n_dims = 2u * tensor->rank;
    view->tensor.shape = 0;
}

void compare_narrow(struct compare_input *input, struct compare_view *view,
                    uint32_t dim, uint64_t from, uint64_t n)
{
    struct tensor *tensor = &view->tensor;
    uint64_t numel = 1;

    copy_tensor(input, view);
    tensor->offset += from * (uint64_t)view->dims[tensor->rank + dim];
    view->dims[dim] = (int64_t)n;
    for (int i = 0; i < tensor->rank; i++)
        numel *= (uint64_t)view->dims[i];
    tensor->numel = numel;
    if (input->quantiser.axis == (int)dim)
        input->quantiser.shift = from;
    input->side = (struct compare_side){&view->model, tensor};
    quantiser_fit(&input->quantiser, input->side);
}

/* Swap dimension i with the next one. */
static void swap_dims(struct compare_view *view, int i)
{
    for (int64_t *at = view->dims + i; at < view->dims + 2 * view->tensor.rank;
         at += view->tensor.rank) {
        int64_t first = at[0];

        at[0] = at[1];
        at[1] = first;
    }
}

void compare_swap(struct compare_input *input, struct compare_view *view)
{
    copy_tensor(input, view);
    swap_dims(view, 0);
    input->quantiser.axis = 1 - input->quantiser.axis;
    input->side = (struct compare_side){&view->model, &view->tensor};
    quantiser_fit(&input->quantiser, input->side);
}

/* (heads * parts * size, ...) as (heads, parts, size, ...) */
static void split_rows(struct compare_view *view, int64_t heads, int64_t parts)
{
    int64_t old[2 * ELEMENTS_RANK], *dims = view->dims;
    int rank = view->tensor.rank, next = rank + 2;
    int64_t size = dims[0] / heads / parts, stride = dims[rank];

    memcpy(old, dims, 2 * (size_t)rank * sizeof *dims);
    memcpy(dims, (int64_t[]){heads, parts, size}, 3 * sizeof *dims);
    memcpy(dims + 3, old + 1, ((size_t)rank - 1) * sizeof *dims);
    memcpy(dims + next, (int64_t[]){parts * size * stride, size * stride, stride},
           3 * sizeof *dims);
    memcpy(dims + next + 3, old + rank + 1, ((size_t)rank - 1) * sizeof *dims);
    view->tensor.rank = (uint8_t)next;
    view->model.n_dims = 2u * (unsigned)next;
}

/* (heads * 2 * half, ...) as (heads, half, 2, ...) */
static void permute(struct compare_view *view, int64_t heads)
{
    split_rows(view, heads, 2);
    swap_dims(view, 1);
}

/* (heads * 3 * size, ...) as (3, heads, size, ...) */
static void group(struct compare_view *view, int64_t heads)
{
    split_rows(view, heads, 3);
    swap_dims(view, 0);
}

/* Index `at` of the first dimension, which is left out. */
static void slice(struct compare_view *view, uint64_t at)
{
    struct tensor *tensor = &view->tensor;
    int64_t *dims = view->dims;
    int rank = tensor->rank;

    tensor->offset += at * (uint64_t)dims[rank];
    tensor->numel /= (uint64_t)dims[0];
    memmove(dims, dims + 1, ((size_t)rank - 1) * sizeof *dims);
    memmove(dims + rank - 1, dims + rank + 1, ((size_t)rank - 1) * sizeof *dims);
    tensor->rank--;
    view->model.n_dims = 2u * tensor->rank;
}

bool compare_editable(struct compare_side side, struct compare_edit edit)
{
    const struct tensor *tensor = side.tensor;
    const int64_t *sizes = tensor_shape(side.model, tensor);
    const struct dtype_info *info = dtype_info((enum dtype)tensor->dtype);

    switch ((enum compare_edit_kind)edit.kind) {
    case EDIT_PERMUTED:
    case EDIT_GROUPED:
        return edit.n > 0 && tensor->rank > 0 && tensor->rank <= ELEMENTS_RANK - 2 &&
               sizes[0] > 0 &&
               sizes[0] % ((edit.kind == EDIT_GROUPED ? 3 : 2) * (int64_t)edit.n) == 0;
    case EDIT_TRANSPOSED:
        return tensor->rank == 2;
    case EDIT_PLUS_ONE:
    case EDIT_EXPONENT:
        return info->kind == DTYPE_KIND_FLOAT && info->values == 1;
    case EDIT_SLICE:
        return tensor->rank > 1 && (int64_t)edit.n < sizes[0];
    case EDIT_RESHAPED:
    case EDIT_NONE:
        break;
    }
    return true;
}

void compare_edit(struct compare_input *input, struct compare_view *view,
                  struct compare_edit edit)
{
    if (edit.kind == EDIT_TRANSPOSED) {
        compare_swap(input, view);
        return;
    }
    if (edit.kind == EDIT_PLUS_ONE || edit.kind == EDIT_EXPONENT)
        input->edit = edit.kind;
    if (input->edit != EDIT_NONE || edit.kind == EDIT_NONE ||
        edit.kind == EDIT_RESHAPED)
        return;
    copy_tensor(input, view);
    if (edit.kind == EDIT_PERMUTED)
        permute(view, edit.n);
    else if (edit.kind == EDIT_GROUPED)
        group(view, edit.n);
    else
        slice(view, edit.n);
    input->side = (struct compare_side){&view->model, &view->tensor};
}
