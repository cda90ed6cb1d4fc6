/* verdict.h - is it safe to load this file with Python? An allow-list over the pickle
 * log: only a file with known harmless content is safe. Formats without code
 * (safetensors) are always safe.
 *
 *   verdict.h  the verdict, and how each global is judged (files: verdict_in.h)
 *   check.h    verdict, container, tensors and values of one model as a list of items
 *   expect.h   the names, shapes and dtypes that a model should have */
#ifndef STUDY_SAFETY_VERDICT_H
#define STUDY_SAFETY_VERDICT_H

#include "model/model.h"

enum verdict {
    VERDICT_SAFE,         /* builds tensors, containers and plain values only */
    VERDICT_NEEDS_CODE,   /* names classes outside the allow-list */
    VERDICT_UNSAFE,       /* a plain load would run something */
    VERDICT_INCONCLUSIVE, /* could not be decoded completely: never called safe */
};

/* How one global is judged. */
enum trust {
    TRUST_KNOWN,   /* on the allow-list, and used as intended */
    TRUST_UNKNOWN, /* a class or function outside the allow-list */
    TRUST_DANGER,  /* known to run, load or write something, or used to override code */
};

/* Globs of names that the user trusts ("models.yolo.*"). They turn an unknown global
 * into a known one, but never a dangerous one, one of Python, torch or numpy, or one
 * whose attributes are replaced. */
struct verdict_allow {
    const char *const *patterns;
    uint32_t n;
};

struct verdict_sum {
    enum verdict verdict;
    uint32_t known, unknown, danger; /* distinct globals of each kind */
    bool runs;                       /* a dangerous one runs code or a program */
    bool indirect; /* a called global calls its arguments, so naming a function is as
                      dangerous as calling it */
    const struct verdict_allow *allow; /* borrowed; or NULL */
};

struct verdict_sum verdict_of(const struct model *model);
/* The same with names that the user allows (or NULL), which must outlive the sum. */
struct verdict_sum verdict_with(const struct model *model,
                                const struct verdict_allow *allow);
/* Judge one global, given the sum of its model. *ret_about (may be NULL) says what it
 * does: "builds a tensor", "runs a shell command"; "" if unknown. */
enum trust verdict_judge(const struct model *model, const struct verdict_sum *sum,
                         uint32_t global_index, const char **ret_about);

/* Some values of *ret_about, which can be compared by address. */
extern const char verdict_builds_tensor[], verdict_builds_dict[], verdict_names_dtype[];

/* One use of a global. */
struct verdict_use {
    const char *act;    /* "calls", as pickle_act_name() says */
    const char *opcode; /* "REDUCE" */
    struct str stream;  /* "archive/data.pkl" */
    uint64_t offset;    /* of the opcode, in the stream */
    uint32_t args;      /* value id of the arguments, as far as they are plain */
};
/* Returns the number of uses stored: the first `room` uses of a global in the order of
 * execution. Naming counts only if it is not used otherwise. */
uint32_t verdict_uses(const struct model *model, uint32_t global_index,
                      struct verdict_use *uses, uint32_t room);

const char *verdict_name(enum verdict verdict); /* "safe", "needs code", ... */
const char *trust_name(enum trust trust);       /* "known", "unknown", "danger" */

#endif
