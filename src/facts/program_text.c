/* The operations of a file in words: what its counts omit. */
#include "facts/ops_table.h"
#include "study/program_use.h"
#include "text/text.h"

/* "14 operations are in loops: ...", "1 operation is in a loop: ..." */
static void add_loops(struct buf *to, const struct program_sum *sum)
{
    text_plural(to, sum->in_loops, "operation is in a loop", "operations are in loops");
    buf_text(to, ": counted once, but run in every iteration\n");
}

static void add_branches(struct buf *to, const struct program_sum *sum)
{
    text_plural(to, sum->in_ifs, "operation depends on a condition",
                "operations depend on conditions");
    if (sum->not_taken > 0) {
        buf_text(to, "; ");
        text_commas(to, sum->not_taken);
        buf_text(to, sum->not_taken == 1 ? " is in a branch that is"
                                         : " are in branches that are");
        buf_text(to, " never taken");
    }
    buf_char(to, '\n');
}

static void add_unclear(struct buf *to, const struct model *model,
                        const struct program_sum *sum)
{
    const struct program_region *region = &model->program->regions[sum->first_unclear];
    struct buf line = BUF_INIT;

    text_plural(to, sum->unclear, "place in the code is not understood",
                "places in the code are not understood");
    buf_text(to, sum->unclear == 1 ? ": " : ", first ");
    if (program_line(&line, model, region->file, region->line))
        escape_terminal(to, buf_span(&line));
    buf_text(to, ": ");
    escape_terminal(to, model_string(model, region->text));
    buf_char(to, '\n');
    buf_release(&line);
}

void ops_program_sums(struct buf *to, const struct model *model,
                      const struct op_use_list *uses)
{
    struct program_sum sum = program_sums(model->program);
    struct buf origin = BUF_INIT;

    text_plural(to, uses->sum.count, "operation", "operations");
    buf_text(to, " of ");
    text_plural(to, uses->n, "kind", "kinds");
    buf_text(to, " in ");
    program_origin(&origin, model);
    escape_terminal(to, buf_span(&origin));
    buf_release(&origin);
    buf_text(to, "; it was not run: no times, memory or FLOPs\n");
    if (sum.in_loops > 0)
        add_loops(to, &sum);
    if (sum.in_ifs > 0)
        add_branches(to, &sum);
    if (sum.unclear > 0)
        add_unclear(to, model, &sum);
    if (model->program->cut)
        buf_text(to,
                 "the code reaches a limit of torchoscope: operations after that are "
                 "not listed\n");
}
