/* info_in.h - the parts of torchoscope info: one file being told about, line by line.
 */
#ifndef CLI_INFO_IN_H
#define CLI_INFO_IN_H

#include "cli/cli.h"
#include "rows/show.h"
#include "session/session.h"
#include "text/colour.h"

struct info {
    struct cli *cli;
    const struct session *session;
    const struct model *model;
    struct show show;
    struct buf line; /* what the next line says */
};

/* What this program is: its version, what it reads, whose libraries it uses. */
void info_program(struct cli *cli);

#endif
