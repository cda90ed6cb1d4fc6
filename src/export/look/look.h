/* look.h - what pages and pictures have in common: colours, the logo, and how a script
 * and its data go into an HTML file.
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
/* What a Content-Security-Policy needs to allow this script: the end of 'sha256-...'. */
void look_script_hash(struct buf *to, const char *script);
/* A text as a JSON string that an HTML parser cannot take for markup. */
void look_json(struct out *out, struct str text);
/* A JSON document in which an HTML parser cannot see markup: < > & are only in its
 * strings, where they can be escaped. */
void look_document(struct out *out, struct str document);

#endif
