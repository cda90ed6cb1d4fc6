#include "read/torch/test_torch_in.h"

#include <string.h>

#include "read/file/test_zip_in.h"

void op_text(struct buf *to, const char *text)
{
    buf_char(to, 'X');
    put32(to, (uint32_t)strlen(text));
    buf_text(to, text);
}

void op_int(struct buf *to, int64_t value)
{
    buf_text(to, "\x8a\x08");
    put64(to, (uint64_t)value);
}

void op_global(struct buf *to, const char *module, const char *name)
{
    buf_printf(to, "c%s\n%s\n", module, name);
}

void op_ints(struct buf *to, const int64_t *values, int n)
{
    buf_char(to, '(');
    for (int i = 0; i < n; i++)
        op_int(to, values[i]);
    buf_char(to, 't');
}

void op_storage(struct buf *to, const struct test_tensor *tensor)
{
    buf_char(to, '(');
    op_text(to, "storage");
    op_global(to, "torch", "FloatStorage");
    op_text(to, tensor->key);
    op_text(to, "cpu");
    op_int(to, tensor->numel);
    if (tensor->view_key) {
        buf_char(to, '(');
        op_text(to, tensor->view_key);
        op_int(to, tensor->view_offset);
        op_int(to, tensor->view_size);
        buf_char(to, 't');
    } else {
        buf_char(to, 'N');
    }
    buf_text(to, "tQ");
}

void op_tensor(struct buf *to, const struct test_tensor *tensor)
{
    int64_t strides[4], step = 1;

    for (int64_t i = tensor->rank; i-- > 0; step *= tensor->shape[i])
        strides[i] = step;
    op_text(to, tensor->name);
    op_global(to, "torch._utils", "_rebuild_tensor_v2");
    buf_char(to, '(');
    op_storage(to, tensor);
    op_int(to, tensor->offset);
    op_ints(to, tensor->shape, (int)tensor->rank);
    op_ints(to, strides, (int)tensor->rank);
    buf_char(to, '\x89');
    op_global(to, "collections", "OrderedDict");
    buf_text(to, ")RtRs");
}
