/* export.h - writes sessions as JSON, CSV, SARIF, pages and other files. docs/json.md
 * describes the JSON. Only this directory writes it; the page, the tests and the Python
 * package read it. Documents are written through struct json, to any sink.
 *
 * Files:
 *   json/         one file for each document: tree, info, show, stats, run, ops, graph,
 *                 diff, check, shelf, history and its parts (training, modules, step,
 *                 series)
 *     json_place.c, json_call.c, json_op.c, json_fact.c, json_value.c   their parts:
 *                 places, calls, operations and values of a run, facts, plain values
 *     json_row.c  `show --json` as text, for copying
 *   exporters.h   THE TABLE of export formats
 *   convert.h     converts a checkpoint to safetensors without loss
 *   csv.c, markdown.c, sarif.c, safetensors*.c, chrome_trace.c, diff_file.c   other
 *                 formats
 *   look/         colours and parts shared by pages and pictures (look.h)
 *   page/         the HTML report (report_in.h), the notebook (notebook_in.h), shared
 *                 parts (page_in.h)
 *   picture/      networks as pictures (picture.h) */
#ifndef EXPORT_EXPORT_H
#define EXPORT_EXPORT_H

#include "base/json_write.h"
#include "base/out.h"
#include "history/grid.h"
#include "rows/slice.h"
#include "session/numbers.h"
#include "session/pair.h"
#include "session/session.h"
#include "study/op_graph.h"
#include "study/op_use.h"
#include "study/safety/check.h"

struct conversion;
void export_conversion_json(struct json *json, const struct conversion *conversion,
                            const char *to);

/* The places that a document lists: those with keep[place] set; NULL: all. */
struct export_choice {
    const bool *keep;
};

void export_tree_json(struct json *json, const struct session *session,
                      struct export_choice choice);
/* Everything recorded; only for a session that has a run. */
void export_run_json(struct json *json, const struct session *session);
/* One part of a run by its index, as one object. */
void export_call(struct json *json, const struct run *run, uint32_t call);
void export_merged(struct json *json, const struct run *run, uint32_t merged);
void export_param(struct json *json, const struct run *run, uint32_t param);
void export_gap(struct json *json, const struct run *run, uint32_t gap);
void export_facts(struct json *json, const struct run *run);
/* The memory of a run with operations: "memory" of docs/json.md, with "modules" and
 * "live_bytes". */
int export_memory(struct json *json, const struct run *run, struct err *err);
/* An operation without its tensors; only its tensors, each with its producers; a value
 * by its number. */
void export_op(struct json *json, const struct run *run, uint32_t op);
void export_op_values(struct json *json, const struct run *run, uint32_t op);
void export_op_value(struct json *json, const struct run *run, uint32_t value);
/* The graph of a run, made by op_graph_make(). */
void export_graph(struct json *json, const struct run *run,
                  const struct op_graph *graph);
/* The graph of a program, made by program_graph_make(). */
void export_program_graph(struct json *json, const struct model *model,
                          const struct op_graph *graph);
/* The operations of a run: `uses` as the list of operations used, then all of them with
 * their data flow. Only for a session whose run has operations. */
int export_ops_json(struct json *json, const struct session *session,
                    const struct op_use_list *uses, struct err *err);
/* 0 if the session has operations; otherwise sets an error that explains how to record
 * them. */
int export_has_ops(const struct session *session, struct err *err);
/* The statistics of a tensor with this dtype and shape, as an object. */
void export_numbers(struct json *json, const struct stats *stats, enum dtype dtype,
                    const int64_t *shape, int rank);
void export_info_json(struct json *json, const struct session *session);

/* Every place of the model in columns, for a tree on a page: "rows" of docs/json.md.
 * Errors in the request are reported before anything is written. */
struct export_rows_wanted {
    const char *columns; /* ids, separated by commas: only their cells, without the
                            places; NULL: the places and the usual columns */
    const char *step; /* of a training run: a number or "newest"; NULL: the session's,
                            or the newest */
};
struct column;
/* Can its cells be asked for? */
bool export_rows_has(const struct column *column);
int export_rows_json(struct json *json, const struct session *session,
                     const struct export_rows_wanted *wanted, struct work *work,
                     struct err *err);

/* One pass of a recording as boxes in time, its memory, and where the time goes:
 * "timeline" of docs/json.md. UINT32_MAX: the newest complete pass. */
int export_timeline_json(struct json *json, const struct session *session,
                         uint32_t pass, struct work *work, struct err *err);

/* The history of a training run, condensed to few columns: "history" of
 * docs/json.md. */
struct export_history_wanted {
    uint32_t columns; /* limit of their number */
    uint64_t bytes;   /* approximate limit for series: they get fewer columns, or are
                         omitted */
    bool shown;       /* names are escaped for display */
};
#define EXPORT_HISTORY_WANTED                                                          \
    {                                                                                  \
        400, 8000000, false                                                            \
    }
int export_history_json(struct json *json, const struct session *session,
                        const struct export_history_wanted *wanted, struct err *err);

/* Parts of the history, requested one by one by the page (docs/json.md). Columns keep
 * their boundaries while a run continues; `since`: only columns from the one with this
 * step on; 0: all. Training, or evaluation if there is nothing else. */
enum export_live { EXPORT_LIVE_UNKNOWN, EXPORT_ENDED, EXPORT_LIVE };
struct export_training_wanted {
    uint32_t columns;
    uint64_t since;
    enum export_live live; /* as far as the caller knows */
};
int export_training_json(struct json *json, struct session *session,
                         const struct export_training_wanted *wanted, struct err *err);

struct export_modules_wanted {
    uint32_t columns;
    uint64_t from, to, since; /* step numbers; to 0: up to the newest */
    uint64_t rank;            /* one of a folder, or OVERVIEW_ALL_RANKS */
    bool least;               /* of several ranks: also the minimum */
    bool quick;               /* may omit rows of steps, to be requested again */
    bool has_around;
    uint64_t around; /* the step for the close-up; default: the first that is not
                        finite */
};
#define EXPORT_MODULES_WANTED                                                          \
    {                                                                                  \
        .columns = 120, .rank = OVERVIEW_ALL_RANKS                                     \
    }
int export_modules_json(struct json *json, struct session *session,
                        const struct export_modules_wanted *wanted, struct err *err);

/* All places at a step: a number, or STEP_NEWEST. */
int export_step_json(struct json *json, struct session *session, uint64_t step,
                     struct err *err);

struct export_series_wanted {
    uint32_t place, columns, rows; /* 0 rows: no histograms */
    bool below;                    /* also for all modules below the place */
    bool eval;                     /* from evaluation */
    bool has_at;
    uint64_t from, to, since;
    uint64_t at; /* a step to report individually */
    struct history_shading shading;
};
#define EXPORT_SERIES_WANTED                                                           \
    {                                                                                  \
        .columns = 120, .rows = 32                                                     \
    }
int export_series_json(struct json *json, struct session *session,
                       const struct export_series_wanted *wanted, struct err *err);

/* The files of a server: the document `shelf`, or `news` with changes only. */
struct export_shelf_file {
    struct str file, name; /* the id in requests; the display name */
    const char *path;      /* NULL: a model in memory */
    const char *format;    /* NULL or "": unknown */
    const char *kind;      /* "file", "recording", "run" */
    const char *why;       /* why it cannot be opened; or NULL */
    const char *capsule;   /* a step to replay: its contents; NULL: not a capsule */
    const char *labels;    /* "numbers": inputs are numbered; NULL: they have names */
    bool opened;           /* its content is known; else pending */
    bool judged;           /* has a verdict */
    bool live, ended, died;
    bool has_steps, has_loss;
    uint8_t verdict; /* enum verdict */
    unsigned has;    /* enum session_has */
    uint32_t alarms; /* number of alarms above notes */
    uint64_t bytes, params;
    uint64_t steps, newest; /* logged steps; the number of the newest */
    double loss;
    uint64_t version;
};
void export_shelf_begin(struct json *json, const char *kind, uint64_t news,
                        bool complete);
void export_shelf_file(struct json *json, const struct export_shelf_file *file);
void export_shelf_end(struct json *json);
/* The error document for an invalid request. */
void export_error_json(struct json *json, const char *sentence);

/* About the program itself; the caller knows its libraries and formats. */
struct export_library {
    const char *name, *version;
};
struct export_program {
    const char *version, *kernels;
    const char *(*format)(size_t i); /* format i that is read; NULL after the last */
    const struct export_library *libraries;
    size_t n_libraries;
};
void export_program_json(struct json *json, const struct export_program *program);

/* One place in full. For a tensor: its numbers (NULL: not requested, or unreadable for
 * the reason in the session) and values. */
struct export_values {
    struct str index; /* the slice as the user wrote it */
    const struct slice *slice;
    const struct cells *cells;
};
void export_show_json(struct json *json, const struct session *session, uint32_t place,
                      const struct numbers *numbers,
                      const struct export_values *values);

/* A page's request about the values of a tensor or, with `all`, a slice or a sheet, of
 * the kept result of a module call. */
struct export_show_wanted {
    struct numbers_wanted numbers;
    bool all;          /* list NaN, infinities and zeros even if their count is 0, and
                          all facts: "statistics" */
    const char *slice; /* of the values; "": all; NULL: none */
    uint64_t row,
        rows; /* a window of the slice's last two dimensions; rows is 0: all */
    uint64_t column, columns;
    uint32_t picture; /* maximum cells per side of a picture of these; 0: none */
    const char *cell; /* "18,38": exact, with its bits; NULL: none */
    bool sheet;       /* the channels of a tensor N×C×H×W as small pictures ... */
    uint64_t item;    /* ... of this item of the batch, ... */
    uint64_t channel; /* ... from this channel on */
    uint64_t call;    /* number of the call at this place; EXPORT_NEWEST */
};
#define EXPORT_NEWEST UINT64_MAX
#define EXPORT_VALUES 1000000u /* limit in one document */
/* The document of export_show_json() for such a request. Errors are reported before
 * anything is written. `work` counts bytes. */
int export_show_page(struct json *json, struct session *session, uint32_t place,
                     const struct export_show_wanted *wanted, struct work *work,
                     struct err *err);

/* The source of the class of a place's module, with the shapes of a call beside its
 * lines: "code" of docs/json.md. `number`: index of the call at this place, or
 * EXPORT_NEWEST. */
int export_code_json(struct json *json, const struct session *session, uint32_t place,
                     uint64_t number, struct err *err);
/* The attributes of an object, one level: of the place, or of the attribute at the
 * positions in `path` ("3.0"; "": the place itself): "attributes" of docs/json.md. Runs
 * no user code. */
int export_attributes_json(struct json *json, const struct session *session,
                           uint32_t place, struct str path, struct err *err);

/* The same as text, with the numbers that `torchoscope show --json` writes by default.
 * A tensor larger than `most` bytes, or unreadable, has none. */
int export_row_json(struct buf *to, struct session *session, uint32_t place,
                    uint64_t most, struct work *work, struct err *err);

/* The session's statistics of the chosen tensors; `complete` is false if measuring
 * was cancelled. */
void export_stats_json(struct json *json, const struct session *session,
                       struct export_choice choice, bool complete);

/* The differences of two models; `all`: list equal tensors too. */
int export_diff_json(struct json *json, const struct pair *pair,
                     const struct tolerance *tolerance, bool all, struct err *err);

/* The same as a .txt, .md or .json file, written whole or not at all. */
int export_diff_file(const char *path, const struct pair *pair, struct err *err);

/* A check of several models: begin, then each model or error, then end. */
struct export_skipped {
    const char *path, *why;
};
struct export_checked {
    enum verdict verdict; /* the worst of all */
    int status;
    bool complete; /* false: cancelled */
    const struct export_skipped *skipped;
    uint32_t n_skipped;
    struct verdict_allow allow;
};
void export_check_begin(struct json *json);
void export_check_model(struct json *json, const struct session *session,
                        const struct check *check);
void export_check_error(struct json *json, const char *path, const char *error);
void export_check_end(struct json *json, const struct export_checked *checked);

/* The same as SARIF 2.1.0. `version` is the program's version. */
void export_sarif_begin(struct json *json, const char *version);
void export_sarif_model(struct json *json, const struct session *session,
                        const struct check *check);
void export_sarif_error(struct json *json, const char *path, const char *error);
void export_sarif_end(struct json *json, const struct export_checked *checked);

/* Tables: a header line, then one row per chosen tensor and, in the tree of a
 * recording, per module. */
int export_tree_csv(struct out *out, const struct session *session,
                    struct export_choice choice, struct err *err);
void export_stats_csv(struct out *out, const struct session *session,
                      struct export_choice choice);
/* The operations used, one row each. */
void export_ops_csv(struct out *out, const struct session *session,
                    const struct op_use_list *uses);

#endif
