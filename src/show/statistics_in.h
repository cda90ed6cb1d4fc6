/* statistics_in.h - what the Statistics panel remembers between two frames, so that
 * nothing is read twice. */
#ifndef SHOW_STATISTICS_IN_H
#define SHOW_STATISTICS_IN_H

#include "measure/blocks.h"
#include "run/kept.h"
#include "session/numbers.h"
#include "show/explorer.h"
#include "show/lines.h"
#include "show/sheet.h"

/* What h and l move through. */
enum showing { SHOWING_NOTHING, SHOWING_TENSOR, SHOWING_CHANNELS };

struct own {
    uint32_t place;   /* whose row it is */
    char slice[64];   /* that was looked at last */
    uint64_t left;    /* columns of values passed by */
    uint32_t channel; /* the first, or the only one shown */
    uint64_t columns; /* shown last, of either; */
    bool more;        /* and there are others behind them */
    enum showing showing;
    uint32_t views; /* how many there are of what is shown; 0: none */

    struct buf aside; /* the second title, and where it begins; 0: there is none */
    unsigned aside_at;

    /* A value that was kept, and what was made of it. */
    uint32_t value; /* or RUN_NONE */
    struct kept_view kept;
    struct arena arena; /* of the numbers and the sheet */
    struct stats stats;
    struct numbers numbers;
    bool has_numbers, has_sheet;
    struct sheet sheet;
    uint64_t item;

    /* The last picture that was made here. */
    const struct tensor *drawn;
    struct blocks_wanted wanted;
    struct blocks blocks;
    struct arena blocks_arena;
};

void own_forget(struct own *own); /* the kept value, and pictures */
void own_free(struct own *own);

/* Of the kept value. */
const struct numbers *own_numbers(struct own *own, const char **ret_why);
const struct sheet *own_sheet(struct own *own, uint64_t item, uint32_t wide,
                              uint32_t high, const char **ret_why);
/* A picture: small tensors and what was kept are measured now, others (`number` in the
 * model) in the background. NULL: *ret_why says why, "…" while it is being made. */
const struct blocks *own_blocks(struct own *own, struct explorer *explorer,
                                const struct model *model, const struct tensor *tensor,
                                uint32_t number, const struct blocks_wanted *wanted,
                                const char **ret_why);

/* Of a module: the numbers of its own tensors. */
void statistics_table(struct lines *to, struct explorer *explorer, unsigned width);

#endif
