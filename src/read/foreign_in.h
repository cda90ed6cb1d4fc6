/* foreign_in.h - formats of other frameworks that are named but not read: most are
 * protobuf messages or tables without a magic number. */
#ifndef READ_FOREIGN_IN_H
#define READ_FOREIGN_IN_H

#include "read/file/input_in.h"

struct foreign {
    const char *what;   /* "TensorFlow SavedModel" */
    const char *advice; /* what to do instead */
};

/* By the first bytes (and the last ones, of a TensorFlow checkpoint); NULL: none. */
const struct foreign *foreign_format(const struct input *input);
/* By the entries of a folder; NULL: none. */
const struct foreign *foreign_folder(const struct folder *folder);

#endif
