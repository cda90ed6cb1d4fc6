#include "session/made.h"

#include <assert.h>
#include <string.h>

#include "base/base.h"

#define MADE_MEMORY (64 * MIB)

void made_init(struct made *made, const struct making *making)
{
    assert(making->size <= MADE_QUESTION);
    *made = (struct made){.make = making->make, .size = making->size, .err = {0}};
    memcpy(made->question, making->question, making->size);
}

int made_make(struct made *made, const struct model *model, struct work *work)
{
    arena_init(&made->arena, MADE_MEMORY);
    made->at = NULL;
    return made->make(model, made->question, &made->arena, work, &made->at, &made->err);
}

void made_release(struct made *made)
{
    arena_release(&made->arena);
    *made = (struct made){.err = {0}};
}

bool made_answers(const struct made *made, const struct making *making)
{
    return made->make == making->make && made->size == making->size &&
           memcmp(made->question, making->question, making->size) == 0;
}
