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
    unsigned char bytes[TOKEN_BYTES];

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return err_set_errno(err, "random bytes for the token");
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(to + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

static int take_token(char to[WEB_TOKEN], const char *token, struct err *err)
{
    static const char known[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    size_t len = strlen(token);

    if (len < TOKEN_BYTES || len >= WEB_TOKEN || strspn(token, known) != len)
        return err_set(err, ERR_USAGE, "a token has %d to %d letters, digits, - and _",
                       TOKEN_BYTES, WEB_TOKEN - 1);
    memcpy(to, token, len + 1);
    return 0;
}

static int set_token(struct web_server *server, const struct web_wanted *wanted,
                     struct err *err)
{
    if (wanted->open)
        return 0;
    return wanted->token ? take_token(server->token, wanted->token, err)
                         : make_token(server->token, err);
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
    return guard_policy(server, err);
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
    if (copy_hosts(server, wanted, err) == 0 && set_token(server, wanted, err) == 0)
        return server;
    web_server_free(server);
    return NULL;
}

/* ---- forks ---- */

/* The running servers. */
static struct web_server *servers;
static pthread_mutex_t servers_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t forks_once = PTHREAD_ONCE_INIT;

static void each_server(enum web_fork when)
{
    for (struct web_server *server = servers; server; server = server->next)
        server->module->fork(server->http, when);
}

static void before_fork(void)
{
    pthread_mutex_lock(&servers_lock);
    each_server(WEB_FORK_BEGINS);
}

static void after_fork(void)
{
    each_server(WEB_FORK_ENDS);
    pthread_mutex_unlock(&servers_lock);
}

/* Do not touch a server here: its threads do not exist in the child and may have held
 * its locks. */
static void in_child(void)
{
    each_server(WEB_FORK_CHILD);
    for (struct web_server *server = servers; server; server = server->next)
        server->forked = true;
    servers = NULL;
    pthread_mutex_unlock(&servers_lock);
}

static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork, in_child);
}

static void list_server(struct web_server *server)
{
    pthread_once(&forks_once, watch_forks);
    pthread_mutex_lock(&servers_lock);
    server->next = servers;
    servers = server;
    pthread_mutex_unlock(&servers_lock);
}

static void unlist_server(const struct web_server *server)
{
    struct web_server **at;

    pthread_mutex_lock(&servers_lock);
    for (at = &servers; *at && *at != server; at = &(*at)->next)
        ;
    if (*at)
        *at = server->next;
    pthread_mutex_unlock(&servers_lock);
}

bool web_server_is_mine(const struct web_server *server)
{
    return !server->forked;
}

/* ---- starting and stopping ---- */

static void answer_for_module(void *user, const struct web_request *request,
                              struct web_answer *ret_answer)
{
    web_answer(user, request, ret_answer);
}

int web_server_start(struct web_server *server, const struct web_wanted *wanted,
                     struct err *err)
{
    const struct web_host host = {.user = server,
                                  .lane = web_lane,
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
    if (!server->token[0] && !server->local)
        return err_set(err, ERR_USAGE,
                       "without a token, only this machine can be served");
    server->http = server->module->start(server->listener, &host, &why);
    if (!server->http)
        return err_set(err, ERR_LIMIT, "the server cannot be started: %s", why);
    server->listener = -1;
    list_server(server);
    return events_start(server, err);
}

void web_server_free(struct web_server *server)
{
    if (!server || server->forked)
        return;
    if (server->http)
        unlist_server(server);
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
    free(server->policy);
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

bool web_server_tunnel(const struct web_server *server, struct buf *to)
{
    const char *ssh = getenv("SSH_CONNECTION"), *user = getenv("USER");
    struct str rest = str_of(ssh), host = {0};
    char name[256] = "";

    if (!ssh || !*ssh || !server->local)
        return false;
    /* "client port server port": the address by which this machine is reached */
    for (int i = 0; i < 3; i++)
        if (!str_split(&rest, ' ', &host))
            return false;
    if (gethostname(name, sizeof name - 1) == 0 && name[0])
        host = str_of(name);
    buf_printf(to, "ssh -L %u:localhost:%u %s%s%.*s", server->port, server->port,
               user && *user ? user : "", user && *user ? "@" : "", STR_ARG(host));
    return true;
}
