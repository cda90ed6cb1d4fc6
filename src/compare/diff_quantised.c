/* Rows about a model and its GGUF: what the converter changed, the error of each
 * quantised tensor, and that of each type. */
#include "base/base.h"
#include "compare/diff_rows_in.h"
#include "text/text.h"

/* ---- conversions ---- */

void diff_edit_rows(struct diff_rows_maker *maker)
{
    static const char *const words[] = {
        [EDIT_PERMUTED] = "rows of q and k are permuted as llama.cpp does",
        [EDIT_TRANSPOSED] = "weights of Conv1D are transposed as llama.cpp does",
        [EDIT_PLUS_ONE] = "1 is added to weights of norms as llama.cpp does",
        [EDIT_EXPONENT] = "A_log is stored as -exp(A_log) by llama.cpp",
        [EDIT_GROUPED] = "rows of fused q, k and v are grouped as llama.cpp does",
        [EDIT_RESHAPED] = "the shape is changed as llama.cpp does",
    };
    uint32_t n[COUNT_OF(words)] = {0};

    for (uint32_t i = 0; i < maker->diff->n_pairs; i++)
        if (maker->diff->pairs[i].edit.kind < COUNT_OF(words) &&
            maker->diff->pairs[i].state != DIFF_RESHAPED)
            n[maker->diff->pairs[i].edit.kind]++;
    for (size_t i = EDIT_PERMUTED; i < COUNT_OF(words); i++) {
        if (n[i] == 0)
            continue;
        buf_printf(&maker->what, "%s, undone to compare (",
                   maker->diff->gguf ? words[i] : "matrices are transposed");
        text_plural(&maker->what, n[i], "tensor", "tensors");
        buf_char(&maker->what, ')');
        diff_row_add(maker, "→", COLOUR_TYPE);
    }
}

/* ---- errors ---- */

/* "rel 0.53%  rms 0.0012  max 0.0043" */
static void add_error(struct buf *to, const struct compared *by)
{
    buf_text(to, "rel ");
    diff_relative(to, by);
    buf_text(to, "  rms ");
    text_real(to, diff_rms(by));
    buf_text(to, "  max ");
    text_real(to, by->max_abs);
}

/* The tensors of a stack are parts of it: it has the row. */
static bool is_part(const struct diff *diff, const struct diff_pair *pair)
{
    return pair->state == DIFF_JOINED &&
           diff->joins[pair->join].fused == (pair->right == NO_PLACE);
}

/* A stack that changed has its row here too, whatever its type is. */
static bool is_listed(const struct diff *diff, const struct diff_pair *pair)
{
    return pair->by.different > 0 && !is_part(diff, pair) &&
           (pair->state == DIFF_JOINED || diff_quantised(diff, pair) != DTYPE_UNKNOWN);
}

static enum dtype type_of(const struct diff *diff, const struct diff_pair *pair)
{
    enum dtype dtype = diff_quantised(diff, pair);
    const struct model *model;

    return dtype != DTYPE_UNKNOWN ? dtype
                                  : (enum dtype)diff_indexed(diff, pair, &model)->dtype;
}

void diff_quantised_rows(struct diff_rows_maker *maker)
{
    const struct diff *diff = maker->diff;

    diff_list_begin(maker);
    for (uint32_t i = 0; i < diff->n_pairs; i++) {
        const struct diff_pair *pair = &diff->pairs[i];

        if (!is_listed(diff, pair))
            continue;
        diff_write_pair(&maker->what, diff, i);
        buf_text(&maker->amount, dtype_name(type_of(diff, pair)));
        add_error(&maker->rest, &pair->by);
        diff_row_add(maker, "~", COLOUR_NONE);
    }
    diff_list_end(maker);
}

uint32_t diff_errors(const struct diff *diff, struct diff_error to[DTYPE_COUNT])
{
    uint32_t at[DTYPE_COUNT] = {0}, n = 0;

    for (uint32_t i = 0; i < diff->n_pairs; i++) {
        const struct diff_pair *pair = &diff->pairs[i];
        enum dtype dtype = diff_quantised(diff, pair);

        if (pair->by.count == 0 || dtype == DTYPE_UNKNOWN || is_part(diff, pair))
            continue;
        if (at[dtype] == 0) {
            to[n] = (struct diff_error){.dtype = dtype};
            at[dtype] = ++n;
        }
        to[at[dtype] - 1].tensors++;
        compared_merge(&to[at[dtype] - 1].by, &pair->by);
    }
    return n;
}

void diff_error_line(struct buf *to, const struct diff *diff)
{
    struct diff_error errors[DTYPE_COUNT];
    uint32_t n = diff_errors(diff, errors);

    for (uint32_t i = 0; i < n; i++) {
        buf_text(to, i == 0 ? "Error of the quantisation: " : "; ");
        buf_printf(to, "%s ", dtype_name(errors[i].dtype));
        add_error(to, &errors[i].by);
        buf_text(to, " (");
        text_plural(to, errors[i].tensors, "tensor", "tensors");
        buf_char(to, ')');
    }
}
