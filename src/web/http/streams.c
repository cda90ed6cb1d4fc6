#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "web/http/http_in.h"

/* More text to send, if there is any. The lock is held. */
static void refill(struct http_stream *stream)
{
    struct web_http *http = stream->http;

    if (stream->sent < stream->len)
        return;
    free(stream->text);
    stream->sent = stream->len = 0;
    stream->text = http->host.events(http->host.user, &stream->at, &stream->len);
}

/* Called on the thread of libmicrohttpd. */
static ssize_t read_stream(void *user, uint64_t at, char *to, size_t room)
{
    struct http_stream *stream = user;
    struct web_http *http = stream->http;
    size_t n = 0;
    ssize_t status = 0;

    (void)at;
    pthread_mutex_lock(&http->lock);
    if (!http->ending)
        refill(stream);
    n = stream->len - stream->sent < room ? stream->len - stream->sent : room;
    if (stream->left) {
        status = MHD_CONTENT_READER_END_WITH_ERROR;
    } else if (http->ending) {
        status = MHD_CONTENT_READER_END_OF_STREAM;
    } else if (n > 0) {
        memcpy(to, stream->text + stream->sent, n);
        stream->sent += n;
        status = (ssize_t)n;
    } else {
        MHD_suspend_connection(stream->connection);
        stream->suspended = true;
    }
    pthread_mutex_unlock(&http->lock);
    return status;
}

static void end_stream(void *user)
{
    struct http_stream *stream = user, **at;
    struct web_http *http = stream->http;

    pthread_mutex_lock(&http->lock);
    for (at = &http->streams; *at && *at != stream; at = &(*at)->next)
        ;
    if (*at)
        *at = stream->next;
    http->n_streams--;
    pthread_cond_broadcast(&http->ended);
    pthread_mutex_unlock(&http->lock);
    http->host.listens(http->host.user, false);
    free(stream->text);
    free(stream);
}

struct MHD_Response *stream_response(struct web_http *http,
                                     struct MHD_Connection *connection, uint64_t since)
{
    struct http_stream *stream = calloc(1, sizeof *stream);
    struct MHD_Response *response = NULL;

    if (!stream)
        return NULL;
    stream->http = http;
    stream->connection = connection;
    stream->at.since = since;
    pthread_mutex_lock(&http->lock);
    if (http->n_streams < WEB_STREAMS)
        response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 4096,
                                                     read_stream, stream, end_stream);
    if (response) {
        stream->next = http->streams;
        http->streams = stream;
        http->n_streams++;
    }
    pthread_mutex_unlock(&http->lock);
    if (response)
        http->host.listens(http->host.user, true);
    else
        free(stream);
    return response;
}

static void wake(struct http_stream *stream)
{
    if (!stream->suspended)
        return;
    stream->suspended = false;
    MHD_resume_connection(stream->connection);
}

void streams_wake(struct web_http *http)
{
    pthread_mutex_lock(&http->lock);
    for (struct http_stream *stream = http->streams; stream; stream = stream->next)
        wake(stream);
    pthread_mutex_unlock(&http->lock);
}

void streams_end(struct web_http *http)
{
    struct timespec until = clock_later(CLOCK_REALTIME, END_MS);

    streams_wake(http);
    pthread_mutex_lock(&http->lock);
    while (http->n_streams > 0 &&
           pthread_cond_timedwait(&http->ended, &http->lock, &until) == 0)
        ;
    pthread_mutex_unlock(&http->lock);
}

void streams_leave(struct web_http *http, const struct MHD_Connection *connection)
{
    for (struct http_stream *stream = http->streams; stream; stream = stream->next)
        if (stream->connection == connection) {
            stream->left = true;
            wake(stream);
        }
}
