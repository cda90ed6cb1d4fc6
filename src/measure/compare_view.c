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

void compare_swap(struct compare_input *input, struct compare_view *view)
{
    int64_t *dims = view->dims;

    copy_tensor(input, view);
    for (int i = 0; i < 4; i += 2) {
        int64_t first = dims[i];

        dims[i] = dims[i + 1];
        dims[i + 1] = first;
    }
    input->quantiser.axis = 1 - input->quantiser.axis;
    input->side = (struct compare_side){&view->model, &view->tensor};
    quantiser_fit(&input->quantiser, input->side);
}
