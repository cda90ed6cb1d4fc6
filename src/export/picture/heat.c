/* Heat of boxes: nine steps of one quantity, relative to the largest shown box.
 * look.md, section 2. */
#include <math.h>
#include <stdlib.h>

#include "export/picture/picture_in.h"

#define TOP_STEP  (PICTURE_HEAT_STEPS - 1)
#define LOG_ABOVE 1000 /* largest over median */

static bool is_hot(const struct picture *picture, uint32_t i)
{
    const struct diagram_box *box = &picture->diagram->boxes[i];

    return picture_is_node(picture, i) && box->kind != DIAGRAM_VIEW &&
           !diagram_is_tensor(box->kind) && box->metric[picture->metric] >= 0 &&
           isfinite(box->metric[picture->metric]);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static uint8_t step_of(const struct picture *picture, double value)
{
    double share;

    if (!(picture->heat_most > 0) || !(value > 0))
        return 0;
    if (!picture->heat_log)
        share = sqrt(value / picture->heat_most);
    else if (value <= picture->heat_least)
        share = 0;
    else
        share = log(value / picture->heat_least) /
                log(picture->heat_most / picture->heat_least);
    return share >= 1 ? TOP_STEP : (uint8_t)lround(share * TOP_STEP);
}

void picture_heat(struct picture *picture)
{
    uint32_t n_boxes = picture->diagram->plan.n_boxes, n = 0, zeros = 0;
    double *values;

    if (picture->wanted->color == DIAGRAM_FAMILY)
        return;
    values = arena_array(&picture->places, n_boxes, sizeof *values);
    if (!values) {
        picture->arena.spent = true; /* the caller checks it */
        return;
    }
    for (uint32_t i = 0; i < n_boxes; i++) {
        picture->boxes[i].heat = PICTURE_NO_HEAT;
        if (is_hot(picture, i))
            values[n++] = picture->diagram->boxes[i].metric[picture->metric];
    }
    if (n == 0)
        return;
    qsort(values, n, sizeof *values, by_value);
    while (zeros < n - 1 && values[zeros] <= 0)
        zeros++;
    picture->heat_most = values[n - 1];
    picture->heat_least = values[zeros];
    picture->heat_log = values[n / 2] > 0 && picture->heat_least < picture->heat_most &&
                        picture->heat_most / values[n / 2] > LOG_ABOVE;
    for (uint32_t i = 0; i < n_boxes; i++)
        if (is_hot(picture, i))
            picture->boxes[i].heat =
                step_of(picture, picture->diagram->boxes[i].metric[picture->metric]);
}
