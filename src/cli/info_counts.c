/* torchoscope info: how much there is. */
#include "cli/info_in.h"
#include "show/summary.h"
#include "text/escape.h"
#include "text/number.h"

/* "25,557,032 stored = unique = logical", or what differs. */
static void tell_params(struct info *info)
{
    const struct counts *total = &info->session->total;
    bool tied = total->stored != total->params,
         packed = total->logical != total->params;

    if (total->stored == 0)
        return;
    text_commas(&info->line, total->stored);
    buf_text(&info->line, " stored");
    if (tied) {
        buf_text(&info->line, ", ");
        text_commas(&info->line, total->params);
    }
    buf_text(&info->line, tied ? " unique" : " = unique");
    if (packed) {
        buf_text(&info->line, ", ");
        text_commas(&info->line, total->logical);
    }
    buf_text(&info->line, packed ? " logical" : " = logical");
    if (!tied && !packed)
        buf_text(&info->line, " (nothing tied, nothing packed)");
    info_tell(info, "params", COLOUR_NONE);
}

static void tell_memory(struct info *info)
{
    const struct counts *total = &info->session->total;
    bool own = total->param_tensors + total->buffer_tensors > 0;

    if (total->tensors == 0)
        return;
    if (own) {
        text_bytes(&info->line, total->bytes);
        buf_text(&info->line, " of parameters and buffers");
    }
    if (total->other_bytes > 0) {
        buf_text(&info->line, own ? ", " : "");
        text_bytes(&info->line, total->other_bytes);
        buf_text(&info->line, " of other tensors");
    }
    info_tell(info, "memory", COLOUR_NONE);
}

/* "all trainable"; "0 trainable, 1,024 frozen, 36 not said". */
static void add_trained(struct buf *to, const struct counts *total)
{
    uint64_t said = total->trainable + total->frozen;

    if (total->trainable == total->params || total->frozen == total->params) {
        summary_trainable(to, total);
        return;
    }
    text_commas(to, total->trainable);
    buf_text(to, " trainable, ");
    text_commas(to, total->frozen);
    buf_text(to, " frozen");
    if (said < total->params) {
        buf_text(to, ", ");
        text_commas(to, total->params - said);
        buf_text(to, " not said");
    }
}

static void tell_trained(struct info *info)
{
    const struct counts *total = &info->session->total;

    if (total->param_tensors == 0)
        return;
    if (total->grad_known > 0) {
        add_trained(&info->line, total);
        info_tell(info, "trained", COLOUR_NONE);
    } else if (info->model->flags[0] & PLACE_STATE_DICT) {
        buf_text(&info->line,
                 "not in a state_dict, nor what is frozen; ~ is a guess by "
                 "name and shape");
        info_tell(info, "types", COLOUR_NONE);
    }
}

/* ", told by name (running_mean, running_var, …)": the first two of them. */
static void add_guessed_buffers(struct info *info)
{
    const struct model *model = info->model;
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
        buf_text(&info->line, i == 0 ? ", told by name (" : ", ");
        escape_terminal(&info->line, model_string(model, names[i]));
    }
    if (n > 0)
        buf_text(&info->line, n > 2 ? ", …)" : ")");
}

static void tell_buffers(struct info *info)
{
    const struct counts *total = &info->session->total;

    if (total->buffer_tensors == 0)
        return;
    text_commas(&info->line, total->buffers);
    buf_text(&info->line, " in ");
    info_number(&info->line, total->buffer_tensors, "tensor", "tensors");
    add_guessed_buffers(info);
    info_tell(info, "buffers", COLOUR_NONE);
}

void info_counts(struct info *info)
{
    tell_params(info);
    tell_memory(info);
    tell_trained(info);
    tell_buffers(info);
}
