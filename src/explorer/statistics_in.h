/* statistics_in.h - what the Statistics panel remembers between two frames, so that
 * nothing is read twice. */
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
    uint32_t place;   /* whose row it is */
    char slice[64];   /* that was looked at last */
    uint64_t left;    /* columns of values passed by */
    uint32_t channel; /* the first, or the only one shown */
    uint64_t columns; /* shown last, of either; */
    bool more;        /* and there are others behind them */
    enum statistics_showing showing;
    uint32_t views; /* how many there are of what is shown; 0: none */
    bool scale;     /* something is shown that can be linear or logarithmic */

    struct buf aside; /* the second title, and where it begins; 0: there is none */
    unsigned aside_at;

    /* A value that was kept. */
    uint32_t value; /* or RUN_NONE */
    struct kept_view kept;

    bool busy;                   /* what was asked for last is being made by a thread */
    struct made made[OWN_KINDS]; /* without threads: what was made, by kind */
};

void own_free(struct own *own);

/* Whose values: those of a tensor of the session's model, or of what was kept. */
struct whose {
    const struct run *run; /* of what was kept */
    uint32_t value;        /* or RUN_NONE: a tensor */
    uint32_t tensor;       /* or NO_TENSOR */
};

/* What takes long is made by a thread where there is one, and small things are waited
 * for. All: NULL, and *ret_why is "…" while it is being made, else why there is none.
 * Numbers of what was kept: */
const struct numbers *own_numbers(struct own *own, struct explorer *explorer,
                                  const struct whose *whose, const char **ret_why);
/* numbers->n_bins counts of a tensor, of which `numbers` are known. */
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

/* Of a module: the numbers of its own tensors. */
void statistics_table(struct lines *to, struct explorer *explorer, unsigned width);

#endif
