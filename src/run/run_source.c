#include "run/run_in.h"

void run_source_close(struct run_source *source)
{
    (void)source;
}
