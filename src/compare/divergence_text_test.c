#include "compare/divergence_text.h"

#include <math.h>
#include <string.h>

#include "base/test.h"
#include "compare/diff_view.h"
#include "compare/pair_text.h"
#include "run/sample_run.h"

/* ---- two recordings ---- */

static void io(struct trace *trace, uint32_t call, enum run_io_kind kind,
               uint32_t value)
{
    trace_io(trace, call, kind, trace_string(trace, "", 0), value, 0);
}

/* Net calls a and the block's act; these are the means of their results. */
static struct session *record(double a_mean, double act_mean)
{
    struct trace *trace = trace_new(sample_model(), &(struct trace_wanted){0});
    uint32_t line = trace_string(trace, "net.py:12", 9), net, a, act, x, y, z;

    CHECK(trace);
    x = sample_value(trace, 4, 3, 1);
    y = sample_value(trace, 4, 2, a_mean);
    z = sample_value(trace, 4, 2, act_mean);
    net = trace_begin(trace, 0, SAMPLE_NET, 0, 0, 100);
    io(trace, net, RUN_IN, x);
    a = trace_begin(trace, 0, SAMPLE_A, 0, line, 101);
    io(trace, a, RUN_IN, x);
    io(trace, a, RUN_OUT, y);
    trace_end(trace, 0, a, 0, 102);
    act = trace_begin(trace, 0, SAMPLE_ACT, 0, line, 103);
    io(trace, act, RUN_IN, y);
    io(trace, act, RUN_OUT, z);
    trace_end(trace, 0, act, 0, 104);
    io(trace, net, RUN_OUT, z);
    trace_end(trace, 0, net, 0, 105);
    return session_of_run(trace_finish(trace, 1000, 0), NULL);
}

static struct pair *pair_with(double a_mean, double act_mean)
{
    struct diff_wanted wanted = {.values = true};
    struct pair *pair =
        pair_of(record(2, 3), record(a_mean, act_mean), &wanted, NULL, NULL);

    CHECK(pair && pair->divergence);
    return pair;
}

static struct buf text_of(const struct pair *pair, bool markdown)
{
    struct buf text = BUF_INIT;
    struct out out;

    if (markdown) {
        CHECK(pair_markdown(&text, pair, false, NULL) == 0);
        return text;
    }
    out_init_buf(&out, &text);
    CHECK(pair_text_write(&(struct pen){.out = &out}, pair, false, NULL) == 0);
    out_release(&out);
    return text;
}

static void check_says(const struct buf *text, const char *part)
{
    if (!strstr(buf_cstr(text), part))
        test_fail(__FILE__, __LINE__, "\"%s\" is not in:\n%s", part, buf_cstr(text));
}

/* The cells of a row of the tree, with bars between. */
static const char *row_of(struct buf *text, const struct pair *pair, const char *name)
{
    struct show show = {.session = pair->right, .model = pair->right->model};
    struct row row = {.count = 1, .above = NO_ROW};
    size_t n;
    const struct column *columns = diff_columns(pair, &n);

    diff_show(&show, pair);
    while (row.place < pair->diff.n_nodes &&
           !str_is(pair->diff.nodes[row.place].name, name))
        row.place++;
    CHECK(row.place < pair->diff.n_nodes);
    buf_clear(text);
    for (size_t i = 0; i < 3; i++) {
        buf_text(text, i > 0 ? "|" : "");
        column_figure(text, &columns[i], &show, &row);
    }
    return buf_cstr(text);
}

TEST(rows_of_the_tree_show_which_results_differ)
{
    struct pair *pair = pair_with(2, 3.5);
    struct buf text = BUF_INIT;

    CHECK_STR(row_of(&text, pair, ""), "~  1 of 3, the first|0.14|=  0 of 3");
    CHECK_STR(row_of(&text, pair, "a"), "=  0 of 1||=  0 of 2");
    pair_close(pair);
    pair = pair_with(2.5, 3);
    CHECK_STR(row_of(&text, pair, "a"), "~  1 of 1, the first|0.2|=  0 of 2");
    pair_close(pair);
    pair = pair_with(2, 3);
    CHECK_STR(row_of(&text, pair, "a"), "=  0 of 1||=  0 of 2");
    pair_close(pair);
    buf_release(&text);
}

TEST(recordings_that_agree_are_reported_as_equal)
{
    struct pair *pair = pair_with(2, 3.000003);
    struct buf text = text_of(pair, false);

    CHECK(pair_has_results(pair) && pair_equal(pair));
    check_says(&text,
               "results     all 3 results agree; the largest distance is 1e-06\n");
    check_says(&text, "calls       3 of 3 and 3 belong together: 3 by name\n");
    buf_release(&text);
    pair_close(pair);
}

TEST(the_text_has_the_first_difference_and_its_origin)
{
    struct pair *pair = pair_with(2.5, 6);
    struct buf text = text_of(pair, false);

    CHECK(!pair_equal(pair));
    check_says(&text, "results     2 of 3 results differ\n"
                      "first       a  Linear  net.py:12\n"
                      "            its inputs agree: the error begins here\n"
                      "left        4×2 float32  min 2  max 2  mean 2  std 0\n"
                      "right       4×2 float32  min 2.5  max 2.5  mean 2.5  std 0\n"
                      "apart       at least 0.2 of the RMS, tolerance 1e-05"
                      "  max |Δ| at least 0.5  (by statistics)\n"
                      "inputs      in agrees\n"
                      "later       list.0.act  0.5  (inputs 0.2)\n"
                      "compared    3 results");
    buf_release(&text);
    text = text_of(pair, true);
    check_says(&text, "- **first** a  Linear  net.py:12\n");
    buf_release(&text);
    pair_close(pair);
}

TEST(structure_alone_compares_no_results)
{
    struct diff_wanted wanted = {.no_results = true};
    struct pair *pair = pair_of(record(1, 2), record(3, 4), &wanted, NULL, NULL);

    CHECK(pair && !pair->divergence && pair_equal(pair));
    pair_close(pair);
}

TEST(a_node_lists_which_of_its_results_differ)
{
    struct pair *pair = pair_with(2, 6);
    struct divergence_words words = {.divergence = pair->divergence,
                                     .diff = &pair->diff};
    struct facts facts = {0};
    struct buf text = BUF_INIT;

    divergence_node(&facts, &words, 0);
    facts_text(&text, &facts, 10);
    check_says(&text, "1 of 3 differs, it is list.0.act, 0.5 apart\n");
    facts_clear(&facts);
    buf_clear(&text);
    for (uint32_t i = 1; i < pair->diff.n_nodes; i++)
        if (str_is(pair->diff.nodes[i].name, "a"))
            divergence_node(&facts, &words, i);
    facts_text(&text, &facts, 10);
    check_says(&text, "1 agrees\n");
    facts_release(&facts);
    buf_release(&text);
    pair_close(pair);
}

TEST(verdicts_follow_from_the_inputs)
{
    const struct {
        struct divergence_result result;
        const char *says;
    } cases[] = {
        {{.what = DIVERGENCE_INPUT}, "the runs got different inputs"},
        {{.what = DIVERGENCE_OP, .inputs = NAN}, "its inputs were not compared"},
        {{.what = DIVERGENCE_OP, .inputs = 3e-7, .begins = true, .tolerance = 1e-5},
         "its inputs agree to 3e-07: the error begins here"},
        {{.what = DIVERGENCE_OP, .inputs = INFINITY}, "its inputs differ already"},
        {{.what = DIVERGENCE_OP, .inputs = 0.1, .tolerance = 1e-5},
         "its inputs are 0.1 apart already"},
        {{.what = DIVERGENCE_OP, .inputs = 4e-6, .tolerance = 1e-5},
         "its inputs are 4e-06 apart: the error grew beyond the tolerance"},
        {{.what = DIVERGENCE_CALL, .begins = true, .parameters = 1},
         "its inputs agree, its parameters do not: the error begins here"},
        {{.what = DIVERGENCE_CALL, .begins = true, .calls = true},
         "its inputs agree, the modules inside too: the error begins in its own code"},
        {{.what = DIVERGENCE_CALL, .begins = true, .calls = true, .inside = true},
         "its inputs agree: the error begins inside, where calls could not be matched"},
        {{.what = DIVERGENCE_CALL, .differs = true},
         "its inputs agree, results inside it do not"},
        {{.what = DIVERGENCE_OP, .inputs = NAN, .random = true},
         "its inputs were not compared; it draws random numbers: give both runs the "
         "same seed"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf text = BUF_INIT;

        divergence_verdict(&text, &cases[i].result);
        CHECK_STR(buf_cstr(&text), cases[i].says);
        buf_release(&text);
    }
}

TEST(the_title_of_two_recordings_counts_results)
{
    struct pair *pair = pair_with(2.5, 6);
    struct lines lines = {0};
    struct buf text = BUF_INIT;

    diff_title(&lines, pair, 100);
    line_plain(&text, &lines, 0);
    check_says(&text, "2 of 3 results differ");
    check_says(&text, "DIVERGE");
    lines_release(&lines);
    buf_release(&text);
    pair_close(pair);
}
