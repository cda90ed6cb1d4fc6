/* Starting and stopping. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/base.h"
#include "web/web_in.h"

static int make_token(char to[WEB_TOKEN], struct err *err)
{
    unsigned char bytes[(WEB_TOKEN - 1) / 2];

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return err_set_errno(err, "random bytes for the token");
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(to + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

static int copy_hosts(struct web_server *server, const struct web_wanted *wanted,
                      struct err *err)
{
    const char *host = wanted->host && wanted->host[0] ? wanted->host : "localhost";
    struct buf name = BUF_INIT;

    if (strchr(host, ':'))
        buf_printf(&name, "[%s]", host);
    else
        buf_text(&name, host);
    server->host = name.at;
    server->allow_hosts = calloc(wanted->n_allow_hosts + 1u, sizeof(char *));
    if (name.bad || !server->allow_hosts)
        return err_set(err, ERR_LIMIT, "no memory left");
    for (unsigned i = 0; i < wanted->n_allow_hosts; i++) {
        server->allow_hosts[i] = strdup(wanted->allow_hosts[i]);
        if (!server->allow_hosts[i])
            return err_set(err, ERR_LIMIT, "no memory left");
        server->n_allow_hosts++;
    }
    return 0;
}

struct web_server *web_server_new(struct shelf *shelf, const struct web_wanted *wanted,
                                  struct err *err)
{
    struct web_server *server = calloc(1, sizeof *server);

    if (!server) {
        shelf_free(shelf);
        err_set(err, ERR_LIMIT, "no memory left");
        return NULL;
    }
    server->shelf = shelf;
    server->listener = -1;
    work_init(&server->work);
    pthread_mutex_init(&server->lock, NULL);
    pthread_cond_init(&server->more, NULL);
    if (copy_hosts(server, wanted, err) == 0 &&
        (wanted->open || make_token(server->token, err) == 0))
        return server;
    web_server_free(server);
    return NULL;
}

static void answer_for_module(void *user, const struct web_request *request,
                              struct web_answer *ret_answer)
{
    web_answer(user, request, ret_answer);
}

int web_server_start(struct web_server *server, const struct web_wanted *wanted,
                     struct err *err)
{
    const struct web_host host = {.user = server,
                                  .answer = answer_for_module,
                                  .events = events_text,
                                  .listens = events_listens};
    const char *why = NULL;

    server->module = load_http(err);
    if (!server->module)
        return -1;
    server->listener = listen_on(wanted, &server->port, &server->local, err);
    if (server->listener < 0)
        return -1;
    server->http = server->module->start(server->listener, &host, &why);
    if (!server->http)
        return err_set(err, ERR_LIMIT, "the server cannot be started: %s", why);
    server->listener = -1;
    return events_start(server, err);
}

void web_server_free(struct web_server *server)
{
    if (!server)
        return;
    atomic_store(&server->work.cancel, 1);
    events_stop(server);
    if (server->http)
        server->module->stop(server->http);
    if (server->listener >= 0)
        close(server->listener);
    shelf_free(server->shelf);
    for (unsigned i = 0; i < server->n_allow_hosts; i++)
        free(server->allow_hosts[i]);
    free(server->allow_hosts);
    free(server->host);
    pthread_mutex_destroy(&server->lock);
    pthread_cond_destroy(&server->more);
    free(server);
}

unsigned web_server_port(const struct web_server *server)
{
    return server->port;
}

bool web_server_is_local(const struct web_server *server)
{
    return server->local;
}

const char *web_server_token(const struct web_server *server)
{
    return server->token;
}

void web_server_address(const struct web_server *server, struct buf *to)
{
    bool any =
        strcmp(server->host, "0.0.0.0") == 0 || strcmp(server->host, "[::]") == 0;

    buf_printf(to, "http://%s:%u/", server->local || any ? "localhost" : server->host,
               server->port);
    if (server->token[0])
        buf_printf(to, "?token=%s", server->token);
}
