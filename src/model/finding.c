#include "model/finding.h"

#include "model/pickle_log.h"

static const char *const finding_names[FINDING_COUNT] = {
    [FINDING_TRUNCATED] = "truncated",
    [FINDING_DAMAGED] = "damaged",
    [FINDING_TRAILING] = "trailing",
    [FINDING_LIMIT] = "limit",
    [FINDING_UNSUPPORTED] = "unsupported",
    [FINDING_BAD_TENSOR] = "bad-tensor",
    [FINDING_SIZE_MISMATCH] = "size-mismatch",
    [FINDING_MISSING_RECORD] = "missing-record",
    [FINDING_MISSING_SHARD] = "missing-shard",
    [FINDING_SHARD_MISMATCH] = "shard-mismatch",
    [FINDING_UNSAFE_PATH] = "unsafe-path",
    [FINDING_DUPLICATE] = "duplicate",
    [FINDING_OVERLAP] = "overlap",
    [FINDING_HOLE] = "hole",
    [FINDING_CHECKSUM] = "checksum",
    [FINDING_ENCRYPTED] = "encrypted",
    [FINDING_ZIP_TRICK] = "zip-trick",
    [FINDING_PICKLE_MALFORMED] = "pickle-malformed",
    [FINDING_PICKLE_OVERRIDE] = "pickle-override",
    [FINDING_PICKLE_NESTED] = "pickle-nested",
    [FINDING_BAD_TEXT] = "bad-text",
    [FINDING_BIG_ENDIAN] = "big-endian",
    [FINDING_NATIVE_CODE] = "native-code",
    [FINDING_NON_FINITE] = "non-finite",
    [FINDING_UNEXPECTED] = "unexpected",
    [FINDING_TRAINING] = "training",
};

static const char *const act_names[PICKLE_ACT_COUNT] = {
    [PICKLE_NAMES] = "names",         [PICKLE_CALLS] = "calls",
    [PICKLE_MAKES] = "makes",         [PICKLE_BUILDS] = "builds",
    [PICKLE_OVERRIDES] = "overrides", [PICKLE_PERSISTENT] = "persistent",
    [PICKLE_EXTENSION] = "extension", [PICKLE_FILLS] = "fills",
    [PICKLE_READS] = "reads",
};

const char *finding_name(enum finding_code code)
{
    return code < FINDING_COUNT ? finding_names[code] : "unknown";
}

bool finding_same(const struct finding *a, const struct finding *b)
{
    return a->code == b->code && a->place == b->place && a->file == b->file &&
           a->entry == b->entry;
}

const char *severity_name(enum severity severity)
{
    switch (severity) {
    case SEVERITY_NOTE:
        return "note";
    case SEVERITY_WARNING:
        return "warning";
    case SEVERITY_ALARM:
        return "alarm";
    }
    return "unknown";
}

const char *pickle_act_name(enum pickle_act act)
{
    return act < PICKLE_ACT_COUNT ? act_names[act] : "unknown";
}

const char *pickle_opcode_name(uint8_t opcode)
{
    static const char *const names[256] = {
        ['c'] = "GLOBAL",    [0x93] = "STACK_GLOBAL", ['i'] = "INST",
        ['o'] = "OBJ",       [0x81] = "NEWOBJ",       [0x92] = "NEWOBJ_EX",
        ['R'] = "REDUCE",    ['b'] = "BUILD",         ['s'] = "SETITEM",
        ['u'] = "SETITEMS",  ['a'] = "APPEND",        ['e'] = "APPENDS",
        [0x90] = "ADDITEMS", ['P'] = "PERSID",        ['Q'] = "BINPERSID",
        [0x82] = "EXT1",     [0x83] = "EXT2",         [0x84] = "EXT4",
    };

    return names[opcode] ? names[opcode] : "";
}
