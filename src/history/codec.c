/* Histograms of a history are packed spreads. */
#include "history/history.h"
#include "measure/spread.h"

static int merge_spreads(struct str a, struct str b, struct buf *ret_packed)
{
    struct spread one = {0}, other = {0};
    int status = -1;

    if (spread_unpack(bytes_of(a.at, a.len), &one, NULL) == 0 &&
        spread_unpack(bytes_of(b.at, b.len), &other, NULL) == 0 &&
        spread_merge(&one, &other, NULL) == 0) {
        spread_pack(&one, ret_packed);
        status = 0;
    }
    spread_release(&one);
    spread_release(&other);
    return status;
}

static int merge_all_spreads(const struct str *parts, uint32_t n,
                             struct buf *ret_packed)
{
    struct spread sum = {0}, one = {0};
    bool some = false;

    for (uint32_t i = 0; i < n; i++)
        if (spread_unpack(bytes_of(parts[i].at, parts[i].len), &one, NULL) == 0 &&
            spread_merge(&sum, &one, NULL) == 0)
            some = true;
    if (some)
        spread_pack(&sum, ret_packed);
    spread_release(&sum);
    spread_release(&one);
    return some ? 0 : -1;
}

const struct history_codec history_spreads = {.merge = merge_spreads,
                                              .merge_all = merge_all_spreads};
