/* family.h - the kind of work that a module or operation does, derived from its name.
 * Tables, pages and graphs share a colour for each family (export/look/tokens.h). */
#ifndef STUDY_FAMILY_H
#define STUDY_FAMILY_H

#include "model/model.h"
#include "run/op_table.h"

enum family {
    FAMILY_NONE, /* a container: no colour */
    FAMILY_CONV,
    FAMILY_LINEAR,
    FAMILY_NORM,
    FAMILY_ACTIVATION,
    FAMILY_POOL,
    FAMILY_ATTENTION,
    FAMILY_EMBEDDING,
    FAMILY_VIEW, /* moves no data */
    FAMILY_ELEMENTWISE,
    FAMILY_LOSS,
    FAMILY_OTHER,
    FAMILY_COUNT
};

/* The name of the colour token: "conv", "linear"; "" for FAMILY_NONE. */
const char *family_name(enum family family);

/* Looks up the short name of a class ("Conv2d", or a guessed kind: "conv");
 * FAMILY_OTHER if unknown. */
enum family family_of_class(struct str name);

/* The family of a module's class, else of its nearest known base class. FAMILY_NONE for
 * other places and for modules with submodules, except torch's MultiheadAttention. */
enum family family_of_place(const struct model *model, uint32_t place);

/* The family of an operation. */
enum family family_of_op(enum op_family family);

#endif
