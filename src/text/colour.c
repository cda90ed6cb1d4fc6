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
    [COLOUR_SAME] = "\033[32m",
    [COLOUR_FOCUS] = "\033[34m",
    [COLOUR_CURSOR] = "\033[7m",
    /* Sixteen colours have no scale: the shade glyphs show the value. */
    [COLOUR_HEAT] = "",
    [COLOUR_HEAT + 1] = "",
    [COLOUR_HEAT + 2] = "",
    [COLOUR_HEAT + 3] = "",
    [COLOUR_HEAT + 4] = "",
    [COLOUR_HEAT + 5] = "",
    [COLOUR_HEAT + 6] = "",
    [COLOUR_HEAT + 7] = "",
    [COLOUR_COLD] = "\033[34m",
    [COLOUR_COLD + 1] = "\033[34m",
    [COLOUR_COLD + 2] = "\033[34m",
    [COLOUR_COLD + 3] = "\033[34m",
    [COLOUR_WARM] = "\033[33m",
    [COLOUR_WARM + 1] = "\033[33m",
    [COLOUR_WARM + 2] = "\033[33m",
    [COLOUR_WARM + 3] = "\033[33m",
};

const char *colour_begin(enum colour role, bool on)
{
    return on ? codes[role] : "";
}

const char *colour_end(enum colour role, bool on)
{
    return on && codes[role][0] ? "\033[0m" : "";
}
