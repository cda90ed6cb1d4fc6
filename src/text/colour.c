#include "text/colour.h"

static const char *const codes[COLOUR_COUNT] = {
    [COLOUR_NONE] = "",
    [COLOUR_DIM] = "\033[90m",
    [COLOUR_TYPE] = "\033[36m",
    [COLOUR_TENSOR] = "\033[35m",
    [COLOUR_GOOD] = "\033[32m",
    [COLOUR_WARNING] = "\033[33m",
    [COLOUR_ALARM] = "\033[1;31m",
    [COLOUR_MATCH] = "\033[4;33m",
    [COLOUR_STRONG] = "\033[1m",
};

const char *colour_begin(enum colour role, bool on)
{
    return on ? codes[role] : "";
}

const char *colour_end(enum colour role, bool on)
{
    return on && role != COLOUR_NONE ? "\033[0m" : "";
}
