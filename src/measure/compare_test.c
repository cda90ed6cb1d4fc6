#include "measure/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/test.h"
#include "measure/sample_model_in.h"

static struct compare_side side_of(struct sample *sample)
{
    return (struct compare_side){&sample->model, &sample->tensor};
}

TEST(one_value_that_differs_is_found)
{
    float left[1000], right[1000];
    struct sample a, b;
    struct compared by;

    for (int i = 0; i < 1000; i++)
        left[i] = right[i] = (float)i;
    right[500] += 2;
    sample_init(&a, DTYPE_FLOAT32, left, sizeof left, (int64_t[]){1000}, NULL, 1);
    sample_init(&b, DTYPE_FLOAT32, right, sizeof right, (int64_t[]){1000}, NULL, 1);
    CHECK_INT(compare_tensors(side_of(&a), side_of(&b), (struct tolerance){0, 0}, NULL,
                              &by, NULL),
              0);
    CHECK_INT(by.count, 1000);
    CHECK_INT(by.different, 1);
    CHECK_INT(by.max_at, 500);
    CHECK_NEAR(by.max_abs, 2, 0);
    CHECK_NEAR(by.squares, 4, 0);
    CHECK_NEAR(by.left_squares, 332833500, 0);
}
