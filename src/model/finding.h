/* finding.h - what a reader met on its way that a person should know.
 * A reader fills the model as far as it gets; a finding is not a failure. */
#ifndef MODEL_FINDING_H
#define MODEL_FINDING_H

#include <stdbool.h>
#include <stdint.h>

enum severity {
    SEVERITY_NOTE,    /* worth saying: trailing bytes that harm nobody */
    SEVERITY_WARNING, /* the file is not quite what it should be */
    SEVERITY_ALARM,   /* something is missing, lies, or attacks */
};

/* What kind of finding. The name (finding_name) is what JSON and SARIF carry: once
 * released, a name is never changed. */
enum finding_code {
    FINDING_TRUNCATED,      /* the file ends before what it promises */
    FINDING_DAMAGED,        /* bytes that cannot be decoded */
    FINDING_TRAILING,       /* bytes behind the end that nothing refers to */
    FINDING_LIMIT,          /* more than we are willing to hold; the rest is left out */
    FINDING_UNSUPPORTED,    /* a part that we do not read */
    FINDING_BAD_TENSOR,     /* a tensor beyond its storage, a negative size, ... */
    FINDING_SIZE_MISMATCH,  /* two places in the file say different sizes */
    FINDING_MISSING_RECORD, /* a storage or a member that is named but not there */
    FINDING_MISSING_SHARD,  /* a file of a sharded model that is not there */
    FINDING_SHARD_MISMATCH, /* the index and the shards disagree */
    FINDING_UNSAFE_PATH,    /* a path in the file leads outside its folder */
    FINDING_DUPLICATE,      /* the same name twice */
    FINDING_OVERLAP,        /* two things share bytes that should not */
    FINDING_HOLE,           /* bytes that belong to nothing, between things */
    FINDING_CHECKSUM,       /* a checksum that does not fit */
    FINDING_ENCRYPTED,      /* a member that is (or claims to be) encrypted */
    FINDING_ZIP_TRICK,      /* headers that make readers disagree */
    FINDING_PICKLE_MALFORMED, /* a pickle that breaks off: opcode and offset */
    FINDING_PICKLE_OVERRIDE,  /* BUILD on a global: attributes of code are replaced */
    FINDING_PICKLE_NESTED,    /* a pickle inside bytes, or behind the first one */
    FINDING_BAD_TEXT,         /* a name that is not UTF-8 or hides characters */
    FINDING_BIG_ENDIAN,       /* written on a big-endian machine; read all the same */
    FINDING_NON_FINITE,       /* NaN or infinities among the values of a tensor */
    FINDING_UNEXPECTED,       /* a name, shape or dtype that is not as expected */
    FINDING_COUNT
};

#define FINDING_NOWHERE UINT32_MAX

struct finding {
    enum finding_code code;
    enum severity severity;
    uint32_t place;   /* a place of the model, or FINDING_NOWHERE */
    const char *text; /* one sentence; raw names inside */
    bool named;       /* the sentence has the name of the place */
};

const char *finding_name(enum finding_code code);  /* "truncated", ... */
const char *severity_name(enum severity severity); /* "note", "warning", "alarm" */

#endif
