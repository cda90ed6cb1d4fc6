#include "facts/op_words.h"

#include "base/base.h"

void op_words(struct facts *to, const struct show *show, uint32_t op)
{
    const struct run *run = show->session->run;
    const struct run_op *of = &run->ops->ops[op];
    struct str name = op_name(run, of);

    if (of->line) {
        fact_text(to, "line", run_string(run, of->line));
        buf_char(&to->text, ' ');
    }
    if (str_starts(name, STR("aten::")))
        name = str_from(name, 6);
    fact_text(to, "op", name);
    buf_text(&to->text, "()");
    if (of->place < show->model->n_places) {
        buf_text(&to->text, " in ");
        fact_place(to, "module", show, of->place);
    } else {
        buf_text(&to->text, " outside the model");
    }
}
