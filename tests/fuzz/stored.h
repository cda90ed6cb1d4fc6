/* stored.h - for fuzz targets: an archive of a few uncompressed members. */
#ifndef TESTS_STORED_H
#define TESTS_STORED_H

#include <stddef.h>
#include <stdint.h>

struct stored_member {
    const char *name;
    const void *at;
    size_t size;
};

/* The archive, and in *ret_size its length; the caller frees it. There are no
 * checksums: a wrong one is only a finding. */
uint8_t *stored_zip(const struct stored_member *members, int n, size_t *ret_size);

#endif
