/* notes.h - notes about a file or a run: findings of the reader, exceptions, the origin
 * of the first NaN, gaps of the recording. Each is a fact; its role is its severity:
 * COLOUR_ALARM, COLOUR_WARNING, or COLOUR_DIM for a plain note. */
#ifndef FACTS_NOTES_H
#define FACTS_NOTES_H

#include "base/err.h"
#include "facts/fact.h"
#include "rows/show.h"

/* "✗", "!", "✓" or "-": the sign of a role. */
const char *note_sign(enum colour role);
/* Print a line for each: "✗ a raised ValueError: no". */
void notes_print(const struct pen *pen, const struct facts *notes);
enum colour note_role(enum severity severity);

/* Append one finding; its id is finding_name(). It starts with the name of its place
 * unless finding->named. */
struct fact *note_finding(struct facts *to, const struct model *model,
                          const struct finding *finding);
/* At most `most` findings of a place; for the root, those of the whole file. */
void notes_findings(struct facts *to, const struct model *model, uint32_t place,
                    uint32_t most);

/* A global that a load would run (an alarm) or needs: "a load would run posix.system".
 */
void note_global(struct facts *to, const struct model *model, uint32_t global,
                 enum severity severity);
/* A measured tensor with values that are not finite: "fc.weight has NaN 12". */
void note_tensor(struct facts *to, const struct show *show, uint32_t tensor);

/* An alarm of a training run: "step 315: layer1.1: first Inf: 3,392 of 32,768 outputs
 * (aten::batch_norm)"; if `ranked`, with its rank. note_training() escapes it. */
void training_alarm_text(struct buf *to, const struct history_alarm *alarm,
                         bool ranked);
void note_training(struct facts *to, const struct history_alarm *alarm, bool ranked);

/* The rest is for sessions with a run. All notes: the alarms, then the gaps. */
int notes_run(struct facts *to, const struct show *show, struct err *err);
/* Exceptions, the origin of the first NaN or Inf, and parameters without gradient:
 * "raised", "not_finite", "no_gradient". */
void notes_alarms(struct facts *to, const struct show *show);
/* What the recording missed, one fact per reason: "12 modules were not called: a, b,
 * ..." */
int notes_gaps(struct facts *to, const struct show *show, struct err *err);
/* A short alarm for one module that raised or produced NaN or Inf: "log made the first
 * NaN", "fc raised an exception". */
void note_module(struct facts *to, const struct show *show, uint32_t place);
/* Trainable parameters without gradient, one fact per reason: "no_gradient". */
void notes_no_gradient(struct facts *to, const struct show *show);
/* Those of one parameter, or of a module's own parameters. */
void notes_no_gradient_at(struct facts *to, const struct show *show, uint32_t place);
/* One of show->no_gradients; `to` may be NULL. Returns its severity. */
enum severity note_no_gradient(struct facts *to, const struct show *show,
                               uint32_t index);
/* The alarms of one module, in detail, or of modules below it. */
void notes_place(struct facts *to, const struct show *show, uint32_t place);

/* Did any module raise, or produce NaN or Inf? */
bool notes_alarmed(const struct activities *activity);
/* Was a parameter cut off from the loss? */
bool notes_gradient_alarmed(const struct show *show);

#endif
