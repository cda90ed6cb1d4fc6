/* pickle_joblib.c - arrays in a joblib file. joblib.dump() writes a NumpyArrayWrapper
 * for each array, and after its BUILD
 *   - since joblib 1.2, one byte n and n bytes, so that the elements are aligned,
 *   - the raw elements, in the order that the wrapper says,
 *   - or, for objects, another pickle.
 * Then the opcodes continue. */
#include <inttypes.h>

#include "base/base.h"
#include "read/pickle/pickle_load_in.h"
#include "read/pickle/pickle_machine_in.h"

#define HAS_OBJECTS 1  /* flag of a numpy dtype */
#define PADDING     64 /* limit for the padding, in bytes */

struct raw_array {
    uint64_t bytes;
    bool objects, padded;
};

/* The size of an element, by numpy.dtype('f8', False, True) and its state. False:
 * unknown. */
static bool element_size(const struct pickle *p, node_id dtype, uint64_t *ret_size,
                         bool *ret_objects)
{
    struct str code = pickle_text(p, pickle_arg(p, dtype, 0));
    node_id state;
    int64_t flags;

    if (!pickle_is_call(p, dtype, "numpy.dtype") || code.len < 2 ||
        !str_to_u64(str_from(code, 1), ret_size))
        return false;
    *ret_objects = code.at[0] == 'O';
    if (code.at[0] == 'U')
        return !__builtin_mul_overflow(*ret_size, (uint64_t)4, ret_size);
    if (code.at[0] == 'V') { /* records may contain objects */
        state = node_state(p, pickle_node(p, dtype));
        if (!pickle_int(p, pickle_item(p, state, 7), &flags))
            return false;
        *ret_objects = flags & HAS_OBJECTS;
    }
    return memchr("biufcSUVMmO", code.at[0], 11) != NULL;
}

static bool read_wrapper(const struct pickle *p, node_id array, struct raw_array *ret)
{
    node_id state = node_state(p, pickle_node(p, array));
    node_id shape = pickle_dict_get(p, state, "shape");
    node_id align = pickle_dict_get(p, state, "numpy_array_alignment_bytes");
    const struct node *tuple = pickle_node(p, shape);
    struct raw_array raw = {.bytes = 0};
    int64_t size;

    if (!tuple || tuple->kind != NODE_TUPLE ||
        !element_size(p, pickle_dict_get(p, state, "dtype"), &raw.bytes, &raw.objects))
        return false;
    for (uint32_t i = 0; i < pickle_count(p, shape); i++)
        if (!pickle_int(p, pickle_item(p, shape, i), &size) || size < 0 ||
            __builtin_mul_overflow(raw.bytes, (uint64_t)size, &raw.bytes))
            return false;
    raw.padded = align != NO_NODE && pickle_node(p, align)->kind != NODE_NONE;
    *ret = raw;
    return true;
}

/* Do the raw elements of the first array name code when they run as opcodes?
 * pickle.load() runs them and fails at once in a normal file. A hostile file hides
 * names there to attack users who do not load it with joblib. */
static bool hides_names(const struct machine *m)
{
    const uint8_t *at = m->at;

    while (at < m->end) {
        const struct opcode *opcode = &pickle_opcodes[*at];
        size_t n;

        if (!opcode->name || *at == '.')
            return false;
        n = pickle_argument_length(opcode, str_span(at + 1, (size_t)(m->end - at) - 1));
        if (n == SIZE_MAX)
            return false;
        if (opcode->arg == ARG_NAMES || *at == 0x93 || (*at >= 0x82 && *at <= 0x84))
            return true;
        at += 1 + n;
    }
    return false;
}

/* Log what pickle.load() would run, on a separate stack. */
static void check_hidden(struct machine *m)
{
    struct pickle *aside;
    struct bytes in = bytes_of(m->at, (size_t)(m->end - m->at));
    struct err why = {0};

    if (m->pickle->n_raws > 0 || !hides_names(m))
        return;
    build_finding(
        m->build, FINDING_PICKLE_MALFORMED, SEVERITY_ALARM, FINDING_NOWHERE,
        "%.*s: the raw elements at byte %llu are also opcodes that name code: "
        "pickle.load() runs them, joblib.load() does not",
        STR_ARG(m->name), (unsigned long long)(m->at - m->begin));
    aside = arena_alloc(&m->build->scratch, sizeof *aside);
    if (aside)
        pickle_run(aside, m->build, &in, STR("raw elements"), &why);
}

static int note_raw(struct machine *m, node_id array, struct pickle_raw raw)
{
    struct pickle *p = m->pickle;
    struct arena *arena = &m->build->scratch;

    if (arena_room(arena, &p->raws, p->n_raws, &p->raws_room, sizeof raw) < 0 ||
        map_put(&p->raw_of, array, p->n_raws) < 0)
        return machine_spent(m, "more memory than allowed");
    p->raws[p->n_raws++] = raw;
    return 0;
}

static int load_failed(struct machine *m, const struct err *why)
{
    m->cancelled = why->code == ERR_CANCELLED;
    return machine_fault(m, arena_printf(&m->build->scratch, "%s", why->text));
}

/* The pickle of an array of objects, which joblib reads with a plain Unpickler. */
static int run_objects(struct machine *m, node_id array)
{
    struct pickle *inner = arena_alloc(&m->build->scratch, sizeof *inner);
    struct bytes in = bytes_of(m->at, (size_t)(m->end - m->at));
    const char *name =
        arena_printf(&m->build->scratch, "%.*s, array of objects at byte %llu",
                     STR_ARG(m->name), (unsigned long long)(m->at - m->begin));
    struct err why = {0};

    if (!inner || !name)
        return machine_spent(m, "more memory than allowed");
    if (pickle_load_from(m->load, (uint64_t)(m->at - m->begin), &why) < 0 ||
        pickle_run(inner, m->build, &in, str_of(name), &why) < 0)
        return load_failed(m, &why);
    if (!inner->complete)
        return machine_fault(
            m, "the pickle of an array of objects is truncated or damaged");
    m->at = in.at;
    return note_raw(m, array, (struct pickle_raw){.inner = inner});
}

/* Incomplete raw elements end the run. */
static int run_elements(struct machine *m, node_id array, const struct raw_array *raw)
{
    uint64_t left, at;
    struct err why = {0};

    if (raw->padded && m->at < m->end) {
        uint8_t padding = *m->at++;

        if (padding > PADDING || padding > m->end - m->at)
            return machine_fault(m, "the padding of its raw elements is invalid");
        m->at += padding;
    }
    left = (uint64_t)(m->end - m->at);
    at = (uint64_t)(m->at - m->begin);
    if (note_raw(m, array,
                 (struct pickle_raw){
                     .bytes = str_span(m->at, raw->bytes < left ? raw->bytes : left)}) <
        0)
        return -1;
    if (raw->bytes > left) {
        m->at = m->end;
        return machine_fault(m, arena_printf(&m->build->scratch,
                                             "%" PRIu64
                                             " raw bytes follow it, but only %" PRIu64
                                             " are left",
                                             raw->bytes, left));
    }
    m->at += raw->bytes;
    if (pickle_load_raw(m->load, at, at + raw->bytes, &why) < 0)
        return load_failed(m, &why);
    return 0;
}

int machine_skip_raw(struct machine *m, node_id array)
{
    struct raw_array raw;
    struct err why = {0};

    if (!m->load || !read_wrapper(m->pickle, array, &raw)) {
        m->raw = array;
        return machine_fault(m, "raw elements follow it");
    }
    if (!raw.objects)
        check_hidden(m);
    if ((raw.objects ? run_objects(m, array) : run_elements(m, array, &raw)) < 0)
        return -1;
    if (pickle_load_from(m->load, (uint64_t)(m->at - m->begin), &why) < 0)
        return load_failed(m, &why);
    return 0;
}

const struct pickle_raw *pickle_raw_at(const struct pickle *pickle, node_id id)
{
    uint32_t index;

    return pickle->n_raws > 0 && map_find(&pickle->raw_of, id, &index)
               ? &pickle->raws[index]
               : NULL;
}
