/* request.h - HTTP requests and answers, independent of a library. The module in
 * web/http turns connections into requests, routes.c answers them; the fuzz target and
 * the tests make requests themselves. This header only includes headers of base/ that
 * declare no functions, because the module is not linked with the core. */
#ifndef WEB_REQUEST_H
#define WEB_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "base/work.h"

#define WEB_ARGS        24 /* arguments of a request, at most */
#define WEB_CONNECTIONS 64
#define WEB_STREAMS     32 /* connections that may be event streams */

struct web_arg {
    struct str name, value; /* decoded: any bytes */
};

/* Borrowed from the connection. For a header that was not sent, `at` is NULL. */
struct web_request {
    struct str method, path; /* path: decoded, without its first '/' */
    struct web_arg args[WEB_ARGS];
    unsigned n_args;
    bool too_many; /* some arguments were dropped */
    bool has_body;
    bool odd;  /* a header below was sent twice */
    bool late; /* it waited too long in the queue */
    struct str host, origin, token, etag;
    struct str accepts; /* encodings: "gzip, br" */
    struct work *work;  /* cancelled when the client leaves; may be NULL */
};

/* Names and values live as long as the program, or in `texts`. */
struct web_header {
    const char *name, *value;
};
#define WEB_HEADERS 16

struct web_answer {
    unsigned status;
    const char *type; /* "application/json" */
    char *own;        /* malloc()ed body that the module frees; NULL: use `fixed` */
    struct str fixed; /* a body that lives as long as the program */
    size_t len;       /* of `own` */
    bool stream;      /* an endless event stream from web_host.events, no body */
    uint64_t since;   /* for a stream: its start position */
    struct web_header headers[WEB_HEADERS];
    unsigned n_headers;
    char texts[320]; /* room for values of headers */
};

/* The position of an event stream: the last news that was sent. */
struct web_stream {
    uint64_t since;
    uint64_t sent_ns;
};

/* Callbacks for the module's threads. */
struct web_host {
    void *user;
    /* The queue of a request: the number of a file, whose requests are answered one at
     * a time. 0: the request is quick and never waits. */
    uint64_t (*lane)(void *user, const struct web_request *request);
    /* May take long; called by several threads at once. */
    void (*answer)(void *user, const struct web_request *request,
                   struct web_answer *ret_answer);
    /* The text of new events for the stream, malloc()ed; NULL: none. */
    char *(*events)(void *user, struct web_stream *stream, size_t *ret_len);
    /* A stream begins (true) or ends. */
    void (*listens)(void *user, bool begins);
};

/* When a process forks: before and after in the parent, and in the child. */
enum web_fork { WEB_FORK_BEGINS, WEB_FORK_ENDS, WEB_FORK_CHILD };

/* The functions of the module. */
struct web_http;
struct web_http_module {
    unsigned version; /* WEB_HTTP_VERSION */
    /* Serves on a listening socket, which it owns on success. NULL: failed, see
     * *ret_why. */
    struct web_http *(*start)(int listener, const struct web_host *host,
                              const char **ret_why);
    /* Polls web_host.events for each stream. */
    void (*wake)(struct web_http *http);
    /* Ends all connections and threads; cancels answers in progress and waits for
     * them. */
    void (*stop)(struct web_http *http);
    /* The child has no threads of the server: it closes its descriptors, so that
     * connections end when the parent ends them, and forgets the server. */
    void (*fork)(struct web_http *http, enum web_fork when);
};
#define WEB_HTTP_VERSION  3
#define WEB_HTTP_FUNCTION "torchoscope_http"

#endif
