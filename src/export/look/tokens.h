/* tokens.h - THE TABLE of colours of pages and pictures, light and dark. Families of
 * operations (study/family.h) are `f-NAME`, the ramps `heat-0`, `density-0`, `div-0`
 * and so on. */
#ifndef EXPORT_LOOK_TOKENS_H
#define EXPORT_LOOK_TOKENS_H

#include <stddef.h>

#include "base/out.h"

struct token {
    const char *name, *light, *dark; /* "accent", "#0B5FCC", "#7DB2FF" */
};
extern const struct token tokens[];
extern const size_t n_tokens;

/* All colours as CSS variables (--accent) of the root. Dark only applies to screens,
 * if the reader's system or data-theme="dark" of the root asks for it: paper is
 * white. */
void tokens_css(struct out *out);

#endif
