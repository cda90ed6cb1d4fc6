#include "facts/ops_text.h"

#include <stdlib.h>

#include "base/test.h"
#include "facts/details.h"
#include "run/sample_block.h"
#include "run/sample_run.h"

struct scene {
    struct session *session;
    struct show show;
    struct arena arena;
    struct buf said;
};

static void scene_begin(struct scene *s, struct run *run)
{
    *s = (struct scene){.session = session_of_run(run, NULL)};
    CHECK(s->session);
    arena_init(&s->arena, 0);
    CHECK(show_init(&s->show, s->session, &s->arena, NULL) == 0);
}

static void scene_end(struct scene *s)
{
    buf_release(&s->said);
    arena_release(&s->arena);
    session_close(s->session);
}

static const char *facts_of(struct scene *s, const char *name)
{
    struct facts facts = {0};

    buf_clear(&s->said);
    ops_text_facts(&facts, &s->show, place_find(s->show.model, str_of(name)));
    facts_text(&s->said, &facts, DETAILS_LABEL);
    facts_release(&facts);
    return buf_cstr(&s->said);
}

static const char *slowest(struct scene *s, const char *name, uint32_t most,
                           unsigned width)
{
    struct lines lines = {.n = 0};

    buf_clear(&s->said);
    CHECK(ops_text_slowest(&lines, &s->show, place_find(s->show.model, str_of(name)),
                           most, width, 1, NULL) == 0);
    for (uint32_t i = 0; i < lines.n; i++) {
        line_plain(&s->said, &lines, i);
        buf_char(&s->said, '\n');
    }
    lines_release(&lines);
    return buf_cstr(&s->said);
}

TEST(a_module_has_the_sums_of_its_operations)
{
    struct scene s;

    scene_begin(&s, sample_block((struct sample_block_wanted){.backward = true}));
    CHECK_STR(facts_of(&s, ""),
              "operations 16 forward, 1 backward\n"
              "FLOPs      forward 350.5K by 4 of 16 operations, all matrix work\n"
              "           backward 294.9K by 1 of 1 operation, all matrix work\n"
              "allocated  24.2KB forward, 2.2KB backward\n");
    CHECK_STR(facts_of(&s, "block.relu"),
              "operations 2 forward\n"
              "FLOPs      none: no matrix work in 2 operations\n"
              "allocated  8.0KB forward\n");
    CHECK_STR(facts_of(&s, "block.drop"), "");
    CHECK_STR(facts_of(&s, "head.weight"), "");
    scene_end(&s);
    scene_begin(&s, sample_run(1)); /* no operations */
    CHECK_STR(facts_of(&s, ""), "");
    CHECK_STR(slowest(&s, "", 5, 60), "");
    scene_end(&s);
}

TEST(flops_always_come_with_their_coverage)
{
    struct scene s;

    scene_begin(&s, sample_block((struct sample_block_wanted){.uncounted = true}));
    CHECK_STR(facts_of(&s, ""), "operations 16 forward\n"
                                "FLOPs      at least 203.1K by 3 of 16 operations, "
                                "75% of those that do matrix work\n"
                                "allocated  24.2KB forward\n");
    CHECK_STR(facts_of(&s, "block.conv2"),
              "operations 1 forward\n"
              "FLOPs      unknown: no formula for 1 operation that does matrix work\n"
              "allocated  4.0KB forward\n");
    CHECK_STR(slowest(&s, "block", 2, 0),
              " operations                calls      time  of ops    FLOPs  memory  "
              "phase\n"
              " convolution                   1  300.00μs     48%   147.5K   4.0KB  "
              "forward\n"
              " convolution_overrideable      1  280.00μs     44%  unknown   4.0KB  "
              "forward\n"
              " … 2 more\n");
    scene_end(&s);
}

TEST(a_narrow_list_of_operations_drops_columns)
{
    struct scene s;

    scene_begin(&s, sample_block((struct sample_block_wanted){.backward = true}));
    CHECK_STR(slowest(&s, "", 3, 74),
              " operations            calls      time  of ops   FLOPs  memory  phase\n"
              " convolution               3  700.00μs     58%  350.2K  12.0KB  "
              "forward\n"
              " convolution_backward      1  400.00μs     33%  294.9K   2.2KB  "
              "backward\n"
              " relu                      2   40.00μs      3%           8.0KB  "
              "forward\n"
              " … 10 more\n");
    CHECK_STR(slowest(&s, "", 2, 60),
              " operations                time  of ops   FLOPs  phase\n"
              " convolution           700.00μs     58%  350.2K  forward\n"
              " convolution_backward  400.00μs     33%  294.9K  backward\n"
              " … 11 more\n");
    CHECK_STR(slowest(&s, "", 2, 30), " operations               time\n"
                                      " convolution          700.00μs\n"
                                      " convoluti…_backward  400.00μs\n"
                                      " … 11 more\n");
    scene_end(&s);
}
