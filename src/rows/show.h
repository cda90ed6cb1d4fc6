/* show.h - an open session, as the views see it. */
#ifndef ROWS_SHOW_H
#define ROWS_SHOW_H

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "history/at_step.h"
#include "session/session.h"
#include "study/activity.h"
#include "study/no_gradient.h"
#include "study/op_memory.h"
#include "study/op_use.h"

struct label;
struct row;

struct show {
    const struct session *session; /* borrowed */
    const struct model *model;     /* owned by the session */
    const struct pair *pair; /* two models side by side: rows are nodes of its diff,
                                and the session is the right model's. NULL: one model */
    void (*pair_label)(struct label *label, const struct show *show,
                       const struct row *row); /* for a pair: see diff_show() */
    /* By place: tied parameters and bytes at and below it that are counted at an
     * earlier place. NULL: nothing is tied. */
    uint64_t *tied_params, *tied_bytes;
    struct map globals;   /* maps the string id of a pickle's global to its index in
                             the log */
    struct str file_name; /* the last part of the model's path */
    const struct activities *activity;       /* for a recording; else NULL */
    const struct memory_use *memory;         /* with operations; else NULL */
    const struct no_gradients *no_gradients; /* likewise */
    /* By place: forward operations at and below it. NULL: they were not recorded. */
    const struct op_sum *ops;
    const struct at_step *step; /* of a training run: numbers at one step; at first
                                   those of the session. NULL: none */
    struct below_index *index;  /* see below.h; NULL: no index */
    bool gaps_in_out; /* no `time` column: `out` shows why a module has no calls */
};

/* Initialise from a session; allocates in the arena. */
int show_init(struct show *show, const struct session *session, struct arena *arena,
              struct err *err);

/* The trust of a call to this name, the text of a value; TRUST_KNOWN if no pickle
 * contains it. */
enum trust show_trust(const struct show *show, uint32_t name);

/* A leaf has no module or group below it; its row includes its tensors. */
bool show_is_leaf(const struct model *model, uint32_t place);

/* For a group that only wraps the single object of a file: "a tensor", "an array", "a
 * storage", "a value". NULL: any other place. */
const char *show_bare(const struct model *model, uint32_t place);

#endif
