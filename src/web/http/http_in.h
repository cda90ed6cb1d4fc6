/* http_in.h - the module that owns libmicrohttpd.
 *
 *   http.c     starting and stopping; from a connection to a request, and back
 *   pool.c     the threads that compute answers
 *   streams.c  event streams
 *   clients.c  the table of connections, and their time limits
 *
 * One thread of libmicrohttpd serves all connections and never waits: a request is
 * suspended while a thread of the pool answers it, a stream while there are no events.
 * All our threads block all signals. */
#ifndef WEB_HTTP_HTTP_IN_H
#define WEB_HTTP_HTTP_IN_H

#include <microhttpd.h>
#include <pthread.h>
#include <time.h>

#include "base/clock.h"
#include "web/request.h"

#define HTTP_THREADS 5  /* one of them only answers quick requests */
#define LATE_SECONDS 60 /* limit for waiting in the queue */
#define KEEPER_MS    250
#define END_MS       300 /* time for streams to end with the server */

enum job_state { JOB_NEW, JOB_WAITS, JOB_DONE };

/* One request. */
struct http_job {
    struct http_job *next;
    struct MHD_Connection *connection;
    enum job_state state;
    uint64_t lane;
    time_t since; /* start of waiting in the queue */
    struct work work;
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
    bool left; /* its client is gone */
};

struct http_client {
    struct MHD_Connection *connection; /* NULL: free */
    struct http_job *job;              /* until it is answered; else NULL */
    int fd;
    time_t since;  /* of the newest change: */
    bool answered; /* the answer is being sent; false: waiting for a request */
    bool asked;    /* the answer is being computed, or is a stream: no limit */
};

struct web_http {
    struct MHD_Daemon *daemon;
    struct web_host host;
    pthread_mutex_t lock; /* protects the members below */
    pthread_cond_t more;  /* a job, or `ending` */
    pthread_cond_t ended; /* `ending`, or a stream ended */
    struct http_job *first;
    struct http_job *running[HTTP_THREADS]; /* by thread; NULL: idle */
    bool ending;
    bool held; /* the lock is held for a fork */
    struct http_stream *streams;
    unsigned n_streams;
    struct http_client clients[WEB_CONNECTIONS + 1];
    pthread_t threads[HTTP_THREADS], keeper;
    unsigned n_threads;
    bool has_keeper;
    int listener;
};

/* A thread that blocks all signals. */
bool http_thread(pthread_t *thread, void *(*run)(void *), void *user);

int pool_start(struct web_http *http);
/* Suspends the connection until the job is done. False: the server is stopping. */
bool pool_add(struct web_http *http, struct http_job *job);
/* Runs jobs that waited too long in the queue. Call it with the lock held. */
void pool_look(struct web_http *http, time_t now);
/* Stops the job of a client that left. Call it with the lock held. */
void pool_leave(struct web_http *http, struct http_job *job);
/* Sets `ending`, cancels answers in progress and waits for them. */
void pool_stop(struct web_http *http);

/* The response of a stream; NULL: too many streams. */
struct MHD_Response *stream_response(struct web_http *http,
                                     struct MHD_Connection *connection, uint64_t since);
void streams_wake(struct web_http *http);
/* Call it once `ending` is set: waits briefly until all streams ended properly, so that
 * pages do not report a network error. */
void streams_end(struct web_http *http);
/* Ends the stream of a client that left, if it has one. Call it with the lock held. */
void streams_leave(struct web_http *http, const struct MHD_Connection *connection);

/* For MHD_OPTION_NOTIFY_CONNECTION. */
void clients_notify(void *user, struct MHD_Connection *connection, void **socket,
                    enum MHD_ConnectionNotificationCode code);
enum client_phase { CLIENT_ASKS, CLIENT_WAITS, CLIENT_READS };
void clients_set(struct web_http *http, struct MHD_Connection *connection,
                 enum client_phase phase);
/* Sets the job that the connection waits for; NULL: none. */
void clients_wait(struct web_http *http, struct MHD_Connection *connection,
                  struct http_job *job);
time_t clients_now(void); /* seconds */
/* The thread that closes connections that are too slow. */
void *clients_keep(void *user);

#endif
