/* check_in.h - the parts of torchoscope check: one run over files and folders.
 *
 *   check.c       the command; one model after the other
 *   check_ask.c   reads --allow and --expect
 *   check_walk.c  which files of a folder to check
 *   check_say.c   output as text, JSON and SARIF */
#ifndef CLI_CHECK_IN_H
#define CLI_CHECK_IN_H

#include "base/json_write.h"
#include "base/map.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "export/export.h"
#include "facts/check_text.h"
#include "session/session.h"
#include "study/safety/check.h"
#include "study/safety/expect.h"

struct check_options {
    struct option_list allow;
    const char *allow_file, *expect;
    bool values, sarif, verbose, quiet, skip, progress;
};

/* A file or folder to check. */
struct check_target {
    const char *path;
    bool found;   /* found in a folder, or --skip: skipped if it is not a model */
    bool no_file; /* a pipe, a socket or a dangling link */
    bool may_set; /* a folder whose files may be the shards of one model */
};

/* An output format. */
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
    struct arena arena; /* lives as long as the run */
    struct verdict_allow allow;
    struct expectation expectation; /* set if options->expect */
    struct json json;
    struct work files; /* counts finished targets, for progress */
    struct progress progress;

    struct check_target *targets;
    uint32_t n_targets, targets_room;
    struct map covered; /* hash of a path -> index in covered_paths: files of models
                         * that were checked as a whole */
    struct str *covered_paths;
    uint32_t n_covered, covered_room;
    bool single; /* one file was given: print everything about it */

    /* The results so far. */
    struct export_checked sum;      /* its list of skipped files is filled from the
                                     * arrays below */
    uint32_t n_verdicts[4], n_safe; /* by verdict; n_safe: safe ones with findings */
    struct export_skipped *skipped;
    const char **kinds; /* kinds of skipped files, one word each */
    uint32_t n_skipped, skipped_room, kinds_room;
};

/* Read --allow, the allow-list file and --expect. */
int check_ask_allow(struct check_run *run, struct err *err);
int check_ask_expect(struct check_run *run, struct err *err);

int check_add_target(struct check_run *run, struct check_target target,
                     struct err *err);
/* Add everything to check in a folder, recursively. An unreadable folder becomes a
 * target that fails with its own error. */
int check_walk(struct check_run *run, const char *folder, struct err *err);

/* Mark the files of a model as checked. */
int check_cover(struct check_run *run, const struct model *model, struct err *err);
bool check_is_covered(const struct check_run *run, const char *path);

/* Record a skipped file: `kind` in a word or two, `why` in a sentence. */
int check_skip(struct check_run *run, const char *path, const char *kind,
               const char *why, struct err *err);

extern const struct check_writer check_text_writer, check_json_writer,
    check_sarif_writer;

#endif
