/* check_in.h - the parts of torchoscope check: one run over files and folders.
 *
 *   check.c       the command; one model after the other
 *   check_ask.c   what the user allows and expects
 *   check_walk.c  which files of a folder to look at
 *   check_say.c   the answers as text, JSON and SARIF */
#ifndef CLI_CHECK_IN_H
#define CLI_CHECK_IN_H

#include "base/json_write.h"
#include "base/map.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "export/export.h"
#include "session/session.h"
#include "study/safety/check.h"
#include "study/safety/expect.h"

struct check_options {
    struct option_list allow;
    const char *allow_file, *expect;
    bool values, sarif, verbose, quiet, progress;
};

/* Something to look at. */
struct check_target {
    const char *path;
    bool found;   /* in a folder: if it is no model, it may be skipped */
    bool no_file; /* a pipe, a socket, a link that leads nowhere */
    bool may_set; /* a folder whose files may be the shards of one model */
};

/* A way to answer. */
struct check_run;
struct check_writer {
    void (*begin)(struct check_run *run);
    void (*model)(struct check_run *run, const struct session *session,
                  const struct check *check);
    void (*error)(struct check_run *run, const struct check_target *target,
                  const struct err *why);
    void (*end)(struct check_run *run);
};

struct check_run {
    struct cli *cli;
    const struct check_options *options;
    const struct check_writer *writer;
    struct arena arena; /* of what lives as long as the run */
    struct verdict_allow allow;
    struct expectation expectation; /* if options->expect */
    struct json json;
    struct work files; /* how many targets are done; for progress */
    struct progress progress;

    struct check_target *targets;
    uint32_t n_targets, targets_room;
    struct map covered; /* hash of a path -> covered_paths: parts of a model that was
                           looked at as a whole */
    struct str *covered_paths;
    uint32_t n_covered, covered_room;
    bool single; /* one file was given: all is said of it */

    /* What came out so far. */
    struct export_checked sum;      /* the list of what was skipped is made below */
    uint32_t n_verdicts[4], n_safe; /* by verdict; safe ones with findings */
    struct export_skipped *skipped;
    const char **kinds; /* of what was skipped, in one word */
    uint32_t n_skipped, skipped_room, kinds_room;
};

/* What the user allows, by words and by a file; what the user expects. */
int check_ask_allow(struct check_run *run, struct err *err);
int check_ask_expect(struct check_run *run, struct err *err);

int check_add_target(struct check_run *run, struct check_target target,
                     struct err *err);
/* Add all that is to be looked at in a folder, and below it. A folder that cannot be
 * read is told as an error of its own. */
int check_walk(struct check_run *run, const char *folder, struct err *err);

/* The files of a model that was read as a whole are not looked at again. */
int check_cover(struct check_run *run, const struct model *model, struct err *err);
bool check_is_covered(const struct check_run *run, const char *path);

/* Remember that something was skipped: `kind` in a word or two, `why` in a sentence. */
int check_skip(struct check_run *run, const char *path, const char *kind,
               const char *why, struct err *err);

extern const struct check_writer check_text_writer, check_json_writer,
    check_sarif_writer;

#endif
