/* json_history_in.h - writes documents about a training run: `history`, and its parts,
 * which the page requests one by one. */
#ifndef EXPORT_JSON_JSON_HISTORY_IN_H
#define EXPORT_JSON_JSON_HISTORY_IN_H

#include "export/export_in.h"
#include "history/grid.h"
#include "history/modules.h"

#define POINT_BYTES   90u /* of one point with its shades, approximately */
#define COLUMNS_LEAST 24u
#define SERIES_LIMIT  (512 * MIB) /* memory of one series while it is read */

struct history_writing {
    struct json *json;
    struct history *history;
    const struct model *model;
    const struct export_history_wanted *wanted; /* of `history` only */
    bool shown;                                 /* names are escaped for display */
    struct arena *arena;
    struct history_grid scalars[HISTORY_PHASES], points[HISTORY_PHASES];
    struct history_series *series;
    uint32_t n_series;
    struct history_modules modules; /* of the training, or of the evaluation */
    uint8_t phase;                  /* of the modules */
    struct buf name;
    struct err *err;
};

/* Fails if the session has no history. */
int history_writing_init(struct history_writing *self, struct json *json,
                         const struct session *session, struct arena *arena,
                         struct err *err);

/* All series that fit: json_history_series.c. */
int history_writing_series(struct history_writing *self);

const char *history_writing_phase(uint8_t phase);
/* Text of the file. */
void history_writing_text(struct history_writing *self, const char *key,
                          struct str text);
void history_writing_columns(struct json *json, const char *key,
                             const struct history_grid *grid);

/* Members that are lists: json_history_lists.c. *ret_alarms, all of them, may be NULL. */
int history_writing_segments(struct history_writing *self);
int history_writing_alarms(struct history_writing *self,
                           const struct history_alarm **ret_alarms, uint32_t *ret_n);
int history_writing_scalars(struct history_writing *self);

/* Members of a series: json_history_series.c. Its name, place, kind, ... */
void history_writing_series_name(struct history_writing *self,
                                 const struct history_series *series);
/* Numbers and shades by column; only columns from `from` on are written. */
void history_writing_numbers(struct json *json,
                             const struct history_point *const *points, uint32_t from,
                             uint32_t n);
int history_writing_shades(struct history_writing *self,
                           const struct history_point *const *points, uint32_t from,
                           uint32_t n, const struct history_shading *how,
                           struct arena *arena);

/* The shared beginning of all parts: "torchoscope", "kind", "path", "newest" (the
 * newest step of these columns; null: none), "since". */
void history_writing_begin(struct history_writing *self, const struct session *session,
                           const char *kind);
void history_writing_newest(struct history_writing *self, uint64_t since);

#endif
