/* foreign_in.h - detects formats of other frameworks that are not read: most are
 * protobuf messages or tables without a magic number. */
#ifndef READ_FOREIGN_IN_H
#define READ_FOREIGN_IN_H

#include "read/file/input_in.h"

struct foreign {
    const char *what;   /* "TensorFlow SavedModel" */
    const char *advice; /* what to do instead */
};

/* Detects by the first bytes (for a TensorFlow checkpoint, also the last ones); NULL:
 * none. */
const struct foreign *foreign_format(const struct input *input);
/* Detects by the entries of a folder; NULL: none. */
const struct foreign *foreign_folder(const struct folder *folder);

#endif
