#include "compare/diff_view.h"
#include "explorer/browse.h"

#include "base/test.h"
#include "session/pair.h"
#include "study/diff/diff_sample.h"

static const char left_lines[] = "conv1.weight 4x3 1\n"
                                 "bn1.weight 4 2\n"
                                 "bn1.running_mean 4 3\n"
                                 "layer1.0.weight 3x3 4\n"
                                 "layer1.1.weight 3x3 5\n"
                                 "fc.weight 5x4 6\n";
static const char right_lines[] = "conv1.weight 4x3 1\n"
                                  "bn1.weight 4 2\n"
                                  "bn1.running_mean 4 7\n"
                                  "layer1.0.weight 3x3 4\n"
                                  "layer1.1.weight 3x3 5~\n"
                                  "fc.weight 2x4 8\n";

struct sides {
    struct pair *pair;
    struct show show;
    struct browse *b;
    struct buf text;
};

static void begin_sides(struct sides *sides)
{
    struct diff_wanted wanted = {.values = true};

    *sides = (struct sides){0};
    sides->pair =
        pair_of(session_of(diff_sample(left_lines), NULL),
                session_of(diff_sample(right_lines), NULL), &wanted, NULL, NULL);
    CHECK(sides->pair);
    diff_show(&sides->show, sides->pair);
    sides->show.session = sides->pair->right;
    sides->show.model = sides->pair->right->model;
    sides->b = browse_new(&sides->show, NULL);
    CHECK(sides->b);
}

static void end_sides(struct sides *sides)
{
    browse_free(sides->b);
    pair_close(sides->pair);
    buf_release(&sides->text);
}

/* The names of all rows, the selected one in brackets. */
static const char *names(struct sides *sides)
{
    buf_clear(&sides->text);
    for (uint32_t i = 0; i < browse_rows(sides->b)->n; i++) {
        struct str name =
            sides->pair->diff.nodes[rows_at(browse_rows(sides->b), i).place].name;

        buf_printf(&sides->text, i == browse_cursor(sides->b) ? "[%.*s] " : "%.*s ",
                   STR_ARG(name));
    }
    return buf_cstr(&sides->text);
}

TEST(two_models_are_one_tree_and_n_goes_to_differences)
{
    struct sides sides;

    begin_sides(&sides);
    CHECK_STR(names(&sides), "[] conv1 bn1 layer1 fc ");
    CHECK(browse_next_match(sides.b, 1));
    CHECK_STR(names(&sides), " conv1 [bn1] layer1 fc ");
    CHECK(browse_hide_equal(sides.b));
    CHECK_STR(names(&sides), " [bn1] layer1 fc ");
    CHECK(browse_fold(sides.b, FOLD_ALL));
    CHECK_STR(names(&sides), " [bn1] layer1 1 fc ");
    CHECK(browse_next_match(sides.b, -1)); /* wraps around, skipping the root */
    CHECK_STR(names(&sides), " bn1 layer1 1 [fc] ");
    CHECK(browse_open(sides.b));
    CHECK_STR(names(&sides), " bn1 layer1 1 [fc] weight ");
    CHECK(browse_hide_equal(sides.b));
    CHECK_STR(names(&sides), " conv1 bn1 layer1 0 1 [fc] weight ");
    end_sides(&sides);
}

TEST(equal_rows_have_no_children)
{
    struct sides sides;

    begin_sides(&sides);
    CHECK(browse_move(sides.b, 1));
    CHECK(!browse_open(sides.b));
    CHECK_INT(rows_at(browse_rows(sides.b), 1).flags & ROW_CLOSED, 0);
    CHECK(rows_at(browse_rows(sides.b), 2).flags & ROW_CLOSED);
    end_sides(&sides);
}

TEST(two_models_are_searched_and_sorted)
{
    struct sides sides;

    begin_sides(&sides);
    CHECK(browse_search(sides.b, STR("layer1.1"), NULL) == 0);
    CHECK_STR(names(&sides), " layer1 [1] ");
    CHECK_INT(browse_matches(sides.b), 1);
    CHECK(browse_clear(sides.b));
    CHECK_STR(names(&sides), " conv1 bn1 layer1 0 [1] fc ");
    CHECK(browse_sort(sides.b, SORT_PARAMS, false));
    CHECK_STR(names(&sides), " layer1 0 [1] conv1 fc bn1 ");
    CHECK(browse_sort(sides.b, SORT_DELTA, false));
    CHECK_STR(names(&sides), " bn1 layer1 [1] 0 conv1 fc ");
    CHECK(browse_flat(sides.b, FLAT_TENSORS));
    CHECK_INT(browse_rows(sides.b)->n, 6);
    end_sides(&sides);
}
