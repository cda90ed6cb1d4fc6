/* budget_type.h - _core.Budget(share): how much of the user's time recording may take.
 * next() names how to record the next step: "full", "sampled", "guard", "not recorded";
 * told(mode, user_ns, own_ns) says what one took. Members: cost, fell_back. */
#ifndef EXT_RECORD_BUDGET_TYPE_H
#define EXT_RECORD_BUDGET_TYPE_H

#include "ext/ext.h"

extern PyType_Spec budget_spec;

#endif
