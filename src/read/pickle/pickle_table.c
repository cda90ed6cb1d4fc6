#include "read/pickle/pickle_machine_in.h"

/* clang-format off */
const struct opcode pickle_opcodes[256] = {
    /*         name                 argument        fixed pops pushes to_mark */
    [0x80] = {"PROTO",              ARG_FIXED,      1, 0, 0, false},
    [0x95] = {"FRAME",              ARG_FIXED,      8, 0, 0, false},
    ['.']  = {"STOP",               ARG_NONE,       0, 1, 0, false},
    ['(']  = {"MARK",               ARG_NONE,       0, 0, 0, false},
    ['0']  = {"POP",                ARG_NONE,       0, 1, 0, false},
    ['1']  = {"POP_MARK",           ARG_NONE,       0, 0, 0, true},
    ['2']  = {"DUP",                ARG_NONE,       0, 1, 2, false},
    ['N']  = {"NONE",               ARG_NONE,       0, 0, 1, false},
    [0x88] = {"NEWTRUE",            ARG_NONE,       0, 0, 1, false},
    [0x89] = {"NEWFALSE",           ARG_NONE,       0, 0, 1, false},
    ['I']  = {"INT",                ARG_NUMBER,     0, 0, 1, false},
    ['J']  = {"BININT",             ARG_FIXED,      4, 0, 1, false},
    ['K']  = {"BININT1",            ARG_FIXED,      1, 0, 1, false},
    ['M']  = {"BININT2",            ARG_FIXED,      2, 0, 1, false},
    ['L']  = {"LONG",               ARG_NUMBER,     0, 0, 1, false},
    [0x8a] = {"LONG1",              ARG_COUNTED,    1, 0, 1, false},
    [0x8b] = {"LONG4",              ARG_COUNTED,    4, 0, 1, false},
    ['F']  = {"FLOAT",              ARG_REAL,       0, 0, 1, false},
    ['G']  = {"BINFLOAT",           ARG_FIXED,      8, 0, 1, false},
    ['S']  = {"STRING",             ARG_STRING,     0, 0, 1, false},
    ['T']  = {"BINSTRING",          ARG_COUNTED,    4, 0, 1, false},
    ['U']  = {"SHORT_BINSTRING",    ARG_COUNTED,    1, 0, 1, false},
    ['V']  = {"UNICODE",            ARG_LINE,       0, 0, 1, false},
    ['X']  = {"BINUNICODE",         ARG_COUNTED,    4, 0, 1, false},
    [0x8c] = {"SHORT_BINUNICODE",   ARG_COUNTED,    1, 0, 1, false},
    [0x8d] = {"BINUNICODE8",        ARG_COUNTED,    8, 0, 1, false},
    ['B']  = {"BINBYTES",           ARG_COUNTED,    4, 0, 1, false},
    ['C']  = {"SHORT_BINBYTES",     ARG_COUNTED,    1, 0, 1, false},
    [0x8e] = {"BINBYTES8",          ARG_COUNTED,    8, 0, 1, false},
    [0x96] = {"BYTEARRAY8",         ARG_COUNTED,    8, 0, 1, false},
    [0x97] = {"NEXT_BUFFER",        ARG_NONE,       0, 0, 1, false},
    [0x98] = {"READONLY_BUFFER",    ARG_NONE,       0, 1, 1, false},
    [']']  = {"EMPTY_LIST",         ARG_NONE,       0, 0, 1, false},
    ['l']  = {"LIST",               ARG_NONE,       0, 0, 1, true},
    ['a']  = {"APPEND",             ARG_NONE,       0, 2, 1, false},
    ['e']  = {"APPENDS",            ARG_NONE,       0, 1, 1, true},
    [')']  = {"EMPTY_TUPLE",        ARG_NONE,       0, 0, 1, false},
    ['t']  = {"TUPLE",              ARG_NONE,       0, 0, 1, true},
    [0x85] = {"TUPLE1",             ARG_NONE,       0, 1, 1, false},
    [0x86] = {"TUPLE2",             ARG_NONE,       0, 2, 1, false},
    [0x87] = {"TUPLE3",             ARG_NONE,       0, 3, 1, false},
    ['}']  = {"EMPTY_DICT",         ARG_NONE,       0, 0, 1, false},
    ['d']  = {"DICT",               ARG_NONE,       0, 0, 1, true},
    ['s']  = {"SETITEM",            ARG_NONE,       0, 3, 1, false},
    ['u']  = {"SETITEMS",           ARG_NONE,       0, 1, 1, true},
    [0x8f] = {"EMPTY_SET",          ARG_NONE,       0, 0, 1, false},
    [0x90] = {"ADDITEMS",           ARG_NONE,       0, 1, 1, true},
    [0x91] = {"FROZENSET",          ARG_NONE,       0, 0, 1, true},
    ['c']  = {"GLOBAL",             ARG_NAMES,      0, 0, 1, false},
    [0x93] = {"STACK_GLOBAL",       ARG_NONE,       0, 2, 1, false},
    ['i']  = {"INST",               ARG_NAMES,      0, 0, 1, true},
    ['o']  = {"OBJ",                ARG_NONE,       0, 0, 1, true},
    [0x81] = {"NEWOBJ",             ARG_NONE,       0, 2, 1, false},
    [0x92] = {"NEWOBJ_EX",          ARG_NONE,       0, 3, 1, false},
    ['R']  = {"REDUCE",             ARG_NONE,       0, 2, 1, false},
    ['b']  = {"BUILD",              ARG_NONE,       0, 2, 1, false},
    ['P']  = {"PERSID",             ARG_LINE,       0, 0, 1, false},
    ['Q']  = {"BINPERSID",          ARG_NONE,       0, 1, 1, false},
    ['g']  = {"GET",                ARG_NUMBER,     0, 0, 1, false},
    ['h']  = {"BINGET",             ARG_FIXED,      1, 0, 1, false},
    ['j']  = {"LONG_BINGET",        ARG_FIXED,      4, 0, 1, false},
    ['p']  = {"PUT",                ARG_NUMBER,     0, 1, 1, false},
    ['q']  = {"BINPUT",             ARG_FIXED,      1, 1, 1, false},
    ['r']  = {"LONG_BINPUT",        ARG_FIXED,      4, 1, 1, false},
    [0x94] = {"MEMOIZE",            ARG_NONE,       0, 1, 1, false},
    [0x82] = {"EXT1",               ARG_FIXED,      1, 0, 1, false},
    [0x83] = {"EXT2",               ARG_FIXED,      2, 0, 1, false},
    [0x84] = {"EXT4",               ARG_FIXED,      4, 0, 1, false},
};
/* clang-format on */

static size_t line_length(struct str rest)
{
    ptrdiff_t end = str_find_char(rest, '\n');

    return end < 0 ? SIZE_MAX : (size_t)end + 1;
}

size_t pickle_argument_length(const struct opcode *opcode, struct str rest)
{
    size_t first, second;
    uint64_t count = 0;

    switch (opcode->arg) {
    case ARG_NONE:
        return 0;
    case ARG_FIXED:
        return opcode->fixed <= rest.len ? opcode->fixed : SIZE_MAX;
    case ARG_COUNTED:
        if (opcode->fixed > rest.len)
            return SIZE_MAX;
        for (unsigned i = 0; i < opcode->fixed; i++)
            count |= (uint64_t)(uint8_t)rest.at[i] << 8 * i;
        return count <= rest.len - opcode->fixed ? opcode->fixed + (size_t)count
                                                 : SIZE_MAX;
    case ARG_NAMES:
        first = line_length(rest);
        if (first == SIZE_MAX)
            return SIZE_MAX;
        second = line_length(str_from(rest, first));
        return second == SIZE_MAX ? SIZE_MAX : first + second;
    default:
        return line_length(rest);
    }
}
