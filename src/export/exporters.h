/* exporters.h - THE TABLE of forms in which a session is written whole. To add one:
 * write the function, add a line to the table in exporters.c and a word to
 * docs/torchoscope.1; `torchoscope export`, Python's export() and help find it there.
 */
#ifndef EXPORT_EXPORTERS_H
#define EXPORT_EXPORTERS_H

#include "base/err.h"
#include "base/out.h"
#include "base/work.h"
#include "facts/printed.h"
#include "session/session.h"

struct export_wanted {
    struct printed_wanted view; /* which rows and columns, where there are such */
    bool ascii;                 /* text only */
    const char *title;          /* of a page: NULL the model's; of a text: NULL none */
    const char *theme;          /* of a page: "light", "dark"; NULL: as the reader's */
    uint32_t place;             /* of a notebook: a tensor, to be shown alone; or 0 */
    struct work *work;          /* may be NULL */
};

struct exporter {
    const char *suffix; /* of the file, without its dot */
    const char *about;  /* one line */
    bool chosen;        /* it honours `view`; others have all rows and columns */
    int (*write)(struct out *out, struct session *session,
                 const struct export_wanted *wanted, struct err *err);
};

extern const struct exporter exporters[];
extern const size_t n_exporters;

/* By suffix, in any case; NULL: there is none. "notebook" is found too, though it is no
 * form of files: HTML for the output of a notebook's cell (notebook_in.h). */
const struct exporter *exporter_find(struct str suffix);
/* The same by the end of a path; ERR_USAGE names those there are. */
const struct exporter *exporter_of(const char *path, struct err *err);

/* Can it do what somebody asked for? ERR_USAGE: it would have to ignore a part. */
int exporter_can(const struct exporter *exporter, const struct export_wanted *wanted,
                 struct err *err);

/* To a file at `path`: whole or not at all (base/whole_file.h). */
int exporter_write(const struct exporter *exporter, const char *path,
                   struct session *session, const struct export_wanted *wanted,
                   struct err *err);

/* The forms themselves. */
int export_markdown(struct out *out, struct session *session,
                    const struct export_wanted *wanted, struct err *err);
int export_report(struct out *out, struct session *session,
                  const struct export_wanted *wanted, struct err *err);
/* Keys are full names; below the file's only state_dict without its part. What cannot
 * be read, or has a dtype that safetensors lacks, is left out, and the metadata say so.
 */
int export_safetensors(struct out *out, struct session *session,
                       const struct export_wanted *wanted, struct err *err);
int export_notebook(struct out *out, struct session *session,
                    const struct export_wanted *wanted, struct err *err);

#endif
