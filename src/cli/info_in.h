/* info_in.h - the parts of torchoscope info, which prints facts line by line. */
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
    struct buf line; /* scratch for the next line */
};

/* Prints the program's version, formats and libraries. */
void info_program(struct cli *cli);

#endif
