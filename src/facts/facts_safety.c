/* Would it be safe to load the file? */
#include <inttypes.h>

#include "base/base.h"
#include "facts/check_text.h"
#include "facts/facts.h"
#include "facts/summary.h"
#include "text/escape.h"
#include "text/number.h"
#include "text/width.h"

#define MOST_GLOBALS 40
#define WIDE_GLOBAL  64 /* cells; the name of a longer one sticks out */

void facts_global(struct buf *to, const struct show *show, uint32_t index, size_t cells,
                  enum colour *ret_role)
{
    static const char *const signs[] = {"✓", "!", "✗"};
    static const enum colour roles[] = {COLOUR_NONE, COLOUR_WARNING, COLOUR_ALARM};
    const struct pickle_global *global = &show->model->pickle.globals[index];
    const char *about;
    enum trust trust =
        verdict_judge(show->model, &show->session->verdict, index, &about);
    struct buf name = BUF_INIT, uses = BUF_INIT;

    escape_terminal(&name, model_string(show->model, global->name));
    text_plural(&uses, check_uses(global), "use ", "uses");
    buf_printf(to, "%s ", signs[trust]);
    text_pad(to, buf_span(&name), cells);
    buf_char(to, ' ');
    text_pad_left(to, buf_span(&uses), 9);
    if (*about)
        buf_printf(to, "  %s", about);
    buf_release(&name);
    buf_release(&uses);
    *ret_role = roles[trust];
}

static void tell_global(struct file_facts *facts, uint32_t index, size_t cells,
                        const char *what)
{
    enum colour role;

    facts_global(&facts->to->text, facts->show, index, cells, &role);
    fact_end(facts->to, what, role);
}

/* As far as they can be aligned. */
size_t facts_globals_width(const struct show *show)
{
    const struct pickle_log *log = &show->model->pickle;
    size_t most = 0;

    for (uint32_t i = 0; i < log->n_globals; i++) {
        size_t width = text_width(model_string(show->model, log->globals[i].name));

        if (width > most && width <= WIDE_GLOBAL)
            most = width;
    }
    return most;
}

/* Every global, the dangerous ones first. In Details they stand apart from the safety
 * that they belong to, so they have a word of their own. */
void facts_globals(struct file_facts *facts)
{
    static const enum trust order[] = {TRUST_DANGER, TRUST_UNKNOWN, TRUST_KNOWN};
    const struct pickle_log *log = &facts->show->model->pickle;
    size_t cells = facts_globals_width(facts->show);
    uint32_t all = 0;

    for (size_t k = 0; k < COUNT_OF(order); k++)
        for (uint32_t i = 0; i < log->n_globals; i++)
            if (verdict_judge(facts->show->model, &facts->show->session->verdict, i,
                              NULL) == order[k] &&
                model_string(facts->show->model, log->globals[i].name).len > 0 &&
                all++ < MOST_GLOBALS)
                tell_global(facts, i, cells, all == 1 && facts->brief ? "globals" : "");
    if (all > MOST_GLOBALS) {
        buf_printf(&facts->to->text, "%" PRIu32 " more: %s lists them all",
                   all - MOST_GLOBALS, facts->all);
        fact_end(facts->to, "", COLOUR_NONE);
    }
}

/* "; they build tensors, dicts": what most of them are good for. */
static void add_built(struct file_facts *facts)
{
    static const struct {
        const char *about, *built;
    } kinds[] = {{verdict_builds_tensor, "tensors"}, {verdict_builds_dict, "dicts"}};
    const struct pickle_log *log = &facts->show->model->pickle;
    int n = 0;

    for (size_t k = 0; k < COUNT_OF(kinds); k++)
        for (uint32_t i = 0; i < log->n_globals; i++) {
            const char *about;

            verdict_judge(facts->show->model, &facts->show->session->verdict, i,
                          &about);
            if (about != kinds[k].about)
                continue;
            buf_printf(&facts->to->text, "%s%s", n++ == 0 ? "; they build " : ", ",
                       kinds[k].built);
            break;
        }
}

void facts_meaning(struct file_facts *facts)
{
    const struct verdict_sum *sum = &facts->show->session->verdict;

    switch (sum->verdict) {
    case VERDICT_SAFE:
        if (facts->show->model->pickle.n_streams == 0) {
            buf_text(&facts->to->text, "the format holds no code");
        } else if (sum->known == 0) {
            buf_text(&facts->to->text, "it names nothing that a load would call");
        } else {
            text_plural(&facts->to->text, sum->known, "global", "globals");
            buf_text(&facts->to->text, ", all on the allow-list");
            add_built(facts);
        }
        break;
    case VERDICT_NEEDS_CODE:
        text_plural(&facts->to->text, sum->unknown, "global", "globals");
        buf_text(&facts->to->text, " outside the allow-list; nothing of them was run");
        break;
    case VERDICT_UNSAFE:
        buf_text(&facts->to->text,
                 "a plain load would run something; torchoscope ran nothing");
        break;
    case VERDICT_INCONCLUSIVE:
        buf_text(&facts->to->text, "it could not be decoded to its end");
        break;
    }
}

void facts_safety(struct file_facts *facts)
{
    enum verdict verdict = facts->show->session->verdict.verdict;

    buf_printf(&facts->to->text, "%s: ", summary_verdict_word(verdict));
    facts_meaning(facts);
    fact_end(facts->to, "safety", summary_verdict_colour(verdict));
}
