#include "compare/pair_text.h"

#include "compare/diff_text.h"
#include "compare/divergence_text.h"
#include "compare/parting_text.h"
#include "text/text.h"

#define INDENT 12 /* "operations" and a gap */

static struct divergence_words words_of(const struct pair *pair, bool all)
{
    return (struct divergence_words){.divergence = pair->divergence,
                                     .most = all ? UINT32_MAX : DIVERGENCE_LATER,
                                     .all = "--all"};
}

/* Where the runs part, then where their first steps begin to differ. */
static int results_facts(struct facts *to, const struct pair *pair, bool all,
                         struct err *err)
{
    struct divergence_words words = words_of(pair, all);

    if (pair->parting)
        parting_facts(to, pair->parting);
    if (!pair->divergence || (pair->parting && pair->parting->common > 0 && !all))
        return 0;
    return divergence_facts(to, &words, err);
}

static int write_results(const struct pen *pen, const struct pair *pair, bool all,
                         struct err *err)
{
    const struct facts_look look = {.width = pen->width, .indent = INDENT};
    struct facts facts = {0};
    struct lines lines = {0};
    int status = results_facts(&facts, pair, all, err);

    if (status == 0) {
        facts_lines(&lines, &facts, &look);
        lines_print(&lines, pen);
        out_char(pen->out, '\n');
    }
    lines_release(&lines);
    facts_release(&facts);
    return status;
}

int pair_text_write(const struct pen *pen, const struct pair *pair, bool all,
                    struct err *err)
{
    if ((pair->divergence || pair->parting) && write_results(pen, pair, all, err) < 0)
        return -1;
    return diff_text_write(pen, &pair->diff, all, err);
}

/* A list: one fact an item, those that continue it below. */
static void markdown_fact(struct buf *to, const struct facts *facts,
                          const struct fact *fact)
{
    if (fact->label && *fact->label) {
        buf_text(to, "- **");
        escape_markdown(to, str_of(fact->label));
        buf_text(to, "** ");
    } else {
        buf_text(to, "  - ");
    }
    for (uint32_t i = 0; i < fact->n; i += fact_group_length(facts, fact, i)) {
        buf_text(to, i > 0 ? ", " : "");
        escape_markdown(to, fact_group_text(facts, fact, i));
    }
    buf_char(to, '\n');
}

int pair_markdown(struct buf *to, const struct pair *pair, bool all, struct err *err)
{
    struct facts facts = {0};
    int status = 0;

    if (pair->divergence || pair->parting) {
        status = results_facts(&facts, pair, all, err);
        for (uint32_t i = 0; status == 0 && i < facts.n; i++)
            markdown_fact(to, &facts, &facts.at[i]);
        buf_char(to, '\n');
        facts_release(&facts);
    }
    return status < 0 ? -1 : diff_markdown(to, &pair->diff, all, err);
}
