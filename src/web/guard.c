/* Access control. A page of another site can make a browser send requests here: under
 * its own host name (DNS rebinding; then Host is that name), or cross-origin (then it
 * cannot read the answer and has no token). */
#include <string.h>

#include "base/base.h"
#include "web/web_in.h"

#define POLICY                                                                         \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "    \
    "img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; "                \
    "frame-ancestors 'self'"

static const struct web_header strict[] = {
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
};

/* Is it a host name that is safe inside a header? */
static bool is_name(const char *host)
{
    for (const char *c = host; *c; c++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-",
                    *c))
            return false;
    return host[0] != 0;
}

/* A notebook frames the page under the name of its proxy. */
int guard_policy(struct web_server *server, struct err *err)
{
    struct buf policy = BUF_INIT;

    buf_text(&policy, POLICY);
    for (unsigned i = 0; i < server->n_allow_hosts; i++)
        if (is_name(server->allow_hosts[i]))
            buf_printf(&policy, " https://%s:* http://%s:*", server->allow_hosts[i],
                       server->allow_hosts[i]);
    if (policy.bad) {
        buf_release(&policy);
        return err_set(err, ERR_LIMIT, "no memory left");
    }
    server->policy = policy.at;
    return 0;
}

void guard_headers(const struct web_server *server, struct web_answer *answer)
{
    answer_header(answer, "Content-Security-Policy", server->policy);
    for (size_t i = 0; i < COUNT_OF(strict); i++)
        answer_header(answer, strict[i].name, strict[i].value);
}

/* "name:8080", "[::1]:8080" without the port. */
static struct str without_port(struct str host)
{
    ptrdiff_t end = str_find_char(host, ']');
    ptrdiff_t colon = str_find_last_char(host, ':');

    return colon > end ? str_head(host, (size_t)colon) : host;
}

static bool is_allowed(const struct web_server *server, struct str host)
{
    host = without_port(host);
    for (unsigned i = 0; i < server->n_allow_hosts; i++)
        if (str_is_word(host, server->allow_hosts[i]))
            return true;
    return false;
}

static bool is_ours(const struct web_server *server, struct str host)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    struct str name = without_port(host);

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (str_is_word(name, names[i]))
            return true;
    return str_is_word(name, server->host) || is_allowed(server, host);
}

/* A proxy may use another host name than the page: one of --allow-host. */
static bool is_same_origin(const struct web_server *server,
                           const struct web_request *request)
{
    ptrdiff_t at = str_find(request->origin, STR("://"));
    struct str host;

    if (at < 0)
        return false;
    host = str_from(request->origin, (size_t)at + 3);
    return (host.len == request->host.len && str_starts_word(request->host, host)) ||
           is_allowed(server, host);
}

unsigned guard_check(const struct web_server *server, const struct web_request *request,
                     const char **ret_why)
{
    if (request->odd) {
        *ret_why = "a header was sent twice";
        return 400;
    }
    if (!is_ours(server, request->host)) {
        *ret_why = "this server is not known by that name; if a proxy uses it, start "
                   "with --allow-host NAME";
        return 403;
    }
    /* Browsers send the origin with requests for modules, also to their own server, which
     * has another name behind a proxy. */
    if (request->origin.at && !static_is_script(request->path) &&
        !is_same_origin(server, request)) {
        *ret_why = "requests from pages of other sites are refused";
        return 403;
    }
    if (!str_is(request->method, "GET") && !str_is(request->method, "HEAD")) {
        *ret_why = "only GET and HEAD are answered";
        return 405;
    }
    if (request->has_body) {
        *ret_why = "a request has no body here";
        return 413;
    }
    if (request->too_many) {
        *ret_why = "too many arguments";
        return 400;
    }
    return 0;
}

/* Compares in constant time, independent of where they differ. */
bool guard_knows(const struct web_server *server, const struct web_request *request)
{
    size_t len = strlen(server->token);
    unsigned char differ = 0;

    if (len == 0)
        return true;
    if (request->token.len != len)
        return false;
    for (size_t i = 0; i < len; i++)
        differ |= (unsigned char)(request->token.at[i] ^ server->token[i]);
    return differ == 0;
}
