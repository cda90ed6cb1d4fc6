#include "study/diff_in.h"

int match_rest(struct diffing *d)
{
    (void)d;
    return 0;
}
