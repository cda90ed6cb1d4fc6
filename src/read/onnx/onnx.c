#include "read/onnx/onnx_in.h"

#include <string.h>

#include "base/base.h"
#include "base/bytes.h"
#include "read/onnx/made_in.h"

/* ---- detection: the format has no magic bytes ---- */

#define IR_MOST 1000 /* the newest version is 13 */
#define GRAPH   7

static bool take_varint(struct bytes *in, uint64_t *ret_value)
{
    uint64_t value = 0;
    uint8_t byte;

    for (int shift = 0; shift < 64; shift += 7) {
        byte = bytes_u8(in);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *ret_value = value;
            return !in->bad;
        }
    }
    return false;
}

/* Is the part of this field that is in the head text? */
static bool begins_as_text(const struct bytes *in, uint64_t len)
{
    size_t n = len < bytes_left(in) ? (size_t)len : bytes_left(in);

    for (size_t i = 0; i < n; i++)
        if (in->at[i] < 32 && in->at[i] != '\n' && in->at[i] != '\t' &&
            in->at[i] != '\r')
            return false;
    return true;
}

/* The fields of a ModelProto: numbers 1 and 5 are varints, the others have a length. */
static bool is_key(uint64_t key)
{
    static const uint32_t known = 1u << 1 | 1u << 2 | 1u << 3 | 1u << 4 | 1u << 5 |
                                  1u << 6 | 1u << 7 | 1u << 8 | 1u << 14 | 1u << 20 |
                                  1u << 25 | 1u << 26;
    uint64_t field = key >> 3, wire = key & 7;

    return field < 32 && (known >> field & 1) &&
           wire == (field == 1 || field == 5 ? 0 : 2);
}

static bool is_text_key(uint64_t key)
{
    uint64_t field = key >> 3;

    return field == 2 || field == 3 || field == 4 || field == 6;
}

/* Does a GraphProto begin here? Its first field is a node, a name or another list. */
static bool begins_as_graph(const struct bytes *in, uint64_t len)
{
    static const uint8_t keys[] = {0x0a, 0x12, 0x2a, 0x52, 0x5a, 0x62, 0x6a, 0x72};

    return len == 0 || bytes_left(in) == 0 || memchr(keys, in->at[0], sizeof keys);
}

/* Is this LEN field plausible? A graph that is too long means a truncated file; any
 * other field that is too long means another format. */
static bool fits(const struct bytes *in, uint64_t key, uint64_t len, uint64_t left)
{
    if (key >> 3 == GRAPH)
        return begins_as_graph(in, len);
    return len <= left && (!is_text_key(key) || begins_as_text(in, len));
}

bool onnx_looks_like(const struct input *input)
{
    struct bytes in = bytes_of(input->head.at, input->head.len);
    uint64_t left = input->blob->size;
    int fields = 0;

    if (input->head.len < 8 || input->head.at[0] != 8)
        return false;
    while (bytes_left(&in) > 0) {
        const uint8_t *before = in.at;
        uint64_t key, value;

        if (!take_varint(&in, &key) || !is_key(key) || !take_varint(&in, &value))
            return false;
        left -= (uint64_t)(in.at - before);
        if (fields++ == 0 && value > IR_MOST)
            return false;
        if ((key & 7) == 0)
            continue;
        if (!fits(&in, key, value, left))
            return false;
        if (value >= bytes_left(&in))
            return fields > 1;
        bytes_skip(&in, value);
        left -= value;
    }
    return fields > 1;
}

static int knows(const struct input *input)
{
    return input->blob && onnx_looks_like(input) ? SURE_SHAPE : 0;
}

/* ---- the reader ---- */

static int add_functions(struct onnx_making *m)
{
    for (uint32_t i = 0; i < m->p->n_functions; i++) {
        const struct onnx_function *f = &m->p->functions[i];
        uint64_t key = hash_mix(hash_mix(hash_u64(f->domain), f->name), f->overload);

        if (map_put(&m->by_function, key, i) < 0)
            return -1;
    }
    return 0;
}

/* Everything but the program. -1: memory is spent. */
static int make(struct onnx_making *m, struct err *err)
{
    onnx_findings(m);
    if (add_functions(m) < 0 || onnx_names(m) < 0 || build_spent(m->build))
        return arena_err(build_spent(m->build) && m->build->model->arena.spent
                             ? &m->build->model->arena
                             : m->p->arena,
                         m->input->path, err);
    onnx_quantisation(m);
    onnx_facts(m);
    return 0;
}

static int read_onnx(struct input *input, struct build *build, struct err *err)
{
    struct onnx_parsed parsed;
    struct onnx_making m = {
        .p = &parsed, .build = build, .input = input, .root = input->node};

    if (onnx_parse(&parsed, input, build, err) < 0)
        return -1;
    if (!parsed.has_graph && parsed.n_functions == 0)
        return err_set_about(err, ERR_FORMAT, input->path,
                             ": an ONNX file that ends before its graph. Download it "
                             "again");
    map_init(&m.by_location, parsed.arena);
    map_init(&m.initialisers, parsed.arena);
    map_init(&m.by_function, parsed.arena);
    map_init(&m.taken, parsed.arena);
    map_init(&m.by_rule, parsed.arena);
    if (make(&m, err) < 0)
        return -1;
    if (work_cancelled(build->work))
        return err_set_about(err, ERR_CANCELLED, input->path, ": stopped");
    return onnx_program(&m, err);
}

const struct reader onnx_reader = {.name = "ONNX", .knows = knows, .read = read_onnx};
