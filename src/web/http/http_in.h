/* http_in.h - the module that owns libmicrohttpd.
 *
 *   http.c     starting and stopping; from a connection to a request, and back
 *   pool.c     the threads that wait for answers
 *   streams.c  event streams
 *   clients.c  connections by the time that they take
 *
 * One thread of libmicrohttpd serves all connections and never waits: a request is
 * suspended while a thread of the pool has it answered, a stream while there is no news.
 * All our threads block all signals. */
#ifndef WEB_HTTP_HTTP_IN_H
#define WEB_HTTP_HTTP_IN_H

#include <microhttpd.h>
#include <pthread.h>
#include <time.h>

#include "web/request.h"

#define HTTP_THREADS 4

enum job_state { JOB_NEW, JOB_WAITS, JOB_DONE };

/* One request. */
struct http_job {
    struct http_job *next;
    struct MHD_Connection *connection;
    enum job_state state;
    struct web_request request;
    struct web_answer answer;
};

struct http_stream {
    struct http_stream *next;
    struct web_http *http;
    struct MHD_Connection *connection;
    struct web_stream at;
    char *text; /* to be sent; malloc()ed */
    size_t len, sent;
    bool suspended;
};

struct http_client {
    struct MHD_Connection *connection; /* NULL: free */
    int fd;
    time_t since;  /* of the newest change: */
    bool answered; /* the answer is being sent; else a request is waited for */
    bool asked;    /* it is being computed, or streams: no limit */
};

struct web_http {
    struct MHD_Daemon *daemon;
    struct web_host host;
    pthread_mutex_t lock; /* protects what follows */
    pthread_cond_t more;  /* a job, or `ending` */
    pthread_cond_t ended; /* `ending` */
    struct http_job *first, *last;
    bool ending;
    struct http_stream *streams;
    unsigned n_streams;
    struct http_client clients[WEB_CONNECTIONS + 1];
    pthread_t threads[HTTP_THREADS], keeper;
    unsigned n_threads;
    bool has_keeper;
};

/* A thread that blocks all signals. */
bool http_thread(pthread_t *thread, void *(*run)(void *), void *user);

int pool_start(struct web_http *http);
/* Suspends the connection until the job is done. False: the server ends. */
bool pool_add(struct web_http *http, struct http_job *job);
void pool_stop(
    struct web_http *http); /* sets `ending`; answers in progress are waited for */

/* The response of a stream; NULL: there are too many. */
struct MHD_Response *stream_response(struct web_http *http,
                                     struct MHD_Connection *connection, uint64_t since);
void streams_wake(struct web_http *http);

/* For MHD_OPTION_NOTIFY_CONNECTION. */
void clients_notify(void *user, struct MHD_Connection *connection, void **socket,
                    enum MHD_ConnectionNotificationCode code);
enum client_phase { CLIENT_ASKS, CLIENT_WAITS, CLIENT_READS };
void clients_set(struct web_http *http, struct MHD_Connection *connection,
                 enum client_phase phase);
/* The thread that ends connections which are too slow. */
void *clients_keep(void *user);

#endif
