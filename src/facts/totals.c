#include "facts/totals.h"

#include "facts/ops_text.h"
#include "facts/run_text.h"
#include "text/number.h"

uint64_t totals_activations(const struct run *run)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < run->n_calls; i++)
        if (!(run->calls[i].flags & RUN_RECOMPUTED))
            sum += run->calls[i].new_bytes;
    for (uint32_t i = 0; i < run->n_merged; i++) {
        const struct run_merged *merged = &run->merged[i];

        if (merged->newest != RUN_NONE &&
            run->calls[merged->newest].flags & RUN_RECOMPUTED)
            continue;
        sum += merged->new_bytes; /* the newest one is also among the calls */
        if (merged->newest != RUN_NONE)
            sum -= run->calls[merged->newest].new_bytes;
    }
    return sum;
}

bool totals_activations_known(const struct run *run)
{
    for (uint32_t i = 0; i < run->n_ios; i++) {
        const struct run_io *io = &run->ios[i];
        const struct run_value *value;

        if (io->kind != RUN_OUT || io->value == RUN_NONE)
            continue;
        value = &run->values[io->value];
        if (value->storage == RUN_NONE && value->numel > 0)
            return false;
    }
    return true;
}

static void write_params(struct buf *to, const struct counts *total)
{
    uint64_t tied = total->stored - total->params;

    text_commas(to, total->params);
    if (total->trainable > 0 && total->frozen > 0) {
        buf_text(to, ", ");
        text_commas(to, total->trainable);
        buf_text(to, " trainable, ");
        text_commas(to, total->frozen);
        buf_text(to, " frozen");
    } else if (total->params > 0 && total->grad_known > 0) {
        buf_text(to, total->frozen > 0 ? ", all frozen" : ", all trainable");
    }
    if (total->stored <= total->params)
        return;
    buf_text(to, "; ");
    text_commas(to, tied);
    buf_text(to, " more are tied to these and not counted again");
}

/* Append a part and add its bytes to the sum. */
static void add_memory(struct buf *to, uint64_t *sum, uint64_t bytes, const char *what)
{
    if (bytes == 0)
        return;
    buf_text(to, *sum > 0 ? " + " : "");
    text_bytes(to, bytes);
    buf_printf(to, " of %s", what);
    *sum += bytes;
}

/* " + 96B of activations"; false: some are unknown. */
static bool add_activations(struct buf *to, uint64_t *sum, const struct run *run)
{
    uint64_t bytes = totals_activations(run);
    bool known = totals_activations_known(run);

    if (known) {
        add_memory(to, sum, bytes, "activations");
    } else if (bytes == 0) {
        buf_text(to, *sum > 0 ? " + activations (not known)" : "activations not known");
    } else {
        buf_text(to, *sum > 0 ? " + at least " : "at least ");
        text_bytes(to, bytes);
        buf_text(to, " of activations");
        *sum += bytes;
    }
    return known;
}

static void write_memory(struct buf *to, const struct show *show)
{
    const struct counts *total = &show->session->total;
    const struct run *run = show->session->run;
    uint64_t sum = 0, held;
    bool known = true;
    const char *what = total->buffers > 0 ? "parameters and buffers" : "parameters";

    add_memory(to, &sum, total->bytes, what);
    add_memory(to, &sum, total->other_bytes, "other tensors");
    held = sum;
    if (show->activity) {
        uint32_t newest = show->activity->at[0].newest;

        if (newest != RUN_NONE)
            add_memory(to, &sum, run_io_bytes(run, newest, RUN_IN), "inputs");
        known = add_activations(to, &sum, run);
    }
    if (sum > held && held > 0) {
        buf_text(to, known ? " = " : " = at least ");
        text_bytes(to, sum);
    }
    if (sum == 0 && known)
        buf_text(to, "none");
}

static void end_line(const struct pen *pen, struct buf *line)
{
    pen_line(pen, line, COLOUR_NONE);
    buf_clear(line);
}

void totals_write(const struct pen *pen, const struct show *show)
{
    const struct counts *total = &show->session->total;
    struct facts ran = {0};
    struct buf line = BUF_INIT;

    buf_text(&line, "params     ");
    write_params(&line, total);
    end_line(pen, &line);
    if (total->buffers > 0) {
        buf_text(&line, "buffers    ");
        text_commas(&line, total->buffers);
        buf_text(&line, " in ");
        text_plural(&line, total->buffer_tensors, "tensor", "tensors");
        end_line(pen, &line);
    }
    buf_text(&line, "memory     ");
    write_memory(&line, show);
    end_line(pen, &line);
    if (show->activity) {
        run_passes(&ran, show);
        buf_text(&ran.text, "; ");
        run_cost(&ran, show);
        buf_printf(&line, "ran        %s", buf_cstr(&ran.text));
        end_line(pen, &line);
    }
    if (show->ops) {
        facts_clear(&ran);
        ops_text_flops(&ran, &show->ops[0]);
        buf_printf(&line, "FLOPs      %s", buf_cstr(&ran.text));
        end_line(pen, &line);
    }
    facts_release(&ran);
    buf_release(&line);
}
