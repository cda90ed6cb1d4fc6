/* export_in.h - a JSON document, and the functions that write its parts. */
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
    uint64_t items;        /* items of plain values written so far; see json_value.c */
    const struct run *run; /* NULL if there is none */
    struct activities activities;     /* of the run; empty without one */
    struct memory_use memory;         /* empty without operations */
    const struct op_sum *ops;         /* by place, forward; NULL without operations */
    struct no_gradients no_gradients; /* likewise */
};

/* Write the members that every document has. document_end() closes the object. */
void document_begin(struct document *doc, struct json *json,
                    const struct session *session, const char *kind);
void document_end(struct document *doc);
/* The usual reason for a null: "this file does not say". */
const char *document_unsaid(const struct document *doc);

/* "verdict"; null and a reason if there is none. */
void export_verdict(struct json *json, const struct session *session);
/* "findings": the list, with `verdict` in front unless it is safe. */
void document_findings(struct document *doc, const struct finding *findings, uint32_t n,
                       enum verdict verdict);
/* The members of a global of the pickle log: name, trust, about, uses. */
void document_global(struct document *doc, uint32_t index);

/* "KEY": a list of n objects, whose members `write` writes by index. */
void document_list(struct document *doc, const char *key, uint32_t n,
                   void (*write)(struct document *doc, uint32_t i));

/* "KEY": the full name of a place. */
void document_path(struct document *doc, const char *key, uint32_t place);
/* "name", "place"; nothing if it is not a place of the model. */
void document_named(struct document *doc, uint32_t place);
/* "name", "place", "parent". */
void document_where(struct document *doc, uint32_t place);

/* The members of a place's object. The caller begins and ends the object. */
void document_module(struct document *doc, uint32_t place); /* also of a group */
void document_tensor(struct document *doc, uint32_t place);
void document_plain(struct document *doc, uint32_t place);

/* "KEY": a plain value of the model, or of other `values`. */
void document_value(struct document *doc, const char *key, uint32_t value);
void document_value_of(struct document *doc, const char *key,
                       const struct values *values, uint32_t value);

/* The statistics of a tensor, or why they are missing; nothing if it was not
 * measured. */
void document_stats(struct document *doc, uint32_t tensor);

/* The members of any statistics; with a NULL `shape`, those that need no tensor. */
void export_stats_members(struct json *json, const struct stats *stats,
                          enum dtype dtype, const int64_t *shape, int rank);

/* "KEY": facts. "details": null and a reason, if they could not be made. */
void document_facts(struct document *doc, const char *key, const struct facts *facts);
void document_no_details(struct document *doc, const struct err *err);

/* The kind of a value of facts and columns: "count", "bytes", "ns", ... */
const char *export_kind_name(enum figure_kind kind);

/* A real with few digits: short, and precise enough for a picture. */
void export_short(struct json *json, const char *key, double value, int digits);

/* "KEY": true; nothing if it is false. */
void export_flag(struct json *json, const char *key, bool flag);
/* "KEY": n; nothing if it is 0. */
void export_nonzero(struct json *json, const char *key, uint64_t n);
/* "KEY": [1, 2] */
void export_list(struct json *json, const char *key, const int64_t *items, int n);
/* The index of value number `at`, in C order, as a list. If an element packs several
 * values, it is the index of the element. */
void export_index(struct json *json, const char *key, uint64_t at, enum dtype dtype,
                  const int64_t *shape, int rank);

/* ---- recordings: json_run.c ---- */

/* Add the run to the document, with the activity of its places. */
void document_set_run(struct document *doc, const struct run *run);
void document_run(struct document *doc);                        /* "run": {...} */
void document_run_facts(struct document *doc, const char *key); /* "KEY": {...} */
void document_activity(struct document *doc, uint32_t place); /* members of a module */
/* "step": the step of these numbers; nothing for NULL. */
void export_step(struct json *json, const struct at_step *at);
/* The numbers of a place at the step taken by session_take_step(), if any. */
void document_at_step(struct document *doc, uint32_t place);
void document_calls(struct document *doc, uint32_t place); /* "calls", "merged", ... */
void document_slowest(struct document *doc);               /* "slowest", "classes" */

/* ---- runs with operations: json_memory.c; nothing for others ---- */

void document_memory(struct document *doc);                /* "memory": {...} */
void document_live_bytes(struct document *doc);            /* "live_bytes": [...] */
void document_saved(struct document *doc, uint32_t place); /* members of a module */
void document_no_gradient(struct document *doc);           /* "no_gradient": [...] */

/* ---- parts of a run, by index: json_call.c ---- */

enum run_values { VALUES_WHOLE, VALUES_BY_NUMBER };

void document_run_value(struct document *doc, uint32_t value);
void document_call(struct document *doc, uint32_t call, enum run_values how);
void document_merged(struct document *doc, uint32_t merged);
void document_gap(struct document *doc, uint32_t gap);
void document_param(struct document *doc, uint32_t param, enum run_values how);

/* ---- operations, by index: json_op.c ---- */

/* An operation: all of it; without its tensors; only its tensors, with their
 * producers. */
void document_op(struct document *doc, uint32_t op);
void document_op_facts(struct document *doc, uint32_t op);
void document_op_values(struct document *doc, uint32_t op);
/* A value and its sources. */
void document_op_value(struct document *doc, uint32_t value);
/* "name", "overload" and "family"; "line"; "module" and "place". */
void document_op_kind(struct document *doc, uint32_t kind);
void document_line(struct document *doc, uint32_t line);
void document_op_module(struct document *doc, uint32_t place);
/* The name of an argument; `at` is NULL if the schema lacks it. */
struct str document_op_arg(const struct run *run, const struct run_op *op,
                           uint16_t arg);
/* A number, or null for RUN_NONE. */
void export_number(struct json *json, const char *key, uint32_t number);

/* The document "ops" of a file with a program: json_program.c. */
int export_script_json(struct json *json, const struct session *session,
                       const struct op_use_list *uses, struct err *err);

/* ---- two recordings: json_divergence.c ---- */

struct divergence;
/* "results": {...}; `all`: list every result. */
void export_divergence(struct json *json, const struct divergence *divergence,
                       bool all);

struct parting;
/* "training": {...}: json_parting.c. */
void export_parting(struct json *json, const struct parting *parting);

const char *export_role_name(uint8_t role);
const char *export_layout_name(uint8_t layout);

static inline bool export_keeps(struct export_choice choice, uint32_t place)
{
    return !choice.keep || choice.keep[place];
}

/* The shared begin and end of all "graph" documents; `why`: why it is not exact, or
 * NULL. */
struct op_graph;
void export_graph_begin(struct json *json, const struct op_graph *graph,
                        const char *why);
void export_graph_end(struct json *json, const struct op_graph *graph);

/* Members of parts of a program: "line"; "shape" and "dtype". */
struct program_value;
void document_program_line(struct document *doc, uint32_t file, uint32_t line);
void document_program_shape(struct document *doc, const struct program_value *value);

#endif
