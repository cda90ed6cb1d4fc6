/* The parts of the Statistics panel, compared with the numbers in its design, for a
 * file that may be missing. */
#include "explorer/statistics_lines.h"

#include <math.h>
#include <unistd.h>

#include "base/test.h"
#include "facts/heatmap.h"
#include "facts/histogram_lines.h"
#include "facts/objects/value_grid.h"
#include "facts/statistics.h"
#include "session/sample_session.h"

#define CIFARNET "../shared/models/pytorch-ml/CNN_cifarnet.ckpt"

static const double at[] = {0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99};

/* All lines without trailing blanks; valid until the next call. */
static const char *plain(struct lines *lines)
{
    static struct buf text;

    buf_release(&text);
    for (uint32_t i = 0; i < lines->n; i++) {
        line_plain(&text, lines, i);
        while (text.len > 0 && text.at[text.len - 1] == ' ')
            text.len--;
        buf_char(&text, '\n');
    }
    lines_release(lines);
    return buf_cstr(&text);
}

static struct session *cifarnet(void)
{
    struct session *session;
    /* Tests run in the project's folder, or in a copy of it one level deeper. */
    const char *path = access(CIFARNET, R_OK) == 0 ? CIFARNET : "../" CIFARNET;

    if (access(path, R_OK) != 0)
        SKIP("no models to look at");
    session = session_open(path, NULL, NULL);
    CHECK(session);
    return session;
}

TEST(the_numbers_of_a_weight_match_the_design)
{
    struct session *session = cifarnet();
    uint32_t tensor = session->model->object[sample_place(session, "fc1.weight")];
    struct numbers_wanted wanted = {.quantiles = at, .n_quantiles = 7, .bins = 48};
    struct statistics_room room = {.width = 59, .height = 19};
    struct lines lines = {0};
    struct numbers numbers;
    struct arena arena;

    arena_init(&arena, 0);
    CHECK(session_numbers(session, tensor, &wanted, &arena, NULL, &numbers, NULL) == 0);
    statistics_lines(&lines, session->model, &session->model->tensors[tensor], &numbers,
                     NULL, &room);
    CHECK_STR(plain(&lines),
              " count    48,000     NaN 0   +Inf 0   -Inf 0   zeros 0\n"
              " min      -0.544408   at [83, 225]\n"
              " max      0.480768   at [75, 320]\n"
              " mean     -0.0109594\n"
              " std      0.0888067   (n-1)    L2  19.604\n"
              "\n"
              "  6185 ┤                       ▆█▆▁\n"
              "       │                       ████\n"
              "       │                      ▆████▃\n"
              "       │                     ▂██████▁\n"
              "       │                   ▁▄████████▆▃\n"
              "     0 ┤▁▁▁▁▁▁▁▁▁▁▁▁▁▁▂▃▄▅▇█████████████▆▄▃▂▁▁▁▁▁▁▁▁▁▁ ▁\n"
              "       └┴────────────────────────┴─────────────────────┴\n"
              "    -0.5444                      0                 0.4808\n"
              " quantiles, exact\n"
              "       1%      5%     25%     50%     75%     95%     99%\n"
              "  -0.2662 -0.1610 -0.0542 -0.0116  0.0343  0.1380  0.2139\n");
    arena_release(&arena);
    session_close(session);
}

TEST(the_values_of_a_weight_match_the_design)
{
    struct session *session = cifarnet();
    uint32_t tensor = session->model->object[sample_place(session, "fc1.weight")];
    struct value_grid grid = {.model = session->model,
                              .tensor = &session->model->tensors[tensor],
                              .width = 59,
                              .most_rows = 5};
    struct buf title = BUF_INIT;
    struct lines lines = {0};

    CHECK(value_grid_lines(&lines, &title, &grid));
    CHECK(grid.more);
    CHECK_STR(buf_cstr(&title), "values [0:5, 0:6] of 120×400");
    CHECK_STR(plain(&lines),
              "               0       1       2       3       4       5\n"
              "    0  │ -0.0413 -0.0039 -0.0560 -0.0473  0.0020 -0.0006 →\n"
              "    1  │  0.1060 -0.0584 -0.0717 -0.2136 -0.1777  0.0978 →\n"
              "    2  │ -0.0039  0.0847  0.0866  0.1036  0.0221 -0.0717 →\n"
              "    3  │  0.0145 -0.0440 -0.0260 -0.0302 -0.0200 -0.0682 →\n"
              "    4  │  0.0590  0.0233  0.0745  0.0190 -0.0004 -0.0229 →\n"
              "      ↓  [ slices:  [80:86, 220:240:2]  [..., 0]  [83]\n");
    grid.slice = STR("83, 220:230");
    buf_clear(&title);
    CHECK(value_grid_lines(&lines, &title, &grid));
    CHECK_STR(buf_cstr(&title), "values [83, 220:226] of 120×400");
    CHECK_STR(plain(&lines),
              "             220     221     222     223     224     225\n"
              "   83  │  0.0457  0.1677  0.1897  0.1143  0.0532 -0.5444 →\n"
              "         [ slices:  [80:86, 220:240:2]  [..., 0]  [83]\n");
    buf_release(&title);
    session_close(session);
}

TEST(the_heat_map_of_a_weight_matches_the_design)
{
    struct session *session = cifarnet();
    uint32_t tensor = session->model->object[sample_place(session, "fc1.weight")];
    struct blocks_wanted wanted;
    struct buf title = BUF_INIT;
    struct lines lines = {0};
    struct blocks blocks;
    struct arena arena;

    arena_init(&arena, 0);
    blocks_whole(&wanted, session->model, &session->model->tensors[tensor]);
    heatmap_fit(&wanted, 59, 11, HEAT_SHADES);
    CHECK(blocks_measure(session->model, &session->model->tensors[tensor], &wanted,
                         &arena, NULL, &blocks, NULL) == 0);
    heatmap_title(&title, &wanted);
    CHECK_STR(buf_cstr(&title), "rms of 12×8 cells, rows 0-119, columns 0-399");
    heatmap_lines(&lines, &blocks, &wanted, HEAT_SHADES);
    CHECK_STR(plain(&lines),
              "    0 ▒░░▒░▒░░░▒▒▒▓░░░░░▒▒░▒▒▒▒▒░▒▒▒▒▒▒▒░▒▒▒░░▒░░▒▒░░░░▒\n"
              "   12 ░▒▒▒░░▒▒▒▒▒▒▒▒░▒▒▒▒▒▒▒▒▒▒▓▓▓▒▒▒▒▒▓▒▒▒▒▒▒▒▒▒▒▒▒▒▒▓▓\n"
              "   24 ▒▓▒▓▒▒▒░░▒▒▒░░░▒▒▒▒▒▒▒▒▒▓▒▓▓▓▒░▒▒▓▒▒▒▒▒▒▒▒▒▓▒▒▒▒▒▒\n"
              "   36 ▒░▒▒▒▒▒░▒▓▒▒▒░▒▒▒▒▒▒▓▒▒▓▓▒▓█▓▒░▒▒▓▒▒▒▒▒▒▓▒▒▒▒▒▒▒▒▓\n"
              "   48 ▒▒▒░▒▒░░░░▒░░░░░▒▒▒░░░░░▓▒▒▒░░░░▒▒░░▒▒░░░░░░░░░░░▒\n"
              "   60 ░░░▒░▒░░░▒░▒▒░░▒▒░░░░░░▒░░▒▒░░░░░▒▒░░▒░░▒░░▒▒░░▒░▒\n"
              "   72 ░░▒▒▒▒░▒▒▒▒▒▒░░▒▒░░░▒░▒▒▒▓▒▒▓▒░▒░▒▒▒░▒▓▒▓░░▒▒░░░░▓\n"
              "   84 ░░▒▒▒▒▒░░▒▒▒▒░░░▒▒▒▒▒▒▒▒▒▒▒▒▒░░▒░▒▒░▓▒▒▒▒▒▒▒▒▒▒░▒░\n"
              "   96 ▒▒░▓▓▒▒▒▒▒▒▒▒▒▒▒▒▒▓▒▒▒▒▒▒▒▒▒▒▒░▒░░▒▒▒▒▒▒▒▒░▒▒▒▒▒▒▓\n"
              "  108 ░░▒▒▒▒▒░░▒▒▒▒▒░▒▒▒▒▒░░▒▒▒░▒░▓▒░▒░▒▒▒▒▒▒░▒▒▒▒▒░▒░░▓\n"
              "      ░ 0.05  ▒ 0.08  ▓ 0.11  █ 0.14     NaN ×   Inf ∞\n");
    buf_release(&title);
    arena_release(&arena);
    session_close(session);
}

TEST(non_finite_values_are_marked_and_small_histograms_are_one_line)
{
    struct session *session = sample_session();
    const struct model *model = session->model;
    const struct tensor *bias = place_tensor(model, sample_place(session, "a.bias"));
    uint32_t weight = model->object[sample_place(session, "a.weight")];
    struct numbers_wanted wanted = {.quantiles = at, .n_quantiles = 7, .bins = 48};
    struct statistics_room room = {.width = 40, .height = 7};
    struct value_grid grid = {
        .model = model, .tensor = bias, .width = 40, .most_rows = 5};
    struct buf title = BUF_INIT;
    struct lines lines = {0};
    struct numbers numbers;
    struct arena arena;

    arena_init(&arena, 0);
    CHECK(session_numbers(session, weight, &wanted, &arena, NULL, &numbers, NULL) == 0);
    statistics_lines(&lines, model, &model->tensors[weight], &numbers, NULL, &room);
    CHECK_STR(plain(&lines), " count    6\n"
                             "          NaN 0   +Inf 0   -Inf 0   zeros 0\n"
                             " min      -6   at [1, 2]\n"
                             " max      5   at [1, 1]\n"
                             " mean     1.5\n"
                             " std      3.937   (n-1)    L2  9.53939\n"
                             " -6 █              █ █ █ █ █ 5\n"
                             " quantiles, exact\n"
                             "       1%      5%     25%     50%\n"
                             "  -5.6500 -4.2500  1.2500  2.5000\n"
                             "      75%     95%     99%\n"
                             "   3.7500  4.7500  4.9500\n");
    CHECK(value_grid_lines(&lines, &title, &grid));
    CHECK(!grid.more);
    CHECK_INT(lines.spans[lines.at[1].first + 2].colour, COLOUR_ALARM);
    CHECK_STR(plain(&lines),
              "               0       1\n"
              "       │  0.0000     NaN\n"
              "         [ slices:  [80:86, 220:240:2]  [..., 0]  [83]\n");
    grid.slice = STR("[7]");
    buf_clear(&title);
    CHECK(!value_grid_lines(&lines, &title, &grid));
    CHECK_STR(plain(&lines),
              " index 7 is out of range: dimension 0\n has 2 elements\n");
    buf_release(&title);
    arena_release(&arena);
    session_close(session);
}

TEST(the_panel_has_every_fact_of_the_list)
{
    static const double values[7] = {-3, -2, -1, 0, 1, 2, 3};
    struct session *session = sample_session();
    struct stats stats = {.count = 9000,
                          .nan = 1,
                          .pos_inf = 22,
                          .neg_inf = 333,
                          .zeros = 4444,
                          .min = -12,
                          .max = 13,
                          .mean = 0.5,
                          .kind = STATS_INT,
                          .int_min = -12,
                          .int_max = 13,
                          .sampled = true};
    struct numbers numbers = {
        .stats = &stats, .at = at, .quantiles = values, .n_quantiles = 7};
    struct statistics_room room = {.width = 90, .height = 30};
    struct tensor tensor = {.dtype = DTYPE_BOOL};
    struct facts facts = {0};
    struct lines lines = {0};
    const char *text;

    statistics_lines(&lines, session->model, &tensor, &numbers, NULL, &room);
    text = plain(&lines);
    statistics_facts(&facts, session->model, &tensor, &numbers, STATISTICS_ALL_COUNTS);
    CHECK_INT(facts.n, 19);
    for (uint32_t i = 0; i < facts.n; i++) {
        const struct fact *fact = &facts.at[i];
        const struct fact_part *value = fact_find(&facts, fact, fact->id);
        struct str shown =
            value ? fact_part_text(&facts, value) : fact_group_text(&facts, fact, 0);

        CHECK(str_find(str_of(text), shown) >= 0);
    }
    facts_release(&facts);
    session_close(session);
}

TEST(heat_marks_nan_and_infinity_and_shows_signs_by_colour)
{
    double values[] = {1, NAN, -4, INFINITY, 0, 4};
    struct blocks blocks = {.rows = 1,
                            .columns = 6,
                            .at = values,
                            .least = -4,
                            .most = 4,
                            .has_sign = true};
    struct heat_scale scale;
    struct lines lines = {0};

    heat_scale(&scale, &blocks);
    CHECK(scale.has_sign);
    CHECK_NEAR(scale.step, 1, 1e-12);
    heat_row(&lines, &blocks, 0, &scale);
    lines_end(&lines);
    CHECK_INT(lines.spans[1].colour, COLOUR_ALARM);
    CHECK(lines.spans[2].colour >= COLOUR_COLD && lines.spans[2].colour < COLOUR_WARM);
    CHECK(lines.spans[5].colour >= COLOUR_WARM);
    CHECK_STR(plain(&lines), "▒×█∞░█\n");
    heat_scale_of(&scale, 3, 3, false);
    CHECK_NEAR(scale.base, 3, 0);
    heat_scale_of(&scale, NAN, NAN, false);
    CHECK_NEAR(scale.step, 1, 0);
}

TEST(half_blocks_show_two_rows_per_line_and_mark_non_finite_values)
{
    double values[] = {1, 2, 3, 4, NAN, 1, 4, 2, 3};
    struct blocks blocks = {
        .rows = 3, .columns = 3, .at = values, .least = 1, .most = 4};
    struct blocks_wanted wanted = {
        .rows = 3, .columns = 3, .block_rows = 1, .block_columns = 1};
    struct lines lines = {0};

    heatmap_lines(&lines, &blocks, &wanted, HEAT_HALVES);
    CHECK_INT(lines.n, 3); /* two rows, the third, the legend */
    CHECK_INT(lines.spans[1].colour, COLOUR_HEAT);
    CHECK_INT(lines.spans[1].below, COLOUR_HEAT + 7);
    CHECK_INT(lines.spans[2].colour, COLOUR_ALARM);
    CHECK_INT(lines.spans[2].below, COLOUR_NONE);
    CHECK(str_find(span_text(&lines, &lines.spans[2]), STR("×")) >= 0);
    lines_release(&lines);
    wanted = (struct blocks_wanted){.rows = 100, .columns = 100};
    heatmap_fit(&wanted, 59, 11, HEAT_HALVES);
    CHECK_INT(wanted.block_rows, 5); /* twenty on ten lines */
}

TEST(a_histogram_that_barely_does_not_fit_has_a_narrower_margin)
{
    uint64_t bins[48] = {1};
    struct stats stats = {.count = 12346, .min = 1, .max = 2};
    struct numbers numbers = {.stats = &stats, .bins = bins, .n_bins = 48};
    struct lines lines = {0};

    bins[47] = 12345;
    histogram_lines(&lines, &numbers, 54, 1, false);
    CHECK_STR(plain(&lines),
              " 12K ┤▁                                              █\n"
              "     └┴──────────────────────────────────────────────┴\n"
              "  1                                                  2\n");
    histogram_lines(&lines, &numbers, 53, 1, false);
    CHECK_STR(plain(&lines), " 12345 ┤▁                      █\n"
                             "       └┴──────────────────────┴\n"
                             "    1                           2\n");
}

TEST(a_logarithmic_histogram_shows_rare_values)
{
    static const uint64_t bins[] = {1, 10, 1000, 0, 10};
    struct stats stats = {.count = 1021, .min = 0, .max = 1};
    struct numbers numbers = {.stats = &stats, .bins = bins, .n_bins = 5};
    struct lines lines = {0};

    histogram_lines(&lines, &numbers, 40, 3, false);
    CHECK_STR(plain(&lines), "  1000 ┤  █\n       │  █\n     0 ┤▁▁█ ▁\n"
                             "       └┴───┴\n    0        1\n");
    histogram_lines(&lines, &numbers, 40, 3, true);
    CHECK_STR(plain(&lines), "  1000 ┤  █\n   log │  █\n     0 ┤▂██ █\n"
                             "       └┴───┴\n    0        1\n");
}
