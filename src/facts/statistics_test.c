#include "facts/statistics.h"

#include "base/out.h"
#include "base/test.h"
#include "facts/details.h"
#include "facts/stats_table.h"
#include "session/sample_session.h"

static const double at[5] = {0.05, 0.25, 0.5, 0.75, 0.95};

static void check_show(const char *name, uint32_t bins, const char *expected)
{
    struct session *session = sample_session();
    uint32_t place = sample_place(session, name);
    struct numbers_wanted wanted = {.quantiles = at, .n_quantiles = 5, .bins = bins};
    struct buf got = BUF_INIT;
    struct numbers numbers;
    struct arena arena;

    arena_init(&arena, 0);
    CHECK(session_numbers(session, session->model->object[place], &wanted, &arena, NULL,
                          &numbers, NULL) == 0);
    statistics_title(&got, session, place);
    statistics_text(&got, session->model, place_tensor(session->model, place), &numbers,
                    false);
    CHECK_STR(buf_cstr(&got), expected);
    buf_release(&got);
    arena_release(&arena);
    session_close(session);
}

TEST(statistics_are_in_two_columns_with_aligned_signs)
{
    check_show("a.weight", 11,
               "a.weight  2×3 float32  6 values  24B\n"
               "NaN 0  +Inf 0  -Inf 0  zeros 0   L2    9.53939\n"
               "min   -6  at [1, 2]              mean   1.5\n"
               "max    5  at [1, 1]              std    3.937\n"
               "quantiles, exact    5% -4.25  25%  1.25\n"
               "50%  2.5           75%  3.75  95%  4.75\n"
               "-6 ▄      ▄▄▄█ 5\n");
}

TEST(facts_that_do_not_apply_are_omitted)
{
    check_show("a.bias", 0,
               "a.bias  2 float32  2 values  8B\n"
               "NaN 1  +Inf 0  -Inf 0  zeros 1   L2    0\n"
               "min    0  at [0]                 mean   0\n"
               "max    0  at [0]\n"
               "quantiles, exact    5%  0  25%  0\n"
               "50%  0             75%  0  95%  0\n");
    check_show("b.count", 40,
               "b.count  scalar int64  1 value  8B\n"
               "NaN 0  +Inf 0  -Inf 0  zeros 0   L2    7\n"
               "min    7                         mean   7\n"
               "max    7\n"
               "quantiles, exact    5%  7  25%  7\n"
               "50%  7             75%  7  95%  7\n");
}

/* The facts and the text of the same numbers. */
static void list_and_text(const struct tensor *tensor, const struct numbers *numbers,
                          struct facts *facts, struct buf *text)
{
    struct session *session = sample_session();

    statistics_facts(facts, session->model, tensor, numbers, STATISTICS_ALL_COUNTS);
    statistics_text(text, session->model, tensor, numbers, false);
    session_close(session);
}

TEST(the_text_has_every_fact_of_the_list)
{
    static const double values[5] = {-1.25, 2, 3, 4, 5.5};
    struct stats stats = {.count = 9000,
                          .nan = 1,
                          .pos_inf = 22,
                          .neg_inf = 333,
                          .zeros = 4444,
                          .min = -12,
                          .max = 13,
                          .mean = 0.5,
                          .sampled = true};
    struct numbers numbers = {
        .stats = &stats, .at = at, .quantiles = values, .n_quantiles = 5};
    struct tensor tensor = {.dtype = DTYPE_COMPLEX64};
    struct facts facts = {0};
    struct buf text = BUF_INIT;

    list_and_text(&tensor, &numbers, &facts, &text);
    CHECK_INT(facts.n, 17);
    /* The title has the count. */
    for (uint32_t i = 1; i < facts.n; i++) {
        const struct fact *fact = &facts.at[i];
        const struct fact_part *value = fact_find(&facts, fact, fact->id);
        struct str shown =
            value ? fact_part_text(&facts, value) : fact_group_text(&facts, fact, 0);

        CHECK(str_find(buf_span(&text), shown) >= 0);
    }
    facts_release(&facts);
    buf_release(&text);
}

TEST(numbers_state_their_basis_if_it_is_not_obvious)
{
    static const struct {
        enum dtype dtype;
        const char *said;
    } cases[] = {{DTYPE_BOOL, "False is 0, True is 1\n"},
                 {DTYPE_QUINT8, "of the integers as stored"},
                 {DTYPE_COMPLEX64, "of absolute values\n"},
                 {DTYPE_FLOAT32, NULL}};
    struct stats stats = {.count = 2, .min = 0, .max = 1};
    struct numbers numbers = {.stats = &stats};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tensor tensor = {.dtype = cases[i].dtype};
        struct facts facts = {0};
        struct buf text = BUF_INIT;

        list_and_text(&tensor, &numbers, &facts, &text);
        CHECK_INT(facts_find(&facts, "values") != NULL, cases[i].said != NULL);
        CHECK(!cases[i].said || str_find(buf_span(&text), str_of(cases[i].said)) >= 0);
        facts_release(&facts);
        buf_release(&text);
    }
}

TEST(a_column_with_values_is_never_dropped)
{
    static const uint64_t bins[5] = {0, 1, 1000, 500, 0};
    struct buf got = BUF_INIT;

    statistics_columns(&got, bins, 5, false);
    CHECK_STR(buf_cstr(&got), " ▁█▄ ");
    buf_clear(&got);
    statistics_columns(&got, bins, 5, true);
    CHECK_STR(buf_cstr(&got), " .|: ");
    buf_release(&got);
}

static void table(struct session *session, struct str key, unsigned width,
                  struct buf *to)
{
    static const char *const names[] = {"a.weight", "a.bias", "b.weight", "b.count",
                                        "lost"};
    uint32_t places[5], tensors[4] = {0, 1, 2, 3};
    struct stats_table what = {.places = places, .n = 5, .width = width};
    struct arena arena;
    struct show show;
    struct out out;

    arena_init(&arena, 0);
    CHECK(show_init(&show, session, &arena, NULL) == 0);
    for (int i = 0; i < 5; i++)
        places[i] = sample_place(session, names[i]);
    CHECK(session_stats_many(session, tensors, 4, NULL, NULL) == 0);
    CHECK(stats_table_sort(&show, places, 5, key, &arena, NULL) == 0);
    what.show = &show;
    out_init_buf(&out, to);
    CHECK(stats_table_text(&out, &what, NULL) == 0);
    CHECK(out_release(&out) == 0);
    arena_release(&arena);
}

TEST(the_table_has_a_row_for_each_tensor_even_if_unreadable)
{
    struct session *session = sample_session();
    struct buf got = BUF_INIT;

    table(session, STR("model"), 0, &got);
    CHECK_STR(
        buf_cstr(&got),
        "name       shape  dtype    min  max  mean    std     L2  NaN  Inf  zeros\n"
        "a.weight     2×3  float32   -6    5   1.5  3.937  9.539    0    0      0\n"
        "a.bias         2  float32    0    0     0             0    1    0      1\n"
        "b.weight     2×3  float32   -6    5   1.5  3.937  9.539    0    0      0"
        "  tied to a.weight\n"
        "b.count   scalar  int64      7    7     7             7    0    0      0\n"
        "lost           4  float32  its data is missing\n");
    buf_release(&got);
    session_close(session);
}

TEST(a_narrow_table_drops_the_least_important_columns)
{
    struct session *session = sample_session();
    struct buf got = BUF_INIT;

    table(session, STR("model"), 48, &got);
    CHECK_STR(buf_cstr(&got),
              "name »4   min  max  mean    std  NaN  Inf\n"
              "a.weight   -6    5   1.5  3.937    0    0\n"
              "a.bias      0    0     0           1    0\n"
              "b.weight   -6    5   1.5  3.937    0    0  tied to a.weight\n"
              "b.count     7    7     7           0    0\n"
              "lost      its data is missing\n");
    buf_release(&got);
    session_close(session);
}

TEST(the_table_sorts_numbers_in_descending_order)
{
    struct session *session = sample_session();
    struct buf got = BUF_INIT;

    table(session, STR("max"), 0, &got);
    CHECK(str_find(buf_span(&got), STR("b.count")) <
          str_find(buf_span(&got), STR("a.weight ")));
    CHECK(str_find(buf_span(&got), STR("a.bias")) <
          str_find(buf_span(&got), STR("lost")));
    buf_release(&got);
    session_close(session);
}

static void details(const char *name, bool module, const char *expected)
{
    struct session *session = sample_session();
    struct buf got = BUF_INIT;
    struct facts facts = {0};
    struct lines lines = {0};
    struct arena arena;
    struct show show;

    arena_init(&arena, 0);
    CHECK(show_init(&show, session, &arena, NULL) == 0);
    if (module) {
        details_module(&facts, &show, sample_place(session, name), DETAILS_NAME);
        facts_text(&got, &facts, DETAILS_LABEL);
        details_children(&lines, &show, sample_place(session, name), UINT32_MAX, 2, 0);
    } else if (session->model->kind[sample_place(session, name)] == PLACE_TENSOR) {
        details_tensor(&facts, &show, sample_place(session, name), false);
        facts_text(&got, &facts, DETAILS_LABEL);
    } else {
        details_value(&facts, &show, sample_place(session, name));
        facts_text(&got, &facts, DETAILS_LABEL);
    }
    for (uint32_t i = 0; i < lines.n; i++) {
        line_plain(&got, &lines, i);
        buf_char(&got, '\n');
    }
    facts_release(&facts);
    lines_release(&lines);
    CHECK_STR(buf_cstr(&got), expected);
    buf_release(&got);
    arena_release(&arena);
    session_close(session);
}

TEST(details_list_other_places_of_a_tensor)
{
    details("a.weight", false, "tied       also b.weight\n");
    details("b.weight", false, "tied       to a.weight\n");
    details("a.bias", false, "");
}

TEST(details_of_a_module_list_its_children)
{
    details("a", true,
            "a  Linear  8 params  32B\n"
            "class      torch.nn.modules.linear.Linear\n"
            "holds      2 tensors\n"
            "trained    6 of 8 trainable\n"
            "  ⇄ weight  2×3 float32  tied: also b.weight        6        24B\n"
            "  ▪ bias  2 float32                                 2         8B\n");
}

TEST(numbers_counted_elsewhere_are_in_brackets)
{
    details("b", true,
            "b  (6 params)  8B\n"
            "holds      2 tensors\n"
            "  ⇄ weight  2×3 float32  tied to a.weight      (6)      (24B)\n"
            "  ▫ count  scalar int64                          1         8B\n");
}

TEST(names_are_escaped_and_values_are_whole)
{
    details("=x\n", false, "=x\\n: \"<&>\"\n");
}
