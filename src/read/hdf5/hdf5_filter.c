#include "base/base.h"
#include "read/file/inflate_in.h"
#include "read/hdf5/hdf5_parts_in.h"

/* ---- the message: version, number of filters; for each its id, name and parameters ---- */

static void take_filter(struct bytes *in, int version, struct hdf5_filter *filter)
{
    uint16_t name = 0, n;

    filter->id = bytes_u16(in);
    if (version == 1 || filter->id >= 256)
        name = bytes_u16(in);
    bytes_skip(in, 2);
    n = bytes_u16(in);
    bytes_skip(in, version == 1 ? (name + 7u) / 8 * 8 : name);
    for (uint16_t i = 0; i < n; i++) {
        uint32_t value = bytes_u32(in);

        if (i == 0)
            filter->value = value;
    }
    if (version == 1 && n % 2 == 1)
        bytes_skip(in, 4);
}

int hdf5_filters(struct hdf5 *file, struct str bytes, struct hdf5_filters *ret_filters,
                 struct err *err)
{
    struct bytes in = bytes_of(bytes.at, bytes.len);
    uint8_t version = bytes_u8(&in), n = bytes_u8(&in);
    struct hdf5_filters filters = {.n = n};

    if (version == 1)
        bytes_skip(&in, 6);
    if (in.bad || version < 1 || version > 2 || n > HDF5_FILTERS)
        return err_set_about(err, ERR_FORMAT, file->path,
                             ": a damaged list of filters");
    for (uint32_t i = 0; i < n; i++)
        take_filter(&in, version, &filters.at[i]);
    if (in.bad)
        return err_set_about(err, ERR_FORMAT, file->path,
                             ": a truncated list of filters");
    *ret_filters = filters;
    return 0;
}

const char *hdf5_filters_unknown(const struct hdf5_filters *filters)
{
    static const struct {
        uint16_t id;
        const char *name;
    } names[] = {{4, "szip"},           {5, "nbit"},      {6, "scaleoffset"},
                 {307, "bzip2"},        {32001, "blosc"}, {32004, "lz4"},
                 {32008, "bitshuffle"}, {32013, "zfp"},   {32015, "zstd"},
                 {32026, "blosc2"}};
    bool packed = false;

    for (uint32_t i = 0; i < filters->n; i++) {
        uint16_t id = filters->at[i].id;
        bool packs = id == FILTER_DEFLATE || id == FILTER_LZF;

        if (packs && packed)
            return "two compressions"; /* the size between them is not in the file */
        packed |= packs;
        if (packs || id == FILTER_SHUFFLE || id == FILTER_FLETCHER32)
            continue;
        for (size_t k = 0; k < COUNT_OF(names); k++)
            if (names[k].id == id)
                return names[k].name;
        return "unknown";
    }
    return NULL;
}

/* ---- undoing them ---- */

/* All first bytes of the elements, then all second ones, ...; what is too short for an
 * element is at the end as it was. */
static void unshuffle(const uint8_t *from, uint8_t *to, size_t n, size_t element)
{
    size_t count = element > 0 ? n / element : 0;

    for (size_t i = 0; i < element && count > 0; i++)
        for (size_t k = 0; k < count; k++)
            to[k * element + i] = from[i * count + k];
    memcpy(to + count * element, from + count * element, n - count * element);
}

/* Fletcher's sum over big-endian 16-bit words, as HDF5 computes it. */
static uint32_t fletcher(const uint8_t *at, size_t n)
{
    uint32_t a = 0, b = 0;
    size_t words = n / 2;

    while (words > 0) {
        size_t piece = words < 360 ? words : 360;

        words -= piece;
        for (; piece > 0; piece--, at += 2) {
            a += (uint32_t)at[0] << 8 | at[1];
            b += a;
        }
        a = (a & 0xffff) + (a >> 16);
        b = (b & 0xffff) + (b >> 16);
    }
    if (n % 2 == 1) {
        a += (uint32_t)at[0] << 8;
        b += a;
        a = (a & 0xffff) + (a >> 16);
        b = (b & 0xffff) + (b >> 16);
    }
    a = (a & 0xffff) + (a >> 16);
    b = (b & 0xffff) + (b >> 16);
    return b << 16 | a;
}

static bool fletcher_fits(const uint8_t *at, size_t n)
{
    struct bytes in = bytes_of(at + n - 4, 4);

    return bytes_u32(&in) == fletcher(at, n - 4);
}

/* LZF: a control byte below 32 begins so many literals and one more; else it has a length
 * and a distance back. */
static bool unpack_lzf(const uint8_t *from, size_t n, uint8_t *to, size_t size)
{
    struct bytes in = bytes_of(from, n);
    size_t done = 0;

    while (bytes_left(&in) > 0) {
        uint32_t control = bytes_u8(&in), length = control >> 5;
        size_t back;

        if (control < 32) {
            struct str literals = bytes_take(&in, control + 1);

            if (in.bad || literals.len > size - done)
                return false;
            memcpy(to + done, literals.at, literals.len);
            done += literals.len;
            continue;
        }
        if (length == 7)
            length += bytes_u8(&in);
        back = ((size_t)(control & 31) << 8 | bytes_u8(&in)) + 1;
        length += 2;
        if (in.bad || back > done || length > size - done)
            return false;
        for (; length > 0; length--, done++)
            to[done] = to[done - back];
    }
    return done == size;
}

/* How many bytes there were before filter i: checksums add four. */
static size_t size_before(const struct hdf5_filters *filters, uint32_t mask, uint32_t i,
                          size_t size)
{
    for (uint32_t k = 0; k < i; k++)
        if (filters->at[k].id == FILTER_FLETCHER32 && !(mask >> k & 1))
            size += 4;
    return size;
}

static bool undo(const struct hdf5_filter *filter, uint8_t *a, size_t n, uint8_t *b,
                 size_t size)
{
    switch (filter->id) {
    case FILTER_DEFLATE:
        return inflate_zlib(a, n, b, size);
    case FILTER_LZF:
        return unpack_lzf(a, n, b, size);
    case FILTER_SHUFFLE:
        if (n != size)
            return false;
        unshuffle(a, b, n, filter->value);
        return true;
    default: /* fletcher32 */
        if (n != size + 4 || !fletcher_fits(a, n))
            return false;
        memcpy(b, a, size);
        return true;
    }
}

uint8_t *hdf5_unpack(const struct hdf5_filters *filters, uint32_t mask, uint8_t *a,
                     uint8_t *b, size_t n, size_t size)
{
    for (uint32_t i = filters->n; i-- > 0;) {
        size_t before = size_before(filters, mask, i, size);
        uint8_t *other = a;

        if (mask >> i & 1)
            continue;
        /* Only a compression can tell how many bytes there are. */
        if (filters->at[i].id == FILTER_FLETCHER32 && n >= 4)
            before = n - 4;
        else if (filters->at[i].id == FILTER_SHUFFLE)
            before = n;
        if (!undo(&filters->at[i], a, n, b, before))
            return NULL;
        n = before;
        a = b;
        b = other;
    }
    return n == size ? a : NULL;
}
