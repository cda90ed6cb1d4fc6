/* speak.h - sentences that several commands write to standard output. */
#ifndef CLI_SPEAK_H
#define CLI_SPEAK_H

#include "base/buf.h"
#include "cli/cli.h"
#include "facts/fact.h"
#include "model/model.h"
#include "rows/show.h"
#include "text/colour.h"

/* A text of ours, made of UTF-8 and escaped names: in colour, in ASCII or
 * with isolated right-to-left names, as standard output wants it. */
void speak_text(struct cli *cli, const struct buf *text, enum colour role);

/* "label  value", wrapped to the width of the terminal. */
void speak_facts(struct cli *cli, const struct facts *facts, unsigned label_cells);

/* What was met in the file, one line each; "N more" after the first `most`. */
void speak_findings(struct cli *cli, const struct model *model, uint32_t most);

/* What is to be said of a recording: alarms and gaps, one line each. Nothing of other
 * files. */
int speak_run_notes(struct cli *cli, const struct show *show, struct err *err);

/* STATUS_FINDINGS if anything was met in the file that is worse than a note, if a plain
 * load of it would run something, or if what was recorded raised or has results that
 * are not finite. */
int speak_status(const struct show *show);

#endif
