/* family.h - what kind of work a module or an operation does, as far as its name tells:
 * the families whose colours tables, pages and graphs share (export/page/tokens.h). */
#ifndef STUDY_FAMILY_H
#define STUDY_FAMILY_H

#include "model/model.h"

enum family {
    FAMILY_NONE, /* a container: it has no colour */
    FAMILY_CONV,
    FAMILY_LINEAR,
    FAMILY_NORM,
    FAMILY_ACTIVATION,
    FAMILY_POOL,
    FAMILY_ATTENTION,
    FAMILY_EMBEDDING,
    FAMILY_VIEW, /* no data is moved */
    FAMILY_ELEMENTWISE,
    FAMILY_LOSS,
    FAMILY_OTHER,
    FAMILY_COUNT
};

/* "conv", "linear": as the tokens spell it; "" for FAMILY_NONE. */
const char *family_name(enum family family);

/* By the short name of a class ("Conv2d", a guess: "conv"); FAMILY_OTHER if it says
 * nothing. */
enum family family_of_class(struct str name);

/* Of a module: by its class, else by the nearest class it is made from. FAMILY_NONE for
 * what is no module or holds further ones, but for torch's own attention. */
enum family family_of_place(const struct model *model, uint32_t place);

#endif
