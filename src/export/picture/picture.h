/* picture.h - diagrams (graph/graph.h) as files: SVG, PDF, PNG, HTML, DOT, Mermaid, JSON.
 * look.md fixed how they look; docs/svg.md is the contract of the SVG.
 *
 * Files:
 *   pictures.c   THE TABLE of forms; picture_write()
 *   fit.c        sizes of boxes, texts that fit into them, colours (picture_in.h)
 *   init.c, one_page.c   places everything; closes groups until it fits one page
 *   svg*.c, pdf*.c, dot.c, mermaid.c, png.c   one form each
 *   html*.c, *.js, *.css   the interactive file; place.js is the twin of layout/place.
 *                mount.js is the door of the scripts that the page of a server shares */
#ifndef EXPORT_PICTURE_PICTURE_H
#define EXPORT_PICTURE_PICTURE_H

#include <stdbool.h>

#include "base/err.h"
#include "base/out.h"
#include "base/work.h"
#include "graph/graph.h"

/* An SVG inside an HTML page, which has a title of its own: colours are CSS variables of
 * the page, so that the picture follows its theme. */
struct picture_inside {
    const char *variables; /* prefix of the variables: "--", "--ts-" */
    const char *classes;   /* prefix of the classes: "", "ts-" */
    const char *link;      /* boxes of modules link to this address, and data-name is
                              the full name; NULL: no links */
};

struct picture_wanted {
    enum diagram_metric color; /* DIAGRAM_FAMILY: by family */
    bool dark; /* HTML follows the reader's system unless `theme_given` */
    bool theme_given;
    bool sideways;     /* left to right */
    bool no_ground;    /* SVG, PNG: transparent */
    bool no_mark;      /* without logo and name */
    bool shapes;       /* lines have shapes even if colours are those of gradients */
    double scale;      /* PNG: pixels per unit; 0: 1.5 */
    const char *title; /* NULL: the diagram's path */
    const struct picture_inside *inside; /* SVG; NULL: a file of its own */
};

struct picture_form {
    const char *suffix; /* "svg" */
    const char *about;  /* one line */
    int (*write)(struct out *out, struct diagram *diagram,
                 const struct picture_wanted *wanted, struct err *err);
};
extern const struct picture_form picture_forms[];
extern const size_t n_picture_forms;

/* By suffix, ignoring case; or NULL. */
const struct picture_form *picture_form_find(struct str suffix);
/* By the end of a path; ERR_USAGE lists the known ones. */
const struct picture_form *picture_form_of(const char *path, struct err *err);
/* Write the file at `path`, whole or not at all. */
int picture_write(const struct picture_form *form, const char *path,
                  struct diagram *diagram, const struct picture_wanted *wanted,
                  struct err *err);

/* The data of the interactive picture (html_in.h, docs/json.md) as one JSON object: for
 * html.c and for the page of a server. */
int picture_data(struct out *out, struct diagram *diagram,
                 const struct picture_wanted *wanted, struct err *err);

#endif
