/* THE TABLE of questions. To add one: write it in an ask_*.c, declare it in web_in.h, add
 * a line here, describe its document in docs/json.md, ask it in questions_test.c. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "web/shelf_in.h"
#include "web/web_in.h"

#define ASK_LIMIT (2 * GIB)

const struct web_question web_questions[] = {
    {"shelf", "", 0, ask_shelf},
    {"news", "since", 0, ask_news},
    {"info", "", WEB_FILE, ask_info},
    {"rows", "columns step", WEB_FILE | WEB_SHARED, ask_rows},
    {"show",
     "place name step bins quantiles inner all slice row rows column columns picture "
     "cell sheet item channel call",
     WEB_FILE | WEB_SHARED, ask_show},
    {"code", "place name call", WEB_FILE, ask_code},
    {"attributes", "place name open", WEB_FILE, ask_attributes},
    {"timeline", "pass", WEB_FILE | WEB_RUN | WEB_SHARED, ask_timeline},
    {"check", "", WEB_FILE, ask_check},
    {"training", "columns since", WEB_FILE | WEB_HISTORY | WEB_SHARED, ask_training},
    {"modules", "columns from to since rank least quick around",
     WEB_FILE | WEB_HISTORY | WEB_SHARED, ask_modules},
    {"step", "step", WEB_FILE | WEB_HISTORY | WEB_SHARED, ask_step},
    {"series", "place name columns rows below phase from to since at clip log",
     WEB_FILE | WEB_HISTORY | WEB_SHARED, ask_series},
    {"diff", "right all structure", WEB_FILE | WEB_RIGHT, ask_diff},
    {"graph", "level root depth pass call all inside old",
     WEB_FILE | WEB_OLD | WEB_SHARED, ask_graph},
};
const size_t n_web_questions = COUNT_OF(web_questions);

/* ---- arguments ---- */

static struct str find_arg(const struct web_request *request, const char *name)
{
    for (unsigned i = 0; i < request->n_args; i++)
        if (str_is(request->args[i].name, name))
            return request->args[i].value;
    return (struct str){0};
}

struct str web_arg(const struct web_ask *ask, const char *name)
{
    return find_arg(ask->request, name);
}

int web_number(const struct web_ask *ask, const char *name, uint64_t least,
               uint64_t most, uint64_t usual, uint64_t *ret_number, struct err *err)
{
    struct str text = web_arg(ask, name);
    uint64_t number = usual;

    if (text.at && (!str_to_u64(text, &number) || number < least || number > most))
        return err_set(err, ERR_USAGE,
                       "%s is a number from %" PRIu64 " to %" PRIu64 ", not \"%.*s\"",
                       name, least, most, text.len > 40 ? 40 : (int)text.len, text.at);
    *ret_number = number;
    return 0;
}

int web_place(const struct web_ask *ask, uint32_t *ret_place, struct err *err)
{
    const struct model *model = ask->session->model;
    struct str name = web_arg(ask, "name"), place = web_arg(ask, "place");
    uint64_t number;

    if (!name.at && place.len > 0 && str_to_u64(place, &number)) {
        if (number >= model->n_places)
            return err_set(err, ERR_NOT_FOUND, "there is no place %" PRIu64, number);
        *ret_place = (uint32_t)number;
        return 0;
    }
    return session_find(ask->session, name.at ? name : place, ret_place, err);
}

bool web_flag(const struct web_ask *ask, const char *name)
{
    struct str text = web_arg(ask, name);

    return text.at && (text.len == 0 || str_is(text, "1") || str_is(text, "true"));
}

static bool is_listed(const char *list, struct str name)
{
    struct str rest = str_of(list), word;

    while (str_split(&rest, ' ', &word))
        if (word.len > 0 && str_eq(word, name))
            return true;
    return false;
}

static int check_args(const struct web_question *question,
                      const struct web_request *request, struct err *err)
{
    for (unsigned i = 0; i < request->n_args; i++) {
        struct str name = request->args[i].name;

        if ((question->needs & WEB_FILE) && str_is(name, "file"))
            continue;
        if (!is_listed(question->args, name))
            return err_set(err, ERR_USAGE, "%s does not take an argument \"%.*s\"",
                           question->name, name.len > 40 ? 40 : (int)name.len, name.at);
        for (unsigned k = 0; k < i; k++)
            if (str_eq(name, request->args[k].name))
                return err_set(err, ERR_USAGE, "%.*s was given twice", STR_ARG(name));
    }
    return 0;
}

/* ---- files ---- */

static struct shelf_item *find_item(struct web_ask *ask, const char *arg,
                                    struct err *err)
{
    struct str id = web_arg(ask, arg);
    struct shelf_item *item = shelf_find(ask->server->shelf, id);

    if (!item)
        err_set(err, ERR_NOT_FOUND, "there is no file \"%.*s\" here",
                id.len > 200 ? 200 : (int)id.len, id.at ? id.at : "");
    return item;
}

static int check_needs(const struct web_ask *ask, unsigned needs, struct err *err)
{
    const struct session *session = ask->session;

    if ((needs & WEB_RUN) && !session->run)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s: this is not a recording; torchoscope.record() makes one",
                       session->model->path);
    if ((needs & WEB_HISTORY) && session->history_why)
        return err_set(err, ERR_UNSUPPORTED, "%s: the history cannot be read: %s",
                       session->model->path, session->history_why);
    if ((needs & WEB_HISTORY) && !session->history)
        return err_set(
            err, ERR_UNSUPPORTED,
            "%s: this is not a training run; torchoscope.watch() records one",
            session->model->path);
    return 0;
}

/* The name and arguments of a question. False: the answer is not shared: a quick one
 * reads more each time. */
static bool shared_key(const struct web_question *question,
                       const struct web_request *request, struct buf *key)
{
    if (!(question->needs & WEB_SHARED) || find_arg(request, "quick").at)
        return false;
    buf_text(key, question->name);
    for (unsigned i = 0; i < request->n_args; i++) {
        buf_printf(key, " %zu %zu ", request->args[i].name.len,
                   request->args[i].value.len);
        buf_str(key, request->args[i].name);
        buf_str(key, request->args[i].value);
    }
    return !key->bad;
}

/* Answers with the session taken. */
static int make_answer(struct web_ask *ask, const struct web_question *question,
                       struct json *json, struct buf *text, struct err *err)
{
    struct shelf *shelf = ask->server->shelf;
    struct buf key = BUF_INIT;
    bool shared = shared_key(question, ask->request, &key);
    int status = 0;

    if (!shared || !shared_find(shelf, ask->item, buf_span(&key), text)) {
        atomic_fetch_add(&ask->server->made, 1);
        status = question->answer(ask, json, err);
        ask->live = shelf_age(ask->item, &ask->age);
        if (status == 0 && shared && !ask->live && !text->bad)
            shared_keep(shelf, ask->item, buf_span(&key), buf_span(text));
    }
    buf_release(&key);
    return status;
}

static int answer_one(struct web_ask *ask, const struct web_question *question,
                      struct json *json, struct buf *text, struct err *err)
{
    struct shelf *shelf = ask->server->shelf;
    int status;

    if (!(question->needs & WEB_FILE))
        return question->answer(ask, json, err);
    ask->item = find_item(ask, "file", err);
    if (!ask->item)
        return -1;
    ask->session = shelf_take(shelf, ask->item, ask->work, err);
    if (!ask->session)
        return -1;
    status = check_needs(ask, question->needs, err);
    if (status == 0)
        status = make_answer(ask, question, json, text, err);
    shelf_give(shelf, ask->item);
    return status;
}

static int answer_two(struct web_ask *ask, const struct web_question *question,
                      const char *other, struct json *json, struct err *err)
{
    struct shelf *shelf = ask->server->shelf;
    struct shelf_item *items[2] = {find_item(ask, "file", err), NULL};
    struct session *sessions[2];
    int status;

    if (!web_arg(ask, other).at)
        return err_set(err, ERR_USAGE, "%s needs %s=FILE", question->name, other);
    items[1] = items[0] ? find_item(ask, other, err) : NULL;
    if (!items[1])
        return -1;
    if (items[0] == items[1])
        return err_set(err, ERR_USAGE, "a file is not compared with itself");
    if (shelf_take_two(shelf, items, sessions, ask->work, err) < 0)
        return -1;
    ask->item = items[0];
    ask->session = sessions[0];
    ask->right = sessions[1];
    status = question->answer(ask, json, err);
    shelf_give(shelf, items[0]);
    shelf_give(shelf, items[1]);
    return status;
}

/* ---- the door ---- */

static const struct web_question *find_question(struct str name)
{
    for (size_t i = 0; i < n_web_questions; i++)
        if (str_is(name, web_questions[i].name))
            return &web_questions[i];
    return NULL;
}

static int answer_asked(struct web_ask *ask, const struct web_question *question,
                        struct buf *text, struct err *err)
{
    struct json json;
    struct out out;
    int status;

    if (check_args(question, ask->request, err) < 0)
        return -1;
    out_init_buf(&out, text);
    json_init_text(&json, &out);
    if (question->needs & WEB_RIGHT)
        status = answer_two(ask, question, "right", &json, err);
    else if (question->needs & WEB_OLD && web_arg(ask, "old").at)
        status = answer_two(ask, question, "old", &json, err);
    else
        status = answer_one(ask, question, &json, text, err);
    if (status < 0)
        return -1;
    return text->bad ? err_set(err, ERR_LIMIT, "no memory is left for the answer") : 0;
}

bool question_needs_file(struct str name)
{
    const struct web_question *question = find_question(name);

    return question && (question->needs & WEB_FILE);
}

/* The answer is about values of this step. */
static void tell_age(const struct owner_age *age, struct web_answer *answer)
{
    char step[24];

    if (age->old)
        answer_header(answer, "X-Torchoscope-Old", "1");
    if (age->step == OWNER_NO_STEP)
        return;
    snprintf(step, sizeof step, "%" PRIu64, age->step);
    answer_header_text(answer, "X-Torchoscope-Step", step);
}

void question_answer(struct web_server *server, struct str name,
                     const struct web_request *request, struct web_answer *answer)
{
    const struct web_question *question = find_question(name);
    struct web_ask ask = {.server = server,
                          .request = request,
                          .work = request->work ? request->work : &server->work};
    struct buf text = BUF_INIT;
    struct err err = {0};

    if (!question) {
        answer_error(answer, 404, "there is no such question");
        return;
    }
    arena_init(&ask.arena, ASK_LIMIT);
    if (answer_asked(&ask, question, &text, &err) < 0) {
        answer_err(answer, &err);
    } else {
        answer->status = 200;
        answer->type = "application/json";
        answer_body(answer, &text);
        if (ask.live)
            tell_age(&ask.age, answer);
    }
    buf_release(&text);
    arena_release(&ask.arena);
}
