#include "rows/name_runs.h"

#include "base/test.h"

#define MOST 8

/* The runs of some tuples of names, as text: "h.{0+2}.q weight" for each name. */
static void write_runs(struct buf *to, const struct name_tuple *tuples, uint32_t n)
{
    struct name_run *runs;
    struct name_piece piece;
    struct arena arena;
    uint32_t n_runs;

    arena_init(&arena, 0);
    CHECK(name_runs_find(tuples, n, &arena, &runs, &n_runs) == 0);
    for (uint32_t r = 0; r < n_runs; r++) {
        const struct name_tuple *tuple = &tuples[runs[r].tuple];

        buf_printf(to, "%u:", (unsigned)runs[r].n);
        for (uint32_t i = 0; i < tuple->n; i++) {
            buf_char(to, ' ');
            for (size_t at = 0; name_run_piece(&runs[r], tuple, i, &at, &piece);) {
                if (piece.counts)
                    buf_printf(to, "{%d%+d}", (int)runs[r].start, (int)piece.more);
                else
                    buf_str(to, piece.text);
            }
        }
        buf_char(to, '\n');
    }
    arena_release(&arena);
}

/* Names are given as text, tuples are parted by ";" and names by blanks. */
static void check_runs(const char *text, const char *expected)
{
    struct name_tuple tuples[MOST];
    struct str names[MOST][3], rest = str_of(text), tuple, name;
    struct buf got = BUF_INIT;
    uint32_t n = 0;

    while (str_split(&rest, ';', &tuple)) {
        tuples[n] = (struct name_tuple){names[n], 0, 0};
        while (str_split(&tuple, ' ', &name))
            names[n][tuples[n].n++] = name;
        n++;
    }
    write_runs(&got, tuples, n);
    CHECK_STR(buf_cstr(&got), expected);
    buf_release(&got);
}

TEST(names_that_differ_by_a_number_are_one_run)
{
    check_runs("h.0.q;h.1.q;h.2.q", "3: h.{0+0}.q\n");
    check_runs("h.2.q;h.4.q;h.6.q", "3: h.{2+0}.q\n");
    check_runs("0;1", "2: {0+0}\n");
}

TEST(the_number_may_be_at_another_offset_in_the_next_name)
{
    check_runs("h.0.q b.1.q;h.1.q b.2.q", "2: h.{0+0}.q b.{0+1}.q\n");
    check_runs("h.3.q.7 x;h.4.q.7 x", "2: h.{3+0}.q.7 x\n");
}

TEST(names_that_do_not_count_up_evenly_are_listed_separately)
{
    check_runs("h.0.q;h.1.k", "1: h.0.q\n1: h.1.k\n");
    check_runs("h.0.q;h.1.q;h.3.q", "2: h.{0+0}.q\n1: h.3.q\n");
    check_runs("h.1.q;h.0.q", "1: h.1.q\n1: h.0.q\n");
    check_runs("h.0.q b.0;h.1.q b.2", "1: h.0.q b.0\n1: h.1.q b.2\n");
    check_runs("h.01.q;h.02.q", "1: h.01.q\n1: h.02.q\n");
    check_runs("h.0.q;h.0.q", "1: h.0.q\n1: h.0.q\n");
    check_runs("a.0.b;a.1", "1: a.0.b\n1: a.1\n");
}

TEST(runs_may_be_interleaved)
{
    check_runs("h.0.w;h.0.b;h.1.w;h.1.b", "2: h.{0+0}.w\n2: h.{0+0}.b\n");
}

TEST(neighbouring_runs_may_have_different_tags)
{
    struct str names[3] = {STR("h.0"), STR("h.1"), STR("h.2")};
    struct name_tuple tuples[3] = {
        {&names[0], 1, 7}, {&names[1], 1, 7}, {&names[2], 1, 8}};
    struct buf got = BUF_INIT;

    write_runs(&got, tuples, 3);
    CHECK_STR(buf_cstr(&got), "2: h.{0+0}\n1: h.2\n");
    buf_release(&got);
}

TEST(a_name_of_numbers_only_is_not_folded)
{
    struct buf long_name = BUF_INIT, got = BUF_INIT;
    struct str names[2];
    struct name_tuple tuples[2] = {{&names[0], 1, 0}, {&names[1], 1, 0}};

    for (int i = 0; i < 1000; i++)
        buf_text(&long_name, "0.");
    buf_text(&long_name, "0");
    names[0] = names[1] = buf_span(&long_name);
    write_runs(&got, tuples, 2);
    CHECK_INT(got.len, 2 * (long_name.len + 4));
    buf_release(&long_name);
    buf_release(&got);
}

static void check_names(const char *text, const struct names_style *style,
                        const char *expected)
{
    struct str names[16], rest = str_of(text);
    struct buf got = BUF_INIT;
    uint32_t n = 0;

    while (n < 16 && str_split(&rest, ' ', &names[n]))
        n++;
    names_write(&got, names, n, style);
    CHECK_STR(buf_cstr(&got), expected);
    buf_release(&got);
}

TEST(lists_of_names_are_abbreviated)
{
    check_names("conv1 bn1 layer1 layer2 layer3", &names_in_prose,
                "conv1, bn1 and layer1-3");
    check_names("conv1 bn1 layer1 layer2 layer3", &names_in_column,
                "conv1 bn1 layer1-3");
    check_names("h.8 h.9 h.10 h.12", &names_in_prose, "h.8-10 and h.12");
    check_names("a b c d e f g h", &names_in_prose, "a, b, c, d, e, f and 2 more");
    check_names("x\033", &names_in_prose, "x\\x1b");
    check_names("layer09 layer10", &names_in_prose, "layer09 and layer10");
}
