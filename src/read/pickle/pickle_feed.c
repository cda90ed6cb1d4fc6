#include "read/pickle/pickle_feed_in.h"

#include <inttypes.h>
#include <string.h>

#include "base/base.h"
#include "base/work.h"
#include "read/pickle/pickle_machine_in.h"

#define FIRST_STEP (64 * KIB)
#define PICKLE_MAX (1 * GIB)

enum pickle_feed_extent { ENDS, GOES_ON, BREAKS };

/* Walk the opcodes from *at on. *at becomes the end of the pickle, or the offset of the
 * opcode with an incomplete argument, or of the byte that is no opcode. */
static enum pickle_feed_extent walk(struct str all, size_t *at)
{
    while (*at < all.len) {
        uint8_t byte = (uint8_t)all.at[*at];
        const struct opcode *opcode = &pickle_opcodes[byte];
        size_t length;

        if (!opcode->name)
            return BREAKS;
        length = pickle_argument_length(opcode, str_from(all, *at + 1));
        if (length == SIZE_MAX)
            return GOES_ON;
        *at += 1 + length;
        if (byte == '.')
            return ENDS;
    }
    return GOES_ON;
}

/* The bytes of the window from feed->at on. */
static struct str in_window(const struct pickle_feed *feed)
{
    uint64_t skip = feed->at - feed->window_at;

    if (!feed->window || feed->at < feed->window_at || skip > feed->window_len)
        return (struct str){NULL, 0};
    return str_span(feed->window + skip, feed->window_len - (size_t)skip);
}

/* Load the next `size` bytes from feed->at on, or fewer at the end, into a new window.
 * The old one stays: pickles refer to it. */
static int open_window(struct pickle_feed *feed, uint64_t size, struct err *err)
{
    struct arena *arena = &feed->build->scratch;
    struct str have = in_window(feed);
    uint64_t left = feed->end - feed->at;
    size_t n = (size_t)(size < left ? size : left);
    char *bytes = arena_alloc(arena, n);

    if (!bytes)
        return arena_err(arena, feed->blob->name, err);
    if (have.len > n)
        have.len = n;
    if (have.len > 0)
        memcpy(bytes, have.at, have.len);
    if (n > have.len && blob_read(feed->blob, feed->at + have.len, bytes + have.len,
                                  n - have.len, err) < 0)
        return -1;
    feed->window = bytes;
    feed->window_at = feed->at;
    feed->window_len = n;
    return 0;
}

/* Load the whole pickle at feed->at into the window. If it has no end, *ret_bytes is
 * the rest of the file. */
static int gather(struct pickle_feed *feed, struct str *ret_bytes, bool *ret_ends,
                  struct err *err)
{
    uint64_t size = feed->step ? feed->step : FIRST_STEP;
    size_t at = 0;

    for (;;) {
        struct str have = in_window(feed);
        enum pickle_feed_extent extent = walk(have, &at);

        *ret_ends = extent == ENDS;
        *ret_bytes = extent == ENDS ? str_head(have, at) : have;
        if (extent != GOES_ON || have.len >= feed->end - feed->at)
            return 0;
        if (have.len >= PICKLE_MAX) {
            build_finding(feed->build, FINDING_LIMIT, SEVERITY_ALARM, FINDING_NOWHERE,
                          "the pickle at byte %" PRIu64
                          " of %s is longer than the limit of %zu bytes",
                          feed->at, feed->blob->name, PICKLE_MAX);
            return 0;
        }
        if (!work_step(feed->build->work, 0))
            return err_set(err, ERR_CANCELLED, "stopped");
        while (size <= have.len)
            size *= 4;
        if (open_window(feed, size, err) < 0)
            return -1;
    }
}

int pickle_feed_next(struct pickle_feed *feed, struct pickle *pickle, struct str name,
                     struct err *err)
{
    struct bytes in;
    struct str bytes;
    bool ends;

    if (feed->at >= feed->end)
        return err_set_about(err, ERR_FORMAT, feed->blob->name,
                             ": truncated at byte %" PRIu64
                             ": expected a pickle (%.*s). Download it again",
                             feed->end, STR_ARG(name));
    if (gather(feed, &bytes, &ends, err) < 0)
        return -1;
    in = bytes_of(bytes.at, bytes.len);
    if (pickle_run(pickle, feed->build, &in, name, err) < 0)
        return -1;
    feed->at += bytes.len - bytes_left(&in);
    return ends && pickle->complete;
}

int pickle_feed_raw(struct pickle_feed *feed, void *to, size_t n, struct err *err)
{
    struct str have = in_window(feed);

    if (feed->at > feed->end || n > feed->end - feed->at)
        return err_set_about(err, ERR_FORMAT, feed->blob->name,
                             ": truncated at byte %" PRIu64, feed->end);
    if (n <= have.len)
        memcpy(to, have.at, n);
    else if (blob_read(feed->blob, feed->at, to, n, err) < 0)
        return -1;
    feed->at += n;
    return 0;
}
