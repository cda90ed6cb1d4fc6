/* Histograms of a history are packed spreads. */
#include "history/history.h"
#include "measure/spread.h"

static int merge_spreads(const struct str *parts, uint32_t n, struct buf *ret_packed)
{
    struct spread sum = {0}, one = {0};
    bool some = false;

    for (uint32_t i = 0; i < n; i++) {
        struct spread *to = some ? &one : &sum;

        if (spread_unpack(bytes_of(parts[i].at, parts[i].len), to, NULL) == 0 &&
            (!some || spread_merge(&sum, &one, NULL) == 0))
            some = true;
    }
    if (some)
        spread_pack(&sum, ret_packed);
    spread_release(&sum);
    spread_release(&one);
    return some ? 0 : -1;
}

const struct history_codec history_spreads = {.merge = merge_spreads};
