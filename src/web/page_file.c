/* The page of a training run as one file: requests its answers as a browser would and
 * stores them in the file, with the question as the key. src/page/api.js looks them
 * up. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/folder.h"
#include "base/map.h"
#include "export/exporters.h"
#include "export/look/look.h"
#include "export/look/tokens.h"
#include "history/grid.h"
#include "web/page_file_in.h"

#define LIMIT        (10 * MIB - 512 * KIB) /* the page itself is in the file, too */
#define LATER        (1500 * KIB) /* reserved for questions after the histograms */
#define MOST_COLUMNS 240u
#define MOST_ALARMS  50u
#define PROBES       16u /* modules whose histograms are measured to estimate sizes */

/* Histograms: columns and rows, the largest first. */
static const unsigned sizes[][2] = {{160, 48}, {120, 48}, {100, 32},
                                    {80, 32},  {60, 24},  {40, 24}};
#define LEAST (COUNT_OF(sizes) - 1)

struct page_making {
    struct session *session;
    const struct export_wanted *wanted;
    struct web_server *server;
    struct buf answers; /* the members of a JSON object */
    struct buf folder;  /* of the file, with its '/' */
    struct arena arena;
    struct map bodies; /* of answers, by hash: the place in `kept` */
    struct kept {
        size_t key, key_len, body, body_len; /* in `answers` */
    } * kept;
    uint32_t n_kept, room;
    uint32_t left_out; /* answers that did not fit */
    struct buf says;   /* lines that describe the content of the file */
};

/* ---- questions ---- */

/* One argument after the other: {"place", "3"}; NULL ends them. */
#define MOST_ARGS 8
struct ask_words {
    const char *name;
    const char *args[2 * MOST_ARGS + 1];
};

/* The body of the answer, or an empty text. Free ret_answer->own. */
static struct str ask_server(struct page_making *self, const struct ask_words *words,
                             struct web_answer *ret_answer)
{
    struct web_request request = {.method = STR("GET"), .work = self->wanted->work};

    for (int i = 0; words->args[i]; i += 2)
        request.args[request.n_args++] =
            (struct web_arg){str_of(words->args[i]), str_of(words->args[i + 1])};
    *ret_answer = (struct web_answer){0};
    question_answer(self->server, str_of(words->name), &request, ret_answer);
    return ret_answer->status == 200 ? str_span(ret_answer->own, ret_answer->len)
                                     : str_span(NULL, 0);
}

static uint64_t hash_of(struct str text)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < text.len; i++)
        hash = (hash ^ (unsigned char)text.at[i]) * 0x100000001b3u;
    return hash;
}

/* Finds an equal answer to another question: its key is stored instead. */
static const struct kept *find_same(struct page_making *self, struct str body,
                                    uint64_t *hash)
{
    uint32_t at;

    for (*hash = hash_of(body); map_find(&self->bodies, *hash, &at); ++*hash) {
        const struct kept *kept = &self->kept[at];

        if (str_eq(body, str_span(self->answers.at + kept->body, kept->body_len)))
            return kept;
    }
    return NULL;
}

static void remember(struct page_making *self, const struct kept *kept, uint64_t hash)
{
    if (arena_room(&self->arena, &self->kept, self->n_kept, &self->room, sizeof *kept) <
            0 ||
        map_put(&self->bodies, hash, self->n_kept) < 0)
        return; /* then it may be stored twice */
    self->kept[self->n_kept++] = *kept;
}

/* Stores an answer under a key; false: there is no room. */
static bool store(struct page_making *self, const char *key, struct str body)
{
    struct buf *to = &self->answers;
    const struct kept *same;
    struct kept kept = {.body_len = body.len};
    uint64_t hash;

    if (to->len + body.len + strlen(key) + 16 > LIMIT) {
        self->left_out++;
        return false;
    }
    same = body.len > 64 ? find_same(self, body, &hash) : NULL;
    buf_text(to, to->len > 0 ? ",\n" : "");
    kept.key = to->len;
    page_string(to, str_of(key));
    kept.key_len = to->len - kept.key;
    buf_char(to, ':');
    kept.body = to->len;
    if (same) {
        struct buf other = BUF_INIT;

        buf_add(&other, to->at + same->key, same->key_len);
        buf_str(to, buf_span(&other));
        buf_release(&other);
        return true;
    }
    buf_str(to, body);
    if (body.len > 64)
        remember(self, &kept, hash);
    return true;
}

/* Asks, and stores the answer; false: none, or no room. */
static bool put(struct page_making *self, const char *key,
                const struct ask_words *words)
{
    struct web_answer answer;
    struct str body = ask_server(self, words, &answer);
    struct buf bare = BUF_INIT;
    bool stored = false;

    if (body.len > 0) {
        if (self->wanted->no_paths) {
            page_without_paths(&bare, body, buf_span(&self->folder));
            body = buf_span(&bare);
        }
        stored = store(self, key, body);
    }
    free(answer.own);
    buf_release(&bare);
    return stored;
}

static bool put_plain(struct page_making *self, const char *name)
{
    return put(self, name, &(struct ask_words){name, {NULL}});
}

/* ---- the list of questions ---- */

static void say(struct page_making *self, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(struct page_making *self, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    buf_vprintf(&self->says, format, args);
    va_end(args);
    buf_char(&self->says, '\n');
}

/* "the graphs of 12 modules"; nothing if there are none. */
static void say_count(struct page_making *self, uint32_t n, const char *one,
                      const char *words)
{
    if (n > 0)
        say(self, "%s%" PRIu32 " %s%s", words, n, one, n == 1 ? "" : "s");
}

static void put_run(struct page_making *self)
{
    struct buf columns = BUF_INIT;

    put_plain(self, "shelf");
    put_plain(self, "info");
    put_plain(self, "rows");
    page_columns(&columns);
    put(self, "rows all",
        &(struct ask_words){"rows", {"columns", buf_cstr(&columns), NULL}});
    buf_release(&columns);
    put(self, "training", &(struct ask_words){"training", {"columns", "1000", NULL}});
    put(self, "modules",
        &(struct ask_words){"modules", {"columns", "240", "least", "1", NULL}});
    put_plain(self, "step");
    put_plain(self, "check");
    say(self, "the overview, in at most %u columns, and curves, in at most 1000",
        MOST_COLUMNS);
}

/* The graph that opens first, then those inside it. */
static void put_graphs(struct page_making *self, bool inner)
{
    const struct model *model = self->session->model;
    struct buf path = BUF_INIT, key = BUF_INIT;
    uint32_t n = 0;

    if (!inner) {
        put_plain(self, "graph");
        put(self, "graph level=ops",
            &(struct ask_words){"graph", {"level", "ops", NULL}});
        if (put_plain(self, "timeline"))
            say(self, "the graph, and the times of the step that was recorded");
        return;
    }
    for (uint32_t p = 1; p < model->n_places; p++) {
        if (model->kind[p] != PLACE_MODULE || model->end[p] == p + 1)
            continue;
        buf_clear(&path);
        buf_clear(&key);
        place_path(model, p, &path);
        buf_printf(&key, "graph root=%s", buf_cstr(&path));
        n += put(self, buf_cstr(&key),
                 &(struct ask_words){"graph", {"root", buf_cstr(&path), NULL}});
    }
    say_count(self, n, "module", "the graphs of ");
    buf_release(&path);
    buf_release(&key);
}

/* ---- histograms ---- */

static void series_words(struct ask_words *words, char texts[3][16], uint32_t place,
                         const char *phase, const unsigned size[2])
{
    snprintf(texts[0], 16, "%" PRIu32, place);
    snprintf(texts[1], 16, "%u", size[0]);
    snprintf(texts[2], 16, "%u", size[1]);
    *words = (struct ask_words){"series",
                                {"place", texts[0], "columns", texts[1], "rows",
                                 texts[2], "phase", phase, NULL}};
}

/* Estimates the bytes of the smallest histograms of a phase from some modules, because
 * reading a long history takes seconds. */
static size_t measure(struct page_making *self, const char *phase)
{
    const struct model *model = self->session->model;
    struct web_answer answer;
    struct ask_words words;
    char texts[3][16];
    size_t total = 0;
    uint32_t modules = 0, looked_at = 0, each;

    for (uint32_t p = 0; p < model->n_places; p++)
        modules += model->kind[p] == PLACE_MODULE;
    each = modules / PROBES + 1;
    for (uint32_t p = 0, k = 0; p < model->n_places; p++) {
        if (model->kind[p] != PLACE_MODULE || k++ % each > 0)
            continue;
        series_words(&words, texts, p, phase, sizes[LEAST]);
        total += ask_server(self, &words, &answer).len;
        free(answer.own);
        looked_at++;
    }
    return looked_at > 0 ? total / looked_at * modules : 0;
}

static double cost_of(const unsigned size[2])
{
    return size[0] * (size[1] * 1.34 + 50);
}

static uint32_t put_phase(struct page_making *self, const char *phase,
                          const unsigned size[2])
{
    const struct model *model = self->session->model;
    struct ask_words words;
    char texts[3][16], key[64];
    uint32_t n = 0;

    for (uint32_t p = 0; p < model->n_places; p++) {
        if (model->kind[p] != PLACE_MODULE || self->answers.len + LATER > LIMIT)
            continue;
        series_words(&words, texts, p, phase, size);
        snprintf(key, sizeof key, "series phase=%s place=%" PRIu32, phase, p);
        n += put(self, key, &words);
    }
    return n;
}

static void put_series(struct page_making *self)
{
    const struct history_summary *training = self->session->training;
    size_t room = LIMIT - LATER - self->answers.len, total = 0, at = 0;
    uint32_t n = 0;

    if (self->wanted->no_values) {
        say(self, "no values: no histograms, no statistics of tensors");
        return;
    }
    for (int i = 0; i < HISTORY_PHASES; i++)
        if (training->phases[i].steps > 0)
            total += measure(self, i == HISTORY_TRAIN ? "train" : "eval");
    while (at < LEAST &&
           (double)total * 1.1 * cost_of(sizes[at]) / cost_of(sizes[LEAST]) >
               (double)room)
        at++;
    for (int i = 0; i < HISTORY_PHASES; i++)
        if (training->phases[i].steps > 0) {
            uint32_t some =
                put_phase(self, i == HISTORY_TRAIN ? "train" : "eval", sizes[at]);
            n = some > n ? some : n;
        }
    if (n > 0)
        say(self,
            "the histograms of %" PRIu32 " module%s, in at most %u columns of %u rows",
            n, n == 1 ? "" : "s", sizes[at][0], sizes[at][1]);
}

/* ---- numbers of steps, places ---- */

/* The overview's numbers of a step, and the table's. */
static bool put_step(struct page_making *self, uint64_t step)
{
    char text[24], key[40];

    snprintf(text, sizeof text, "%" PRIu64, step);
    snprintf(key, sizeof key, "cells step=%" PRIu64, step);
    if (!put(self, key,
             &(struct ask_words){
                 "rows", {"columns", "grad,update,weight,dead", "step", text, NULL}}))
        return false;
    snprintf(key, sizeof key, "step step=%" PRIu64, step);
    return put(self, key, &(struct ask_words){"step", {"step", text, NULL}});
}

/* Is it in the file already? */
static bool is_alarm(const struct history_alarm *alarms, uint32_t n, uint64_t step)
{
    for (uint32_t i = 0; i < n; i++)
        if (alarms[i].step == step)
            return true;
    return false;
}

/* The last step of each column, and those of alarms, in a third of the room. */
static void put_steps(struct page_making *self)
{
    const struct history_steady steady = {.most = MOST_COLUMNS, .points = true};
    struct history *history = self->session->history;
    size_t begin = self->answers.len, room = (LIMIT - begin) / 3;
    struct history_alarm *alarms;
    struct history_grid grid;
    uint32_t n_alarms = 0, n = 0;

    if (history_read_alarms(history, 0, MOST_ALARMS, &self->arena, &alarms, &n_alarms,
                            NULL) == 0)
        for (uint32_t i = 0; i < n_alarms; i++)
            if (!is_alarm(alarms, i, alarms[i].step))
                n += put_step(self, alarms[i].step);
    if (history_grid_steady(&grid, history, &steady, &self->arena, NULL) < 0)
        return;
    for (uint32_t each = 1; each <= 256; each *= 2) {
        size_t one = n > 0 ? (self->answers.len - begin) / n : 4096;

        if (one * (grid.columns / each) > room && each < 256)
            continue;
        for (uint32_t i = 0; i < grid.columns; i += each)
            if (!is_alarm(alarms, n_alarms, grid.last[i]))
                n += put_step(self, grid.last[i]);
        break;
    }
    say_count(self, n, "step", "the numbers of ");
}

static void put_places(struct page_making *self)
{
    static const char quantiles[] = "0.1,1,5,25,50,75,95,99,99.9";
    const struct model *model = self->session->model;
    char place[16], key[40];
    uint32_t n = 0, n_code = 0;

    for (uint32_t p = 0; p < model->n_places; p++) {
        struct ask_words words = {"show", {"place", place, NULL}};

        snprintf(place, sizeof place, "%" PRIu32, p);
        snprintf(key, sizeof key, "show place=%" PRIu32, p);
        if (model->kind[p] == PLACE_TENSOR)
            words = (struct ask_words){"show",
                                       {"place", place, "bins", "125", "inner", "1",
                                        "quantiles", quantiles, NULL}};
        if (!self->wanted->no_values)
            n += put(self, key, &words);
        if (model->kind[p] != PLACE_MODULE || self->wanted->no_source)
            continue;
        snprintf(key, sizeof key, "code place=%" PRIu32, p);
        n_code += put(self, key, &(struct ask_words){"code", {"place", place, NULL}});
    }
    if (!self->wanted->no_values)
        say_count(self, n, "place", "the details of ");
    if (self->wanted->no_source)
        say(self, "no source code");
    else if (n_code > 0)
        say(self, "the source code of the classes");
}

static void put_all(struct page_making *self)
{
    put_run(self);
    put_graphs(self, false);
    put_series(self);
    put_steps(self);
    put_places(self);
    put_graphs(self, true);
    say(self, self->wanted->no_paths ? "no paths of files" : "the paths of files");
    if (self->left_out > 0)
        say(self, "left out, so that it is not larger than 10MB: %" PRIu32 " parts",
            self->left_out);
}

/* ---- the file ---- */

/* The list of contents, as JSON, and for the caller. */
static void put_contents(struct page_making *self)
{
    struct str rest = buf_span(&self->says), line;
    struct buf *to = &self->answers;
    bool first = true;

    buf_text(to, to->len > 0 ? ",\n\"contents\":[" : "\"contents\":[");
    while (str_split(&rest, '\n', &line)) {
        if (line.len == 0)
            continue;
        buf_text(to, first ? "" : ",");
        page_string(to, line);
        first = false;
    }
    buf_char(to, ']');
    if (self->wanted->contents)
        buf_str(self->wanted->contents, buf_span(&self->says));
}

static void write_html(const struct page_making *self, struct out *out)
{
    const char *theme = self->wanted->theme;
    const struct page_texts texts = page_texts();
    struct str html = texts.html, head;
    struct buf hash = BUF_INIT;
    size_t link = (size_t)str_find(html, STR("<link rel=\"stylesheet\"")),
           end = (size_t)str_find(html, STR("</head>")),
           root = (size_t)str_find(html, STR("<html")),
           foot = (size_t)str_find(html, STR("</body>"));

    look_script_hash(&hash, texts.script.at);
    head = str_span(html.at + root + 5, link - root - 5);
    out_str(out, str_span(html.at, root + 5));
    if (theme)
        out_printf(out, " data-theme=\"%s\"", theme);
    out_str(out, head);
    out_printf(out,
               "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
               "'none'; style-src 'unsafe-inline'; script-src 'sha256-%s'; img-src "
               "data: blob:; base-uri 'none'; form-action 'none'\">\n<style>\n",
               buf_cstr(&hash));
    tokens_css(out);
    out_str(out, texts.style);
    out_text(out, "</style>\n");
    out_str(out, str_span(html.at + end, foot - end));
    out_text(out, "<script type=\"application/json\" id=\"answers\">{\n");
    look_document(out, buf_span(&self->answers));
    out_text(out, "}</script>\n<script>");
    out_str(out, texts.script);
    out_text(out, "</script>\n");
    out_str(out, str_from(html, foot));
    buf_release(&hash);
}

int web_page_file(struct out *out, struct session *session,
                  const struct export_wanted *wanted, struct err *err)
{
    struct page_making self = {.session = session, .wanted = wanted};
    const struct web_wanted none = {.open = true};
    const char *path = session->model->path ? session->model->path : "training";
    const char *name = wanted->title ? wanted->title : path_last(path).at;
    struct shelf *shelf = shelf_new(err);
    int status = -1;

    if (!shelf || shelf_add_session(shelf, name, session, err) < 0) {
        shelf_free(shelf);
        return -1;
    }
    self.server = web_server_new(shelf, &none, err);
    if (!self.server)
        return -1;
    arena_init(&self.arena, 256 * MIB);
    map_init(&self.bodies, &self.arena);
    buf_add(&self.folder, path, (size_t)(path_last(path).at - path));
    put_all(&self);
    if (wanted->work && work_cancelled(wanted->work)) {
        err_set(err, ERR_CANCELLED, "cancelled");
    } else if (self.answers.bad) {
        err_set(err, ERR_LIMIT, "no memory is left for the page");
    } else {
        put_contents(&self);
        write_html(&self, out);
        status = 0;
    }
    web_server_free(self.server);
    arena_release(&self.arena);
    buf_release(&self.answers);
    buf_release(&self.folder);
    buf_release(&self.says);
    return status;
}
