#include "explorer/measured.h"

#include "base/base.h"
#include "explorer/explorer.h"
#include "text/text.h"

/* Models up to this size are measured automatically: it takes about a second. */
#define SMALL_BYTES   (256 * MIB)
#define SMALL_TENSORS 200000u /* the statistics of more would need too much memory */

static bool not_finite(const struct stats *stats)
{
    return stats && stats->nan + stats->pos_inf + stats->neg_inf > 0;
}

bool measured_spoilt(const struct explorer *explorer, uint32_t tensor)
{
    return not_finite(session_known(explorer->session, tensor));
}

static bool can_be_read(const struct explorer *explorer, uint32_t tensor)
{
    const struct model *model = explorer->session->model;
    const char *why = session_why(explorer->session, tensor);
    bool busy;

    if (!why && explorer->jobs)
        jobs_numbers(explorer->jobs, tensor, &busy, &why);
    return !why && tensor_readable(model, &model->tensors[tensor], NULL);
}

static void add(struct measured *measured, const struct explorer *explorer,
                uint32_t tensor, uint32_t place)
{
    const struct stats *stats = session_known(explorer->session, tensor);

    if (stats) {
        measured->known++;
        if (not_finite(stats)) {
            measured->spoilt++;
            measured->nan |= stats->nan > 0;
            measured->inf |= stats->pos_inf + stats->neg_inf > 0;
            measured->first = place < measured->first ? place : measured->first;
        }
    } else if (can_be_read(explorer, tensor)) {
        measured->left++;
        measured->left_bytes +=
            tensor_bytes(&explorer->session->model->tensors[tensor]);
    } else {
        measured->unreadable++;
    }
}

void measured_below(struct measured *ret_measured, const struct explorer *explorer,
                    uint32_t place)
{
    const struct model *model = explorer->session->model;
    uint32_t end = model->end[place];

    *ret_measured = (struct measured){.first = NO_PLACE};
    for (uint32_t i = 0; place == 0 && i < model->n_tensors; i++)
        if (model->tensors[i].place != NO_PLACE)
            add(ret_measured, explorer, i, model->tensors[i].place);
    for (uint32_t p = place; place > 0 && p < end; p++) {
        uint32_t first;

        if (model->kind[p] != PLACE_TENSOR)
            continue;
        /* Count a tied tensor once, at its first place in this part. */
        first = model->tensors[model->object[p]].place;
        if (p == first || first < place || first >= end)
            add(ret_measured, explorer, model->object[p], p);
    }
}

static void add_known(struct buf *to, const struct measured *measured)
{
    if (measured->left > 0) {
        text_commas(to, measured->known);
        buf_text(to, " of ");
    }
    text_plural(to, measured->known + measured->left, "tensor", "tensors");
    buf_text(to, " measured: ");
    if (measured->spoilt == 0) {
        buf_text(to, "no NaN, no Inf");
    } else {
        buf_text(to, !measured->nan  ? "Inf in "
                     : measured->inf ? "NaN or Inf in "
                                     : "NaN in ");
        text_commas(to, measured->spoilt);
    }
}

void measured_text(struct buf *to, const struct explorer *explorer,
                   const struct measured *measured)
{
    bool busy = explorer->jobs && jobs_measuring(explorer->jobs);

    if (measured->known + measured->left + measured->unreadable == 0)
        return;
    if (measured->known > 0)
        add_known(to, measured);
    if (measured->left > 0 && busy) {
        buf_text(to, measured->known > 0 ? "; measuring the rest" : "being measured");
    } else if (measured->left > 0) {
        buf_text(to, measured->known > 0 ? "; :stats measures the rest ("
                                         : "not measured; :stats measures all (");
        text_bytes(to, measured->left_bytes);
        buf_char(to, ')');
    }
    if (measured->unreadable > 0) {
        buf_text(to, measured->known + measured->left > 0 ? "; " : "");
        text_plural(to, measured->unreadable, "tensor", "tensors");
        buf_text(to, " without readable values");
    }
}

bool measured_start(struct explorer *explorer)
{
    const struct model *model = explorer->session->model;
    struct measured measured;

    if (explorer->measured_once || explorer->pair)
        return false;
    explorer->measured_once = true;
    /* Only the owner may read a live model, and its values change. */
    if (model->n_tensors > SMALL_TENSORS || !model->source ||
        !model->source->any_thread)
        return false;
    measured_below(&measured, explorer, 0);
    if (measured.left == 0 || measured.left_bytes > SMALL_BYTES)
        return false;
    if (explorer->jobs)
        jobs_want_all(explorer->jobs, JOBS_QUIET);
    else
        explorer_measure(explorer, NO_TENSOR);
    return true;
}
