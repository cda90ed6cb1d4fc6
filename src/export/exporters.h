/* exporters.h - THE TABLE of export formats. To add one: write the function, add a line
 * to the table in exporters.c and a word to docs/torchoscope.1; `torchoscope export`,
 * Python's export() and help read the table. */
#ifndef EXPORT_EXPORTERS_H
#define EXPORT_EXPORTERS_H

#include "base/err.h"
#include "base/out.h"
#include "base/work.h"
#include "facts/printed.h"
#include "session/session.h"

struct export_wanted {
    struct printed_wanted view; /* rows and columns, for formats that have them */
    bool ascii;                 /* text only */
    const char *title;          /* NULL: a page uses the model's name, text has none */
    const char *theme;          /* of a page: "light", "dark"; NULL: the reader's
                                 * system */
    uint32_t place;    /* notebook: show only this tensor; 0: the whole model */
    struct work *work; /* may be NULL */
    /* For a training run as a page: web_page_file(), which omits these parts, and
     * appends a line for each part of the file to `contents`, unless that is NULL. */
    int (*page_file)(struct out *out, struct session *session,
                     const struct export_wanted *wanted, struct err *err);
    bool no_source, no_paths, no_values;
    struct buf *contents;
};

struct exporter {
    const char *suffix; /* of the file, without its dot: "json", "ops.json" */
    const char *about;  /* one line */
    bool chosen;        /* honours `view`; others always write everything */
    int (*write)(struct out *out, struct session *session,
                 const struct export_wanted *wanted, struct err *err);
};

extern const struct exporter exporters[];
extern const size_t n_exporters;

/* By suffix, ignoring case; or NULL. Also finds "notebook", the HTML of a notebook
 * cell, which is not a file format (notebook_in.h). */
const struct exporter *exporter_find(struct str suffix);
/* By the end of a path, the longest suffix; ERR_USAGE lists the known ones. */
const struct exporter *exporter_of(const char *path, struct err *err);

/* ERR_USAGE if the format cannot honour a part of `wanted`. */
int exporter_can(const struct exporter *exporter, const struct export_wanted *wanted,
                 struct err *err);

/* Write the file at `path`, whole or not at all (base/whole_file.h). */
int exporter_write(const struct exporter *exporter, const char *path,
                   struct session *session, const struct export_wanted *wanted,
                   struct err *err);

/* The formats themselves. */
int export_markdown(struct out *out, struct session *session,
                    const struct export_wanted *wanted, struct err *err);
int export_report(struct out *out, struct session *session,
                  const struct export_wanted *wanted, struct err *err);
/* Keys are full names, or names within the file's only state_dict. Tensors that are
 * unreadable or have a dtype that safetensors lacks are skipped and named in the
 * metadata. */
int export_safetensors(struct out *out, struct session *session,
                       const struct export_wanted *wanted, struct err *err);
/* Calls and operations of a recording, for Perfetto and chrome://tracing. */
int export_chrome_trace(struct out *out, struct session *session,
                        const struct export_wanted *wanted, struct err *err);
int export_notebook(struct out *out, struct session *session,
                    const struct export_wanted *wanted, struct err *err);

#endif
