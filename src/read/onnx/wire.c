#include "read/onnx/wire_in.h"

#include <string.h>

#include "base/base.h"

#define FIRST_STEP 512 /* bytes to load after a jump */

int wire_init(struct wire_window *window, struct blob *blob, struct arena *arena)
{
    *window = (struct wire_window){.blob = blob};
    window->bytes = arena_alloc(arena, WIRE_WINDOW);
    return window->bytes ? 0 : -1;
}

struct wire wire_of(struct wire_window *window, uint64_t at, uint64_t size)
{
    return (struct wire){window, at, at + size};
}

struct wire wire_inside(const struct wire *wire, const struct wire_field *field)
{
    return wire_of(wire->window, field->at, field->value);
}

/* Ends the message; keeps the first fault. */
static bool stop(struct wire *wire, const char *fault)
{
    struct wire_window *window = wire->window;

    if (!window->fault) {
        window->fault = fault;
        window->fault_at = wire->at;
    }
    wire->at = wire->end;
    return false;
}

/* The message ends inside a field: the file is truncated, or a length is wrong. */
static bool stop_short(struct wire *wire, const char *fault)
{
    if (wire->end >= wire->window->blob->size)
        wire->window->cut = true;
    return stop(wire, fault);
}

/* Sequential reads double the step; a jump resets it. So jumping through a file reads
 * no more than its bytes. */
static bool load(struct wire_window *window, uint64_t at, size_t n)
{
    uint64_t left = at < window->blob->size ? window->blob->size - at : 0;
    bool next = at >= window->at && at <= window->at + window->n;

    window->step = next && window->step > 0 ? 2 * window->step : FIRST_STEP;
    if (window->step > WIRE_WINDOW)
        window->step = WIRE_WINDOW;
    if (window->step < n)
        window->step = n;
    if (left < n)
        return false;
    window->at = at;
    window->n = left < window->step ? (size_t)left : window->step;
    if (blob_read(window->blob, at, window->bytes, window->n, &window->err) == 0)
        return true;
    window->n = 0;
    return false;
}

const uint8_t *wire_look(struct wire_window *window, uint64_t at, size_t n)
{
    bool inside = at >= window->at && at - window->at <= window->n &&
                  n <= window->n - (size_t)(at - window->at);

    if (n > WIRE_WINDOW || window->err.code != ERR_NONE ||
        (!inside && !load(window, at, n)))
        return NULL;
    return window->bytes + (at - window->at);
}

bool wire_varint(struct wire *wire, uint64_t *ret_value)
{
    uint64_t left = wire->end - wire->at, value = 0;
    size_t n = left < 10 ? (size_t)left : 10;
    const uint8_t *bytes;

    if (n == 0)
        return false;
    bytes = wire_look(wire->window, wire->at, n);
    if (!bytes)
        return stop(wire, "bytes that cannot be read");
    for (size_t i = 0; i < n; i++) {
        value |= (uint64_t)(bytes[i] & 0x7f) << 7 * i;
        if (!(bytes[i] & 0x80)) {
            if (i == 9 && bytes[i] > 1)
                break;
            wire->at += i + 1;
            *ret_value = value;
            return true;
        }
    }
    return n < 10 ? stop_short(wire, "a number that is cut off")
                  : stop(wire, "a number of more than 64 bits");
}

static bool take(struct wire *wire, size_t n, uint64_t *ret_value)
{
    const uint8_t *bytes;
    uint64_t value = 0;

    if (wire->at == wire->end)
        return false;
    if (wire->end - wire->at < n)
        return stop_short(wire, "a number that is cut off");
    bytes = wire_look(wire->window, wire->at, n);
    if (!bytes)
        return stop(wire, "bytes that cannot be read");
    for (size_t i = 0; i < n; i++)
        value |= (uint64_t)bytes[i] << 8 * i;
    wire->at += n;
    *ret_value = value;
    return true;
}

bool wire_fixed32(struct wire *wire, uint32_t *ret_value)
{
    uint64_t value;

    if (!take(wire, 4, &value))
        return false;
    *ret_value = (uint32_t)value;
    return true;
}

bool wire_fixed64(struct wire *wire, uint64_t *ret_value)
{
    return take(wire, 8, ret_value);
}

/* The content of a LEN field, cut at the end of its message. */
static bool take_length(struct wire *wire, struct wire_field *field)
{
    uint64_t left;

    if (!wire_varint(wire, &field->value))
        return stop_short(wire, "a field without a value");
    field->at = wire->at;
    left = wire->end - wire->at;
    if (field->value > left) {
        stop_short(wire, "a field that is longer than the message around it");
        field->value = left;
    }
    wire->at = field->at + field->value;
    return true;
}

bool wire_next(struct wire *wire, struct wire_field *ret_field)
{
    struct wire_field field = {0};
    uint64_t key;

    if (wire->at >= wire->end || !wire_varint(wire, &key))
        return false;
    field.number = key >> 3 <= UINT32_MAX >> 3 ? (uint32_t)(key >> 3) : 0;
    field.type = key & 7;
    if (field.number == 0)
        return stop(wire, "a field without a number");
    switch (field.type) {
    case WIRE_VARINT:
        if (!wire_varint(wire, &field.value))
            return stop_short(wire, "a field without a value");
        break;
    case WIRE_I32:
    case WIRE_I64:
        if (!take(wire, field.type == WIRE_I32 ? 4 : 8, &field.value))
            return stop_short(wire, "a field without a value");
        break;
    case WIRE_LEN:
        if (!take_length(wire, &field))
            return false;
        break;
    default:
        return stop(wire, field.type == 3 || field.type == 4
                              ? "a group, which ONNX does not have"
                              : "an unknown wire type");
    }
    *ret_field = field;
    return true;
}

struct str wire_bytes(struct wire_window *window, const struct wire_field *field,
                      uint64_t most, struct arena *arena)
{
    uint64_t n = field->value < most ? field->value : most;
    const uint8_t *bytes;
    struct str text;

    if (n <= WIRE_WINDOW) {
        bytes = wire_look(window, field->at, (size_t)n);
        return bytes ? str_span(bytes, (size_t)n) : STR("");
    }
    if (blob_load(window->blob, field->at, n, arena, &text, &window->err) < 0)
        return STR("");
    return text;
}
