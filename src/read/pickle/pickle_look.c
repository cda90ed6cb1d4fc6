#include "read/pickle/pickle_machine_in.h"

/* Protocols 0 and 1 have no magic bytes: their pickles look like text. So the opcodes
 * are walked with a stack of which only the height is known, and every argument is
 * checked strictly: prose, tables and lists of words fail within a few letters. */

#define MARKS_FOLLOWED 64
#define ENOUGH_OPCODES 4

struct pickle_look_walk {
    struct bytes in;
    uint32_t height;                /* values above the innermost mark */
    uint32_t below[MARKS_FOLLOWED]; /* the same below each open mark */
    uint32_t marks;
    uint32_t opcodes;
    uint32_t names, puts; /* opcodes with arguments that prose does not have */
    bool stopped, ran_out;
};

static bool is_identifier(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.at[i];

        if (!(c == '_' || c >= 0x80 || (c >= 'a' && c <= 'z') ||
              (c >= 'A' && c <= 'Z') ||
              (i > 0 && ((c >= '0' && c <= '9') || c == '.'))))
            return false;
    }
    return s.len > 0;
}

static bool is_number(struct str s)
{
    size_t i = s.len > 0 && s.at[0] == '-' ? 1 : 0;

    if (s.len > i + 1 && s.at[s.len - 1] == 'L')
        s.len--;
    for (size_t at = i; at < s.len; at++)
        if (s.at[at] < '0' || s.at[at] > '9')
            return false;
    return s.len > i;
}

static bool is_quoted(struct str s)
{
    return s.len >= 2 && (s.at[0] == '\'' || s.at[0] == '"') &&
           s.at[s.len - 1] == s.at[0];
}

static uint64_t take_count(struct bytes *in, unsigned size)
{
    if (size == 1)
        return bytes_u8(in);
    return size == 4 ? bytes_u32(in) : bytes_u64(in);
}

/* Skip the argument. False: invalid. Running out of bytes is not a failure. */
static bool skip_argument(struct pickle_look_walk *walk, const struct opcode *opcode)
{
    struct bytes *in = &walk->in;
    struct str line;
    double real;

    switch (opcode->arg) {
    case ARG_NONE:
        return true;
    case ARG_FIXED:
        bytes_skip(in, opcode->fixed);
        return true;
    case ARG_COUNTED:
        bytes_skip(in, take_count(in, opcode->fixed));
        return true;
    default:
        line = bytes_line(in);
    }
    if (in->bad)
        return true;
    if (opcode->arg == ARG_NUMBER)
        return is_number(line);
    if (opcode->arg == ARG_REAL)
        return str_to_double(line, &real);
    if (opcode->arg == ARG_STRING)
        return is_quoted(line);
    if (opcode->arg == ARG_NAMES) {
        struct str name = bytes_line(in);

        if (!is_identifier(line) || (!in->bad && !is_identifier(name)))
            return false;
        walk->names++;
    }
    return true;
}

/* Change the height of the stack as the opcode does. */
static bool move_stack(struct pickle_look_walk *walk, const struct opcode *opcode,
                       uint8_t byte)
{
    if (byte == '(') {
        if (walk->marks == MARKS_FOLLOWED)
            return false;
        walk->below[walk->marks++] = walk->height;
        walk->height = 0;
        return true;
    }
    if (opcode->to_mark) {
        if (walk->marks == 0)
            return false;
        walk->height = walk->below[--walk->marks];
    }
    if (walk->height < opcode->pops)
        return false;
    walk->height += opcode->pushes - (uint32_t)opcode->pops;
    return true;
}

/* Walk one opcode. False: invalid here. */
static bool walk_opcode(struct pickle_look_walk *walk)
{
    uint8_t byte = bytes_u8(&walk->in);
    const struct opcode *opcode = &pickle_opcodes[byte];

    if (!opcode->name || !skip_argument(walk, opcode))
        return false;
    if (walk->in.bad) {
        walk->ran_out = true;
        return true;
    }
    walk->opcodes++;
    walk->puts += byte == 'p' || byte == 'q';
    walk->names += byte == 0x93; /* STACK_GLOBAL */
    walk->stopped = byte == '.';
    return move_stack(walk, opcode, byte);
}

/* Walk to the STOP, the end, or an invalid opcode. False: invalid. */
static bool walk_all(struct pickle_look_walk *walk)
{
    bool clean = true;

    while (clean && !walk->stopped && !walk->ran_out && bytes_left(&walk->in) > 0)
        clean = walk_opcode(walk);
    return clean;
}

static bool has_proto(struct str head)
{
    return head.len >= 2 && (uint8_t)head.at[0] == 0x80 && (uint8_t)head.at[1] <= 5;
}

bool pickle_looks_like(struct str head)
{
    struct pickle_look_walk walk = {.in = bytes_of(head.at, head.len)};
    bool clean;

    if (head.len > 0 && (uint8_t)head.at[0] == 0x80)
        return has_proto(head);
    clean = walk_all(&walk);
    if (clean && walk.stopped)
        return walk.height == 0 && walk.marks == 0;
    /* It is longer than the head, truncated, or invalid after its payload, like an
     * attack: require enough opcodes to rule out chance. */
    return walk.opcodes >= ENOUGH_OPCODES &&
           (walk.names > 0 || (clean && walk.puts > 0));
}

bool pickle_is_inside(struct str bytes)
{
    struct pickle_look_walk walk = {.in = bytes_of(bytes.at, bytes.len)};
    bool whole = walk_all(&walk) && walk.stopped && walk.height == 0 && walk.marks == 0;

    if (walk.opcodes >= ENOUGH_OPCODES && walk.names > 0)
        return true;
    return whole && has_proto(bytes) && walk.opcodes >= ENOUGH_OPCODES;
}
