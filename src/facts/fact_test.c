#include "facts/fact.h"

#include "base/test.h"

/* Two facts, the second of three parts and with a target. */
static void sample(struct facts *facts)
{
    buf_text(&facts->text, "one value of several words  ");
    fact_end(facts, "plain", COLOUR_NONE);
    fact_end(facts, "nothing", COLOUR_NONE);
    buf_text(&facts->text, "1.5ms, 9% of run");
    fact_part(facts, COLOUR_NONE);
    fact_part(facts, COLOUR_NONE);
    buf_text(&facts->text, "NaN 3");
    fact_part(facts, COLOUR_ALARM);
    CHECK(!fact_is_empty(facts));
    buf_text(&facts->text, "the rest");
    fact_end(facts, "parts", COLOUR_WARNING)->target = 7;
    CHECK(fact_is_empty(facts));
    buf_text(&facts->text, "a sentence");
    fact_end(facts, NULL, COLOUR_NONE);
}

TEST(facts_follow_their_labels_and_empty_ones_are_omitted)
{
    struct facts facts = {0};
    struct buf text = BUF_INIT;

    sample(&facts);
    CHECK_INT(facts.n, 3);
    CHECK_INT(facts.at[0].target, NO_TARGET);
    facts_text(&text, &facts, 8);
    CHECK_STR(buf_cstr(&text), "plain   one value of several words\n"
                               "parts   1.5ms, 9% of run   NaN 3   the rest\n"
                               "a sentence\n");
    buf_release(&text);
    facts_release(&facts);
}

TEST(narrow_panels_break_lines_between_parts_and_keep_targets)
{
    struct facts facts = {0};
    struct facts_look look = {.width = 26, .indent = 8, .panel = true};
    struct lines lines = {0};
    struct buf text = BUF_INIT;

    sample(&facts);
    facts_lines(&lines, &facts, &look);
    for (uint32_t i = 0; i < lines.n; i++) {
        line_plain(&text, &lines, i);
        buf_char(&text, '\n');
    }
    CHECK_STR(buf_cstr(&text), " plain  one value of\n"
                               "        several words\n"
                               " parts  1.5ms, 9% of run\n"
                               "        NaN 3   the rest\n"
                               " a sentence\n");
    CHECK_INT(lines.at[1].target, NO_TARGET);
    CHECK_INT(lines.at[2].target, 7);
    CHECK_INT(lines.at[3].target, 7);
    /* A margin, the label in the role of its fact, blanks, the part in its own. */
    CHECK_INT(lines.spans[lines.at[2].first + 1].colour, COLOUR_WARNING);
    CHECK_INT(lines.spans[lines.at[3].first + 1].colour, COLOUR_ALARM);
    CHECK_INT(lines.spans[lines.at[0].first + 1].colour, COLOUR_DIM);
    lines_release(&lines);
    buf_release(&text);
    facts_release(&facts);
}

TEST(cleared_facts_can_be_written_again)
{
    struct facts facts = {0};
    struct buf text = BUF_INIT;

    sample(&facts);
    facts_clear(&facts);
    CHECK_INT(facts.n, 0);
    buf_text(&facts.text, "x");
    fact_end(&facts, "", COLOUR_NONE);
    facts_text(&text, &facts, 3);
    CHECK_STR(buf_cstr(&text), "   x\n");
    buf_release(&text);
    facts_release(&facts);
}

TEST(values_keep_their_numbers_and_are_joined_to_the_text_around_them)
{
    static const int64_t dims[] = {64, 3};
    struct facts facts = {0};
    struct buf text = BUF_INIT;
    struct figure figure;

    buf_text(&facts.text, "about ");
    fact_plural(&facts, "tensors", 1200, "tensor", "tensors");
    buf_text(&facts.text, " of ");
    fact_bytes(&facts, "size", 2048);
    fact_part(&facts, COLOUR_WARNING);
    figure = fact_figure(&facts);
    figure_shape(&figure, dims, 2);
    fact_value(&facts, "shape", &figure);
    buf_text(&facts.text, " at ");
    buf_text(&facts.text, "net.fc");
    fact_named(&facts, "place", FIGURE_PLACE, 7);
    fact_end(&facts, "holds", COLOUR_NONE);
    fact_text(&facts, "next", STR("x"));
    fact_end(&facts, "", COLOUR_NONE);

    facts_text(&text, &facts, 8);
    CHECK_STR(buf_cstr(&text), "holds   about 1,200 tensors of 2.0KB   64×3 at net.fc\n"
                               "        x\n");
    CHECK_INT(facts.at[0].n, 6);
    CHECK_INT(facts.at[0].target, 7);
    CHECK_STR(facts.at[1].id, "holds");
    CHECK_STR(facts.parts[1].name, "tensors");
    CHECK_INT(facts.parts[1].kind, FIGURE_COUNT);
    CHECK_INT(facts.parts[1].n, 1200);
    CHECK_INT(facts.parts[1].role, COLOUR_WARNING);
    CHECK_INT(facts.parts[3].n, 2048);
    CHECK_INT(facts.parts[4].role, COLOUR_NONE);
    CHECK_INT(facts.parts[4].dims[1], 3);
    CHECK_INT(fact_group_length(&facts, &facts.at[0], 0), 4);
    CHECK_INT(fact_cells(&facts, &facts.at[0]), 45);
    buf_release(&text);
    facts_release(&facts);
}
