/* One place as JSON text, like `torchoscope show --json`. */
#include "base/base.h"
#include "export/export.h"
#include "facts/statistics.h"

static const double quantiles[] = {.05, .25, .5, .75, .95};

int export_row_json(struct buf *to, struct session *session, uint32_t place,
                    uint64_t most, struct work *work, struct err *err)
{
    const struct model *model = session->model;
    struct numbers_wanted wanted = {.quantiles = quantiles,
                                    .n_quantiles = COUNT_OF(quantiles),
                                    .bins = STATISTICS_COLUMNS};
    struct numbers numbers;
    struct arena arena;
    struct json json;
    struct out out;
    bool known = false;
    int status = 0;

    arena_init(&arena, GIB);
    if (model->kind[place] == PLACE_TENSOR &&
        tensor_bytes(place_tensor(model, place)) <= most) {
        known = session_numbers(session, model->object[place], &wanted, &arena, work,
                                &numbers, err) == 0;
        if (!known && !session_why(session, model->object[place]))
            status = -1;
    }
    if (status == 0) {
        out_init_buf(&out, to);
        json_init_text(&json, &out);
        export_show_json(&json, session, place, known ? &numbers : NULL, NULL);
        status = out_release(&out);
    }
    arena_release(&arena);
    return status;
}
