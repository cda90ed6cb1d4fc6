/* cover_in.h - checks that the tensors of a file cover its data without holes and
 * overlaps. Extents are not stored: most files have their tensors in the order of their
 * bytes, otherwise the offsets in the model are used. */
#ifndef READ_FILE_COVER_IN_H
#define READ_FILE_COVER_IN_H

#include "model/build.h"

struct cover {
    uint64_t data_at;        /* offset of the data in the file */
    uint64_t alignment;      /* smaller gaps are padding; 1: no padding */
    uint32_t first_node;     /* first node of the tensors */
    uint32_t n;              /* tensors so far */
    uint64_t last, last_end; /* start and end of the last one */
    bool unsorted;           /* they are not in the order of their bytes */
};

/* Begin before the first tensor of the file is added to the build. */
void cover_begin(struct cover *cover, const struct build *build, uint64_t data_at,
                 uint64_t alignment);
/* Adds the next tensor: `bytes` bytes at byte `at` of the data. */
void cover_note(struct cover *cover, uint64_t at, uint64_t bytes);
/* Add findings about holes and overlaps; *ret_reached is the end of the last tensor.
 * -1: out of memory. */
int cover_check(const struct cover *cover, struct build *build, uint64_t *ret_reached);

#endif
