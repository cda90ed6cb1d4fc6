/* json_history_in.h - the document `history` being written. */
#ifndef EXPORT_JSON_JSON_HISTORY_IN_H
#define EXPORT_JSON_JSON_HISTORY_IN_H

#include "export/export_in.h"
#include "history/grid.h"
#include "history/modules.h"

#define POINT_BYTES   90u /* of one point with its shades, about */
#define COLUMNS_LEAST 24u
#define SERIES_LIMIT  (512 * MIB) /* memory of one series while it is read */

struct history_writing {
    struct json *json;
    struct history *history;
    const struct model *model;
    const struct export_history_wanted *wanted;
    struct arena *arena;
    struct history_grid scalars[HISTORY_PHASES], points[HISTORY_PHASES];
    struct history_series *series;
    uint32_t n_series;
    struct history_modules modules; /* of the training, or of the evaluation */
    uint8_t phase;                  /* of the modules */
    struct buf name;
    struct err *err;
};

/* All series that fit: json_history_series.c. */
int history_writing_series(struct history_writing *self);

const char *history_writing_phase(uint8_t phase);
/* Text of the file. */
void history_writing_text(struct history_writing *self, const char *key,
                          struct str text);
/* Five digits: enough for a picture, and short. */
void history_writing_short(struct json *json, double value);

#endif
