/* request.h - what is asked over HTTP and what is answered, without a library. The module
 * in web/http turns connections into these, routes.c answers them; the fuzz target and
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
    bool odd;  /* a header below was sent twice */
    bool late; /* it waited too long for its turn */
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
    char *own;        /* malloc()ed body; the module frees it; or NULL: */
    struct str fixed; /* a body that lives as long as the program */
    size_t len;       /* of `own` */
    bool stream;      /* no body: what web_host.events gives follows, for ever */
    uint64_t since;   /* of the stream: where it begins */
    struct web_header headers[WEB_HEADERS];
    unsigned n_headers;
    char texts[320]; /* room for values of headers */
};

/* The position of an event stream: the last news that was sent. */
struct web_stream {
    uint64_t since;
    uint64_t told_ns;
};

/* What the module asks. Its threads call these. */
struct web_host {
    void *user;
    /* Whose turn a request waits for: the number of a file, of whose requests one is
     * answered at a time. 0: it is quick, and waits for nothing. */
    uint64_t (*lane)(void *user, const struct web_request *request);
    /* Takes as long as it takes; several threads at once. */
    void (*answer)(void *user, const struct web_request *request,
                   struct web_answer *ret_answer);
    /* Text of events that the stream was not told yet, malloc()ed; NULL: none now. */
    char *(*events)(void *user, struct web_stream *stream, size_t *ret_len);
    /* A stream begins (true) or ends. */
    void (*listens)(void *user, bool begins);
};

/* Around a fork: in the process that forks, before and after; in the new one. */
enum web_fork { WEB_FORK_BEGINS, WEB_FORK_ENDS, WEB_FORK_CHILD };

/* What the module offers. */
struct web_http;
struct web_http_module {
    unsigned version; /* WEB_HTTP_VERSION */
    /* Serves on a listening socket, which it takes if it succeeds. NULL: *ret_why. */
    struct web_http *(*start)(int listener, const struct web_host *host,
                              const char **ret_why);
    /* There may be new events: asks the host for each stream. */
    void (*wake)(struct web_http *http);
    /* Ends all connections and threads; answers in progress are cancelled and waited
     * for. */
    void (*stop)(struct web_http *http);
    /* The child has no threads of the server: it closes its descriptors, so that
     * connections end when the parent ends them, and forgets the server. */
    void (*fork)(struct web_http *http, enum web_fork when);
};
#define WEB_HTTP_VERSION  3
#define WEB_HTTP_FUNCTION "torchoscope_http"

#endif
