/* ops_in.h - the list of --allow-ops. */
#ifndef CLI_OPS_IN_H
#define CLI_OPS_IN_H

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"

struct ops_allowed {
    struct name_map names; /* "aten::add" and "aten::add.Tensor" */
};

/* Reads a list: one name per line, "add", "aten::add", "aten::add.Tensor" or
 * "aten.add.Tensor"; the default overload is ".default". # begins a comment. */
int ops_allowed_read(struct ops_allowed *allowed, const char *path, struct arena *arena,
                     struct err *err);
bool ops_is_allowed(const struct ops_allowed *allowed, struct str name,
                    struct str overload);

#endif
