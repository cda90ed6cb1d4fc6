/* fetch_in.h - fetches one range of a file on a web server. */
#ifndef READ_REMOTE_FETCH_IN_H
#define READ_REMOTE_FETCH_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define FETCH_VERSION 200 /* bytes of a version, its NUL included */

struct fetcher; /* a reusable connection; one request at a time */

struct fetch {
    const char *url, *shown; /* `shown` is for errors */
    uint64_t at;
    void *to;
    size_t n;            /* bytes wanted; fewer come only at the end of the file */
    const char *version; /* "": unknown. With `unless`, `same` tells whether the file
                            still has this version; without it, another version is an
                            error */
    bool unless;
    uint64_t size; /* of the file; 0: unknown. A different size is an error */

    /* Results. */
    bool same; /* with `unless`: still this version, no bytes were sent */
    size_t got;
    uint64_t total;                  /* size of the file */
    char new_version[FETCH_VERSION]; /* its ETag, or Last-Modified, or "" */
};

/* NULL: libcurl is not installed. */
struct fetcher *fetcher_new(struct err *err);
void fetcher_free(struct fetcher *fetcher); /* accepts NULL */

/* Fetches exactly the bytes from `at` on that the file has, or fails; `err` contains
 * the server's answer and what to do. */
int fetch_range(struct fetcher *fetcher, struct fetch *fetch, struct err *err);

/* Parses "bytes 0-65535/4294967296"; false: something else. */
bool fetch_parse_range(struct str text, uint64_t *ret_from, uint64_t *ret_to,
                       uint64_t *ret_total);

#endif
