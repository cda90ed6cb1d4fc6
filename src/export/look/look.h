/* look.h - shared by pages and pictures: colours, the logo, and embedding a script and
 * its data in an HTML file.
 *   tokens.h   THE TABLE of colours
 *   look.c     the rest */
#ifndef EXPORT_LOOK_LOOK_H
#define EXPORT_LOOK_LOOK_H

#include "base/buf.h"
#include "base/out.h"
#include "base/str.h"

/* An <svg> of 18 pixels. */
extern const char look_logo[];

void look_base64(struct buf *to, const uint8_t *bytes, size_t n);
/* The end of the 'sha256-...' with which a Content-Security-Policy allows this
 * script. */
void look_script_hash(struct buf *to, const char *script);
/* A text as a JSON string in which an HTML parser cannot find markup. */
void look_json(struct out *out, struct str text);
/* A JSON document in which an HTML parser cannot find markup: < > & occur only in
 * strings, where they can be escaped. */
void look_document(struct out *out, struct str document);

#endif
