/* statistics_in.h - the state of the Statistics panel between frames, so that nothing
 * is read twice. */
#ifndef EXPLORER_STATISTICS_IN_H
#define EXPLORER_STATISTICS_IN_H

#include "explorer/explorer.h"
#include "facts/sheet.h"
#include "measure/blocks.h"
#include "run/kept.h"
#include "session/numbers.h"
#include "text/lines.h"

/* What h and l move through. */
enum statistics_showing { SHOWING_NOTHING, SHOWING_TENSOR, SHOWING_CHANNELS };

enum { OWN_NUMBERS, OWN_BINS, OWN_SHEET, OWN_BLOCKS, OWN_KINDS };

struct own {
    uint32_t place;   /* the row's place */
    char slice[64];   /* the last slice that was shown */
    uint64_t left;    /* columns of values scrolled past */
    uint32_t channel; /* the first or only channel shown */
    uint64_t columns; /* columns or channels shown last */
    bool more;        /* there are more to the right */
    enum statistics_showing showing;
    uint32_t views; /* the number of available views; 0: none */
    bool scale;     /* a linear or logarithmic scale is shown */

    struct buf aside; /* the second title and its column; 0: none */
    unsigned aside_at;

    /* The kept value. */
    uint32_t value; /* or RUN_NONE */
    struct kept_view kept;

    bool busy;                   /* a thread is computing the last request */
    struct made made[OWN_KINDS]; /* without threads: the results, by kind */
};

void own_free(struct own *own);

/* The values of a tensor of the model, or a kept value. */
struct whose {
    const struct run *run; /* of the kept value */
    uint32_t value;        /* RUN_NONE: a tensor */
    uint32_t tensor;       /* or NO_TENSOR */
};

/* Slow results are computed by a thread if there is one; small ones are waited for. All
 * return NULL if not available: *ret_why is then "…" while computing, else the reason.
 * The numbers of a kept value: */
const struct numbers *own_numbers(struct own *own, struct explorer *explorer,
                                  const struct whose *whose, const char **ret_why);
/* The numbers->n_bins counts of a tensor whose `numbers` are known. */
const uint64_t *own_bins(struct own *own, struct explorer *explorer,
                         const struct whose *whose, const struct numbers *numbers,
                         const char **ret_why);
const struct sheet *own_sheet(struct own *own, struct explorer *explorer,
                              const struct whose *whose, uint64_t item, uint32_t wide,
                              uint32_t high, const char **ret_why);
const struct blocks *own_blocks(struct own *own, struct explorer *explorer,
                                const struct whose *whose,
                                const struct blocks_wanted *wanted,
                                const char **ret_why);

/* Module: the statistics of its own tensors. */
void statistics_table(struct lines *to, struct explorer *explorer, unsigned width);

#endif
