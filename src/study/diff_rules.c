#include "study/diff_in.h"

int make_rules(struct diffing *d)
{
    (void)d;
    return 0;
}
