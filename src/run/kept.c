#include "run/kept.h"

#include "run/run_file.h"

static int kept_bytes(struct source *source, uint32_t storage, uint64_t at, void *to,
                      size_t n, struct err *err)
{
    const struct kept_view *view = (const struct kept_view *)source;

    (void)storage;
    return run_kept_bytes(view->run, view->kept, at, to, n, err);
}

static const void *kept_direct(struct source *source, uint32_t storage)
{
    const struct kept_view *view = (const struct kept_view *)source;

    (void)storage;
    return view->run->kept[view->kept].at;
}

static const struct source_ops kept_ops = {.bytes = kept_bytes, .direct = kept_direct};

/* Kept elements are dense, in C order. */
static int set_dims(struct kept_view *view, const struct run_value *value,
                    struct err *err)
{
    const int64_t *shape = view->run->dims + value->shape;
    uint64_t numel = 1;

    for (int i = value->rank - 1; i >= 0; i--) {
        view->dims[i] = shape[i];
        view->dims[value->rank + i] = (int64_t)numel;
        if (shape[i] < 0 || __builtin_mul_overflow(numel, (uint64_t)shape[i], &numel) ||
            numel > INT64_MAX)
            return err_set(err, ERR_FORMAT, "a kept value of an impossible size");
    }
    view->tensor.numel = numel;
    if (tensor_bytes(&view->tensor) > view->run->kept[view->kept].bytes)
        return err_set(err, ERR_FORMAT, "a kept value is cut short in the recording");
    return 0;
}

int kept_view_init(struct kept_view *view, const struct run *run, uint32_t value,
                   struct err *err)
{
    const struct run_value *v = &run->values[value];

    if (v->rank > KEPT_RANK)
        return err_set(err, ERR_LIMIT, "a kept value of %d dimensions", v->rank);
    *view = (struct kept_view){.run = run, .kept = v->kept};
    view->tensor = (struct tensor){.dtype = v->dtype,
                                   .role = ROLE_PLAIN,
                                   .rank = v->rank,
                                   .class_id = NO_CLASS,
                                   .place = NO_PLACE};
    if (set_dims(view, v, err) < 0)
        return -1;
    view->source = (struct source){.ops = &kept_ops, .any_thread = true};
    view->storage.bytes = run->kept[v->kept].bytes;
    view->model = (struct model){.dims = view->dims,
                                 .n_dims = 2u * v->rank,
                                 .storages = &view->storage,
                                 .n_storages = 1,
                                 .tensors = &view->tensor,
                                 .n_tensors = 1,
                                 .source = &view->source};
    return 0;
}

uint32_t kept_result(const struct run *run, uint32_t call)
{
    const struct run_call *c = &run->calls[call];

    for (uint32_t i = c->ios; i < c->ios + c->n_ios; i++) {
        uint32_t value = run->ios[i].value;

        if (run->ios[i].kind == RUN_OUT && value != RUN_NONE &&
            run->values[value].kept != RUN_NONE)
            return value;
    }
    return RUN_NONE;
}
