/* code_in.h - shared by the Code panel's files: the lines of a class, their colours,
 * and the shapes in the margin. */
#ifndef EXPLORER_CODE_IN_H
#define EXPLORER_CODE_IN_H

#include "base/arena.h"
#include "rows/show.h"
#include "text/lines.h"

/* The source of one class, line by line, not escaped. */
struct code {
    struct str name;   /* short name of the class */
    struct str file;   /* may be empty */
    uint32_t first;    /* its line number in the file; 1 if unknown */
    struct str *lines; /* without line ends */
    uint32_t n;
    uint32_t forward; /* index of the line that defines forward, or n */
};

/* Split a text into lines; -1: out of memory. */
int code_split(struct code *code, struct str text, struct arena *arena);

/* The margin of a line. */
struct code_mark {
    const char *text; /* or NULL */
    bool alarm, input;
};

/* Find the shapes of a call for the margin, from the lines that called other modules.
 * `marks` has one element for each line. */
int code_marks(struct code_mark *marks, const struct code *code,
               const struct show *show, uint32_t call, struct arena *arena);

/* Add a line in colours, at most `cells` wide. *quote is the open quote of a multi-line
 * string ("": none), carried from line to line. */
void code_spans(struct lines *to, struct str line, size_t cells, char *quote);

/* Leading blanks of a line. */
static inline size_t code_indent(struct str line)
{
    size_t n = 0;

    while (n < line.len && line.at[n] == ' ')
        n++;
    return n;
}

#endif
