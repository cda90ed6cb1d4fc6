/* Weights packed in several tensors. The input is a list of tensors, one per line, the
 * metadata of "fc.weight", and the bytes of all tensors, which are repeated:
 *     fc.qweight I32 8,32
 *     fc.scales F16 4,32
 *     ----
 *     {"_type": "Int8Tensor"}
 *     ----
 *     bytes
 * It becomes a safetensors file without holes, so that mutations reach the layouts. */
#define _GNU_SOURCE /* memmem */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../damage/everything.h"
#include "base/buf.h"
#include "model/dtype.h"

#define MOST_BYTES (256u << 10) /* of all tensors */
#define MOST_LINES 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char separator[] = "\n----\n";

/* The input up to the separator, which is skipped. */
static struct str take_piece(struct str *left)
{
    const char *cut = memmem(left->at, left->len, separator, sizeof separator - 1);
    size_t n = cut ? (size_t)(cut - left->at) : left->len;
    size_t skip = cut ? n + sizeof separator - 1 : n;
    struct str piece = str_span(left->at, n);

    *left = str_span(left->at + skip, left->len - skip);
    return piece;
}

/* The bytes of a tensor of shape "8,32"; false if it is too large or not a shape. */
static bool shape_bytes(const char *shape, const char *dtype, uint64_t *ret_bytes)
{
    uint64_t numel = 1;

    for (const char *at = shape; *at;) {
        char *end;
        uint64_t n = strtoull(at, &end, 10);

        if (end == at || (*end && *end != ',') ||
            __builtin_mul_overflow(numel, n, &numel))
            return false;
        at = *end ? end + 1 : end;
    }
    return dtype_size(dtype_by_safetensors(str_of(dtype)), numel, ret_bytes) &&
           *ret_bytes <= MOST_BYTES;
}

/* The text as a JSON string. */
static void write_text(struct buf *to, const char *text, size_t n)
{
    buf_char(to, '"');
    for (size_t i = 0; i < n; i++)
        if (text[i] < ' ' || text[i] > '~' || text[i] == '"' || text[i] == '\\')
            buf_printf(to, "\\u%04x", (unsigned char)text[i]);
        else
            buf_char(to, text[i]);
    buf_char(to, '"');
}

/* One line as an entry of the header. */
static void add_tensor(struct buf *header, const char *line, uint64_t *at)
{
    char name[100], dtype[20], shape[60] = "";
    uint64_t bytes;

    if (sscanf(line, "%99s %19s %59s", name, dtype, shape) < 2 ||
        !shape_bytes(shape, dtype, &bytes) || *at + bytes > MOST_BYTES)
        return;
    write_text(header, name, strlen(name));
    buf_text(header, ":{\"dtype\":");
    write_text(header, dtype, strlen(dtype));
    buf_printf(header, ",\"shape\":[%s],", shape);
    buf_printf(header, "\"data_offsets\":[%llu,%llu]},", (unsigned long long)*at,
               (unsigned long long)(*at + bytes));
    *at += bytes;
}

static uint64_t write_header(struct buf *header, struct str lines, struct str said)
{
    uint64_t n_bytes = 0;
    char line[200];

    buf_char(header, '{');
    for (int i = 0; i < MOST_LINES && lines.len > 0; i++) {
        const char *end = memchr(lines.at, '\n', lines.len);
        size_t n = end ? (size_t)(end - lines.at) : lines.len;

        if (n < sizeof line && !memchr(lines.at, 0, n)) {
            memcpy(line, lines.at, n);
            line[n] = 0;
            add_tensor(header, line, &n_bytes);
        }
        lines = str_from(lines, end ? n + 1 : n);
    }
    buf_text(header, "\"__metadata__\":{\"fc.weight\":");
    write_text(header, said.at, said.len);
    buf_text(header, "}}");
    return n_bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str left = str_span(data, size), lines = take_piece(&left);
    struct str said = take_piece(&left);
    struct buf header = BUF_INIT, file = BUF_INIT;
    uint64_t n_bytes = write_header(&header, lines, said);

    for (int i = 0; i < 8; i++)
        buf_char(&file, (char)((uint64_t)header.len >> 8 * i));
    buf_str(&file, buf_span(&header));
    for (uint64_t i = 0; i < n_bytes; i++)
        buf_char(&file, left.len ? left.at[i % left.len] : (char)i);
    if (header.bad || file.bad)
        abort();
    everything_of(file.at, file.len, "input.safetensors");
    buf_release(&header);
    buf_release(&file);
    return 0;
}
