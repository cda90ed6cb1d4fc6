/* notes.h - what a person should know about a file or a run: what its reader found,
 * what raised, who made the first NaN, what was not seen. A fact for each; its role says
 * how bad it is: COLOUR_ALARM, COLOUR_WARNING, or COLOUR_DIM for a mere note. */
#ifndef FACTS_NOTES_H
#define FACTS_NOTES_H

#include "base/err.h"
#include "facts/fact.h"
#include "rows/show.h"

/* "✗", "!", "✓" or "-": the sign of a role. */
const char *note_sign(enum colour role);
/* A line for each: "✗ a raised ValueError: no". */
void notes_print(const struct pen *pen, const struct facts *notes);
enum colour note_role(enum severity severity);

/* One finding: its id is finding_name(). It begins with the name of its place unless
 * finding->named. */
struct fact *note_finding(struct facts *to, const struct model *model,
                          const struct finding *finding);
/* The findings at a place, at most so many; at the root those of the whole file. */
void notes_findings(struct facts *to, const struct model *model, uint32_t place,
                    uint32_t most);

/* A global that a load would run (an alarm) or needs: "a load would run posix.system". */
void note_global(struct facts *to, const struct model *model, uint32_t global,
                 enum severity severity);
/* A measured tensor with values that are not finite: "fc.weight has NaN 12". */
void note_tensor(struct facts *to, const struct show *show, uint32_t tensor);

/* The rest is for sessions with a run. Everything: the alarms, then the gaps. */
int notes_run(struct facts *to, const struct show *show, struct err *err);
/* What raised, and who made the first NaN or Inf: "raised", "not_finite". */
void notes_alarms(struct facts *to, const struct show *show);
/* What was not seen, one fact for each reason:
 * "12 modules were not called: a, b, ..." */
int notes_gaps(struct facts *to, const struct show *show, struct err *err);
/* One module that raised or made values that are not finite, in short:
 * "log made the first NaN", "fc raised an exception". */
void note_module(struct facts *to, const struct show *show, uint32_t place);
/* The alarms of one module, in more detail, or of what is below it. */
void notes_place(struct facts *to, const struct show *show, uint32_t place);

/* Did something raise, or make values that are not finite? */
bool notes_alarmed(const struct activities *activity);

#endif
