/* finding.h - problems that a reader found in a file.
 * A reader fills the model as far as possible; a finding is not a failure. */
#ifndef MODEL_FINDING_H
#define MODEL_FINDING_H

#include <stdbool.h>
#include <stdint.h>

enum severity {
    SEVERITY_NOTE,    /* harmless: trailing bytes */
    SEVERITY_WARNING, /* unusual or inconsistent */
    SEVERITY_ALARM,   /* missing data, false data, or an attack */
};

/* The kind of a finding. JSON and SARIF contain its name (finding_name): a released
 * name never changes. */
enum finding_code {
    FINDING_TRUNCATED,        /* the file is shorter than its headers say */
    FINDING_DAMAGED,          /* bytes that cannot be decoded */
    FINDING_TRAILING,         /* unused bytes after the end */
    FINDING_LIMIT,            /* a limit was reached; the rest is skipped */
    FINDING_UNSUPPORTED,      /* an unsupported part */
    FINDING_BAD_TENSOR,       /* a tensor beyond its storage, a negative size, ... */
    FINDING_SIZE_MISMATCH,    /* two parts of the file give different sizes */
    FINDING_MISSING_RECORD,   /* a missing storage or zip member */
    FINDING_MISSING_SHARD,    /* a missing file of a sharded model */
    FINDING_SHARD_MISMATCH,   /* the index and the shards disagree */
    FINDING_UNSAFE_PATH,      /* a path in the file leads outside its folder */
    FINDING_DUPLICATE,        /* the same name twice */
    FINDING_OVERLAP,          /* two parts share bytes that should not */
    FINDING_HOLE,             /* unused bytes between parts */
    FINDING_CHECKSUM,         /* a wrong checksum */
    FINDING_ENCRYPTED,        /* a member that is (or claims to be) encrypted */
    FINDING_ZIP_TRICK,        /* headers that make readers disagree */
    FINDING_PICKLE_MALFORMED, /* a pickle that cannot be parsed: opcode and offset */
    FINDING_PICKLE_OVERRIDE,  /* BUILD on a global: attributes of code are replaced */
    FINDING_PICKLE_NESTED,    /* a pickle inside bytes, or after the first one */
    FINDING_BAD_TEXT,         /* a name that is not UTF-8 or hides characters */
    FINDING_BIG_ENDIAN,       /* written on a big-endian machine; still readable */
    FINDING_NATIVE_CODE,      /* machine code that loading the file would run */
    FINDING_NON_FINITE,       /* NaN or infinities among the values of a tensor */
    FINDING_UNEXPECTED,       /* an unexpected name, shape or dtype */
    FINDING_TRAINING,         /* an alarm of a training run */
    FINDING_COUNT
};

#define FINDING_NOWHERE UINT32_MAX

struct finding {
    enum finding_code code;
    enum severity severity;
    uint32_t place;   /* a place of the model, or FINDING_NOWHERE */
    const char *text; /* one sentence; raw names inside */
    bool named;       /* the sentence has the name of the place */
    uint32_t file;    /* index in the model's files; 0 if it has none */
    uint64_t entry;   /* 1 + offset of the zip entry's header; 0: not about an entry of
                         a file */
};

/* Are both about the same problem? Their sentences may differ. */
bool finding_same(const struct finding *a, const struct finding *b);

const char *finding_name(enum finding_code code);  /* "truncated", ... */
const char *severity_name(enum severity severity); /* "note", "warning", "alarm" */

#endif
