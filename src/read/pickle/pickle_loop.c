#include "read/pickle/pickle_machine_in.h"

#include "base/work.h"

#define OPCODES_PER_STEP 65536u

/* machine_run() has checked that fixed arguments are complete. */
static uint64_t take_fixed(struct machine *m, unsigned n)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < n; i++)
        value |= (uint64_t)m->at[i] << 8 * i;
    m->at += n;
    return value;
}

static uint32_t take_u32(struct machine *m)
{
    return (uint32_t)take_fixed(m, 4);
}

/* BINFLOAT is the only big-endian number in a pickle. */
static node_id take_real(struct machine *m)
{
    struct bytes in = bytes_of(m->at, 8);
    node_id id = machine_node(m, NODE_REAL);

    if (id != NO_NODE)
        node_at(m, id)->real = bytes_f64_big(&in);
    m->at += 8;
    return id;
}

/* The bytes after a count, which is checked against the bytes that are left. */
static int take_counted(struct machine *m, uint64_t n, struct str *ret_bytes)
{
    uint64_t left = (uint64_t)(m->end - m->at);

    if (n > left) {
        m->at = m->end;
        return machine_fault(m, arena_printf(&m->build->scratch,
                                             "its argument has %llu bytes, but only "
                                             "%llu are left",
                                             (unsigned long long)n,
                                             (unsigned long long)left));
    }
    *ret_bytes = str_span(m->at, n);
    m->at += n;
    return 0;
}

static int take_line(struct machine *m, struct str *ret_line)
{
    size_t left = (size_t)(m->end - m->at);
    const uint8_t *end = left > 0 ? memchr(m->at, '\n', left) : NULL;

    if (!end) {
        m->at = m->end;
        return machine_fault(m, "its argument is a line that does not end");
    }
    *ret_line = str_span(m->at, (size_t)(end - m->at));
    m->at = end + 1;
    return 0;
}

/* Push a text of `n` bytes as a node of this kind. */
static int push_counted(struct machine *m, enum node_kind kind, uint64_t n)
{
    struct str bytes;

    if (take_counted(m, n, &bytes) < 0)
        return -1;
    return machine_push(m, machine_text(m, kind, bytes));
}

static int push_bytearray(struct machine *m)
{
    if (push_counted(m, NODE_BYTES, take_fixed(m, 8)) < 0)
        return -1;
    node_at(m, m->stack[m->n_stack - 1])->flags |= NODE_BYTEARRAY;
    return 0;
}

/* LONG4 and BINSTRING have a signed count, which must not be negative. */
static int push_signed(struct machine *m, uint32_t n,
                       node_id (*make)(struct machine *m, struct str bytes))
{
    struct str bytes;

    if (n > INT32_MAX)
        return machine_fault(m, "its argument has a negative length");
    if (take_counted(m, n, &bytes) < 0)
        return -1;
    return machine_push(m, make(m, bytes));
}

static int push_line(struct machine *m,
                     node_id (*make)(struct machine *m, struct str line))
{
    struct str line;

    return take_line(m, &line) < 0 ? -1 : machine_push(m, make(m, line));
}

static int push_number(struct machine *m, bool bools)
{
    struct str line;

    return take_line(m, &line) < 0 ? -1
                                   : machine_push(m, machine_number(m, line, bools));
}

static int run_global(struct machine *m, bool inst)
{
    struct str module, name;

    if (take_line(m, &module) < 0 || take_line(m, &name) < 0)
        return -1;
    if (inst)
        return machine_run_inst(m, module, name);
    return machine_push(m, machine_global(m, module, name));
}

/* GET and PUT write the memo's number as text. */
static int take_index(struct machine *m, uint32_t *ret_index)
{
    struct str line;
    uint64_t index;

    if (take_line(m, &line) < 0)
        return -1;
    if (!str_to_u64(str_trim(line), &index) || index > UINT32_MAX)
        return machine_fault(m, "its argument is not a memo number");
    *ret_index = (uint32_t)index;
    return 0;
}

static int run_get_line(struct machine *m)
{
    uint32_t index;

    return take_index(m, &index) < 0 ? -1 : machine_get(m, index);
}

static int run_put_line(struct machine *m)
{
    uint32_t index;

    return take_index(m, &index) < 0 ? -1 : machine_put(m, index);
}

static int run_proto(struct machine *m)
{
    uint8_t protocol = (uint8_t)take_fixed(m, 1);

    if (protocol > 5)
        return machine_fault(m, "there is no protocol above 5");
    m->protocol = protocol;
    if (m->opcode != m->begin)
        build_finding(m->build, FINDING_PICKLE_MALFORMED, SEVERITY_WARNING,
                      FINDING_NOWHERE,
                      "%.*s: PROTO at byte %llu is in the middle of the pickle",
                      STR_ARG(m->name), (unsigned long long)machine_offset(m));
    return 0;
}

/* Frames are only hints for buffering. A wrong length changes nothing here, but Python
 * fails. */
static int run_frame(struct machine *m)
{
    uint64_t n = take_fixed(m, 8), left = (uint64_t)(m->end - m->at);

    if (n > left)
        build_finding(m->build, FINDING_SIZE_MISMATCH, SEVERITY_WARNING,
                      FINDING_NOWHERE,
                      "%.*s: FRAME at byte %llu declares %llu bytes, but only %llu are "
                      "left",
                      STR_ARG(m->name), (unsigned long long)machine_offset(m),
                      (unsigned long long)n, (unsigned long long)left);
    return 0;
}

/* POP removes a value or, if a mark is on top, the mark. */
static int run_pop(struct machine *m)
{
    const node_id *items;
    uint32_t n;

    if (m->n_stack > m->floor) {
        m->n_stack--;
        return 0;
    }
    return machine_pop_mark(m, &items, &n);
}

static int run_pop_mark(struct machine *m)
{
    const node_id *items;
    uint32_t n;

    return machine_pop_mark(m, &items, &n);
}

static int run_dup(struct machine *m)
{
    if (machine_needs(m, 1) < 0)
        return -1;
    return machine_push(m, machine_own(m, 0));
}

static int run_binpersid(struct machine *m)
{
    if (machine_needs(m, 1) < 0)
        return -1;
    return machine_run_persistent(m, machine_pop(m));
}

static int run_persid(struct machine *m)
{
    struct str line;

    if (take_line(m, &line) < 0)
        return -1;
    return machine_run_persistent(m, machine_text(m, NODE_STR, line));
}

/* Run one opcode, whose fixed argument is complete. */
static int run_opcode(struct machine *m, uint8_t opcode)
{
    switch (opcode) {
    case 0x80: /* PROTO */
        return run_proto(m);
    case 0x95: /* FRAME */
        return run_frame(m);
    case '(': /* MARK */
        return machine_mark(m);
    case '0': /* POP */
        return run_pop(m);
    case '1': /* POP_MARK */
        return run_pop_mark(m);
    case '2': /* DUP */
        return run_dup(m);
    case 'N': /* NONE */
        return machine_push(m, m->none);
    case 0x88: /* NEWTRUE */
        return machine_push(m, m->yes);
    case 0x89: /* NEWFALSE */
        return machine_push(m, m->no);
    case 'I': /* INT */
        return push_number(m, true);
    case 'J': /* BININT */
        return machine_push(m, machine_int(m, (int32_t)take_u32(m)));
    case 'K': /* BININT1 */
        return machine_push(m, machine_int(m, *m->at++));
    case 'M': /* BININT2 */
        return machine_push(m, machine_int(m, (int64_t)take_fixed(m, 2)));
    case 'L': /* LONG */
        return push_number(m, false);
    case 0x8a: /* LONG1 */
        return push_signed(m, *m->at++, machine_long);
    case 0x8b: /* LONG4 */
        return push_signed(m, take_u32(m), machine_long);
    case 'F': /* FLOAT */
        return push_line(m, machine_real);
    case 'G': /* BINFLOAT */
        return machine_push(m, take_real(m));
    case 'S': /* STRING */
        return push_line(m, machine_string);
    case 'T': /* BINSTRING */
        return push_signed(m, take_u32(m), machine_python2);
    case 'U': /* SHORT_BINSTRING */
        return push_signed(m, *m->at++, machine_python2);
    case 'V': /* UNICODE */
        return push_line(m, machine_unicode);
    case 'X': /* BINUNICODE */
        return push_counted(m, NODE_STR, take_u32(m));
    case 0x8c: /* SHORT_BINUNICODE */
        return push_counted(m, NODE_STR, *m->at++);
    case 0x8d: /* BINUNICODE8 */
        return push_counted(m, NODE_STR, take_fixed(m, 8));
    case 'B': /* BINBYTES */
        return push_counted(m, NODE_BYTES, take_u32(m));
    case 'C': /* SHORT_BINBYTES */
        return push_counted(m, NODE_BYTES, *m->at++);
    case 0x8e: /* BINBYTES8 */
        return push_counted(m, NODE_BYTES, take_fixed(m, 8));
    case 0x96: /* BYTEARRAY8 */
        return push_bytearray(m);
    case 0x97: /* NEXT_BUFFER */
        return machine_push(m, machine_node(m, NODE_BUFFER));
    case 0x98: /* READONLY_BUFFER */
        return machine_needs(m, 1);
    case ']': /* EMPTY_LIST */
        return machine_push(m, m->empty_list);
    case 'l': /* LIST */
        return machine_run_container(m, NODE_LIST);
    case 'a': /* APPEND */
        return machine_run_append(m);
    case 'e': /* APPENDS */
        return machine_run_items(m, NODE_LIST);
    case ')': /* EMPTY_TUPLE */
        return machine_push(m, m->empty_tuple);
    case 't': /* TUPLE */
        return machine_run_tuple_to_mark(m);
    case 0x85: /* TUPLE1 */
        return machine_run_tuple(m, 1);
    case 0x86: /* TUPLE2 */
        return machine_run_tuple(m, 2);
    case 0x87: /* TUPLE3 */
        return machine_run_tuple(m, 3);
    case '}': /* EMPTY_DICT */
        return machine_push(m, m->empty_dict);
    case 'd': /* DICT */
        return machine_run_container(m, NODE_DICT);
    case 's': /* SETITEM */
        return machine_run_setitem(m);
    case 'u': /* SETITEMS */
        return machine_run_items(m, NODE_DICT);
    case 0x8f: /* EMPTY_SET */
        return machine_push(m, m->empty_set);
    case 0x90: /* ADDITEMS */
        return machine_run_items(m, NODE_SET);
    case 0x91: /* FROZENSET */
        return machine_run_container(m, NODE_SET);
    case 'c': /* GLOBAL */
        return run_global(m, false);
    case 0x93: /* STACK_GLOBAL */
        return machine_run_stack_global(m);
    case 'i': /* INST */
        return run_global(m, true);
    case 'o': /* OBJ */
        return machine_run_obj(m);
    case 0x81: /* NEWOBJ */
        return machine_run_new(m, false);
    case 0x92: /* NEWOBJ_EX */
        return machine_run_new(m, true);
    case 'R': /* REDUCE */
        return machine_run_reduce(m);
    case 'b': /* BUILD */
        return machine_run_build(m);
    case 'P': /* PERSID */
        return run_persid(m);
    case 'Q': /* BINPERSID */
        return run_binpersid(m);
    case 'g': /* GET */
        return run_get_line(m);
    case 'h': /* BINGET */
        return machine_get(m, *m->at++);
    case 'j': /* LONG_BINGET */
        return machine_get(m, take_u32(m));
    case 'p': /* PUT */
        return run_put_line(m);
    case 'q': /* BINPUT */
        return machine_put(m, *m->at++);
    case 'r': /* LONG_BINPUT */
        return machine_put(m, take_u32(m));
    case 0x94: /* MEMOIZE */
        return machine_put(m, m->n_memo);
    case 0x82: /* EXT1 */
        return machine_run_extension(m, *m->at++);
    case 0x83: /* EXT2 */
        return machine_run_extension(m, (int64_t)take_fixed(m, 2));
    case 0x84: /* EXT4 */
        return machine_run_extension(m, (int32_t)take_u32(m));
    default:
        return machine_fault(m, "there is no such opcode");
    }
}

/* Every OPCODES_PER_STEP opcodes: check for cancellation and the limit. */
static int step(struct machine *m, const uint8_t **told)
{
    bool go_on = work_step(m->build->work, (uint64_t)(m->at - *told));

    *told = m->at;
    if (m->drops)
        machine_drop(m, machine_offset(m));
    if (!go_on) {
        m->cancelled = true;
        return -1;
    }
    if (m->opcodes > PICKLE_MAX_OPCODES)
        return machine_spent(m, "more than 200 million opcodes");
    return 0;
}

int machine_run(struct machine *m)
{
    const uint8_t *told = m->begin;

    while (m->at < m->end) {
        uint8_t opcode = *m->at;
        unsigned fixed = pickle_opcodes[opcode].fixed;

        m->opcode = m->at++;
        m->opcodes++;
        if (opcode == '.')
            return machine_needs(m, 1);
        if ((size_t)(m->end - m->at) < fixed) {
            m->at = m->end;
            return machine_fault(m, "the pickle ends inside its argument");
        }
        if (run_opcode(m, opcode) < 0)
            return -1;
        if (m->opcodes % OPCODES_PER_STEP == 0 && step(m, &told) < 0)
            return -1;
    }
    m->opcode = m->at;
    return machine_fault(m, NULL);
}
