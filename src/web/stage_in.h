/* stage_in.h - for tests in this directory: a server that is not started, used without
 * sockets. */
#ifndef WEB_STAGE_IN_H
#define WEB_STAGE_IN_H

#include <stdlib.h>

#include "base/test.h"
#include "session/sample_session.h"
#include "web/web_in.h"

struct stage {
    struct session *session;
    struct web_server *server;
    struct web_request request;
    struct web_answer answer;
    struct buf text;
};

/* Serves a session, which stage_end() closes, under the name "sample". */
static inline void stage_serve(struct stage *s, struct session *session)
{
    static const char *const proxies[] = {"hub.example.org"};
    const struct web_wanted wanted = {.allow_hosts = proxies, .n_allow_hosts = 1};
    struct shelf *shelf = shelf_new(NULL);

    *s = (struct stage){.session = session};
    CHECK(session && shelf &&
          shelf_add_session(shelf, "sample", s->session, NULL) == 0);
    s->server = web_server_new(shelf, &wanted, NULL);
    CHECK(s->server);
    s->request = (struct web_request){.method = STR("GET"),
                                      .host = STR("localhost:8080"),
                                      .token = str_of(web_server_token(s->server))};
}

static inline void stage_begin(struct stage *s)
{
    stage_serve(s, sample_session());
}

static inline void stage_end(struct stage *s)
{
    free(s->answer.own);
    buf_release(&s->text);
    web_server_free(s->server);
    session_close(s->session);
}

/* "api/show?name=a.weight&bins=3" */
static inline unsigned ask(struct stage *s, const char *address)
{
    struct str rest = str_of(address), arg;

    str_split(&rest, '?', &s->request.path);
    s->request.n_args = 0;
    while (s->request.n_args < WEB_ARGS && rest.len > 0 &&
           str_split(&rest, '&', &arg)) {
        struct web_arg *to = &s->request.args[s->request.n_args++];

        to->value = arg;
        str_split(&to->value, '=', &to->name);
    }
    free(s->answer.own);
    web_answer(s->server, &s->request, &s->answer);
    buf_clear(&s->text);
    if (s->answer.own)
        buf_add(&s->text, s->answer.own, s->answer.len);
    else
        buf_str(&s->text, s->answer.fixed);
    return s->answer.status;
}

static inline bool says(const struct stage *s, const char *part)
{
    return str_find(buf_span(&s->text), str_of(part)) >= 0;
}

#endif
