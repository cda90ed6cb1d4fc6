/* export_in.h - what the documents of this room are made of. */
#ifndef EXPORT_EXPORT_IN_H
#define EXPORT_EXPORT_IN_H

#include "base/arena.h"
#include "export/export.h"
#include "facts/fact.h"
#include "rows/show.h"
#include "study/activity.h"

/* One document being written. */
struct document {
    struct json *json;
    const struct session *session;
    const struct model *model;
    struct arena arena;
    struct buf path;       /* for full names */
    uint32_t *next_same;   /* by place: the next place of the same tensor, or NO_PLACE;
                              NULL if nothing is tied */
    uint64_t items;        /* of values written so far; see json_value.c */
    const struct run *run; /* what was recorded; or NULL */
    struct activities activities; /* of it; empty if there is none */
};

/* Begin with what every document has. document_end() closes the object. */
void document_begin(struct document *doc, struct json *json,
                    const struct session *session, const char *kind);
void document_end(struct document *doc);
/* Why something is not known: "this file does not say". */
const char *document_unsaid(const struct document *doc);

/* "verdict"; null and why where there is none. */
void export_verdict(struct json *json, const struct session *session);
/* "findings": the list. A verdict other than safe is one of them. */
void document_findings(struct document *doc, const struct finding *findings, uint32_t n,
                       enum verdict verdict);
/* The members of a global of the pickle log: name, trust, about, uses. */
void document_global(struct document *doc, uint32_t index);

/* "KEY": the full name of a place. */
void document_path(struct document *doc, const char *key, uint32_t place);
/* "name", "place", "parent". */
void document_where(struct document *doc, uint32_t place);

/* The members of a place's object, of the kind that it is. The caller begins and ends
 * the object, and may add members. */
void document_module(struct document *doc, uint32_t place); /* also of a group */
void document_tensor(struct document *doc, uint32_t place);
void document_plain(struct document *doc, uint32_t place);

/* "KEY": a plain value of the model, or of others. A dict of strings becomes an object.
 */
void document_value(struct document *doc, const char *key, uint32_t value);
void document_value_of(struct document *doc, const char *key,
                       const struct values *values, uint32_t value);

/* The statistics of a tensor, or why there are none; nothing if they were not asked. */
void document_stats(struct document *doc, uint32_t tensor);

/* The same of any statistics; without `shape` nothing that needs to know the tensor. */
void export_stats_members(struct json *json, const struct stats *stats,
                          enum dtype dtype, const int64_t *shape, int rank);

/* "details": the facts that `make` gives about a place; null and why if it fails. */
void document_details(struct document *doc,
                      int (*make)(struct facts *to, const struct show *show,
                                  uint32_t place, struct err *err),
                      uint32_t place);

/* "KEY": true; nothing if it is not so. */
void export_flag(struct json *json, const char *key, bool flag);
/* "KEY": [1, 2] */
void export_list(struct json *json, const char *key, const int64_t *items, int n);
/* An index in C order as a list. Of elements that stand for several values, the element
 * is named. */
void export_index(struct json *json, const char *key, uint64_t at, enum dtype dtype,
                  const int64_t *shape, int rank);

/* ---- recordings: json_run.c ---- */

/* The document is about this run too: what its places did is put together. */
void document_set_run(struct document *doc, const struct run *run);
void document_run(struct document *doc);                        /* "run": {...} */
void document_run_facts(struct document *doc, const char *key); /* "KEY": {...} */
void document_activity(struct document *doc, uint32_t place); /* members of a module */
void document_calls(struct document *doc, uint32_t place); /* "calls", "merged", ... */
void document_slowest(struct document *doc);               /* "slowest", "classes" */

/* ---- what they are made of, by its number in the run: json_call.c ---- */

enum run_values { VALUES_WHOLE, VALUES_BY_NUMBER };

void document_run_value(struct document *doc, uint32_t value);
void document_call(struct document *doc, uint32_t call, enum run_values how);
void document_merged(struct document *doc, uint32_t merged);
void document_gap(struct document *doc, uint32_t gap);
void document_param(struct document *doc, uint32_t param, enum run_values how);

const char *export_role_name(uint8_t role);
const char *export_layout_name(uint8_t layout);

static inline bool export_keeps(struct export_choice choice, uint32_t place)
{
    return !choice.keep || choice.keep[place];
}

#endif
