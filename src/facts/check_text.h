/* check_text.h - what a check says, in sentences. */
#ifndef FACTS_CHECK_TEXT_H
#define FACTS_CHECK_TEXT_H

#include "base/buf.h"
#include "model/model.h"
#include "study/safety/check.h"
#include "text/colour.h"

/* "✓", "-", "!", "✗". */
const char *check_sign(enum check_mark mark);
enum colour check_colour(enum check_mark mark);

/* The sentence of an item; names are escaped. A newline parts what should begin a line
 * of its own: a call, and where it stands. Long arguments are cut so that a line has
 * about `cells` cells (0: no limit, but never endless). */
void check_sentence(struct buf *to, const struct model *model,
                    const struct check *check, const struct check_item *item,
                    size_t cells);

/* The sentence of a finding, behind the name of what it is about unless that is in it.
 */
void check_finding(struct buf *to, const struct model *model,
                   const struct finding *finding);

/* "122 tensors, torch zip, 97.8MB": what was checked. */
void check_subject(struct buf *to, const struct model *model,
                   const struct check *check);

/* How often a global is used: called, made or given a state; else how often named. */
uint64_t check_uses(const struct pickle_global *global);

#endif
