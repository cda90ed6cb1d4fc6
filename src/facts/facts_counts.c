/* Counts of parameters, bytes and buffers. */
#include "facts/facts.h"
#include "facts/summary.h"
#include "text/escape.h"
#include "text/number.h"

/* "25,557,032 stored = unique = logical", or each count if they differ. */
void facts_params(struct file_facts *facts)
{
    const struct counts *total = &facts->show->session->total;
    bool tied = total->stored != total->params,
         packed = total->logical != total->params;
    const struct model *model = facts->show->model;
    bool blocks = false; /* quantised, with block scales or packed */

    for (uint32_t i = 0; i < model->n_tensors && !blocks; i++)
        blocks = dtype_info(model->tensors[i].dtype)->scaled ||
                 model->tensors[i].flags & TENSOR_DERIVED;

    if (total->stored == 0)
        return;
    fact_count(facts->to, "stored", total->stored);
    buf_text(&facts->to->text, " stored");
    if (tied) {
        buf_text(&facts->to->text, ", ");
        fact_count(facts->to, "unique", total->params);
    }
    buf_text(&facts->to->text, tied ? " unique" : " = unique");
    if (packed) {
        buf_text(&facts->to->text, ", ");
        fact_count(facts->to, "logical", total->logical);
    }
    buf_text(&facts->to->text, packed ? " logical" : " = logical");
    if (!tied && !packed)
        buf_text(&facts->to->text,
                 blocks ? " (nothing tied)" : " (nothing tied, nothing packed)");
    fact_end(facts->to, "params", COLOUR_NONE);
}

void facts_memory(struct file_facts *facts)
{
    const struct counts *total = &facts->show->session->total;
    bool own = total->param_tensors + total->buffer_tensors > 0;

    if (total->tensors == 0)
        return;
    if (own) {
        fact_bytes(facts->to, "bytes", total->bytes);
        buf_text(&facts->to->text, " of parameters and buffers");
    }
    if (total->other_bytes > 0) {
        buf_text(&facts->to->text, own ? ", " : "");
        fact_bytes(facts->to, "other_bytes", total->other_bytes);
        buf_text(&facts->to->text, " of other tensors");
    }
    fact_end(facts->to, "memory", COLOUR_NONE);
}

/* "all trainable"; "0 trainable, 1,024 frozen, 36 unknown". */
static void add_trained(struct facts *to, const struct counts *total)
{
    uint64_t said = total->trainable + total->frozen;

    if (total->trainable == total->params || total->frozen == total->params) {
        summary_trainable(&to->text, total);
        return;
    }
    fact_count(to, "trainable", total->trainable);
    buf_text(&to->text, " trainable, ");
    fact_count(to, "frozen", total->frozen);
    buf_text(&to->text, " frozen");
    if (said < total->params) {
        buf_text(&to->text, ", ");
        fact_count(to, "unknown", total->params - said);
        buf_text(&to->text, " unknown");
    }
}

void facts_trained(struct file_facts *facts)
{
    const struct counts *total = &facts->show->session->total;

    if (total->param_tensors == 0)
        return;
    if (total->grad_known > 0) {
        add_trained(facts->to, total);
        fact_end(facts->to, "trained", COLOUR_NONE);
    } else if (facts->show->model->flags[0] & PLACE_STATE_DICT) {
        buf_text(&facts->to->text,
                 "a state_dict has no classes and no requires_grad; ~ marks a guess");
        fact_end(facts->to, "types", COLOUR_NONE);
    }
}

/* ", guessed by name (running_mean, running_var, …)": names the first two. */
static void add_guessed_buffers(struct file_facts *facts)
{
    const struct model *model = facts->show->model;
    uint32_t names[3];
    int n = 0;

    for (uint32_t p = 0; p < model->n_places && n < 3; p++) {
        const struct tensor *tensor;

        if (model->kind[p] != PLACE_TENSOR)
            continue;
        tensor = place_tensor(model, p);
        if (tensor->role != ROLE_BUFFER || !(tensor->flags & TENSOR_ROLE_GUESSED) ||
            (n > 0 && names[0] == model->name[p]) ||
            (n > 1 && names[1] == model->name[p]))
            continue;
        names[n++] = model->name[p];
    }
    for (int i = 0; i < n && i < 2; i++) {
        buf_text(&facts->to->text, i == 0 ? ", guessed by name (" : ", ");
        escape_terminal(&facts->to->text, model_string(model, names[i]));
    }
    if (n > 0)
        buf_text(&facts->to->text, n > 2 ? ", …)" : ")");
}

void facts_buffers(struct file_facts *facts)
{
    const struct counts *total = &facts->show->session->total;

    if (total->buffer_tensors == 0)
        return;
    fact_count(facts->to, "elements", total->buffers);
    buf_text(&facts->to->text, " in ");
    fact_plural(facts->to, "tensors", total->buffer_tensors, "tensor", "tensors");
    add_guessed_buffers(facts);
    fact_end(facts->to, "buffers", COLOUR_NONE);
}
