/* training_in.h - the parts of panel 7: panel_training.c requests curves and holds the
 * selected step, training_lines.c draws. */
#ifndef EXPLORER_TRAINING_IN_H
#define EXPLORER_TRAINING_IN_H

#include "explorer/panels_in.h"
#include "history/at_step.h"
#include "history/curves.h"

#define TRAINING_NOW UINT32_MAX /* a column: the newest step */

/* The layout of a panel of some width. */
struct training_room {
    unsigned width;
    unsigned columns; /* of curves and of the heat map; 0: too narrow, values only */
    unsigned rows;    /* of the heat map; 0: none */
    unsigned aside;   /* the column where the heat map begins; 0: below the curves */
};
struct training_room training_room_of(const struct panel_room *room, bool plain);

struct training_look {
    const struct curves *curves;
    const struct training_room *room;
    uint32_t column;          /* the selected one, or TRAINING_NOW */
    uint64_t step;            /* the selected step */
    const struct at_step *at; /* its numbers; NULL: still being read */
    uint32_t place;
    bool log;   /* every curve is logarithmic */
    bool plain; /* for screen readers: words only */
};

void training_curves(struct lines *to, const struct training_look *look);
/* "gradient of conv1.weight over steps (rows: magnitude)", or a shorter form */
void training_heat_title(struct buf *to, const struct curves_heat *heat,
                         unsigned cells);
void training_heat(struct lines *to, const struct training_look *look);
/* Stores the first line of each alarm. */
void training_alarms(struct lines *to, const struct training_look *look,
                     uint32_t ret_lines[CURVES_ALARMS]);

#endif
