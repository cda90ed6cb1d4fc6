/* verdict.h - would it be safe to load this file with Python?
 * An allow-list over the pickle log: what is not known to be harmless is not called
 * harmless. Formats without code (safetensors) are safe by nature. */
#ifndef STUDY_SAFETY_VERDICT_H
#define STUDY_SAFETY_VERDICT_H

#include "model/model.h"

enum verdict {
    VERDICT_SAFE,         /* builds tensors, containers and plain values only */
    VERDICT_NEEDS_CODE,   /* names classes outside the allow-list: the user's own */
    VERDICT_UNSAFE,       /* a plain load would run something */
    VERDICT_INCONCLUSIVE, /* could not be decoded to the end: never called safe */
};

/* How one global is judged. */
enum trust {
    TRUST_KNOWN,   /* on the allow-list, used as it is meant to be */
    TRUST_UNKNOWN, /* a class or function that we do not know */
    TRUST_DANGER,  /* known to run, load or write something, or used to override code */
};

/* Names that the user vouches for: globs, in which `*` stands for any letters and dots
 * ("models.yolo.*"). They turn an unknown global into a known one; never a dangerous
 * one, one of Python's or torch's own, or one whose attributes are replaced. */
struct verdict_allow {
    const char *const *patterns;
    uint32_t n;
};

struct verdict_sum {
    enum verdict verdict;
    uint32_t known, unknown, danger; /* distinct globals of each kind */
    bool runs;                       /* a dangerous one runs code or a program */
    bool indirect; /* something is called that calls what it is given, so that naming a
                      function is as good as calling it */
    const struct verdict_allow *allow; /* borrowed; NULL: none was given */
};

struct verdict_sum verdict_of(const struct model *model);
/* The same with the names that the user allows (NULL: none), which must outlive the
 * sum: verdict_judge() takes them from there. */
struct verdict_sum verdict_with(const struct model *model,
                                const struct verdict_allow *allow);
/* One global, given the sum that verdict_of() found. *ret_about (may be NULL) is what a
 * known global is good for, or a dangerous one does: "builds a tensor", "runs a shell
 * command"; "" if there is nothing to say. */
enum trust verdict_judge(const struct model *model, const struct verdict_sum *sum,
                         uint32_t global_index, const char **ret_about);

/* Texts among those that it gives, to be told by their addresses. */
extern const char verdict_builds_tensor[], verdict_builds_dict[], verdict_names_dtype[];

/* One use of a global, for a person who wants to look it up. */
struct verdict_use {
    const char *act;    /* "calls", as pickle_act_name() says */
    const char *opcode; /* "REDUCE" */
    struct str stream;  /* "archive/data.pkl" */
    uint64_t offset;    /* of the opcode, in the stream */
    uint32_t args;      /* value id of the arguments, as far as they are plain */
};
/* The first uses of a global, in the order they would run: at most `room`; how many. A
 * global that is called, made or built gives those, any other where it is named. */
uint32_t verdict_uses(const struct model *model, uint32_t global_index,
                      struct verdict_use *uses, uint32_t room);

const char *verdict_name(enum verdict verdict); /* "safe", "needs code", ... */
const char *trust_name(enum trust trust);       /* "known", "unknown", "danger" */

#endif
