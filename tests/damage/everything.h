/* everything.h - read a model from bytes and ask it all there is to ask.
 * What the fuzz targets and the damage test run on every input: whatever the bytes are,
 * nothing here may crash, leak, hang or take much memory. */
#ifndef TESTS_EVERYTHING_H
#define TESTS_EVERYTHING_H

#include <stdbool.h>
#include <stddef.h>

/* What came out of it. */
struct everything {
    bool model; /* there was something to show */
    unsigned places, tensors, findings;
};

/* `name` is what to call the bytes, as a file name would. */
struct everything everything_of(const void *at, size_t size, const char *name);

#endif
