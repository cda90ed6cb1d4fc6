/* pickle_feed_in.h - reads consecutive pickles of unknown length in a file, with raw
 * data between them. Finds the end of a pickle by walking its opcodes, without running
 * them, in a window that grows until it holds the end; then runs it once. So opening a
 * file of gigabytes with pickles at the front reads only those. */
#ifndef READ_PICKLE_PICKLE_FEED_IN_H
#define READ_PICKLE_PICKLE_FEED_IN_H

#include "base/blob.h"
#include "read/pickle/pickle_in.h"

struct pickle_feed {
    struct blob *blob; /* borrowed */
    struct build *build;
    uint64_t at, end; /* the rest of the file; set `at` to seek */
    size_t step;      /* size of the first window; 0: 64 KiB */
    const char *window;
    uint64_t window_at;
    size_t window_len;
};

/* Run the pickle at feed->at and move past it. 1: it ran to its STOP. 0: it is
 * truncated or malformed, and *pickle has the nodes before that; the data after it
 * cannot be located. -1: no nodes, or memory is spent. Its bytes are in the build's
 * scratch arena. */
int pickle_feed_next(struct pickle_feed *feed, struct pickle *pickle, struct str name,
                     struct err *err);

/* Read n bytes of raw data at feed->at and move past them. -1: the file is too short.
 */
int pickle_feed_raw(struct pickle_feed *feed, void *to, size_t n, struct err *err);

#endif
