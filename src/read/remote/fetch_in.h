/* fetch_in.h - one range of a file of a web server. */
#ifndef READ_REMOTE_FETCH_IN_H
#define READ_REMOTE_FETCH_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define FETCH_VERSION 200 /* bytes of a version, its NUL included */

struct fetcher; /* a connection that is kept; one request at a time */

struct fetch {
    const char *url, *shown; /* `shown` is for errors */
    uint64_t at;
    void *to;
    size_t n;            /* bytes wanted; fewer come only at the end of the file */
    const char *version; /* "": unknown. With `unless`, the answer may be that the file
                            still has this version; else another version is an error */
    bool unless;
    uint64_t size; /* of the file; 0: unknown. Another one is an error */

    /* Results. */
    bool same; /* of `unless`: it has this version, and no bytes came */
    size_t got;
    uint64_t total;                  /* size of the file */
    char new_version[FETCH_VERSION]; /* its ETag, or when it was modified; or "" */
};

/* NULL: there is no libcurl. */
struct fetcher *fetcher_new(struct err *err);
void fetcher_free(struct fetcher *fetcher); /* NULL is allowed */

/* Gives exactly the bytes from `at` on that the file has, or fails: what the server
 * said, and what to do. */
int fetch_range(struct fetcher *fetcher, struct fetch *fetch, struct err *err);

/* "bytes 0-65535/4294967296"; false: it is not that. */
bool fetch_parse_range(struct str text, uint64_t *ret_from, uint64_t *ret_to,
                       uint64_t *ret_total);

#endif
