/* facts.h - what a file or a recording is, fact by fact: `info` prints them, the
 * Details panel of the root shows them, so that the two cannot disagree.
 *
 *     format    torch zip (326 entries, data.pkl protocol 2), little-endian, 97.8MB
 *     holds     a state_dict: 320 tensors, float32 and int64, 151 modules, from cpu
 *     safety    ✓ SAFE: 4 globals, all on the allow-list; they build tensors, dicts */
#ifndef SHOW_FACTS_H
#define SHOW_FACTS_H

#include "base/buf.h"
#include "base/err.h"
#include "show/show.h"
#include "text/colour.h"

struct facts {
    const struct show *show;
    /* Take the fact that `line` holds, and empty the line. A label of "" goes on with
     * what the last one began. */
    void (*tell)(struct facts *facts, const char *label, enum colour role);
    void *user;
    const char *all; /* where the rest of a long list can be seen: "--json" */
    bool brief;      /* what few ask for is left out */
    struct buf line; /* released by whoever made this */
};

/* Each tells one thing, or nothing where there is nothing to tell. */
void facts_format(struct facts *facts);
void facts_holds(struct facts *facts);
void facts_params(struct facts *facts);
void facts_memory(struct facts *facts);
void facts_trained(struct facts *facts);
void facts_buffers(struct facts *facts);
void facts_safety(struct facts *facts);
void facts_globals(struct facts *facts); /* every one with its uses */
void facts_metadata(struct facts *facts);
/* When and by what a recording was made, how long it took, where its time went. */
int facts_run(struct facts *facts, struct err *err);

/* "✗ posix.system                          1 use   runs a shell command": a global of
 * the pickle log, its name in so many cells (see facts_globals_width()). */
void facts_global(struct buf *to, const struct show *show, uint32_t index, size_t cells,
                  enum colour *ret_role);
size_t facts_globals_width(const struct show *show);

#endif
