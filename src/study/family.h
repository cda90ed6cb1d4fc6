/* family.h - what kind of work a module or operation does, judged by its name. Tables,
 * pages and graphs share a colour for each family (export/look/tokens.h). */
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

/* "conv", "linear": as in the tokens; "" for FAMILY_NONE. */
const char *family_name(enum family family);

/* By the short name of a class ("Conv2d", or a guess: "conv"); else FAMILY_OTHER. */
enum family family_of_class(struct str name);

/* By the class of a module, else by its nearest known base class. FAMILY_NONE for other
 * places and for modules that hold modules, except torch's MultiheadAttention. */
enum family family_of_place(const struct model *model, uint32_t place);

/* Of an operation. */
enum family family_of_op(enum op_family family);

#endif
