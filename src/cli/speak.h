/* speak.h - texts that several commands write to standard output. */
#ifndef CLI_SPEAK_H
#define CLI_SPEAK_H

#include "base/buf.h"
#include "cli/cli.h"
#include "facts/fact.h"
#include "model/model.h"
#include "rows/show.h"
#include "text/colour.h"

/* Write UTF-8 text with escaped names in the style of standard output: in colour, in
 * ASCII or with isolated right-to-left names. */
void speak_text(struct cli *cli, const struct buf *text, enum colour role);

/* Write "label  value", wrapped to the width of the terminal. */
void speak_facts(struct cli *cli, const struct facts *facts, unsigned label_cells);

/* Write the file's findings, one per line; "N more" after the first `most`. */
void speak_findings(struct cli *cli, const struct model *model, uint32_t most);

/* Write the alarms and gaps of a recording, one per line. Nothing for other files. */
int speak_run_notes(struct cli *cli, const struct show *show, struct err *err);

/* STATUS_FINDINGS if the file has a finding worse than a note, if a plain load would
 * run code, or if the recorded run raised or has non-finite results. */
int speak_status(const struct show *show);

#endif
