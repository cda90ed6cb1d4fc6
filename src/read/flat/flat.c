#include "read/flat/flat_in.h"

#include "base/base.h"

void flat_init(struct flat *flat, struct blob *blob)
{
    flat->blob = blob;
    flat->left = blob->size < UINT64_MAX / 4 ? 2 * blob->size + MIB : UINT64_MAX;
    flat->bad = flat->limit = false;
    flat->window_n = 0;
}

static bool is_inside(const struct flat *flat, uint64_t at, uint64_t n)
{
    return at <= flat->blob->size && n <= flat->blob->size - at;
}

/* Moves the window so that it contains n bytes at `at`. */
static bool see(struct flat *flat, uint64_t at, size_t n)
{
    uint64_t from, left;

    if (at >= flat->window_at && at - flat->window_at <= flat->window_n &&
        n <= flat->window_n - (at - flat->window_at))
        return true;
    /* A vtable may be before or after its table. */
    from = at > FLAT_WINDOW / 4 ? at - FLAT_WINDOW / 4 : 0;
    left = flat->blob->size - from;
    flat->window_n = 0;
    if (blob_read(flat->blob, from, flat->window,
                  left < FLAT_WINDOW ? (size_t)left : FLAT_WINDOW, NULL) < 0)
        return false;
    flat->window_at = from;
    flat->window_n = left < FLAT_WINDOW ? (size_t)left : FLAT_WINDOW;
    return true;
}

uint64_t flat_number(struct flat *flat, uint64_t at, unsigned n)
{
    uint64_t value = 0;

    if (flat->left == 0)
        flat->limit = flat->bad = true;
    if (flat->bad || !is_inside(flat, at, n) || !see(flat, at, n)) {
        flat->bad = true;
        return 0;
    }
    flat->left--;
    for (unsigned i = 0; i < n; i++)
        value |= (uint64_t)flat->window[at - flat->window_at + i] << 8 * i;
    return value;
}

/* A table begins with the distance back to its vtable: the sizes of the vtable and the
 * table, then the offset of each field in the table. */
static struct flat_table table_of(struct flat *flat, uint64_t at)
{
    struct flat_table table = {.at = at};
    int64_t back = (int32_t)flat_number(flat, at, 4);

    table.vtable = (uint64_t)((int64_t)at - back);
    if (flat->bad || back > (int64_t)at) {
        flat->bad = true;
        return (struct flat_table){0};
    }
    table.fields = (uint16_t)flat_number(flat, table.vtable, 2);
    if (flat->bad || table.fields < 4)
        return (struct flat_table){0};
    return table;
}

struct flat_table flat_table_at(struct flat *flat, uint64_t at)
{
    uint64_t offset = flat_number(flat, at, 4);

    if (flat->bad || offset == 0)
        return (struct flat_table){0};
    return table_of(flat, at + offset);
}

struct flat_table flat_root(struct flat *flat)
{
    return flat_table_at(flat, 0);
}

uint64_t flat_field(struct flat *flat, struct flat_table table, unsigned id)
{
    uint64_t offset;

    if (table.at == 0 || 4 + 2 * id + 2 > table.fields)
        return 0;
    offset = flat_number(flat, table.vtable + 4 + 2 * id, 2);
    return offset ? table.at + offset : 0;
}

int64_t flat_int(struct flat *flat, struct flat_table table, unsigned id, unsigned n,
                 int64_t missing)
{
    uint64_t at = flat_field(flat, table, id), value;
    unsigned unused = 64 - 8 * n;

    if (at == 0)
        return missing;
    value = flat_number(flat, at, n);
    return (int64_t)(value << unused) >> unused;
}

uint64_t flat_dense_bytes(enum dtype dtype, const int64_t *shape, int rank)
{
    uint64_t n = 1, bytes;

    for (int i = 0; i < rank; i++)
        if (shape[i] < 0 || __builtin_mul_overflow(n, (uint64_t)shape[i], &n))
            return 0;
    return dtype_size(dtype, n, &bytes) ? bytes : 0;
}

float flat_real(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

double flat_double(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

float flat_float(struct flat *flat, struct flat_table table, unsigned id, float missing)
{
    uint64_t at = flat_field(flat, table, id);

    return at ? flat_real((uint32_t)flat_number(flat, at, 4)) : missing;
}

struct flat_table flat_table(struct flat *flat, struct flat_table table, unsigned id)
{
    uint64_t at = flat_field(flat, table, id);

    return at ? flat_table_at(flat, at) : (struct flat_table){0};
}

/* The vector that the offset stored at `at` points to: a count, then the elements. */
static struct flat_vector vector_at(struct flat *flat, uint64_t at, unsigned size)
{
    struct flat_vector vector = {0};
    uint64_t begin = at + flat_number(flat, at, 4);

    vector.n = (uint32_t)flat_number(flat, begin, 4);
    vector.at = begin + 4;
    if (flat->bad || !is_inside(flat, vector.at, (uint64_t)vector.n * size)) {
        flat->bad = true;
        return (struct flat_vector){0};
    }
    return vector;
}

struct flat_vector flat_vector(struct flat *flat, struct flat_table table, unsigned id,
                               unsigned size)
{
    uint64_t at = flat_field(flat, table, id);

    return at ? vector_at(flat, at, size) : (struct flat_vector){0};
}

struct str flat_bytes(struct flat *flat, uint64_t at, uint64_t n, size_t most,
                      struct arena *arena)
{
    struct str bytes;

    n = n < most ? n : most;
    if (!is_inside(flat, at, n) || flat->left < n ||
        blob_load(flat->blob, at, (size_t)n, arena, &bytes, NULL) < 0)
        return STR("");
    flat->left -= n;
    return bytes;
}

struct str flat_text_at(struct flat *flat, uint64_t at, size_t most,
                        struct arena *arena)
{
    struct flat_vector vector = vector_at(flat, at, 1);

    return vector.at ? flat_bytes(flat, vector.at, vector.n, most, arena) : STR("");
}

struct str flat_text(struct flat *flat, struct flat_table table, unsigned id,
                     size_t most, struct arena *arena)
{
    uint64_t at = flat_field(flat, table, id);

    return at ? flat_text_at(flat, at, most, arena) : STR("");
}
