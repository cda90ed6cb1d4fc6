#include "facts/memory_text.h"

#include "facts/op_words.h"

static void peak_fact(struct facts *to, const struct show *show)
{
    const struct memory_use *memory = show->memory;
    const struct run_op *op = &show->session->run->ops->ops[memory->peak_op];

    fact_bytes(to, "bytes", memory->peak);
    buf_text(&to->text,
             memory->partial ? " or more of tensors at " : " of tensors at ");
    op_words(to, show, memory->peak_op);
    buf_text(&to->text, ", in ");
    fact_text(to, "phase", str_of(op_phase_name((enum op_phase)op->phase)));
    fact_end_as(to, "peak", "peak", COLOUR_NONE)->target = NO_TARGET;
    for (int i = 0; i < MEMORY_KINDS; i++) {
        if (memory->at_peak[i] == 0)
            continue;
        buf_printf(&to->text, "%s ", memory_kind_words((enum memory_kind)i));
        fact_bytes(to, memory_kind_name((enum memory_kind)i), memory->at_peak[i]);
        fact_part(to, COLOUR_NONE);
    }
    fact_end_as(to, "at_peak", "", COLOUR_NONE);
}

/* The place with the largest own share below `below`, the first of equal ones after
 * `after`; NO_PLACE: none. */
static uint32_t next_place(const struct show *show, uint64_t below, uint32_t after)
{
    const struct memory_use *memory = show->memory;
    uint32_t found = NO_PLACE;

    for (uint32_t p = 0; p < show->model->n_places; p++) {
        uint64_t bytes = memory->saved_own[p];

        if (bytes == 0 || bytes > below || (bytes == below && p <= after))
            continue;
        if (found == NO_PLACE || bytes > memory->saved_own[found])
            found = p;
    }
    return found;
}

static void saved_fact(struct facts *to, const struct show *show, uint32_t most)
{
    const struct memory_use *memory = show->memory;
    uint32_t place = next_place(show, UINT64_MAX, NO_PLACE);

    fact_bytes(to, "bytes", memory->saved);
    buf_text(&to->text, " for backward");
    fact_part(to, COLOUR_NONE);
    for (uint32_t i = 0; i < most && place != NO_PLACE; i++) {
        fact_place(to, "place", show, place);
        buf_char(&to->text, ' ');
        fact_bytes(to, "own", memory->saved_own[place]);
        buf_text(&to->text, ", ");
        fact_share(to, "share", memory->saved_own[place], memory->saved);
        fact_part(to, COLOUR_NONE);
        place = next_place(show, memory->saved_own[place], place);
    }
    fact_end_as(to, "saved", "saved", COLOUR_NONE)->target = NO_TARGET;
}

void memory_run(struct facts *to, const struct show *show, uint32_t most)
{
    if (!show->memory || show->memory->peak_op == RUN_NONE)
        return;
    peak_fact(to, show);
    if (show->memory->saved > 0)
        saved_fact(to, show, most);
}

void memory_place(struct facts *to, const struct show *show, uint32_t place)
{
    const struct memory_use *memory = show->memory;
    uint64_t here, own;

    if (!memory || memory->saved == 0 || show->model->kind[place] != PLACE_MODULE)
        return;
    here = memory->saved_here[place];
    own = memory->saved_own[place];
    fact_bytes(to, "bytes", here);
    fact_part(to, COLOUR_NONE);
    fact_share(to, "share", here, memory->saved);
    buf_text(&to->text, " of all that is saved for backward");
    fact_part(to, COLOUR_NONE);
    if (own != here) {
        buf_text(&to->text, "by itself ");
        fact_bytes(to, "own", own);
        fact_part(to, COLOUR_NONE);
    }
    fact_end(to, "saved", COLOUR_NONE)->share = (double)here / (double)memory->saved;
}
