/* code.h - the source of a module's class, line by line, with the shapes of one call
 * beside the lines. Panel 2 of the terminal and pages show it. */
#ifndef FACTS_OBJECTS_CODE_H
#define FACTS_OBJECTS_CODE_H

#include "base/arena.h"
#include "rows/show.h"

/* The source of one class, not escaped. */
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

/* A class, and the forward that it inherits. */
struct class_source {
    struct code code;
    struct code base; /* n is 0: none */
    const char *why;  /* why there is no source; else NULL */
};

/* The module whose code is shown for a place: itself, or the parent of a tensor or a
 * value. */
uint32_t code_module(const struct model *model, uint32_t place);
/* The class of a module; NO_CLASS: none, or only a guess. */
uint32_t code_class(const struct model *model, uint32_t module);
/* Why a place without a class has no source: "no source: not in a state_dict, ..." */
const char *code_why_none(const struct model *model);

/* Reads the source of a class (an index in model->classes) into the arena. If there is
 * none, sets `why`. */
void class_source_read(struct class_source *ret_source, const struct model *model,
                       uint32_t class_id, struct arena *arena);

/* The margin of a line. */
struct code_mark {
    const char *text; /* or NULL */
    bool alarm, input;
};

/* Find the shapes of a call for the margin, from the lines that called other modules.
 * `marks` has one element for each line. */
int code_marks(struct code_mark *marks, const struct code *code,
               const struct show *show, uint32_t call, struct arena *arena);

/* Leading blanks of a line. */
static inline size_t code_indent(struct str line)
{
    size_t n = 0;

    while (n < line.len && line.at[n] == ' ')
        n++;
    return n;
}

#endif
