#include "base/base.h"
#include "read/hdf5/hdf5_parts_in.h"

/* A type begins with its class and version, 24 bits of flags, and the size of an element;
 * what follows depends on the class. */
struct head {
    uint8_t class, version;
    uint32_t flags, size;
};

static struct head take_head(struct bytes *in)
{
    uint8_t first = bytes_u8(in);
    struct head head = {.class = first & 15, .version = first >> 4};

    head.flags = (uint32_t)hdf5_number(in, 3);
    head.size = bytes_u32(in);
    return head;
}

static enum dtype integer_of(const struct head *head, struct bytes *in)
{
    bool is_signed = head->flags & 8;
    uint16_t offset = bytes_u16(in), bits = bytes_u16(in);

    if (in->bad || offset != 0 || bits != 8 * (uint64_t)head->size)
        return DTYPE_UNKNOWN;
    switch (head->size) {
    case 1:
        return is_signed ? DTYPE_INT8 : DTYPE_UINT8;
    case 2:
        return is_signed ? DTYPE_INT16 : DTYPE_UINT16;
    case 4:
        return is_signed ? DTYPE_INT32 : DTYPE_UINT32;
    case 8:
        return is_signed ? DTYPE_INT64 : DTYPE_UINT64;
    default:
        return DTYPE_UNKNOWN;
    }
}

/* Where the parts of a float are, in bits. */
static const struct float_form {
    uint32_t size, exponent_bits, mantissa_bits, bias;
    enum dtype dtype;
} float_forms[] = {
    {2, 5, 10, 15, DTYPE_FLOAT16},    {2, 8, 7, 127, DTYPE_BFLOAT16},
    {4, 8, 23, 127, DTYPE_FLOAT32},   {8, 11, 52, 1023, DTYPE_FLOAT64},
    {1, 5, 2, 15, DTYPE_FLOAT8_E5M2},
};

static enum dtype float_of(const struct head *head, struct bytes *in)
{
    uint32_t sign = head->flags >> 8 & 255, exponent_at, exponent, mantissa_at,
             mantissa;
    uint32_t offset = bytes_u16(in), bits = bytes_u16(in), bias;

    exponent_at = bytes_u8(in);
    exponent = bytes_u8(in);
    mantissa_at = bytes_u8(in);
    mantissa = bytes_u8(in);
    bias = bytes_u32(in);
    if (in->bad || offset != 0 || bits != 8 * (uint64_t)head->size ||
        (head->flags & 0x40)) /* VAX */
        return DTYPE_UNKNOWN;
    for (size_t i = 0; i < COUNT_OF(float_forms); i++) {
        const struct float_form *form = &float_forms[i];

        if (head->size == form->size && exponent == form->exponent_bits &&
            mantissa == form->mantissa_bits && bias == form->bias && mantissa_at == 0 &&
            exponent_at == mantissa && sign == bits - 1)
            return form->dtype;
    }
    return DTYPE_UNKNOWN;
}

/* One member of a compound: its name, where it is, and the head of its type. */
static void take_member(struct bytes *in, const struct head *whole,
                        struct str *ret_name, uint64_t *ret_at)
{
    const uint8_t *zero = memchr(in->at, 0, bytes_left(in));
    size_t n = zero ? (size_t)(zero - in->at) + 1 : bytes_left(in) + 1;

    *ret_name = str_head(str_span(in->at, bytes_left(in)), n - 1);
    bytes_skip(in, whole->version < 3 ? (n + 7) / 8 * 8 : n);
    *ret_at = hdf5_number(in, whole->version < 3 ? 4 : hdf5_number_size(whole->size));
    if (whole->version == 1)
        bytes_skip(in, 28); /* dimensions */
}

/* h5py writes a complex number as a compound of r and i. */
static enum dtype complex_of(const struct head *head, struct bytes *in, bool *ret_big)
{
    enum dtype parts[2] = {DTYPE_UNKNOWN, DTYPE_UNKNOWN};

    if ((head->flags & 0xffff) != 2)
        return DTYPE_UNKNOWN;
    for (uint64_t i = 0; i < 2; i++) {
        struct str name;
        uint64_t at;
        struct head part;

        take_member(in, head, &name, &at);
        part = take_head(in);
        if (in->bad || part.class != CLASS_FLOAT || at != i * (head->size / 2) ||
            !(str_is(name, i ? "i" : "r") || str_is(name, i ? "imag" : "real")))
            return DTYPE_UNKNOWN;
        parts[i] = float_of(&part, in);
        *ret_big = part.flags & 1;
    }
    if (parts[0] != parts[1] ||
        (parts[0] != DTYPE_FLOAT16 && parts[0] != DTYPE_FLOAT32 &&
         parts[0] != DTYPE_FLOAT64))
        return DTYPE_UNKNOWN;
    return parts[0] == DTYPE_FLOAT16   ? DTYPE_COMPLEX32
           : parts[0] == DTYPE_FLOAT32 ? DTYPE_COMPLEX64
                                       : DTYPE_COMPLEX128;
}

/* An enumeration is its integers; of FALSE and TRUE, booleans. */
static enum dtype enum_of(const struct head *head, struct bytes *in, bool *ret_big)
{
    struct head base = take_head(in);
    enum dtype dtype;
    struct str names[2] = {{0}};

    if (base.class != CLASS_INTEGER || base.size != head->size)
        return DTYPE_UNKNOWN;
    *ret_big = base.flags & 1;
    dtype = integer_of(&base, in);
    if ((head->flags & 0xffff) != 2 || head->size != 1)
        return dtype;
    for (int i = 0; i < 2; i++) {
        const uint8_t *zero = memchr(in->at, 0, bytes_left(in));
        size_t n = zero ? (size_t)(zero - in->at) + 1 : bytes_left(in) + 1;

        names[i] = str_head(str_span(in->at, bytes_left(in)), n - 1);
        bytes_skip(in, head->version < 3 ? (n + 7) / 8 * 8 : n);
    }
    if (str_is(names[0], "FALSE") && str_is(names[1], "TRUE") && bytes_u8(in) == 0 &&
        bytes_u8(in) == 1 && !in->bad)
        return DTYPE_BOOL;
    return dtype;
}

static int parse(struct hdf5 *file, struct str bytes, struct hdf5_type *ret_type,
                 struct err *err)
{
    struct bytes in = bytes_of(bytes.at, bytes.len);
    struct head head = take_head(&in);
    struct hdf5_type type = {.class = head.class, .size = head.size};

    if (in.bad)
        return err_set_about(err, ERR_FORMAT, file->path, ": a truncated type");
    switch (head.class) {
    case CLASS_INTEGER:
        type.big_endian = head.flags & 1;
        type.dtype = (uint8_t)integer_of(&head, &in);
        break;
    case CLASS_FLOAT:
        type.big_endian = head.flags & 1;
        type.dtype = (uint8_t)float_of(&head, &in);
        break;
    case CLASS_TEXT:
        type.spaces = (head.flags & 15) == 2;
        break;
    case CLASS_COMPOUND:
        type.dtype = (uint8_t)complex_of(&head, &in, &type.big_endian);
        break;
    case CLASS_ENUM:
        type.dtype = (uint8_t)enum_of(&head, &in, &type.big_endian);
        break;
    case CLASS_VARIABLE:
        type.text = (head.flags & 15) == 1;
        break;
    default:
        break;
    }
    *ret_type = type;
    return 0;
}

/* The address in a shared message. */
static bool shared_at(struct hdf5 *file, struct str bytes, uint64_t *ret_at)
{
    struct bytes in = bytes_of(bytes.at, bytes.len);
    uint8_t version = bytes_u8(&in), kind = bytes_u8(&in);

    if (version == 1)
        bytes_skip(&in, 6);
    else if (version == 3 && kind != 2)
        return false; /* in a heap of shared messages, which h5py never makes */
    *ret_at = hdf5_offset(file, &in);
    return !in.bad;
}

int hdf5_type(struct hdf5 *file, struct str bytes, bool shared,
              struct hdf5_type *ret_type, struct err *err)
{
    const struct hdf5_message *message;
    struct hdf5_object object;
    uint64_t at;

    if (!shared)
        return parse(file, bytes, ret_type, err);
    if (!shared_at(file, bytes, &at))
        return err_set_about(err, ERR_UNSUPPORTED, file->path,
                             ": its type is in a table of shared messages, which is "
                             "not supported");
    if (hdf5_object(file, at, &object, err) < 0)
        return -1;
    message = hdf5_message(&object, MESSAGE_TYPE);
    if (!message || (message->flags & MESSAGE_SHARED))
        return hdf5_damaged(file, at, "no named type", err);
    return parse(file, message->data, ret_type, err);
}

int hdf5_space(struct hdf5 *file, struct str bytes, struct hdf5_space *ret_space,
               struct err *err)
{
    struct bytes in = bytes_of(bytes.at, bytes.len);
    struct hdf5_space space = {.n = 1};
    uint8_t version = bytes_u8(&in), rank = bytes_u8(&in), flags = bytes_u8(&in);

    if (version == 1)
        bytes_skip(&in, 5);
    else
        space.null = bytes_u8(&in) == 2;
    if (in.bad || version < 1 || version > 2 || rank > HDF5_RANK)
        return err_set_about(err, ERR_FORMAT, file->path, ": a damaged shape");
    space.rank = rank;
    for (int i = 0; i < space.rank; i++) {
        space.dims[i] = hdf5_length(file, &in);
        if (__builtin_mul_overflow(space.n, space.dims[i], &space.n))
            space.n = UINT64_MAX;
    }
    for (int i = 0; i < space.rank; i++) {
        space.most[i] = flags & 1 ? hdf5_length(file, &in) : space.dims[i];
        if (file->length_size < 8 &&
            space.most[i] == ((uint64_t)1 << 8 * file->length_size) - 1)
            space.most[i] = UINT64_MAX;
    }
    for (int i = 0; i < space.rank; i++)
        if (space.dims[i] == 0)
            space.n = 0;
    if (space.null)
        space.n = 0;
    if (in.bad)
        return err_set_about(err, ERR_FORMAT, file->path, ": a truncated shape");
    *ret_space = space;
    return 0;
}

const char *hdf5_class_name(enum hdf5_class class)
{
    static const char *const names[] = {
        "integer", "float",           "time",     "text",
        "bits",    "opaque",          "compound", "reference",
        "enum",    "variable length", "array",    "complex"};

    return (size_t) class < COUNT_OF(names) ? names[class] : "unknown";
}
