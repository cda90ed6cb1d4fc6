/* check.h - is a model safe, whole and as expected? What `check` says of one model, as
 * facts: texts, JSON and SARIF are made of the same items.
 *
 * An item is one line: its topic, its mark, and what it says. Every topic that was
 * looked at has at least one, also where all is well. */
#ifndef STUDY_SAFETY_CHECK_H
#define STUDY_SAFETY_CHECK_H

#include "base/arena.h"
#include "base/err.h"
#include "measure/stats.h"
#include "model/model.h"
#include "study/safety/verdict.h"

enum check_topic {
    CHECK_PICKLE,  /* would loading it run something */
    CHECK_ZIP,     /* the archive */
    CHECK_SHARDS,  /* several files that make one model */
    CHECK_FILE,    /* a container of any other kind */
    CHECK_TENSORS, /* do they lie inside their storages */
    CHECK_VALUES,  /* NaN and infinities */
    CHECK_EXPECT,  /* names, shapes and dtypes */
    CHECK_TOPIC_COUNT
};

enum check_mark {
    CHECK_GOOD,
    CHECK_NOT_LOOKED_AT,
    CHECK_NOTE, /* worth knowing, no more */
    CHECK_WARNING,
    CHECK_ALARM,
};

enum check_says {
    CHECK_SAYS_WELL,    /* nothing is wrong; the counts of the check tell how much */
    CHECK_SAYS_GLOBAL,  /* `index` in the pickle log: a dangerous one */
    CHECK_SAYS_UNKNOWN, /* `index` in the pickle log: a list of all unknown ones begins
                           with it */
    CHECK_SAYS_UNDECIDED, /* the verdict is inconclusive, and no finding says why */
    CHECK_SAYS_FINDING,   /* `index` in the check's findings */
    CHECK_SAYS_COUNT,     /* some of many are not as they should be */
    CHECK_SAYS_NOTHING,   /* it was not looked at */
};

struct check_item {
    uint8_t topic, mark, says; /* enums above */
    uint32_t index;
};

struct check {
    struct verdict_sum verdict; /* with what the user allows */
    int status;                 /* 0 fine, 1 findings, 2 could not be judged */
    struct check_item *items;   /* by topic */
    uint32_t n, room;
    struct finding *findings; /* the model's and those made here */
    uint32_t n_findings, findings_room;
    uint32_t allowed;   /* globals that only the user's patterns make known */
    uint64_t entries;   /* of an archive; files of a sharded model */
    bool data_verified; /* the checksums of all its bytes were compared */
    uint32_t tensors;   /* places of those that have data, as info counts them */
    uint32_t inside;    /* of them, those that can be read */
    uint64_t values;    /* looked at */
    uint32_t unread;    /* tensors whose values were not */
    bool stopped;       /* ... because somebody asked to stop */
    uint32_t expected;  /* tensors */
};

/* What is known of values: by tensor, NULL where it is not known. */
struct check_values {
    const struct stats *const *stats;
    const char *const *why;
    bool complete; /* false: it was stopped */
};

struct expectation;

/* What is asked. */
struct check_ask {
    const struct verdict_allow *allow; /* or NULL; must outlive the check */
    const struct finding *found; /* met in a second look at the files, or NULL; those
                                    that the model has as well are left out */
    uint32_t n_found;
    bool data_verified;
    const struct check_values *values; /* or NULL: not asked */
    const struct expectation *expect;  /* or NULL */
};

/* Make the check of a model; its lists come from the arena. */
int check_make(const struct model *model, const struct check_ask *ask,
               struct arena *arena, struct check *ret_check, struct err *err);

const char *check_topic_name(enum check_topic topic); /* "pickle", "zip", ... */
const char *check_mark_name(enum check_mark mark);    /* "good", "not looked at", ... */

/* Of two verdicts, the one that counts for both: unsafe, inconclusive, needs code,
 * safe. */
enum verdict check_worse(enum verdict a, enum verdict b);

/* ---- for the files of this room ---- */

/* Add a finding and its item. */
int check_add_finding(struct check *check, struct arena *arena, struct finding finding,
                      const struct model *model, struct err *err);

#endif
