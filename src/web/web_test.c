/* Requests without sockets. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/test.h"
#include "session/sample_session.h"
#include "web/stage_in.h"

static const char *header(const struct stage *s, const char *name)
{
    for (unsigned i = 0; i < s->answer.n_headers; i++)
        if (str_is_word(str_of(s->answer.headers[i].name), name))
            return s->answer.headers[i].value;
    return NULL;
}

/* ---- the guard ---- */

TEST(only_requests_to_names_of_this_host_are_served)
{
    static const char *const good[] = {
        "localhost",  "LOCALHOST:1",     "127.0.0.1:8080",     "[::1]",
        "[::1]:8080", "hub.example.org", "hub.example.org:443"};
    static const char *const bad[] = {"",
                                      "evil.example",
                                      "localhost.evil.example",
                                      "127.0.0.1.evil.example:80",
                                      "localhost:80:80",
                                      "[::1",
                                      "::1",
                                      "hub.example.org.",
                                      "a@localhost"};
    struct stage s;

    stage_begin(&s);
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        s.request.host = str_of(good[i]);
        CHECK_INT(ask(&s, ""), 200);
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        s.request.host = str_of(bad[i]);
        CHECK_INT(ask(&s, ""), 403);
        CHECK(says(&s, "--allow-host"));
    }
    s.request.host = (struct str){0};
    CHECK_INT(ask(&s, ""), 403);
    stage_end(&s);
}

TEST(a_page_of_another_site_is_refused)
{
    static const char *const good[] = {
        "http://localhost:8080", "https://LOCALHOST:8080", "https://hub.example.org"};
    static const char *const bad[] = {"null", "", "http://evil.example",
                                      "http://localhost:8081", "http://localhost"};
    struct stage s;

    stage_begin(&s);
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        s.request.origin = str_of(good[i]);
        CHECK_INT(ask(&s, "api/shelf"), 200);
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        s.request.origin = str_of(bad[i]);
        CHECK_INT(ask(&s, "api/shelf"), 403);
        CHECK_INT(ask(&s, ""), 403);
        CHECK_INT(ask(&s, "none.js"), 403);
        CHECK_INT(ask(&s, "page.js"), 200); /* behind a proxy */
        CHECK_INT(ask(&s, "more.js"), 200);
    }
    stage_end(&s);
}

TEST(data_needs_the_token_and_the_page_does_not)
{
    static const char *const data[] = {"api/shelf", "api/nothing", "api/", "events"};
    char wrong[WEB_TOKEN];
    struct stage s;

    stage_begin(&s);
    CHECK_INT(s.request.token.len, 32);
    memcpy(wrong, s.request.token.at, sizeof wrong);
    wrong[31] ^= 1;
    for (size_t i = 0; i < COUNT_OF(data); i++) {
        s.request.token = str_of(wrong);
        CHECK_INT(ask(&s, data[i]), 401);
        CHECK(says(&s, "\"kind\": \"error\""));
        s.request.token = str_head(str_of(web_server_token(s.server)), 31);
        CHECK_INT(ask(&s, data[i]), 401);
        s.request.token = (struct str){0};
        CHECK_INT(ask(&s, data[i]), 401);
        CHECK(!s.answer.stream);
    }
    CHECK_INT(ask(&s, ""), 200);
    CHECK_INT(ask(&s, "page.js"), 200);
    CHECK_INT(ask(&s, "page.css"), 200);
    stage_end(&s);
}

TEST(only_reading_methods_are_allowed)
{
    struct stage s;

    stage_begin(&s);
    s.request.method = STR("POST");
    CHECK_INT(ask(&s, "api/shelf"), 405);
    CHECK_STR(header(&s, "Allow"), "GET, HEAD");
    s.request.method = STR("HEAD");
    CHECK_INT(ask(&s, "api/shelf"), 200);
    CHECK_INT(ask(&s, "events"), 200);
    CHECK(!s.answer.stream);
    s.request.has_body = true;
    CHECK_INT(ask(&s, "api/shelf"), 413);
    s.request.has_body = false;
    s.request.odd = true;
    CHECK_INT(ask(&s, "api/shelf"), 400);
    s.request.odd = false;
    s.request.too_many = true;
    CHECK_INT(ask(&s, "api/shelf"), 400);
    stage_end(&s);
}

TEST(every_answer_has_the_strict_headers)
{
    static const char *const all[] = {"", "api/shelf", "api/nothing", "nothing",
                                      "events"};
    struct stage s;

    stage_begin(&s);
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        ask(&s, all[i]);
        CHECK(str_starts(str_of(header(&s, "Content-Security-Policy")),
                         STR("default-src 'none'; script-src 'self'; ")));
        CHECK(str_ends(str_of(header(&s, "Content-Security-Policy")),
                       STR("frame-ancestors 'self' https://hub.example.org:* "
                           "http://hub.example.org:*")));
        CHECK_STR(header(&s, "X-Content-Type-Options"), "nosniff");
        CHECK_STR(header(&s, "Referrer-Policy"), "no-referrer");
        CHECK_STR(header(&s, "Cross-Origin-Resource-Policy"), "same-origin");
        CHECK_STR(header(&s, "Cache-Control"), i == 0 ? "no-cache" : "no-store");
    }
    stage_end(&s);
}

/* ---- paths ---- */

TEST(paths_outside_the_table_do_not_exist)
{
    static const char *const none[] = {"index.html", "../etc/passwd",  "/etc/passwd",
                                       "page.js/",   "page.css/../..", "api",
                                       "events/",    "sample",         "page.js%00"};
    struct stage s;

    stage_begin(&s);
    for (size_t i = 0; i < COUNT_OF(none); i++)
        CHECK_INT(ask(&s, none[i]), 404);
    stage_end(&s);
}

TEST(a_page_that_the_browser_has_cached_is_not_sent_again)
{
    struct stage s;
    char etag[32];

    stage_begin(&s);
    CHECK_INT(ask(&s, "page.js"), 200);
    CHECK(header(&s, "ETag") && strlen(header(&s, "ETag")) < sizeof etag);
    memcpy(etag, header(&s, "ETag"), strlen(header(&s, "ETag")) + 1);
    s.request.etag = str_of(etag);
    CHECK_INT(ask(&s, "page.js"), 304);
    CHECK_INT(s.text.len, 0);
    CHECK_INT(ask(&s, "page.css"), 200);
    stage_end(&s);
}

TEST(long_answers_are_compressed_for_clients_that_accept_it)
{
    static const char *const yes[] = {"gzip", "br, gzip;q=0.5", "*", "deflate,gzip"};
    static const char *const no[] = {"",         "identity", "gzip;q=0", "gzip; q=0.0",
                                     "x-gzip;1", ",;,",      "gzipped"};
    struct stage s;
    size_t plain;

    stage_begin(&s);
    CHECK_INT(ask(&s, "page.js"), 200);
    plain = s.text.len;
    CHECK(!header(&s, "Content-Encoding"));
    CHECK_STR(header(&s, "Vary"), "Accept-Encoding");
    for (size_t i = 0; i < COUNT_OF(no); i++) {
        s.request.accepts = str_of(no[i]);
        CHECK_INT(ask(&s, "page.js"), 200);
        CHECK(!header(&s, "Content-Encoding"));
        CHECK_INT(s.text.len, plain);
    }
    for (size_t i = 0; i < COUNT_OF(yes); i++) {
        s.request.accepts = str_of(yes[i]);
        CHECK_INT(ask(&s, "page.js"), 200);
        CHECK_STR(header(&s, "Content-Encoding"), "gzip");
        CHECK(s.text.len < plain / 2);
        CHECK(memcmp(s.text.at, "\x1f\x8b", 2) == 0);
    }
    CHECK_INT(ask(&s, "api/nothing"), 404);
    CHECK(!header(&s, "Content-Encoding"));
    stage_end(&s);
}

/* ---- questions ---- */

TEST(a_request_answers_about_a_file_of_the_shelf)
{
    struct stage s;

    stage_begin(&s);
    CHECK_INT(ask(&s, "api/shelf"), 200);
    CHECK(says(&s, "\"kind\": \"shelf\"") && says(&s, "\"file\": \"sample\""));
    CHECK(says(&s, "\"has\": [\"values\"]"));
    CHECK_INT(ask(&s, "api/info?file=sample"), 200);
    CHECK(says(&s, "\"kind\": \"info\""));
    CHECK_INT(ask(&s, "api/info"), 200);
    CHECK_INT(ask(&s, "api/check?file=sample"), 200);
    CHECK(says(&s, "\"kind\": \"check\""));
    stage_end(&s);
}

TEST(a_place_is_a_number_or_a_full_name)
{
    char address[64];
    struct stage s;

    stage_begin(&s);
    snprintf(address, sizeof address, "api/show?place=%u&bins=3",
             sample_place(s.session, "a.weight"));
    CHECK_INT(ask(&s, address), 200);
    CHECK(says(&s, "\"name\": \"a.weight\"") && says(&s, "\"bins\": ["));
    CHECK_INT(ask(&s, "api/show?place=a.weight"), 200);
    CHECK_INT(ask(&s, "api/show?name=a.weight&slice=0"), 200);
    CHECK(says(&s, "\"index\": \"0\""));
    CHECK_INT(ask(&s, "api/show"), 200);
    CHECK(says(&s, "\"name\": \"\""));
    CHECK_INT(ask(&s, "api/show?place=99999"), 404);
    CHECK_INT(ask(&s, "api/show?name=a.wieght"), 404);
    CHECK_INT(ask(&s, "api/show?name=a.weight&slice=7"), 400);
    CHECK_INT(ask(&s, "api/show?name=lost&slice=0"), 200);
    stage_end(&s);
}

TEST(an_invalid_request_gets_an_explanation)
{
    static const struct {
        const char *address;
        unsigned status;
        const char *why;
    } wrong[] = {
        {"api/nothing", 404, "no such question"},
        {"api/info?file=other", 404, "no file \\\"other\\\""},
        {"api/info?file=../sample", 404, "no file"},
        {"api/info?depth=1", 400, "does not take an argument \\\"depth\\\""},
        {"api/show?bins=0", 400, "from 1 to 10000"},
        {"api/show?name=a.weight&bins=0", 400, "from 1 to 10000"},
        {"api/show?name=a.weight&bins=1e9", 400, "from 1 to 10000"},
        {"api/show?name=a.weight&quantiles=101", 400, "percents"},
        {"api/show?name=a&name=b", 400, "twice"},
        {"api/show?step=1", 400, "no history"},
        {"api/diff", 400, "right=FILE"},
        {"api/diff?right=sample", 400, "with itself"},
        {"api/news?since=-1", 400, "since"},
    };
    struct stage s;

    stage_begin(&s);
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        CHECK_INT(ask(&s, wrong[i].address), wrong[i].status);
        CHECK(says(&s, wrong[i].why));
    }
    stage_end(&s);
}

/* ---- the shelf ---- */

static void write_numbers(const char *path, const char *dtype)
{
    FILE *file = fopen(path, "wb");
    char head[128];
    uint64_t len;

    CHECK(file);
    snprintf(head, sizeof head,
             "{\"w\":{\"dtype\":\"%s\",\"shape\":[1],\"data_offsets\":[0,4]}}", dtype);
    len = strlen(head);
    fwrite(&len, 8, 1, file);
    fwrite(head, 1, len, file);
    fwrite("\0\0\0\0", 1, 4, file);
    fclose(file);
}

TEST(files_are_opened_on_demand_and_few_stay_open)
{
    char folder[] = "/tmp/torchoscope-shelf-XXXXXX", path[64];
    struct shelf *shelf = shelf_new(NULL);
    struct shelf_item *item;
    struct session *session;

    CHECK(shelf && mkdtemp(folder));
    for (int i = 0; i < 20; i++) {
        snprintf(path, sizeof path, "%s/%d.safetensors", folder, i);
        write_numbers(path, "F32");
        CHECK(shelf_add(shelf, path, NULL, NULL) == 0);
    }
    for (int i = 0; i < 60; i++) {
        snprintf(path, sizeof path, "%d.safetensors", i % 20);
        item = shelf_find(shelf, str_of(path));
        session = item ? shelf_take(shelf, item, NULL, NULL) : NULL;
        CHECK(session && session->model->n_tensors == 1);
        shelf_give(shelf, item);
    }
    CHECK(!shelf_find(shelf, STR("20.safetensors")));
    CHECK(!shelf_find(shelf, str_of(folder)));
    for (int i = 0; i < 20; i++) {
        snprintf(path, sizeof path, "%s/%d.safetensors", folder, i);
        unlink(path);
    }
    CHECK(!shelf_take(shelf, shelf_find(shelf, STR("3.safetensors")), NULL, NULL));
    shelf_free(shelf);
    rmdir(folder);
}

TEST(a_replaced_file_is_read_again_and_announced)
{
    char folder[] = "/tmp/torchoscope-shelf-XXXXXX", path[64];
    struct shelf *shelf = shelf_new(NULL);
    struct session *session;
    struct shelf_item *item;
    uint64_t before;

    CHECK(shelf && mkdtemp(folder));
    snprintf(path, sizeof path, "%s/x.safetensors", folder);
    write_numbers(path, "F32");
    CHECK(shelf_add(shelf, path, NULL, NULL) == 0);
    item = shelf_find(shelf, STR("x.safetensors"));
    before = shelf_news(shelf);
    write_numbers(path, "BOOL");
    write_numbers(path, "I32");
    unlink(path);
    write_numbers(path, "I32");
    session = shelf_take(shelf, item, NULL, NULL);
    CHECK(session && session->model->tensors[0].dtype == DTYPE_INT32);
    shelf_give(shelf, item);
    CHECK(shelf_news(shelf) > before);
    before = shelf_news(shelf);
    CHECK(shelf_take(shelf, item, NULL, NULL));
    shelf_give(shelf, item);
    CHECK_INT(shelf_news(shelf), before);
    CHECK(shelf_add(shelf, path, NULL, NULL) == 0);
    CHECK(shelf_find(shelf, str_of(path)) && shelf_find(shelf, str_of(path)) != item);
    shelf_free(shelf);
    unlink(path);
    rmdir(folder);
}
