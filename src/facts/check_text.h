/* check_text.h - the results of a check as facts. */
#ifndef FACTS_CHECK_TEXT_H
#define FACTS_CHECK_TEXT_H

#include "facts/fact.h"
#include "model/model.h"
#include "session/session.h"
#include "study/safety/check.h"

/* Append one item: its label is the topic, its role the mark. A dangerous global has a
 * second fact: where it is called. Long arguments are cut so that a line has about
 * `cells` cells (0: no limit, but still bounded). */
void check_facts(struct facts *to, const struct model *model, const struct check *check,
                 const struct check_item *item, size_t cells);

/* "("curl -s http://…")": the arguments of a call, in about `most` bytes. */
void check_arguments(struct buf *to, const struct model *model, uint32_t args,
                     size_t most);

/* Adds the alarms in the history of a training run to the findings of `ask`; if the
 * history is unreadable, adds that. Nothing for other files. In training.c. */
int check_training(const struct session *session, struct arena *arena,
                   struct check_ask *ask, struct err *err);

/* The checked file: "122 tensors, torch zip, 97.8MB". */
void check_subject(struct buf *to, const struct model *model,
                   const struct check *check);

/* Number of uses of a global: calls, constructions, states set; if none, the number of
 * times it is named. */
uint64_t check_uses(const struct pickle_global *global);

#endif
