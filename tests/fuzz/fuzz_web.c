/* Requests to the server, without a socket: any method, path, arguments and headers,
 * about a recording in memory, a training run and a file in a temporary folder. The
 * first line is "METHOD path?name=value&...", with %XX for bytes; then headers "name:
 * value", where the token "T" is replaced by the valid one. Every answer must have a
 * known status, and those in JSON must be JSON. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/base.h"
#include "base/json_read.h"
#include "base/test.h"
#include "history/writer.h"
#include "run/sample_run.h"
#include "web/web.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct web_server *server;
static struct session *session;
static struct run *run;
static char folder[] = "/tmp/torchoscope-fuzz-XXXXXX";

/* What sample_run_test.c needs of the unit tests. */
void test_fail(const char *file, int line, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fprintf(stderr, "%s:%d: ", file, line);
    vfprintf(stderr, format, args);
    va_end(args);
    abort();
}

/* ---- served content ---- */

static void write_file(const char *path)
{
    const char head[] = "{\"a.w\":{\"dtype\":\"F32\",\"shape\":[2,3],"
                        "\"data_offsets\":[0,24]},\"b\":{\"dtype\":\"I64\","
                        "\"shape\":[1],\"data_offsets\":[24,32]}}";
    const float values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    uint64_t len = sizeof head - 1;
    FILE *file = fopen(path, "wb");

    if (!file)
        abort();
    fwrite(&len, 8, 1, file);
    fwrite(head, 1, len, file);
    fwrite(values, 1, sizeof values, file);
    fclose(file);
}

static void write_training(const char *path)
{
    const struct history_options options = {.text = STR("host 1")};
    const struct history_series series = {
        .place = 2, .kind = HISTORY_PARAM, .name = STR("a.weight")};
    struct history_writer *writer =
        history_writer_create(path, run, NULL, &options, NULL);
    uint32_t name, number;

    if (!writer)
        abort();
    name = history_writer_name(writer, STR("loss"));
    number = history_writer_series(writer, &series);
    for (unsigned step = 0; step < 20; step++) {
        struct history_point point = {.series = number, .merged = 1};

        stats_init(&point.stats, DTYPE_FLOAT32);
        point.stats.count = 6;
        point.stats.min = -1.0 * step;
        point.stats.max = step;
        history_writer_begin(writer, step, step % 5 ? HISTORY_TRAIN : HISTORY_EVAL, 0);
        history_writer_point(writer, &point);
        history_writer_scalar(writer, name, 1.0 / (step + 1));
        history_writer_end(writer, 0);
    }
    if (history_writer_close(writer, NULL) < 0)
        abort();
}

static void clean_up(void)
{
    char path[128];
    static const char *const names[] = {"w.safetensors", "run.scope"};

    web_server_free(server);
    session_close(session);
    run_free(run);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

static void begin(void)
{
    static const char *const proxies[] = {"hub.example.org"};
    const struct web_wanted wanted = {
        .allow_hosts = proxies, .n_allow_hosts = 1, .token = "the-token-of-the-fuzzer"};
    struct shelf *shelf = shelf_new(NULL);
    char path[128];

    run = sample_run(3);
    session = session_on_run(run, NULL, NULL);
    if (!shelf || !session || !mkdtemp(folder) ||
        shelf_add_session(shelf, "recording", session, NULL) < 0)
        abort();
    snprintf(path, sizeof path, "%s/w.safetensors", folder);
    write_file(path);
    if (shelf_add(shelf, path, NULL, NULL) < 0)
        abort();
    snprintf(path, sizeof path, "%s/run.scope", folder);
    write_training(path);
    if (shelf_add(shelf, path, NULL, NULL) < 0)
        abort();
    server = web_server_new(shelf, &wanted, NULL);
    if (!server)
        abort();
    atexit(clean_up);
}

/* ---- one request ---- */

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10 : -1;
}

/* Decodes in place, like the library. */
static struct str decode(char *text, size_t len)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        int high = i + 2 < len ? digit(text[i + 1]) : -1;
        int low = i + 2 < len ? digit(text[i + 2]) : -1;

        if (text[i] == '%' && high >= 0 && low >= 0) {
            text[n++] = (char)(high * 16 + low);
            i += 2;
        } else {
            text[n++] = text[i];
        }
    }
    return str_span(text, n);
}

static struct str decode_str(struct str text)
{
    return text.at ? decode((char *)(uintptr_t)text.at, text.len) : text;
}

static void read_target(struct web_request *request, struct str target)
{
    struct str part = {0};

    str_split(&target, '?', &part);
    request->path = decode_str(part);
    while (target.len > 0 && str_split(&target, '&', &part)) {
        struct web_arg *arg;

        if (request->n_args == WEB_ARGS) {
            request->too_many = true;
            break;
        }
        arg = &request->args[request->n_args++];
        arg->value = part;
        str_split(&arg->value, '=', &arg->name);
        arg->name = decode_str(arg->name);
        arg->value = arg->value.at ? decode_str(arg->value) : STR("");
    }
}

static void read_header(struct web_request *request, struct str name, struct str value)
{
    value = str_trim(value);
    if (str_is(name, "host"))
        request->host = value;
    else if (str_is(name, "origin"))
        request->origin = value;
    else if (str_is(name, "token"))
        request->token = str_is(value, "T") ? str_of(web_server_token(server)) : value;
    else if (str_is(name, "etag"))
        request->etag = value;
    else if (str_is(name, "accepts"))
        request->accepts = value;
    else if (str_is(name, "body"))
        request->has_body = true;
    else if (str_is(name, "odd"))
        request->odd = true;
    else if (str_is(name, "late"))
        request->late = true;
}

static void must(bool good, const char *why)
{
    if (good)
        return;
    fprintf(stderr, "%s\n", why);
    abort();
}

static void check_json(struct str text)
{
    enum json_token token;
    struct json_read json;
    struct arena arena;

    arena_init(&arena, 64 * MIB);
    json_read_init(&json, text, &arena);
    do
        token = json_next(&json);
    while (token != JSON_END && token != JSON_ERROR);
    must(token == JSON_END, "an answer is no JSON");
    arena_release(&arena);
}

/* The uncompressed body, malloc()ed. */
static struct str unpack(struct str body)
{
    enum { ROOM = 1 << 26 };
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)body.at,
                       .avail_in = (unsigned)body.len,
                       .avail_out = ROOM};
    char *to = malloc(ROOM);

    must(to && inflateInit2(&stream, 15 + 16) == Z_OK, "no memory");
    stream.next_out = (Bytef *)to;
    must(inflate(&stream, Z_FINISH) == Z_STREAM_END, "a body is not what gzip makes");
    inflateEnd(&stream);
    return str_span(to, stream.total_out);
}

static bool is_packed(const struct web_answer *answer)
{
    for (unsigned i = 0; i < answer->n_headers; i++)
        if (strcmp(answer->headers[i].name, "Content-Encoding") == 0)
            return true;
    return false;
}

static void check(const struct web_answer *answer)
{
    static const unsigned known[] = {200, 304, 400, 401, 403, 404,
                                     405, 409, 413, 500, 503};
    struct str body = answer->own ? str_span(answer->own, answer->len) : answer->fixed;
    bool good = false, packed = is_packed(answer);

    if (packed)
        body = unpack(body);
    for (size_t i = 0; i < COUNT_OF(known); i++)
        good |= answer->status == known[i];
    must(good, "a status that is not known");
    if (answer->type && strcmp(answer->type, "application/json") == 0)
        check_json(body);
    if (packed)
        free((void *)(uintptr_t)body.at);
    for (unsigned i = 0; i < answer->n_headers; i++)
        must(!strpbrk(answer->headers[i].value, "\r\n"), "a header of two lines");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct web_request request = {.host = STR("localhost")};
    struct web_answer answer;
    char *copy;
    struct str rest, line = {0}, name = {0};

    if (!server)
        begin();
    copy = malloc(size + 1);
    if (!copy)
        abort();
    memcpy(copy, data, size);
    copy[size] = '\0';
    rest = str_span(copy, size);
    request.token = str_of(web_server_token(server));
    str_split(&rest, '\n', &line);
    str_split(&line, ' ', &name);
    request.method = name;
    read_target(&request, line);
    while (rest.len > 0 && str_split(&rest, '\n', &line)) {
        str_split(&line, ':', &name);
        read_header(&request, name, line);
    }
    web_answer(server, &request, &answer);
    check(&answer);
    free(answer.own);
    free(copy);
    return 0;
}
