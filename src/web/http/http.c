#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "web/http/http_in.h"

#define IDLE_SECONDS 10u
#define MEMORY                                                                         \
    ((size_t)12 *                                                                      \
     1024) /* per connection: 8 KB of request headers, and those of the response */
#define NO_STREAM                                                                      \
    "{\"torchoscope\":1,\"kind\":\"error\",\"error\":\"too many pages follow this "    \
    "server's events; poll api/news instead\"}"

/* ---- from a connection to a request ---- */

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10 : -1;
}

/* Decodes %XX in place. %00 stays encoded, because it would end a path. */
static size_t unescape(void *user, struct MHD_Connection *connection, char *text)
{
    size_t n = 0;

    (void)user;
    (void)connection;
    for (const char *at = text; *at; at++) {
        int high = *at == '%' ? digit(at[1]) : -1;
        int low = high >= 0 ? digit(at[2]) : -1;

        if (low >= 0 && (high || low)) {
            text[n++] = (char)(high * 16 + low);
            at += 2;
        } else {
            text[n++] = *at;
        }
    }
    text[n] = '\0';
    return n;
}

static enum MHD_Result take_arg(void *user, enum MHD_ValueKind kind, const char *name,
                                size_t name_len, const char *value, size_t len)
{
    struct web_request *request = user;

    (void)kind;
    if (request->n_args == WEB_ARGS) {
        request->too_many = true;
        return MHD_NO;
    }
    request->args[request->n_args++] =
        (struct web_arg){{name, name_len}, {value ? value : "", value ? len : 0}};
    return MHD_YES;
}

static bool is_header(const char *name, size_t len, const char *wanted)
{
    for (size_t i = 0; i < len; i++)
        if ((name[i] | 0x20) != wanted[i] && name[i] != wanted[i])
            return false;
    return wanted[len] == '\0';
}

static void take_once(struct web_request *request, struct str *to, struct str value)
{
    request->odd |= to->at != NULL;
    *to = value;
}

static enum MHD_Result take_header(void *user, enum MHD_ValueKind kind,
                                   const char *name, size_t name_len, const char *value,
                                   size_t len)
{
    struct web_request *request = user;
    struct str text = {value ? value : "", value ? len : 0};

    (void)kind;
    if (is_header(name, name_len, "host"))
        take_once(request, &request->host, text);
    else if (is_header(name, name_len, "origin"))
        take_once(request, &request->origin, text);
    else if (is_header(name, name_len, "x-torchoscope-token"))
        take_once(request, &request->token, text);
    else if (is_header(name, name_len, "if-none-match"))
        take_once(request, &request->etag, text);
    else if (is_header(name, name_len, "accept-encoding"))
        request->accepts = text;
    else if (is_header(name, name_len, "transfer-encoding"))
        request->has_body = true;
    else if (is_header(name, name_len, "content-length"))
        request->has_body |= !str_is(text, "0");
    return MHD_YES;
}

static void take_request(struct http_job *job, const char *url, const char *method)
{
    struct web_request *request = &job->request;

    request->method = str_of(method);
    request->path = str_of(url && *url == '/' ? url + 1 : url);
    MHD_get_connection_values_n(job->connection, MHD_GET_ARGUMENT_KIND, take_arg,
                                request);
    MHD_get_connection_values_n(job->connection, MHD_HEADER_KIND, take_header, request);
}

/* ---- from an answer to a connection ---- */

static struct MHD_Response *fixed_response(const char *at, size_t len)
{
    return MHD_create_response_from_buffer(len, (void *)(uintptr_t)at,
                                           MHD_RESPMEM_PERSISTENT);
}

static struct MHD_Response *make_response(struct web_http *http, struct http_job *job)
{
    struct web_answer *answer = &job->answer;
    struct MHD_Response *response;

    if (answer->stream) {
        response = stream_response(http, job->connection, answer->since);
        if (response)
            return response;
        answer->stream = false;
        answer->status = 503;
        answer->type = "application/json";
        return fixed_response(NO_STREAM, sizeof NO_STREAM - 1);
    }
    if (!answer->own)
        return fixed_response(answer->fixed.at ? answer->fixed.at : "",
                              answer->fixed.len);
    response = MHD_create_response_from_buffer(answer->len, answer->own,
                                               MHD_RESPMEM_MUST_FREE);
    if (response)
        answer->own = NULL;
    return response;
}

static enum MHD_Result send_answer(struct web_http *http, struct http_job *job)
{
    struct MHD_Response *response = make_response(http, job);
    struct web_answer *answer = &job->answer;
    enum MHD_Result status;

    if (!response)
        return MHD_NO;
    if (answer->type)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer->type);
    for (unsigned i = 0; i < answer->n_headers; i++)
        MHD_add_response_header(response, answer->headers[i].name,
                                answer->headers[i].value);
    if (job->request.has_body)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    if (!answer->stream)
        clients_set(http, job->connection, CLIENT_READS);
    status = MHD_queue_response(job->connection, answer->status, response);
    MHD_destroy_response(response);
    return status;
}

/* ---- what libmicrohttpd calls ---- */

static bool is_ending(struct web_http *http)
{
    bool ending;

    pthread_mutex_lock(&http->lock);
    ending = http->ending;
    pthread_mutex_unlock(&http->lock);
    return ending;
}

/* Called with the headers first, then when the request is complete, then when it is
 * answered. */
static enum MHD_Result handle(void *user, struct MHD_Connection *connection,
                              const char *url, const char *method, const char *version,
                              const char *data, size_t *data_len, void **at)
{
    struct web_http *http = user;
    struct http_job *job = *at;

    (void)version;
    (void)data;
    (void)data_len;
    if (!job) {
        job = calloc(1, sizeof *job);
        if (!job || is_ending(http)) {
            free(job);
            return MHD_NO;
        }
        *at = job;
        job->connection = connection;
        take_request(job, url, method);
        if (!job->request.has_body)
            return MHD_YES;
        /* Refused before its body arrives, so the answer is immediate. */
        http->host.answer(http->host.user, &job->request, &job->answer);
        return send_answer(http, job);
    }
    if (job->state == JOB_DONE)
        return send_answer(http, job);
    if (job->state == JOB_NEW) {
        clients_set(http, connection, CLIENT_WAITS);
        clients_wait(http, connection, job);
        if (!pool_add(http, job))
            return MHD_NO;
    }
    return MHD_YES;
}

static void completed(void *user, struct MHD_Connection *connection, void **at,
                      enum MHD_RequestTerminationCode why)
{
    struct http_job *job = *at;

    (void)why;
    clients_wait(user, connection, NULL);
    clients_set(user, connection, CLIENT_ASKS);
    if (job)
        free(job->answer.own);
    free(job);
    *at = NULL;
}

/* ---- starting and stopping ---- */

static struct MHD_Daemon *start_daemon(struct web_http *http, int listener)
{
    const unsigned flags =
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC;
    sigset_t all, before;
    struct MHD_Daemon *daemon;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, handle, http, MHD_OPTION_LISTEN_SOCKET, listener,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)WEB_CONNECTIONS,
        MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        MEMORY, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_UNESCAPE_CALLBACK, unescape,
        http, MHD_OPTION_NOTIFY_COMPLETED, completed, http,
        MHD_OPTION_NOTIFY_CONNECTION, clients_notify, http, MHD_OPTION_END);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return daemon;
}

static void stop(struct web_http *http)
{
    pool_stop(http);
    if (http->has_keeper)
        pthread_join(http->keeper, NULL);
    streams_end(http);
    if (http->daemon)
        MHD_stop_daemon(http->daemon);
    pthread_cond_destroy(&http->more);
    pthread_cond_destroy(&http->ended);
    pthread_mutex_destroy(&http->lock);
    free(http);
}

/* While the lock is held, a connection in the table has an open descriptor. */
static void around_fork(struct web_http *http, enum web_fork when)
{
    const union MHD_DaemonInfo *info;
    struct timespec until;

    if (when == WEB_FORK_BEGINS) {
        until = clock_later(CLOCK_REALTIME, 1000);
        http->held = pthread_mutex_timedlock(&http->lock, &until) == 0;
    } else if (when == WEB_FORK_ENDS) {
        if (http->held)
            pthread_mutex_unlock(&http->lock);
    } else {
        for (size_t i = 0; http->held && i <= WEB_CONNECTIONS; i++)
            if (http->clients[i].connection)
                close(http->clients[i].fd);
        info = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD);
        if (info)
            close(info->epoll_fd);
        close(http->listener);
    }
}

static struct web_http *start(int listener, const struct web_host *host,
                              const char **ret_why)
{
    struct web_http *http = calloc(1, sizeof *http);

    if (!http) {
        *ret_why = "no memory is left";
        return NULL;
    }
    http->host = *host;
    http->listener = listener;
    pthread_mutex_init(&http->lock, NULL);
    pthread_cond_init(&http->more, NULL);
    pthread_cond_init(&http->ended, NULL);
    *ret_why = "no thread can be started";
    if (pool_start(http) == 0) {
        http->has_keeper = http_thread(&http->keeper, clients_keep, http);
        *ret_why = "libmicrohttpd does not start";
        if (http->has_keeper)
            http->daemon = start_daemon(http, listener);
    }
    if (http->daemon)
        return http;
    stop(http);
    return NULL;
}

const struct web_http_module *torchoscope_http(void);

__attribute__((visibility("default"))) const struct web_http_module *
torchoscope_http(void)
{
    static const struct web_http_module module = {.version = WEB_HTTP_VERSION,
                                                  .start = start,
                                                  .wake = streams_wake,
                                                  .stop = stop,
                                                  .fork = around_fork};

    return &module;
}
