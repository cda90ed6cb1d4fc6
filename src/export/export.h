/* export.h - a session's answers in forms that other programs read.
 * The JSON shape is docs/json.md, and this room is its sole owner: what it writes is
 * what the page, the tests and the Python package read. Each document is one walk over
 * a struct json, whatever its sink.
 *
 * The tour of the room (export_in.h is its own):
 *   json_tree.c   the tree: modules, groups, tensors, values; what every document has
 *   json_info.c   the container, its globals and pickles; the program itself
 *   json_show.c   one place in full       json_stats.c  statistics
 *   json_row.c    the same, to be copied
 *   json_run.c    a recording: as a whole, by place, and all of it
 *   json_call.c   calls, values, gaps   json_diff.c   two models side by side
 *   json_place.c  one place as an object: what all of the above are made of
 *   json_check.c  what a check says       sarif.c       the same for code scanning
 *   json_value.c  plain values            csv.c         tables
 *   exporters.h   THE TABLE of forms in which a session is written whole; markdown.c
 *   safetensors.c the tensors, without what a pickle would run
 *   report_in.h   the page (html)       tokens.h      THE TABLE of colours
 *   notebook_in.h what a notebook shows */
#ifndef EXPORT_EXPORT_H
#define EXPORT_EXPORT_H

#include "base/json_write.h"
#include "base/out.h"
#include "rows/slice.h"
#include "session/numbers.h"
#include "session/pair.h"
#include "session/session.h"
#include "study/safety/check.h"

/* Which places a document lists: `keep[place]` of n_places flags; NULL: all of them. */
struct export_choice {
    const bool *keep;
};

void export_tree_json(struct json *json, const struct session *session,
                      struct export_choice choice);
/* All that was recorded: only for a session that has a run. */
void export_run_json(struct json *json, const struct session *session);
/* A part of it by its number, as one object: for those who ask for a few. */
void export_call(struct json *json, const struct run *run, uint32_t call);
void export_merged(struct json *json, const struct run *run, uint32_t merged);
void export_param(struct json *json, const struct run *run, uint32_t param);
void export_gap(struct json *json, const struct run *run, uint32_t gap);
void export_facts(struct json *json, const struct run *run);
/* Statistics as an object, of a tensor of this dtype and shape. */
void export_numbers(struct json *json, const struct stats *stats, enum dtype dtype,
                    const int64_t *shape, int rank);
void export_info_json(struct json *json, const struct session *session);

/* What the program itself is, told by who knows it. */
struct export_library {
    const char *name, *version;
};
struct export_program {
    const char *version, *kernels;
    const char *(*format)(size_t i); /* the i-th that is read; NULL behind the last */
    const struct export_library *libraries;
    size_t n_libraries;
};
void export_program_json(struct json *json, const struct export_program *program);

/* One place in full. For a tensor: the numbers that were asked for (NULL: the values
 * cannot be read, and the session knows why, or none were asked for), and values. */
struct export_values {
    struct str index; /* the slice, as it was asked for */
    const struct slice *slice;
    const struct cells *cells;
};
void export_show_json(struct json *json, const struct session *session, uint32_t place,
                      const struct numbers *numbers,
                      const struct export_values *values);

/* The same as text, with the statistics, quantiles and histogram that `torchoscope show
 * --json` writes unless it is told otherwise; those of a tensor of more than `most`
 * bytes are left out, as are those that cannot be had. */
int export_row_json(struct buf *to, struct session *session, uint32_t place,
                    uint64_t most, struct work *work, struct err *err);

/* What the session knows by now of the tensors chosen; `complete` is false if computing
 * them was stopped. */
void export_stats_json(struct json *json, const struct session *session,
                       struct export_choice choice, bool complete);

/* How two models differ; `all`: tensors that are the same are listed too. */
int export_diff_json(struct json *json, const struct pair *pair,
                     const struct tolerance *tolerance, bool all, struct err *err);

/* The same as a file: .txt, .md or .json, whole or not at all. */
int export_diff_file(const char *path, const struct pair *pair, struct err *err);

/* A check of any number of models, one after the other: begin, each model (or what
 * could not be read, and why), end. */
struct export_skipped {
    const char *path, *why;
};
struct export_checked {
    enum verdict verdict; /* the worst of all */
    int status;
    bool complete; /* false: it was stopped */
    const struct export_skipped *skipped;
    uint32_t n_skipped;
    struct verdict_allow allow;
};
void export_check_begin(struct json *json);
void export_check_model(struct json *json, const struct session *session,
                        const struct check *check);
void export_check_error(struct json *json, const char *path, const char *error);
void export_check_end(struct json *json, const struct export_checked *checked);

/* The same as SARIF 2.1.0. `version` is that of the program. */
void export_sarif_begin(struct json *json, const char *version);
void export_sarif_model(struct json *json, const struct session *session,
                        const struct check *check);
void export_sarif_error(struct json *json, const char *path, const char *error);
void export_sarif_end(struct json *json, const struct export_checked *checked);

/* Tables: a header line, then one row for each tensor chosen, and in the tree of a
 * recording for each module. */
int export_tree_csv(struct out *out, const struct session *session,
                    struct export_choice choice, struct err *err);
void export_stats_csv(struct out *out, const struct session *session,
                      struct export_choice choice);

#endif
