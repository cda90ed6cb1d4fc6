/* check.h - is a model safe, complete and as expected? The result of `check`, as items
 * from which text, JSON and SARIF are written.
 *
 * An item is one line: topic, mark and statement. Every topic that was checked has at
 * least one item. */
#ifndef STUDY_SAFETY_CHECK_H
#define STUDY_SAFETY_CHECK_H

#include "base/arena.h"
#include "base/err.h"
#include "measure/stats.h"
#include "model/model.h"
#include "study/safety/verdict.h"

enum check_topic {
    CHECK_PICKLE,   /* would loading run something? */
    CHECK_ZIP,      /* the archive */
    CHECK_SHARDS,   /* the files of a sharded model */
    CHECK_FILE,     /* any other container */
    CHECK_TENSORS,  /* are they inside their storages? */
    CHECK_VALUES,   /* NaN and infinities */
    CHECK_TRAINING, /* alarms of a training run */
    CHECK_EXPECT,   /* names, shapes and dtypes */
    CHECK_TOPIC_COUNT
};

enum check_mark {
    CHECK_GOOD,
    CHECK_NOT_LOOKED_AT,
    CHECK_NOTE,
    CHECK_WARNING,
    CHECK_ALARM,
};

enum check_says {
    CHECK_SAYS_WELL,      /* nothing is wrong; see the counts of the check */
    CHECK_SAYS_GLOBAL,    /* `index` in the pickle log: a dangerous global */
    CHECK_SAYS_UNKNOWN,   /* `index` in the pickle log: the first unknown global;
                             represents all of them */
    CHECK_SAYS_UNDECIDED, /* the verdict is inconclusive, without a finding */
    CHECK_SAYS_FINDING,   /* `index` in the check's findings */
    CHECK_SAYS_COUNT,     /* some tensors are bad; see the counts of the check */
    CHECK_SAYS_NOTHING,   /* not checked */
};

struct check_item {
    uint8_t topic, mark, says; /* enums above */
    uint32_t index;
};

struct check {
    struct verdict_sum verdict; /* with the user's allow patterns */
    int status;                 /* 0 fine, 1 findings, 2 inconclusive */
    struct check_item *items;   /* by topic */
    uint32_t n, room;
    struct finding *findings; /* of the model and of this check */
    uint32_t n_findings, findings_room;
    uint32_t allowed;   /* globals that only the user's patterns allow */
    uint64_t entries;   /* of an archive; files of a sharded model */
    bool data_verified; /* the checksums of all bytes were compared */
    uint32_t tensors;   /* places of tensors that have data, as info counts them */
    uint32_t inside;    /* of these, readable ones */
    uint64_t values;    /* values checked */
    uint32_t unread;    /* tensors with unchecked values */
    bool stopped;       /* ... because the check was cancelled */
    uint32_t expected;  /* tensors */
    uint64_t steps;     /* logged training steps */
    uint64_t evals;     /* logged passes of evaluation */
};

/* Statistics by tensor; NULL where unknown. */
struct check_values {
    const struct stats *const *stats;
    const char *const *why;
    bool complete; /* false: cancelled */
};

struct expectation;

/* What to check. */
struct check_ask {
    const struct verdict_allow *allow; /* or NULL; must outlive the check */
    const struct finding *found; /* findings of a second pass over the files, or NULL;
                                    those that the model has too are ignored */
    uint32_t n_found;
    bool data_verified;
    const struct check_values *values; /* NULL: do not check values */
    const struct expectation *expect;  /* or NULL */
    bool training;  /* a run with a history; its alarms are among `found` */
    uint64_t steps; /* logged training steps */
    uint64_t evals; /* logged passes of evaluation */
};

/* Check a model; the lists are in the arena. */
int check_make(const struct model *model, const struct check_ask *ask,
               struct arena *arena, struct check *ret_check, struct err *err);

const char *check_topic_name(enum check_topic topic); /* "pickle", "zip", ... */
const char *check_mark_name(enum check_mark mark);    /* "good", "not looked at", ... */

/* Is the model a set of shards? */
bool check_is_sharded(const struct model *model);
/* The worse of two verdicts: unsafe, inconclusive, needs code, safe. */
enum verdict check_worse(enum verdict a, enum verdict b);

/* ---- for expect.c ---- */

/* Add a finding and its item. */
int check_add_finding(struct check *check, struct arena *arena, struct finding finding,
                      const struct model *model, struct err *err);

#endif
