/* flex.c - flexbuffers: the options of custom operators. A value knows its type and the
 * width of its numbers; offsets lead backwards, the root is at the end. */
#include "base/base.h"
#include "read/flat/flat_in.h"

#define DEPTH_MOST 8
#define ITEMS_MOST 64 /* of a vector or map */
#define NODES_MOST 2000
#define TEXT_MOST  200

enum {
    FLEX_NULL,
    FLEX_INT,
    FLEX_UINT,
    FLEX_FLOAT,
    FLEX_KEY,
    FLEX_STRING,
    FLEX_INDIRECT_INT, /* 6 to 8: the same behind an offset */
    FLEX_MAP = 9,
    FLEX_VECTOR,
    FLEX_VECTOR_INT, /* 11 to 14: typed vectors of INT to KEY */
    FLEX_BLOB = 25,
    FLEX_BOOL,
    FLEX_VECTOR_BOOL = 36,
};

struct flex {
    struct flat *flat;
    struct build *build;
    uint64_t begin, end; /* in the file */
    uint32_t n_nodes, depth;
    bool bad;
};

/* A value: where it is, and how its parent stores it. */
struct flex_value {
    uint64_t at;
    unsigned width;       /* of the number or offset at `at` */
    unsigned type, inner; /* inner: width of what an offset leads to */
};

static uint64_t number(struct flex *f, uint64_t at, unsigned width)
{
    if (f->bad || at < f->begin || at > f->end || width > f->end - at) {
        f->bad = true;
        return 0;
    }
    return flat_number(f->flat, at, width);
}

/* Where the offset of a value leads. */
static uint64_t target(struct flex *f, struct flex_value value)
{
    uint64_t back = number(f, value.at, value.width);

    if (back > value.at - f->begin)
        f->bad = true;
    return f->bad ? f->begin : value.at - back;
}

static struct flex_value value_of(uint64_t at, unsigned width, unsigned packed)
{
    return (struct flex_value){
        .at = at, .width = width, .type = packed >> 2, .inner = 1u << (packed & 3)};
}

static int64_t integer(struct flex *f, uint64_t at, unsigned width, bool with_sign)
{
    uint64_t bits = number(f, at, width);
    unsigned unused = 64 - 8 * width;

    return with_sign ? (int64_t)(bits << unused) >> unused : (int64_t)bits;
}

static uint32_t real(struct flex *f, uint64_t at, unsigned width)
{
    struct values *values = build_values(f->build);
    uint64_t bits = number(f, at, width);

    if (width == 4)
        return value_real(values, flat_real((uint32_t)bits));
    if (width != 8) {
        f->bad = true;
        return VALUE_ID_NONE;
    }
    return value_real(values, flat_double(bits));
}

/* Bytes up to a NUL (a key), or as many as the number before them says. */
static uint32_t text(struct flex *f, uint64_t at, uint64_t n, bool blob)
{
    struct values *values = build_values(f->build);
    struct arena before = build_scratch_begin(f->build);
    struct str bytes = STR("");
    uint32_t id;

    if (at > f->end || n > f->end - at)
        f->bad = true;
    else
        bytes = flat_bytes(f->flat, at, n, TEXT_MOST, &f->build->scratch);
    id = blob ? value_bytes(values, bytes, n) : value_str(values, bytes);
    build_scratch_end(f->build, before);
    return id;
}

static uint32_t key(struct flex *f, uint64_t at)
{
    uint64_t n = 0;

    while (n < TEXT_MOST && number(f, at + n, 1) != 0)
        n++;
    return text(f, at, n, false);
}

static uint32_t read_value(struct flex *f, struct flex_value value);

/* Item i of a vector of n items of this width at `at`. */
static struct flex_value item_of(struct flex *f, struct flex_value of, uint64_t at,
                                 uint64_t n, uint64_t i)
{
    struct flex_value item = {.at = at + i * of.inner, .width = of.inner, .inner = 1};

    if (of.type == FLEX_VECTOR || of.type == FLEX_MAP)
        return value_of(item.at, of.inner,
                        (unsigned)number(f, at + n * of.inner + i, 1));
    item.type =
        of.type == FLEX_VECTOR_BOOL ? FLEX_BOOL : of.type - FLEX_VECTOR_INT + FLEX_INT;
    return item;
}

/* A vector, or a map: its keys are a vector of their own. */
static uint32_t read_items(struct flex *f, struct flex_value value)
{
    struct values *values = build_values(f->build);
    uint64_t at = target(f, value), n, keys = 0;
    unsigned width = value.inner, key_width = 1;
    uint32_t items[2 * ITEMS_MOST + 1], n_items = 0;
    bool map = value.type == FLEX_MAP;

    if (at - f->begin < width * (map ? 3 : 1)) {
        f->bad = true;
        return VALUE_ID_NONE;
    }
    n = number(f, at - width, width);
    if (map) {
        keys = target(f, (struct flex_value){.at = at - 3 * width, .width = width});
        key_width = (unsigned)number(f, at - 2 * width, width);
        f->bad |= key_width != 1 && key_width != 2 && key_width != 4 && key_width != 8;
    }
    for (uint64_t i = 0; i < n && i < ITEMS_MOST && !f->bad; i++) {
        if (map)
            items[n_items++] =
                key(f, target(f, (struct flex_value){.at = keys + i * key_width,
                                                     .width = key_width}));
        items[n_items++] = read_value(f, item_of(f, value, at, n, i));
    }
    if (n > ITEMS_MOST && !map)
        items[n_items++] = value_make(values, VALUE_CUT, STR("too long"), NULL, 0);
    return value_make(values, map ? VALUE_DICT : VALUE_LIST, STR(""), items, n_items);
}

static uint32_t read_leaf(struct flex *f, struct flex_value value)
{
    struct values *values = build_values(f->build);
    uint64_t at;

    switch (value.type) {
    case FLEX_INT:
    case FLEX_UINT:
        return value_int(values,
                         integer(f, value.at, value.width, value.type == FLEX_INT));
    case FLEX_FLOAT:
        return real(f, value.at, value.width);
    case FLEX_BOOL:
        return value_bool(values, number(f, value.at, value.width) != 0);
    case FLEX_KEY:
        return key(f, target(f, value));
    case FLEX_STRING:
    case FLEX_BLOB:
        at = target(f, value);
        if (at - f->begin < value.inner)
            f->bad = true;
        return text(f, at, number(f, at - value.inner, value.inner),
                    value.type == FLEX_BLOB);
    default:
        return VALUE_ID_NONE;
    }
}

static uint32_t read_value(struct flex *f, struct flex_value value)
{
    uint32_t id = VALUE_ID_NONE;

    if (f->bad || f->n_nodes++ >= NODES_MOST || f->depth >= DEPTH_MOST) {
        f->bad = true;
        return id;
    }
    f->depth++;
    if (value.type >= FLEX_INDIRECT_INT && value.type < FLEX_MAP)
        id = read_leaf(f, (struct flex_value){.at = target(f, value),
                                              .width = value.inner,
                                              .type = value.type - 5});
    else if ((value.type >= FLEX_MAP && value.type <= FLEX_VECTOR_INT + 3) ||
             value.type == FLEX_VECTOR_BOOL)
        id = read_items(f, value);
    else
        id = read_leaf(f, value);
    f->depth--;
    return id;
}

uint32_t flat_flex(struct flat *flat, uint64_t at, uint64_t size, struct build *build)
{
    struct flex f = {.flat = flat, .build = build, .begin = at, .end = at + size};
    uint64_t width, packed;
    uint32_t id;

    if (size < 3)
        return VALUE_ID_NONE;
    packed = number(&f, f.end - 2, 1);
    width = number(&f, f.end - 1, 1);
    if ((width != 1 && width != 2 && width != 4 && width != 8) || size < 2 + width)
        return VALUE_ID_NONE;
    id = read_value(&f, value_of(f.end - 2 - width, (unsigned)width, (unsigned)packed));
    return f.bad || id == VALUE_ID_FAILED ? VALUE_ID_NONE : id;
}
