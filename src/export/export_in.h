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
void write_verdict(struct json *json, const struct session *session);
/* "findings": the list. A verdict other than safe is one of them. */
void write_findings(struct document *doc, const struct finding *findings, uint32_t n,
                    enum verdict verdict);
/* The members of a global of the pickle log: name, trust, about, uses. */
void write_global(struct document *doc, uint32_t index);

/* "KEY": the full name of a place. */
void write_path(struct document *doc, const char *key, uint32_t place);
/* "name", "place", "parent". */
void write_where(struct document *doc, uint32_t place);

/* The members of a place's object, of the kind that it is. The caller begins and ends
 * the object, and may add members. */
void write_module(struct document *doc, uint32_t place); /* also of a group */
void write_tensor(struct document *doc, uint32_t place);
void write_plain(struct document *doc, uint32_t place);

/* "KEY": a plain value of the model, or of others. A dict of strings becomes an object.
 */
void write_value(struct document *doc, const char *key, uint32_t value);
void write_value_of(struct document *doc, const char *key, const struct values *values,
                    uint32_t value);

/* The statistics of a tensor, or why there are none; nothing if they were not asked. */
void write_stats(struct document *doc, uint32_t tensor);

/* The same of any statistics; without `shape` nothing that needs to know the tensor. */
void write_numbers_of(struct json *json, const struct stats *stats, enum dtype dtype,
                      const int64_t *shape, int rank);

/* "details": the facts that `make` gives about a place; null and why if it fails. */
void write_details(struct document *doc,
                   int (*make)(struct facts *to, const struct show *show,
                               uint32_t place, struct err *err),
                   uint32_t place);

/* "KEY": true; nothing if it is not so. */
void write_flag(struct json *json, const char *key, bool flag);
/* "KEY": [1, 2] */
void write_list(struct json *json, const char *key, const int64_t *items, int n);
/* An index in C order as a list. Of elements that stand for several values, the element
 * is named. */
void write_index(struct json *json, const char *key, uint64_t at, enum dtype dtype,
                 const int64_t *shape, int rank);

/* ---- recordings: json_run.c ---- */

/* The document is about this run too: what its places did is put together. */
void document_run(struct document *doc, const struct run *run);
void write_run(struct document *doc);                        /* "run": {...} */
void write_run_facts(struct document *doc, const char *key); /* "KEY": {...} */
void write_activity(struct document *doc, uint32_t place);   /* members of a module */
void write_calls(struct document *doc, uint32_t place); /* "calls", "merged", ... */
void write_slowest(struct document *doc);               /* "slowest", "classes" */

/* ---- what they are made of, by its number in the run: json_call.c ---- */

enum run_values { VALUES_WHOLE, VALUES_BY_NUMBER };

void write_run_value(struct document *doc, uint32_t value);
void write_call(struct document *doc, uint32_t call, enum run_values how);
void write_merged(struct document *doc, uint32_t merged);
void write_gap(struct document *doc, uint32_t gap);
void write_param(struct document *doc, uint32_t param, enum run_values how);

const char *role_name(uint8_t role);
const char *layout_name(uint8_t layout);

static inline bool is_kept(struct export_choice choice, uint32_t place)
{
    return !choice.keep || choice.keep[place];
}

#endif
