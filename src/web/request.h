/* request.h - what is asked over HTTP and what is answered, without a library. The module
 * in web/http turns connections into these, routes.c answers them; the fuzz target and
 * the tests make requests themselves. This header needs nothing but base/str.h, because
 * the module contains nothing else of ours. */
#ifndef WEB_REQUEST_H
#define WEB_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define WEB_ARGS        24 /* arguments of a request, at most */
#define WEB_CONNECTIONS 64
#define WEB_STREAMS     32 /* of the connections: event streams */

struct web_arg {
    struct str name, value; /* decoded: any bytes */
};

/* Everything is borrowed from the connection. A header that was not sent has a NULL `at`. */
struct web_request {
    struct str method, path; /* path: decoded, without its first '/' */
    struct web_arg args[WEB_ARGS];
    unsigned n_args;
    bool too_many; /* arguments were left out */
    bool has_body;
    bool odd; /* a header below was sent twice */
    struct str host, origin, token, etag;
};

/* Names and values live as long as the program, or in `texts`. */
struct web_header {
    const char *name, *value;
};
#define WEB_HEADERS 12

struct web_answer {
    unsigned status;
    const char *type; /* "application/json" */
    char *own;        /* malloc()ed body; the module frees it; or NULL: */
    struct str fixed; /* a body that lives as long as the program */
    size_t len;       /* of `own` */
    bool stream;      /* no body: what web_host.events gives follows, for ever */
    uint64_t since;   /* of the stream: where it begins */
    struct web_header headers[WEB_HEADERS];
    unsigned n_headers;
    char texts[320]; /* room for values of headers */
};

/* How far an event stream was told. */
struct web_stream {
    uint64_t since;
    uint64_t told_ns;
};

/* What the module asks. Its threads call these. */
struct web_host {
    void *user;
    /* Takes as long as it takes; several threads at once. */
    void (*answer)(void *user, const struct web_request *request,
                   struct web_answer *ret_answer);
    /* Text of events that the stream was not told yet, malloc()ed; NULL: none now. */
    char *(*events)(void *user, struct web_stream *stream, size_t *ret_len);
    /* A stream begins (true) or ends. */
    void (*listens)(void *user, bool begins);
};

/* What the module offers. */
struct web_http;
struct web_http_module {
    unsigned version; /* WEB_HTTP_VERSION */
    /* Serves on a listening socket, which it takes if it succeeds. NULL: *ret_why. */
    struct web_http *(*start)(int listener, const struct web_host *host,
                              const char **ret_why);
    /* There may be new events: asks the host for each stream. */
    void (*wake)(struct web_http *http);
    /* Ends all connections and threads; answers in progress are waited for. */
    void (*stop)(struct web_http *http);
};
#define WEB_HTTP_VERSION  1
#define WEB_HTTP_FUNCTION "torchoscope_http"

#endif
