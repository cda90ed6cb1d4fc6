/* Sends changes to listeners. A thread checks the files while there are listeners; a
 * page that polls (api/news) checks in its request. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/background.h"
#include "base/base.h"
#include "base/clock.h"
#include "web/web_in.h"

#define LOOK_MS 250
#define BEAT_NS 15000000000u /* writing detects listeners that left */

/* Waits for the next check; false: the server is stopping. */
static bool wait_to_look(struct web_server *server)
{
    struct timespec until = clock_later(CLOCK_REALTIME, LOOK_MS);
    bool running;

    pthread_mutex_lock(&server->lock);
    while (!server->ending && server->listeners == 0) {
        pthread_cond_wait(&server->more, &server->lock);
        until = clock_later(CLOCK_REALTIME, LOOK_MS);
    }
    while (!server->ending &&
           pthread_cond_timedwait(&server->more, &server->lock, &until) == 0)
        ;
    running = !server->ending;
    pthread_mutex_unlock(&server->lock);
    return running;
}

static void *watch(void *user)
{
    struct web_server *server = user;
    uint64_t seen = shelf_news(server->shelf), beat = clock_ns();

    while (wait_to_look(server)) {
        uint64_t news = shelf_look(server->shelf), now = clock_ns();

        if (news == seen && now - beat < BEAT_NS)
            continue;
        seen = news;
        beat = now;
        server->module->wake(server->http);
    }
    return NULL;
}

int events_start(struct web_server *server, struct err *err)
{
    server->watches = background_start(&server->watcher, watch, server);
    return server->watches ? 0 : err_set(err, ERR_LIMIT, "no thread can be started");
}

void events_stop(struct web_server *server)
{
    pthread_mutex_lock(&server->lock);
    server->ending = true;
    pthread_cond_broadcast(&server->more);
    pthread_mutex_unlock(&server->lock);
    if (server->watches)
        pthread_join(server->watcher, NULL);
    server->watches = false;
}

void events_listens(void *user, bool begins)
{
    struct web_server *server = user;

    pthread_mutex_lock(&server->lock);
    server->listeners += begins ? 1 : -1u;
    pthread_cond_broadcast(&server->more);
    pthread_mutex_unlock(&server->lock);
}

char *events_text(void *user, struct web_stream *stream, size_t *ret_len)
{
    struct web_server *server = user;
    uint64_t news = shelf_news(server->shelf), now = clock_ns();
    struct buf text = BUF_INIT;
    struct json json;
    struct out out;
    size_t begin;

    if (news == stream->since && stream->sent_ns && now - stream->sent_ns < BEAT_NS)
        return NULL;
    if (news == stream->since) {
        buf_text(&text, ": still here\n\n");
    } else {
        buf_text(&text, "event: news\n");
        buf_printf(&text, "id: %llu\ndata: ", (unsigned long long)news);
        begin = text.len;
        out_init_buf(&out, &text);
        json_init_text(&json, &out);
        shelf_write(server->shelf, SHELF_NEWS, stream->since, &json);
        /* Each line of an event begins with "data: ". No text in JSON has a raw '\n'. */
        for (size_t i = begin; i < text.len; i++)
            text.at[i] = text.at[i] == '\n' ? ' ' : text.at[i];
        buf_text(&text, "\n\n");
    }
    if (text.bad)
        buf_release(&text);
    stream->since = news;
    stream->sent_ns = now;
    *ret_len = text.len;
    return text.at;
}
