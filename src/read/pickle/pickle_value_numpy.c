#include "read/pickle/pickle_fold_in.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* An element type as numpy writes it: a letter, a size, and the order of its bytes. */
struct numpy_type {
    char kind; /* b i u f c S U V M m O */
    uint32_t size;
    bool big_endian;
};

/* numpy.dtype('f8', False, True) with the state (3, '<', ...). */
static bool read_type(const struct pickle *pickle, node_id id, struct numpy_type *type)
{
    const struct node *node = pickle_node(pickle, id);
    struct str code, order;
    uint64_t size;

    if (!pickle_is_call(pickle, id, "numpy.dtype"))
        return false;
    code = pickle_text(pickle, pickle_arg(pickle, id, 0));
    order = pickle_text(pickle, pickle_item(pickle, node_state(pickle, node), 1));
    if (code.len > 0 && (code.at[0] == '<' || code.at[0] == '>' || code.at[0] == '|')) {
        order = str_head(code, 1);
        code = str_from(code, 1);
    }
    if (code.len < 2 || !str_to_u64(str_from(code, 1), &size) || size > 1u << 20)
        return false;
    type->kind = code.at[0];
    type->size = (uint32_t)size;
    type->big_endian = str_is(order, ">");
    return true;
}

uint32_t folding_numpy_dtype(struct folding *f, node_id id)
{
    struct numpy_type type;
    char text[24];

    if (!read_type(f->pickle, id, &type))
        return NOT_FOLDED;
    snprintf(text, sizeof text, "%s%c%u", type.big_endian ? ">" : "", type.kind,
             type.size);
    return folding_named(f, STR("numpy.dtype"), str_of(text));
}

static uint64_t read_bits(const unsigned char *at, uint32_t size, bool big_endian)
{
    uint64_t bits = 0;

    for (uint32_t i = 0; i < size; i++)
        bits = bits << 8 | at[big_endian ? i : size - 1 - i];
    return bits;
}

static double half_to_double(uint16_t half)
{
    int exponent = half >> 10 & 0x1f;
    double fraction = half & 0x3ff, value;

    if (exponent == 0)
        value = ldexp(fraction, -24);
    else if (exponent == 31)
        value = fraction > 0 ? (double)NAN : (double)INFINITY;
    else
        value = ldexp(fraction + 1024, exponent - 25);
    return half & 0x8000 ? -value : value;
}

static bool bits_to_real(uint64_t bits, uint32_t size, double *ret_value)
{
    uint32_t word = (uint32_t)bits;
    float single;

    if (size == 8)
        memcpy(ret_value, &bits, 8);
    else if (size == 2)
        *ret_value = half_to_double((uint16_t)bits);
    else if (size == 4) {
        memcpy(&single, &word, 4);
        *ret_value = (double)single;
    } else
        return false;
    return true;
}

static uint32_t fold_complex(struct folding *f, const unsigned char *at, uint32_t size,
                             bool big_endian)
{
    double parts[2];
    uint32_t values[2];

    for (unsigned i = 0; i < 2; i++) {
        uint64_t bits = read_bits(at + i * (size / 2), size / 2, big_endian);

        if (!bits_to_real(bits, size / 2, &parts[i]))
            return NOT_FOLDED;
        values[i] = value_real(f->values, parts[i]);
        if (values[i] == VALUE_ID_FAILED)
            return VALUE_ID_FAILED;
    }
    return value_make(f->values, VALUE_CALL, STR("complex"), values, 2);
}

static uint32_t fold_integer(struct folding *f, const struct numpy_type *type,
                             uint64_t bits)
{
    unsigned unused = 64 - 8 * type->size;
    char text[24];

    if (type->kind != 'u')
        return value_int(f->values, (int64_t)(bits << unused) >> unused);
    if (bits <= INT64_MAX)
        return value_int(f->values, (int64_t)bits);
    snprintf(text, sizeof text, "%llu", (unsigned long long)bits);
    return value_make(f->values, VALUE_BIGINT, str_of(text), NULL, 0);
}

/* numpy's text is four bytes for each character, with NULs behind. */
static uint32_t fold_ucs4(struct folding *f, struct str bytes, bool big_endian)
{
    char *to = arena_alloc(&f->pickle->build->scratch, bytes.len + 4);
    size_t n = 0;

    if (!to)
        return VALUE_ID_FAILED;
    for (size_t i = 0; i + 4 <= bytes.len; i += 4) {
        uint64_t code = read_bits((const unsigned char *)bytes.at + i, 4, big_endian);

        if (code == 0 || code > 0x10ffff)
            break;
        n += (size_t)utf8_encode((uint32_t)code, to + n);
    }
    return value_str(f->values, str_span(to, n));
}

/* numpy.core.multiarray.scalar(dtype, bytes). */
uint32_t folding_numpy_scalar(struct folding *f, node_id id)
{
    struct numpy_type type;
    const unsigned char *at;
    struct str bytes;
    double real;

    if (!read_type(f->pickle, pickle_arg(f->pickle, id, 0), &type) ||
        !pickle_bytes(f->pickle, pickle_arg(f->pickle, id, 1), &bytes))
        return NOT_FOLDED;
    at = (const unsigned char *)bytes.at;
    if (type.kind == 'U')
        return fold_ucs4(f, bytes, type.big_endian);
    if (type.kind == 'S')
        return value_bytes(f->values, str_head(bytes, VALUE_BYTES_KEPT), bytes.len);
    if (bytes.len != type.size || type.size == 0)
        return NOT_FOLDED;
    if (type.kind == 'c')
        return fold_complex(f, at, type.size, type.big_endian);
    if (type.size > 8)
        return NOT_FOLDED;
    if (type.kind == 'b')
        return value_bool(f->values, at[0] != 0);
    if (type.kind == 'i' || type.kind == 'u')
        return fold_integer(f, &type, read_bits(at, type.size, type.big_endian));
    if (type.kind == 'f' &&
        bits_to_real(read_bits(at, type.size, type.big_endian), type.size, &real))
        return value_real(f->values, real);
    return NOT_FOLDED;
}

/* An array that is not shown as a tensor: its shape and element type. The state is
 * (1, shape, dtype, in Fortran's order?, data). */
uint32_t folding_numpy_array(struct folding *f, node_id id)
{
    const struct pickle *p = f->pickle;
    node_id state = node_state(p, pickle_node(p, id));
    uint32_t items[4];

    if (pickle_count(p, state) < 5)
        return NOT_FOLDED;
    items[0] = value_str(f->values, STR("shape"));
    items[1] = folding_any(f, pickle_item(p, state, 1));
    items[2] = value_str(f->values, STR("dtype"));
    items[3] = folding_any(f, pickle_item(p, state, 2));
    for (int i = 0; i < 4; i++)
        if (items[i] == VALUE_ID_FAILED)
            return VALUE_ID_FAILED;
    return value_make(f->values, VALUE_OBJECT, STR("numpy.ndarray"), items, 4);
}
