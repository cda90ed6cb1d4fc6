/* pickle_feed_in.h - pickles that stand in a file one behind the other, with no word on
 * how long they are, and with raw data between them.
 * The end of a pickle is found by walking its opcodes, without running them, in a
 * window that grows until the end is in it; then it is run once. So a file of gigabytes
 * with its pickles at the front is opened by reading those only. */
#ifndef READ_PICKLE_PICKLE_FEED_IN_H
#define READ_PICKLE_PICKLE_FEED_IN_H

#include "base/blob.h"
#include "read/pickle/pickle_in.h"

struct pickle_feed {
    struct blob *blob; /* borrowed */
    struct build *build;
    uint64_t at, end; /* of what is still to be read; set `at` to go elsewhere */
    size_t step;      /* bytes to read at first, when nothing is known; 0: 64 KiB */
    const char *window;
    uint64_t window_at;
    size_t window_len;
};

/* Run the pickle at feed->at, which moves behind it. 1: it ran to its STOP. 0: it
 * breaks off, and *pickle has what was made; nothing can be found behind it. -1:
 * nothing to show, or memory is spent. Its bytes live in the build's scratch arena. */
int pickle_feed_next(struct pickle_feed *feed, struct pickle *pickle, struct str name,
                     struct err *err);

/* The n bytes of raw data at feed->at, which moves behind them. -1: they are not there.
 */
int pickle_feed_raw(struct pickle_feed *feed, void *to, size_t n, struct err *err);

#endif
