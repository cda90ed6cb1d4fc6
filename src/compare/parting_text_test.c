#include "compare/parting_text.h"

#include <math.h>
#include <string.h>

#include "base/test.h"

static void check_text(const struct parting *parting, const char *const *parts)
{
    struct facts facts = {0};
    struct buf text = BUF_INIT;

    parting_facts(&facts, parting);
    facts_text(&text, &facts, 10);
    for (; *parts; parts++)
        if (!strstr(buf_cstr(&text), *parts))
            CHECK_STR(buf_cstr(&text), *parts);
    buf_release(&text);
    facts_release(&facts);
}

static struct parting sample(void)
{
    struct parting parting = {.common = 1000,
                              .first = 0,
                              .last = 1998,
                              .with_tensors = 1000,
                              .steps = {1000, 1200},
                              .series = 60,
                              .scalars = 3};

    return parting;
}

TEST(equal_runs_report_the_number_of_steps)
{
    static const char *const parts[] = {"training  equal over 1,000 common steps\n",
                                        "scalars   3 scalars agree\n",
                                        "left has 1,000, right 1,200\n", NULL};
    struct parting parting = sample();

    check_text(&parting, parts);
}

TEST(diverging_runs_report_the_step_and_tensor)
{
    static const char *const parts[] = {
        "the runs part at step 40\n",
        "first     fc.\\x1bweight  gradient  step 40\n",
        "17 other series differ in this step, of 60\n",
        "left      min 1  max 3  mean 2  std 1.41421\n",
        "right     NaN 2\n",
        "apart     NaN or infinities on one side\n",
        "scalars   loss differs first at step 41: 2.25 → NaN\n",
        "120 on the left and 0 on the right were merged",
        "right has 2 series and 1 scalar that the other lacks\n",
        NULL};
    struct parting parting = sample();

    parting.tensor_differs = parting.scalar_differs = true;
    parting.tensor_step = 40;
    parting.tensor = (struct history_series){.kind = HISTORY_GRAD_PARAM,
                                             .name = STR("fc.\x1bweight")};
    parting.together = 18;
    parting.stats[0] =
        (struct stats){.count = 2, .min = 1, .max = 3, .mean = 2, .m2 = 2};
    parting.stats[1] =
        (struct stats){.count = 2, .nan = 2, .min = NAN, .max = NAN, .mean = NAN};
    parting.distance = INFINITY;
    parting.scalar_step = 41;
    parting.scalar = STR("loss");
    parting.values[0] = 2.25;
    parting.values[1] = NAN;
    parting.merged[0] = 120;
    parting.only_series[1] = 2;
    parting.only_scalars[1] = 1;
    check_text(&parting, parts);
}

TEST(runs_without_common_steps_are_reported)
{
    static const char *const parts[] = {"no step in common", "left has 5, right 7\n",
                                        NULL};
    struct parting parting = {.steps = {5, 7}};

    check_text(&parting, parts);
}
