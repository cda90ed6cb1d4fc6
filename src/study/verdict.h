/* verdict.h - would it be safe to load this file with Python?
 * An allow-list over the pickle log: what is not known to be harmless is not called
 * harmless. Formats without code (safetensors) are safe by nature. */
#ifndef STUDY_VERDICT_H
#define STUDY_VERDICT_H

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

struct verdict_sum {
    enum verdict verdict;
    uint32_t known, unknown, danger; /* distinct globals of each kind */
    bool indirect; /* something is called that calls what it is given, so that naming a
                      function is as good as calling it */
};

struct verdict_sum verdict_of(const struct model *model);
/* One global, given the sum that verdict_of() found; *ret_about (may be NULL) as
 * verdict_about() says. For a walk over all of them. */
enum trust verdict_judge(const struct model *model, const struct verdict_sum *sum,
                         uint32_t global_index, const char **ret_about);
/* The same for a single one: these look through the log first. */
enum trust verdict_global(const struct model *model, uint32_t global_index);
/* What a known global is good for, or a dangerous one does: "builds a tensor", "runs a
 * shell command"; "" if there is nothing to say. */
const char *verdict_about(const struct model *model, uint32_t global_index);
const char *verdict_name(enum verdict verdict); /* "safe", "needs code", ... */
const char *trust_name(enum trust trust);       /* "known", "unknown", "danger" */

#endif
