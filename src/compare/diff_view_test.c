#include "compare/diff_view.h"

#include "base/test.h"
#include "compare/diff_text.h"
#include "session/pair.h"
#include "study/diff/diff_sample.h"
#include "text/width.h"

static const char left_lines[] = "conv.weight 4x3 1\n"
                                 "norm.weight 4 2\n"
                                 "norm.running_mean 4 3\n"
                                 "block.weight 3x3 4\n"
                                 "old.bias 2 8\n"
                                 "fc.weight 5x4 6\n";
static const char right_lines[] = "conv.weight 4x3 1\n"
                                  "norm.weight 4 2\n"
                                  "norm.running_mean 4 5\n"
                                  "block.weight 3x3 4~\n"
                                  "fresh.bias 7 9\n"
                                  "fc.weight 2x4 7\n";

/* Two small models side by side, and what a row of them says. */
struct seen {
    struct pair *pair;
    struct show show;
    struct buf text;
};

static void see(struct seen *seen, const char *left, const char *right, bool values)
{
    struct diff_wanted wanted = {.values = values};

    *seen = (struct seen){0};
    seen->pair = pair_of(session_of(diff_sample(left), NULL),
                         session_of(diff_sample(right), NULL), &wanted, NULL, NULL);
    CHECK(seen->pair);
    diff_show(&seen->show, seen->pair);
    seen->show.session = seen->pair->right;
    seen->show.model = seen->pair->right->model;
}

static void see_end(struct seen *seen)
{
    pair_close(seen->pair);
    buf_release(&seen->text);
}

static struct row row_at(const struct seen *seen, const char *name)
{
    const struct diff *diff = &seen->pair->diff;
    struct buf path = BUF_INIT;
    struct row row = {.count = 1, .above = NO_ROW};

    for (row.place = 0; row.place < diff->n_nodes; row.place++) {
        buf_clear(&path);
        diff_node_name(diff, row.place, &path);
        if (str_is(buf_span(&path), name))
            break;
    }
    buf_release(&path);
    CHECK(row.place < diff->n_nodes);
    return row;
}

/* Its label and cells, with bars between. */
static const char *row_text(struct seen *seen, const char *name)
{
    struct row row = row_at(seen, name);
    struct label label = {0};
    size_t n;
    const struct column *columns = diff_columns(seen->pair, &n);

    buf_clear(&seen->text);
    label_make(&label, &seen->show, &row, LABEL_NAME);
    label_write(&seen->text, &label, 0);
    for (size_t i = 0; i < n; i++) {
        buf_char(&seen->text, '|');
        column_figure(&seen->text, &columns[i], &seen->show, &row);
    }
    label_release(&label);
    return buf_cstr(&seen->text);
}

TEST(the_rows_of_a_pair_show_the_differences)
{
    struct seen seen;

    see(&seen, left_lines, right_lines, true);
    CHECK_STR(row_text(&seen, ""), "(both)|~  5 of 7|47|40||");
    CHECK_STR(row_text(&seen, "conv"), "conv|=  0 of 1||||");
    CHECK_STR(row_text(&seen, "norm"), "norm|~  1 of 2, buffers|||106%|686");
    CHECK(strstr(row_text(&seen, "norm.running_mean"), "|106%|686"));
    CHECK_STR(row_text(&seen, "fc"), "fc|≠  1 of 1||||");
    CHECK_STR(row_text(&seen, "fc.weight"), "▪ weight|≠  shape|5×4|2×4||");
    CHECK_STR(row_text(&seen, "fresh"), "fresh|+  1 of 1||7||");
    CHECK_STR(row_text(&seen, "old.bias"), "▪ bias|-  only left|2|||");
    CHECK(
        strstr(row_text(&seen, "norm.running_mean"), "▫ running_mean|~  all values|"));
    CHECK(strstr(row_text(&seen, "block"), "block|~  1 of 1|||"));
    CHECK(strchr(row_text(&seen, "block"), '%'));
    see_end(&seen);
}

TEST(the_title_of_a_pair_fits_and_shows_whether_they_differ)
{
    struct seen seen;
    struct lines lines = {0};

    see(&seen, left_lines, right_lines, true);
    for (unsigned width = 10; width < 140; width += 13) {
        lines_clear(&lines);
        buf_clear(&seen.text);
        diff_title(&lines, seen.pair, width);
        line_plain(&seen.text, &lines, 0);
        CHECK_INT(text_width(buf_span(&seen.text)), width);
        if (width == 75)
            CHECK(strstr(buf_cstr(&seen.text), "≠ 1   - 1   + 1  "));
    }
    CHECK(str_ends(buf_span(&seen.text), STR("  DIFFERENT")));
    CHECK(strstr(buf_cstr(&seen.text),
                 "7 tensors   = 2 same   ~ 2 changed   ≠ 1 reshaped   2 only in one"));
    see_end(&seen);

    see(&seen, left_lines, left_lines, false);
    lines_clear(&lines);
    diff_title(&lines, seen.pair, 120);
    line_plain(&seen.text, &lines, 0);
    CHECK(strstr(buf_cstr(&seen.text), "values not compared"));
    CHECK(str_ends(buf_span(&seen.text), STR("  ALIKE")));
    lines_release(&lines);
    see_end(&seen);
}

TEST(a_prefix_of_one_side_is_in_the_root_row)
{
    struct seen seen;

    see(&seen, "a.weight 4x3 1\nb.weight 3 2\n",
        "module.a.weight 4x3 1\nmodule.b.weight 3 2\n", true);
    CHECK(strstr(row_text(&seen, ""), "(both, right without module.)|=  0 of 2|"));
    see_end(&seen);
}

/* How the short report of two models begins. */
static const char *short_text(struct seen *seen, const char *left, const char *right)
{
    see(seen, left, right, true);
    diff_short(&seen->text, &seen->pair->diff);
    return buf_cstr(&seen->text);
}

TEST(sentences_begin_with_a_capital_but_names_do_not)
{
    struct seen seen;

    CHECK(strstr(short_text(&seen, "a.weight 4x3 1\n", "a.weight 4x3 1~\n"),
                 "Everything was trained.") == seen.text.at);
    see_end(&seen);
    CHECK(strstr(short_text(&seen, "a.weight 4x3 1\neverything.weight 4x3 1\n",
                            "a.weight 4x3 1\neverything.weight 4x3 1~\n"),
                 "everything was trained.") == seen.text.at);
    see_end(&seen);
}

TEST(the_tree_and_the_rows_agree_about_buffers_only)
{
    static const char left[] = "a.running_mean 4 1\nb.weight 4x3 2\n"
                               "c.weight 4x3 3\nc.running_mean 4 4\n";
    static const char right[] = "a.running_mean 4 1~\nb.weight 4x3 2\n"
                                "c.weight 4x3 lost\nc.running_mean 4 4~\n";
    struct seen seen;

    CHECK(strstr(short_text(&seen, left, right),
                 "\n~ a c.running_mean  2 of 2  buffers only: running_mean\n"));
    CHECK(strstr(row_text(&seen, "a"), "|~  1 of 1, buffers|"));
    CHECK(strstr(row_text(&seen, "c"), "|~  2 of 2|"));
    see_end(&seen);
}

TEST(the_tree_and_the_rows_show_the_same_difference)
{
    struct buf rel = BUF_INIT;
    struct seen seen;
    struct row row;
    size_t n;

    see(&seen, "a.weight 40x3 1\na.running_mean 4 2\nb.weight 3 4\n",
        "a.weight 20x3 1\na.running_mean 4 2~\nb.weight 3 4\n", true);
    row = row_at(&seen, "a");
    buf_text(&rel, "\n~ a  1 of 2  rel ");
    column_figure(&rel, &diff_columns(seen.pair, &n)[3], &seen.show, &row);
    CHECK(str_ends(buf_span(&rel), STR("%")));
    diff_short(&seen.text, &seen.pair->diff);
    CHECK(strstr(buf_cstr(&seen.text), buf_cstr(&rel)));
    buf_release(&rel);
    see_end(&seen);
}

TEST(the_short_form_of_a_pair_is_a_sentence)
{
    struct seen seen;
    struct lines lines = {0};

    see(&seen, left_lines, right_lines, true);
    diff_short(&seen.text, &seen.pair->diff);
    diff_short_lines(&lines, buf_span(&seen.text), 60);
    for (uint32_t i = 0; i < lines.n; i++) {
        buf_clear(&seen.text);
        line_plain(&seen.text, &lines, i);
        CHECK(text_width(buf_span(&seen.text)) <= 60);
        if (i == 0)
            CHECK(strstr(buf_cstr(&seen.text), "block was trained"));
    }
    lines_release(&lines);
    see_end(&seen);
}
