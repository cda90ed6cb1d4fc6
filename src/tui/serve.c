/* :serve - shows what is open on a page in a browser. */
#include <stdlib.h>

#include "base/base.h"
#include "tui/commands_in.h"
#include "web/web.h"

#define PORT  8080
#define TRIES 20
#define LOOK  100 /* ms between two checks for a page's requests about a live model */

struct tui_server {
    struct web_server *server;
    struct owner *owner; /* of a model in memory, which it borrows; or NULL */
};

void serve_end(struct tui *tui)
{
    struct tui_server *self = tui->server;

    tui->server = NULL;
    if (!self)
        return;
    if (self->owner)
        owner_end(self->owner);
    web_server_free(self->server);
    owner_free(self->owner);
    free(self);
}

void serve_session_ends(struct tui *tui)
{
    if (tui->server && tui->server->owner)
        serve_end(tui);
}

int serve_look(struct tui *tui)
{
    if (!tui->server || !tui->server->owner)
        return -1;
    owner_answer(tui->server->owner, OWNER_NO_STEP);
    return LOOK;
}

/* ---- beginning ---- */

static int add_session(struct tui_server *self, struct shelf *shelf,
                       const struct session *session, struct work *work,
                       struct err *err)
{
    const struct model *model = session->model;
    struct shelf_live live = {.name = model->path, .model = model};

    if (session->history_path)
        return shelf_add(shelf, session->history_path, work, err);
    if (model->n_files > 0)
        return shelf_add(shelf, model->path, work, err);
    if (!self->owner)
        self->owner = owner_new();
    if (!self->owner)
        return err_set(err, ERR_LIMIT, "no memory left");
    live.owner = self->owner;
    live.run = session->run;
    live.source = model->source;
    return shelf_add_live(shelf, &live, NULL, err);
}

static int fill(struct tui *tui, struct tui_server *self, struct shelf *shelf,
                struct err *err)
{
    const struct pair *pair = tui->explorer.pair;

    work_init(&tui->work);
    if (tui->files)
        return shelf_add(shelf, files_folder(tui), &tui->work, err);
    if (!pair)
        return add_session(self, shelf, tui->explorer.session, &tui->work, err);
    if (add_session(self, shelf, pair->left, &tui->work, err) < 0)
        return -1;
    return add_session(self, shelf, pair->right, &tui->work, err);
}

static int begin(struct tui *tui, unsigned port, struct err *err)
{
    const struct web_wanted wanted = {.port = port, .tries = TRIES - 1};
    struct tui_server *self = calloc(1, sizeof *self);
    struct shelf *shelf = self ? shelf_new(err) : NULL;

    if (!self)
        return err_set(err, ERR_LIMIT, "no memory left");
    tui->server = self;
    if (shelf && fill(tui, self, shelf, err) == 0) {
        self->server = web_server_new(shelf, &wanted, err);
        if (self->server && web_server_start(self->server, &wanted, err) == 0)
            return 0;
    } else {
        shelf_free(shelf);
    }
    serve_end(tui);
    return -1;
}

static void say(struct tui *tui)
{
    struct buf text = BUF_INIT;

    web_server_address(tui->server->server, &text);
    buf_text(&text, "   ");
    if (web_server_tunnel(tui->server->server, &text))
        buf_text(&text, "   ");
    tui_say(tui, "%s:serve stop ends it", buf_cstr(&text));
    buf_release(&text);
}

int run_serve(struct tui *tui, struct str words, struct err *err)
{
    uint64_t port = PORT;

    if (str_is_word(words, "stop")) {
        if (!tui->server)
            return err_set(err, ERR_USAGE, "nothing is served");
        serve_end(tui);
        tui_say(tui, "the page has ended");
        return 0;
    }
    if (words.len > 0 && (!str_to_u64(words, &port) || port > 65535))
        return err_set(err, ERR_USAGE, ":serve takes a port, or stop");
    if (words.len > 0)
        serve_end(tui);
    if (!tui->server && begin(tui, (unsigned)port, err) < 0)
        return -1;
    say(tui);
    return 0;
}
