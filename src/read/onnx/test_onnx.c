#include "read/onnx/test_onnx_in.h"

#include <string.h>

#include "base/str.h"

void pb_varint(struct buf *to, uint64_t value)
{
    while (value > 127) {
        buf_char(to, (char)(value & 127) | (char)128);
        value >>= 7;
    }
    buf_char(to, (char)value);
}

void pb_number(struct buf *to, uint32_t field, uint64_t value)
{
    pb_varint(to, field << 3);
    pb_varint(to, value);
}

void pb_bytes(struct buf *to, uint32_t field, const void *at, size_t n)
{
    pb_varint(to, field << 3 | 2);
    pb_varint(to, n);
    buf_add(to, at, n);
}

void pb_text(struct buf *to, uint32_t field, const char *text)
{
    pb_bytes(to, field, text, strlen(text));
}

void pb_message(struct buf *to, uint32_t field, struct buf *inner)
{
    pb_bytes(to, field, inner->at, inner->len);
    buf_release(inner);
}

void pb_tensor(struct buf *to, uint32_t field, const char *name, unsigned n)
{
    struct buf tensor = BUF_INIT, raw = BUF_INIT;

    for (unsigned i = 0; i < n; i++) {
        float value = (float)(i + 1);

        buf_add(&raw, &value, sizeof value);
    }
    pb_number(&tensor, 1, n);
    pb_number(&tensor, 2, 1);
    pb_text(&tensor, 8, name);
    pb_message(&tensor, 9, &raw);
    pb_message(to, field, &tensor);
}

static void add_words(struct buf *to, uint32_t field, const char *words)
{
    struct str rest = str_of(words), word;

    while (rest.len > 0 && str_split(&rest, ' ', &word))
        pb_bytes(to, field, word.at, word.len);
}

void pb_node(struct buf *to, uint32_t field, const char *op_type, const char *name,
             const char *inputs, const char *outputs, struct buf *attr)
{
    struct buf node = BUF_INIT;

    add_words(&node, 1, inputs);
    add_words(&node, 2, outputs);
    pb_text(&node, 3, name);
    pb_text(&node, 4, op_type);
    if (attr)
        pb_message(&node, 5, attr);
    pb_message(to, field, &node);
}

void pb_value(struct buf *to, uint32_t field, const char *name)
{
    struct buf value = BUF_INIT;

    pb_text(&value, 1, name);
    pb_message(to, field, &value);
}

void pb_model(struct buf *to, struct buf *graph)
{
    struct buf opset = BUF_INIT;

    pb_number(to, 1, 10);
    pb_text(to, 2, "test");
    pb_message(to, 7, graph);
    pb_number(&opset, 2, 21);
    pb_message(to, 8, &opset);
}

void pb_small(struct buf *to)
{
    struct buf graph = BUF_INIT;

    pb_node(&graph, 1, "Add", "/layer/Add", "x layer.w", "h", NULL);
    pb_node(&graph, 1, "Relu", "/layer/act/Relu", "h", "y", NULL);
    pb_text(&graph, 2, "g");
    pb_tensor(&graph, 5, "layer.w", 4);
    pb_value(&graph, 11, "x");
    pb_value(&graph, 12, "y");
    pb_model(to, &graph);
}
