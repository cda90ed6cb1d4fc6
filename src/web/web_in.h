/* web_in.h - internals of the server. */
#ifndef WEB_WEB_IN_H
#define WEB_WEB_IN_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/arena.h"
#include "base/json_write.h"
#include "web/web.h"

#define WEB_TOKEN   65 /* usually 32 hexadecimal digits; with NUL */
#define TOKEN_BYTES 16

struct web_server {
    struct web_server *next; /* list of running servers */
    bool forked;             /* this is a copy in a child */
    struct shelf *shelf;
    char *host;         /* the requested address, as in a Host header */
    char **allow_hosts; /* owned */
    unsigned n_allow_hosts;
    char *policy;          /* the Content-Security-Policy header */
    char token[WEB_TOKEN]; /* "": none */
    int listener;          /* -1: none, or owned by the module */
    unsigned port;
    bool local;
    struct work work;      /* cancelled when the server ends */
    _Atomic uint64_t made; /* answers that were not shared */
    const struct web_http_module *module;
    struct web_http *http;
    /* events.c */
    pthread_t watcher;
    bool watches;
    pthread_mutex_t lock; /* protects: */
    pthread_cond_t more;
    unsigned listeners;
    bool ending;
};

/* ---- guard.c, static.c, listen.c, load.c, events.c ---- */

/* Is the request allowed? 0, or the HTTP status of the refusal and *ret_why. */
unsigned guard_check(const struct web_server *server, const struct web_request *request,
                     const char **ret_why);
/* Does it have the right token? */
bool guard_knows(const struct web_server *server, const struct web_request *request);
/* Adds the headers that every answer has. */
void guard_headers(const struct web_server *server, struct web_answer *answer);
/* Writes the policy, which depends on --allow-host. */
int guard_policy(struct web_server *server, struct err *err);

/* Compresses the body if the client accepts that and it saves bytes. */
void gzip_answer(const struct web_request *request, struct web_answer *answer);

/* Is it a script of the page? It has no data and is the same for everyone. */
bool static_is_script(struct str path);
/* Answers requests for the files of the page. */
bool static_answer(struct str path, const struct web_request *request,
                   struct web_answer *answer);

/* Opens a listening socket; *ret_port is its port. */
int listen_on(const struct web_wanted *wanted, unsigned *ret_port, bool *ret_local,
              struct err *err);
/* Loads the module with the library, which stays loaded until the process ends. */
const struct web_http_module *load_http(struct err *err);

int events_start(struct web_server *server, struct err *err);
void events_stop(struct web_server *server);
/* For struct web_host. */
char *events_text(void *user, struct web_stream *stream, size_t *ret_len);
void events_listens(void *user, bool begins);

/* ---- answers ---- */

void answer_header(struct web_answer *answer, const char *name, const char *value);
/* The same with a value that is copied to answer->texts; ignored if it does not fit. */
void answer_header_text(struct web_answer *answer, const char *name, const char *value);
void answer_body(struct web_answer *answer, struct buf *body); /* takes it */
void answer_error(struct web_answer *answer, unsigned status, const char *sentence);
void answer_err(struct web_answer *answer, const struct err *err);

/* ---- questions ---- */

enum web_needs {
    WEB_FILE = 1,    /* file=: its session is taken */
    WEB_RUN = 2,     /* ... which must have a recording */
    WEB_HISTORY = 4, /* ... which must have the history of a training run */
    WEB_RIGHT = 8,   /* right=: another file, whose session is taken too */
    WEB_OLD = 16,    /* old=: the same, optional */
    WEB_SHARED = 32, /* the answer depends on the arguments and the file only */
};

/* One question while it is answered. */
struct web_ask {
    struct web_server *server;
    const struct web_request *request;
    struct shelf_item *item;
    struct session *session; /* for this call only */
    struct session *right;
    bool live; /* values of a live model were read: */
    struct owner_age age;
    struct arena arena; /* for this call */
    struct work *work;
};

struct web_question {
    const char *name;
    const char *args; /* names of its arguments except file, separated by spaces */
    unsigned needs;   /* enum web_needs */
    /* Writes one document. May fail after writing a part of it. */
    int (*answer)(struct web_ask *ask, struct json *json, struct err *err);
};

/* For struct web_host. */
uint64_t web_lane(void *user, const struct web_request *request);
/* Does api/NAME need the session of a file? */
bool question_needs_file(struct str name);
/* Answers api/NAME. */
void question_answer(struct web_server *server, struct str name,
                     const struct web_request *request, struct web_answer *answer);

/* The value of an argument; `at` is NULL if it is missing. */
struct str web_arg(const struct web_ask *ask, const char *name);
/* Parses a number from `least` to `most`; `usual` if it is missing. */
int web_number(const struct web_ask *ask, const char *name, uint64_t least,
               uint64_t most, uint64_t usual, uint64_t *ret_number, struct err *err);
/* Finds the place: place= is its index or full name, name= always its full name.
 * Default: the root. */
int web_place(const struct web_ask *ask, uint32_t *ret_place, struct err *err);
/* Is the flag set: "1", "true" or an empty value? */
bool web_flag(const struct web_ask *ask, const char *name);

extern const struct web_question web_questions[];
extern const size_t n_web_questions;

/* ---- ask_*.c ---- */

int ask_info(struct web_ask *ask, struct json *json, struct err *err);
int ask_rows(struct web_ask *ask, struct json *json, struct err *err);
int ask_show(struct web_ask *ask, struct json *json, struct err *err);
int ask_code(struct web_ask *ask, struct json *json, struct err *err);
int ask_attributes(struct web_ask *ask, struct json *json, struct err *err);
int ask_timeline(struct web_ask *ask, struct json *json, struct err *err);
int ask_check(struct web_ask *ask, struct json *json, struct err *err);
int ask_diff(struct web_ask *ask, struct json *json, struct err *err);
int ask_graph(struct web_ask *ask, struct json *json, struct err *err);
int ask_training(struct web_ask *ask, struct json *json, struct err *err);
int ask_modules(struct web_ask *ask, struct json *json, struct err *err);
int ask_step(struct web_ask *ask, struct json *json, struct err *err);
int ask_series(struct web_ask *ask, struct json *json, struct err *err);
int ask_shelf(struct web_ask *ask, struct json *json, struct err *err);
int ask_news(struct web_ask *ask, struct json *json, struct err *err);

#endif
