/* everything.h - read a model from bytes and query everything. The fuzz targets and the
 * damage test run this on every input: it must never crash, leak, hang or use much
 * memory. */
#ifndef TESTS_EVERYTHING_H
#define TESTS_EVERYTHING_H

#include <stdbool.h>
#include <stddef.h>

/* The result. */
struct everything {
    bool model; /* there was a model to show */
    unsigned places, tensors, findings;
};

/* `name`: a file name for the bytes. */
struct everything everything_of(const void *at, size_t size, const char *name);

#endif
