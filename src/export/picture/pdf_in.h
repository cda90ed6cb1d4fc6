/* pdf_in.h - text in a PDF: encodes characters for the fonts that every reader has. */
#ifndef EXPORT_PICTURE_PDF_IN_H
#define EXPORT_PICTURE_PDF_IN_H

#include "export/picture/canvas_in.h"

/* Show a run of text from x on. Helvetica has the characters of WinAnsi, Symbol has
 * arrows, Greek letters and mathematical signs; others become "?". */
void pdf_run(struct out *out, const struct canvas_run *run, double x, double y);
/* A string outside of pages, in UTF-16. */
void pdf_string(struct buf *to, struct str s);

#endif
