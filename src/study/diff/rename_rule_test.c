#include "study/diff/rename.h"

#include "base/test.h"

static void check_rule(struct rename_rule rule, const char *name, const char *expected)
{
    struct rename_rules rules = {&rule, 1, rule.kind == RENAME_NAME};
    struct buf to = BUF_INIT;

    rename_apply(&rules, str_of(name), &to);
    CHECK_STR(buf_cstr(&to), expected);
    buf_release(&to);
}

#define RULE(kind_, from_, to_)                                                        \
    ((struct rename_rule){.kind = RENAME_##kind_, .from = STR(from_), .to = STR(to_)})

TEST(a_part_is_whole_components_and_all_of_them)
{
    struct rename_rule part = RULE(PART, "a.b", "x"), gone = RULE(PART, "w", "");

    check_rule(part, "a.b", "x");
    check_rule(part, "a.b.a.b.c", "x.x.c");
    check_rule(part, "aa.b.a.bb", "aa.b.a.bb");
    check_rule(part, "a.a.b", "a.x");
    check_rule(gone, "w.a.w.w.b.w.w", "a.b");
    check_rule(gone, "w.w", "w");
    check_rule(gone, "a.w", "a");
    check_rule(gone, "ww.w.", "ww.");
    check_rule(gone, "w", "w");
    check_rule(RULE(PART, "a.a", ""), "c.a.a.a", "c.a");
    check_rule(RULE(PART, "a.a", ""), "c.a.a.a.a", "c");
}

TEST(a_hole_is_one_component_of_digits)
{
    struct rename_rule rule = RULE(PART, "s.{}.{}", "t.{}.b.{}");

    check_rule(rule, "s.0.12.w", "t.0.b.12.w");
    check_rule(rule, "s.0.x", "s.0.x");
    check_rule(rule, "s.0", "s.0");
    check_rule(rule, "s.{}.{}", "s.{}.{}");
    check_rule(rule, "q.s.007.1.s.2.3", "q.t.007.b.1.t.2.b.3");
}

TEST(a_shift_knows_its_numbers)
{
    struct rename_rule rule = RULE(SHIFT, "h.{}.", "h.{}.");

    rule.first = 2;
    rule.last = 5;
    rule.shift = -2;
    check_rule(rule, "h.9.2", "h.9.0");
    check_rule(rule, "h.9.5.w", "h.9.3.w");
    check_rule(rule, "h.9.6.w", "h.9.6.w");
    check_rule(rule, "h.9.05.w", "h.9.05.w");
    check_rule(rule, "h.9.5x", "h.9.5x");
    check_rule(rule, "h.x.5", "h.x.5");
    check_rule(rule, "h.9", "h.9");
    check_rule(rule, "g.h.9.5", "g.h.9.5");
    rule.last = UINT64_MAX;
    rule.shift = 1;
    check_rule(rule, "h.9.999999999999999999", "h.9.1000000000000000000");
    check_rule(rule, "h.9.1000000000000000000", "h.9.1000000000000000000");
}

TEST(a_swap_goes_both_ways_at_once)
{
    struct rename_rule rule = RULE(SWAP, "a", "b.c");

    check_rule(rule, "a.b.c.a.b", "b.c.a.b.c.b");
    check_rule(rule, "b.a", "b.b.c");
}
