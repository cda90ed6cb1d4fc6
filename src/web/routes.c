/* THE TABLE of paths. web_answer() needs no library and no socket. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "export/export.h"
#include "web/web_in.h"

/* ---- answers ---- */

void answer_header(struct web_answer *answer, const char *name, const char *value)
{
    if (answer->n_headers < WEB_HEADERS)
        answer->headers[answer->n_headers++] = (struct web_header){name, value};
}

void answer_header_text(struct web_answer *answer, const char *name, const char *value)
{
    size_t used = 0, len = strlen(value) + 1;

    for (unsigned i = 0; i < answer->n_headers; i++)
        if (answer->headers[i].value >= answer->texts &&
            answer->headers[i].value < answer->texts + sizeof answer->texts)
            used += strlen(answer->headers[i].value) + 1;
    if (len > sizeof answer->texts - used)
        return;
    memcpy(answer->texts + used, value, len);
    answer_header(answer, name, answer->texts + used);
}

void answer_body(struct web_answer *answer, struct buf *body)
{
    answer->own = body->at;
    answer->len = body->len;
    *body = (struct buf)BUF_INIT;
}

void answer_error(struct web_answer *answer, unsigned status, const char *sentence)
{
    struct buf text = BUF_INIT;
    struct json json;
    struct out out;

    out_init_buf(&out, &text);
    json_init_text(&json, &out);
    export_error_json(&json, sentence);
    answer->status = status;
    answer->type = "application/json";
    answer_body(answer, &text);
    if (status == 405)
        answer_header(answer, "Allow", "GET, HEAD");
}

void answer_err(struct web_answer *answer, const struct err *err)
{
    static const unsigned status[] = {
        [ERR_NONE] = 500,    [ERR_IO] = 404,          [ERR_FORMAT] = 409,
        [ERR_LIMIT] = 503,   [ERR_UNSUPPORTED] = 409, [ERR_NOT_FOUND] = 404,
        [ERR_CHANGED] = 409, [ERR_CANCELLED] = 503,   [ERR_USAGE] = 400,
        [ERR_PYTHON] = 409,
    };

    answer_error(answer, status[err->code],
                 err->text[0] ? err->text : "the answer could not be made");
}

/* ---- paths ---- */

static void answer_page(struct web_server *server, struct str rest,
                        const struct web_request *request, struct web_answer *answer)
{
    (void)server;
    (void)rest;
    static_answer(request->path, request, answer);
}

static void answer_question(struct web_server *server, struct str rest,
                            const struct web_request *request,
                            struct web_answer *answer)
{
    question_answer(server, rest, request, answer);
}

static void answer_events(struct web_server *server, struct str rest,
                          const struct web_request *request, struct web_answer *answer)
{
    (void)rest;
    answer->status = 200;
    answer->type = "text/event-stream";
    answer_header(answer, "X-Accel-Buffering", "no"); /* for proxies */
    answer->since = shelf_news(server->shelf);
    for (unsigned i = 0; i < request->n_args; i++)
        if (str_is(request->args[i].name, "since"))
            str_to_u64(request->args[i].value, &answer->since);
    answer->stream = str_is(request->method, "GET");
}

struct web_route {
    const char *path; /* ending in '/': all paths below it */
    bool open;        /* without a token: holds no data */
    void (*answer)(struct web_server *server, struct str rest,
                   const struct web_request *request, struct web_answer *answer);
};

static const struct web_route routes[] = {
    {"", true, answer_page},          {"page.js", true, answer_page},
    {"page.css", true, answer_page},  {"chunk.js", true, answer_page},
    {"more.js", true, answer_page},   {"api/", false, answer_question},
    {"events", false, answer_events},
};

static const struct web_route *find_route(struct str path, struct str *ret_rest)
{
    for (size_t i = 0; i < COUNT_OF(routes); i++) {
        struct str known = str_of(routes[i].path);
        bool below = str_ends(known, STR("/"));

        if (below ? str_starts(path, known) : str_eq(path, known)) {
            *ret_rest = str_from(path, known.len);
            return &routes[i];
        }
    }
    return NULL;
}

uint64_t web_lane(void *user, const struct web_request *request)
{
    struct web_server *server = user;
    const struct shelf_item *item = NULL;
    struct str file = STR("");
    struct str name = str_starts(request->path, STR("api/"))
                          ? str_from(request->path, 4)
                          : (struct str){0};
    const char *why;

    /* Refusals do not wait in the queue. */
    if (guard_check(server, request, &why) != 0 || !guard_knows(server, request) ||
        !(name.at ? question_needs_file(name) : str_is(request->path, "export")))
        return 0;
    for (unsigned i = 0; i < request->n_args; i++)
        if (str_is(request->args[i].name, "file"))
            file = request->args[i].value;
    item = shelf_find(server->shelf, file);
    return item ? shelf_number(item) + 1u : 0;
}

void web_answer(struct web_server *server, const struct web_request *request,
                struct web_answer *ret_answer)
{
    const struct web_route *route;
    const char *why = NULL;
    struct str rest;
    unsigned refused;

    memset(ret_answer, 0, sizeof *ret_answer);
    guard_headers(server, ret_answer);
    refused = guard_check(server, request, &why);
    route = refused ? NULL : find_route(request->path, &rest);
    if (!route || !route->open)
        answer_header(ret_answer, "Cache-Control", "no-store");
    if (request->late) {
        answer_error(ret_answer, 503,
                     "the file is busy with another request; try again");
        answer_header(ret_answer, "Retry-After", "5");
    } else if (refused)
        answer_error(ret_answer, refused, why);
    else if (!route)
        answer_error(ret_answer, 404, "there is nothing at this address");
    else if (!route->open && !guard_knows(server, request))
        answer_error(ret_answer, 401,
                     "the token is missing or wrong: open the address that was printed "
                     "when the server started");
    else
        route->answer(server, rest, request, ret_answer);
    gzip_answer(request, ret_answer);
}
