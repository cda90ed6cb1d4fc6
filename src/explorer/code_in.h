/* code_in.h - the parts of the Code panel: the lines of a class, their colours, and
 * what stands beside them. */
#ifndef EXPLORER_CODE_IN_H
#define EXPLORER_CODE_IN_H

#include "base/arena.h"
#include "rows/show.h"
#include "text/lines.h"

/* The source of one class, line by line. Nothing is escaped yet. */
struct code {
    struct str name;   /* of the class, short */
    struct str file;   /* may be empty */
    uint32_t first;    /* number of its first line there; 1 if that is not known */
    struct str *lines; /* without their ends */
    uint32_t n;
    uint32_t forward; /* which of them defines forward, or n */
};

/* Cut a text into lines; -1: no memory. */
int code_split(struct code *code, struct str text, struct arena *arena);

/* What stands beside a line, at the right. */
struct code_mark {
    const char *text; /* or NULL */
    bool alarm, input;
};

/* The shapes that a call had, beside the lines that made them: by the lines from which
 * other modules were called. `marks` has one for each line. */
int code_marks(struct code_mark *marks, const struct code *code,
               const struct show *show, uint32_t call, struct arena *arena);

/* A line in colours, at most so many cells of it; *quote is the quotes that a text of
 * several lines is in ("" none), which goes on from line to line. */
void code_spans(struct lines *to, struct str line, size_t cells, char *quote);

/* Blanks at the front of a line. */
static inline size_t code_indent(struct str line)
{
    size_t n = 0;

    while (n < line.len && line.at[n] == ' ')
        n++;
    return n;
}

#endif
