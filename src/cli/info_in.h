/* info_in.h - the parts of torchoscope info: one file being told about, line by line.
 */
#ifndef CLI_INFO_IN_H
#define CLI_INFO_IN_H

#include "cli/cli.h"
#include "session/session.h"
#include "show/show.h"
#include "text/colour.h"

struct info {
    struct cli *cli;
    const struct session *session;
    const struct model *model;
    struct show show;
    struct buf line; /* what the next line says */
};

/* Write the line: "format    torch zip (326 entries, ...)". */
void info_tell(struct info *info, const char *label, enum colour role);
/* "1 tensor", "1,234 tensors" */
void info_number(struct buf *to, uint64_t n, const char *one, const char *many);

/* How much there is: parameters, bytes, what is trained, buffers. */
void info_counts(struct info *info);
/* Would it be safe to load: the verdict, and every global with its uses. */
void info_safety(struct info *info);

/* Of a recording: when and by what it was made, how long it took, where the time went.
 */
int info_run_lines(struct info *info, struct err *err);

/* What this program is: its version, what it reads, whose libraries it uses. */
void info_program(struct cli *cli);

#endif
