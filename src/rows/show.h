/* show.h - one open session, as views see it. */
#ifndef ROWS_SHOW_H
#define ROWS_SHOW_H

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "session/session.h"
#include "study/activity.h"

struct label;
struct row;

struct show {
    const struct session *session; /* borrowed */
    const struct model *model;     /* the session's */
    const struct pair *pair; /* two models side by side: rows are nodes of its diff, and
                                the session is the right one's. NULL: one model */
    void (*pair_label)(struct label *label, const struct show *show,
                       const struct row *row); /* of a pair: see diff_show() */
    /* By place: parameters and bytes at and below it that are counted at an earlier place
     * because they are tied. NULL: nothing is tied. */
    uint64_t *tied_params, *tied_bytes;
    struct map globals;   /* string id of a pickle's global to its index in the log */
    struct str file_name; /* the last part of the model's path */
    const struct activities *activity; /* of a recording; else NULL */
    struct below_index *index;         /* of below.h; NULL: none was made */
    bool gaps_in_out; /* there is no `time` column to say why a module has no calls:
                         `out` says it */
};

/* Look at a session; what it computes is in the arena. */
int show_init(struct show *show, const struct session *session, struct arena *arena,
              struct err *err);

/* How a call of this name, a value's text, is judged; TRUST_KNOWN if no pickle has it.
 */
enum trust show_trust(const struct show *show, uint32_t name);

/* A leaf has no module or group below it; its tensors are part of its row. */
bool show_is_leaf(const struct model *model, uint32_t place);

/* What a group is that only stands for the one thing in it, because a file holds that
 * thing bare: "a tensor", "an array", "a storage", "a value". NULL: any other place. */
const char *show_bare(const struct model *model, uint32_t place);

#endif
