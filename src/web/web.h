/* web.h - the page in a browser: a server for files, recordings and training runs. It
 * reads frozen models and runs, and histories through readers; it never touches Python.
 *
 * The tour:
 *   shelf.h      the served files, folders and live models
 *     shelf.c        files by id; sessions, opened on demand
 *     shelf_live.c   live models, whose data is requested from Python (owner.h)
 *     shelf_look.c   detects changes: growing runs, new files
 *     shared.c       answers that several clients request, made once
 *   request.h    a request and its answer, without a library
 *   guard.c      access control: Host, Origin, token, method
 *   routes.c     THE TABLE of paths; web_answer()
 *   questions.c  THE TABLE of questions: api/NAME?file=F&...
 *   ask_*.c      the questions, a few related ones a file
 *   events.c     sends changes to listeners
 *   static.c     the page itself; page_file.c: as a single file with its answers
 *   listen.c     a port;  server.c  starting and stopping;  load.c  finds the module
 *   http/        the module that owns libmicrohttpd, opened on first use */
#ifndef WEB_WEB_H
#define WEB_WEB_H

#include "base/buf.h"
#include "base/err.h"
#include "web/request.h"
#include "web/shelf.h"

struct web_wanted {
    const char *host;               /* to listen on; NULL: 127.0.0.1 */
    unsigned port;                  /* 0: any */
    unsigned tries;                 /* number of further ports to try if this one is
                                       taken */
    const char *const *allow_hosts; /* additional accepted Host names, for proxies */
    unsigned n_allow_hosts;
    const char *token; /* at least 16 letters, digits, - and _; NULL: a random one */
    bool open;         /* no token; on this machine only */
};

/* Makes a server without starting it: web_answer() works. Takes the shelf. */
struct web_server *web_server_new(struct shelf *shelf, const struct web_wanted *wanted,
                                  struct err *err);
/* Listens, and starts its threads. ERR_UNSUPPORTED: this build has no server. */
int web_server_start(struct web_server *server, const struct web_wanted *wanted,
                     struct err *err);
/* Cancels questions, ends all connections and frees everything; accepts NULL. In a
 * forked child it does nothing, and the only other function allowed there is
 * web_server_is_mine(). */
void web_server_free(struct web_server *server);

bool web_server_is_mine(const struct web_server *server);

unsigned web_server_port(const struct web_server *server);
/* Does it listen on this machine only? */
bool web_server_is_local(const struct web_server *server);
const char *web_server_token(const struct web_server *server); /* "" without one */
/* "http://localhost:8080/?token=..." */
void web_server_address(const struct web_server *server, struct buf *to);

/* The command to run on the user's machine if this one is used over SSH: "ssh -L ...".
 * False: no SSH, or the server accepts other machines anyway. */
bool web_server_tunnel(const struct web_server *server, struct buf *to);

struct export_wanted;

/* Writes the page of a training run as one file of at most 10MB, for
 * export_wanted.page_file. */
int web_page_file(struct out *out, struct session *session,
                  const struct export_wanted *wanted, struct err *err);

/* Answers a request; never fails. Many threads may call it. Free ret_answer->own. */
void web_answer(struct web_server *server, const struct web_request *request,
                struct web_answer *ret_answer);

#endif
