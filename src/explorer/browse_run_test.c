#include "base/test.h"
#include "explorer/browse.h"
#include "run/sample_block.h"
#include "run/sample_run.h"

struct recorded {
    struct session *session;
    struct show show;
    struct arena arena;
    struct browse *b;
    struct buf text;
};

static void begin_recorded(struct recorded *r, struct run *run)
{
    *r = (struct recorded){.session = session_of_run(run, NULL)};
    CHECK(r->session);
    arena_init(&r->arena, 0);
    CHECK(show_init(&r->show, r->session, &r->arena, NULL) == 0);
    r->b = browse_new(&r->show, NULL);
    CHECK(r->b);
}

static void end_recorded(struct recorded *r)
{
    browse_free(r->b);
    arena_release(&r->arena);
    session_close(r->session);
    buf_release(&r->text);
}

static const char *names(struct recorded *r)
{
    buf_clear(&r->text);
    for (uint32_t i = 1; i < browse_rows(r->b)->n; i++) {
        buf_str(&r->text,
                place_name(r->show.model, rows_at(browse_rows(r->b), i).place));
        buf_char(&r->text, ' ');
    }
    return buf_cstr(&r->text);
}

TEST(rows_sort_by_recorded_numbers_with_unknown_ones_last)
{
    struct recorded r;
    uint64_t first, second;

    begin_recorded(&r, sample_run(2));
    CHECK_STR(names(&r), "a list tail ");
    CHECK(browse_fold(r.b, FOLD_ALL));
    CHECK_STR(names(&r), "a list 0 act 1 tail ");
    CHECK(browse_sort(r.b, SORT_NAME, true));
    CHECK_STR(names(&r), "tail list 1 0 act a ");
    CHECK(browse_sort(r.b, SORT_CALLS, false));
    CHECK_STR(names(&r), "a list 0 act 1 tail ");
    CHECK(browse_sort(r.b, SORT_TIME, true)); /* list and tail were not called */
    first = r.show.activity->at[place_find(r.show.model, STR("list.0"))].total_ns;
    second = r.show.activity->at[place_find(r.show.model, STR("list.1"))].total_ns;
    CHECK_STR(names(&r), second == 0 || first <= second ? "a list 0 act 1 tail "
                                                        : "a list 1 0 act tail ");
    CHECK(browse_sort(r.b, SORT_TIME, false));
    CHECK_STR(names(&r), second == 0 || first >= second ? "a list 0 act 1 tail "
                                                        : "a list 1 0 act tail ");
    CHECK(browse_sort(r.b, SORT_GRAD, true));
    CHECK_STR(names(&r), "a list 0 act 1 tail ");
    CHECK(browse_sort(r.b, SORT_NAN, false));
    CHECK(browse_sort(r.b, SORT_ZEROS, false));
    CHECK(!browse_sort(r.b, SORT_DELTA, false));
    end_recorded(&r);
}

/* The second convolution has no known FLOPs: it sorts after the one with FLOPs, like
 * rows without any, even in reverse order. */
TEST(rows_are_sorted_by_flops_if_operations_were_recorded)
{
    struct recorded r;

    begin_recorded(&r, sample_block((struct sample_block_wanted){.uncounted = true}));
    CHECK(browse_sort(r.b, SORT_FLOPS, false));
    CHECK_STR(names(&r), "block stem head ");
    CHECK(browse_sort(r.b, SORT_FLOPS, true));
    CHECK_STR(names(&r), "head stem block ");
    CHECK(browse_fold(r.b, FOLD_ALL));
    CHECK_STR(names(&r), "head stem block conv1 relu conv2 drop ");
    CHECK(browse_sort(r.b, SORT_OPS, false));
    CHECK_STR(names(&r), "block relu conv1 conv2 drop head stem ");
    end_recorded(&r);
    begin_recorded(&r, sample_run(2));
    CHECK(!browse_sort(r.b, SORT_FLOPS, false));
    CHECK(str_is(browse_message(r.b), "no operations were recorded"));
    end_recorded(&r);
}
