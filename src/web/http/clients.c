/* libmicrohttpd closes silent connections. This closes those that only send a byte now
 * and then: a whole request may take 10 seconds, sending an answer two minutes. It also
 * detects clients that leave while an answer is computed or a stream is idle, because
 * the library does not check suspended connections. */
#define _GNU_SOURCE /* POLLRDHUP */
#include <poll.h>
#include <sys/socket.h>

#include "web/http/http_in.h"

#define ASK_SECONDS  10
#define READ_SECONDS 120

time_t clients_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static struct http_client *find(struct web_http *http,
                                const struct MHD_Connection *connection)
{
    for (size_t i = 0; i < sizeof http->clients / sizeof http->clients[0]; i++)
        if (http->clients[i].connection == connection)
            return &http->clients[i];
    return NULL;
}

static void set(struct http_client *client, enum client_phase phase)
{
    client->since = clients_now();
    client->asked = phase == CLIENT_WAITS;
    client->answered = phase == CLIENT_READS;
}

void clients_notify(void *user, struct MHD_Connection *connection, void **socket,
                    enum MHD_ConnectionNotificationCode code)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct web_http *http = user;
    struct http_client *client;

    (void)socket;
    pthread_mutex_lock(&http->lock);
    client = find(http, code == MHD_CONNECTION_NOTIFY_STARTED ? NULL : connection);
    if (client && code == MHD_CONNECTION_NOTIFY_STARTED && info) {
        client->connection = connection;
        client->job = NULL;
        client->fd = info->connect_fd;
        set(client, CLIENT_ASKS);
    } else if (client) {
        client->connection = NULL;
    }
    pthread_mutex_unlock(&http->lock);
}

void clients_set(struct web_http *http, struct MHD_Connection *connection,
                 enum client_phase phase)
{
    struct http_client *client;

    pthread_mutex_lock(&http->lock);
    client = find(http, connection);
    if (client)
        set(client, phase);
    pthread_mutex_unlock(&http->lock);
}

void clients_wait(struct web_http *http, struct MHD_Connection *connection,
                  struct http_job *job)
{
    struct http_client *client;

    pthread_mutex_lock(&http->lock);
    client = find(http, connection);
    if (client)
        client->job = job;
    pthread_mutex_unlock(&http->lock);
}

static bool has_left(int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLRDHUP};

    return poll(&ready, 1, 0) > 0;
}

static void look(struct web_http *http)
{
    time_t now = clients_now();

    for (size_t i = 0; i < sizeof http->clients / sizeof http->clients[0]; i++) {
        struct http_client *client = &http->clients[i];
        int most = client->answered ? READ_SECONDS : ASK_SECONDS;

        if (client->connection && !client->asked && now - client->since > most)
            shutdown(client->fd, SHUT_RDWR);
        if (!client->connection || !client->asked || !has_left(client->fd))
            continue;
        if (client->job)
            pool_leave(http, client->job);
        else
            streams_leave(http, client->connection);
    }
    pool_look(http, now);
}

void *clients_keep(void *user)
{
    struct web_http *http = user;
    struct timespec until;

    pthread_mutex_lock(&http->lock);
    while (!http->ending) {
        until = clock_later(CLOCK_REALTIME, KEEPER_MS);
        pthread_cond_timedwait(&http->ended, &http->lock, &until);
        look(http);
    }
    pthread_mutex_unlock(&http->lock);
    return NULL;
}
