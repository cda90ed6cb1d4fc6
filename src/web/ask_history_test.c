/* Questions about a training run, without sockets. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/base.h"
#include "base/test.h"
#include "history/writer.h"
#include "run/sample_run.h"
#include "web/web_in.h"

struct history_stage {
    char path[64];
    struct session *session;
    struct web_server *server;
    struct buf text;
};

static void put_gradient(struct history_writer *writer, const struct model *model,
                         float value)
{
    const float values[2] = {value, value};
    struct history_series series = {.place = place_find(model, STR("a.weight")),
                                    .kind = HISTORY_GRAD_PARAM,
                                    .name = STR("a.weight")};
    struct history_point point = {.merged = 1};

    point.series = history_writer_series(writer, &series);
    stats_init(&point.stats, DTYPE_FLOAT32);
    stats_add(&point.stats, NULL, DTYPE_FLOAT32, values, 2, 0, MEASURE_EXACT);
    history_writer_point(writer, &point);
}

static void write_step(struct history_writer *writer, const struct model *model,
                       uint64_t step)
{
    history_writer_begin(writer, step, HISTORY_TRAIN, (step + 1) * 1000000000u);
    put_gradient(writer, model, (float)step + 1);
    history_writer_scalar(writer, history_writer_name(writer, STR("loss")),
                          (double)step);
    history_writer_end(writer, 0);
}

/* A writer of a new file in s->path, with 20 steps. */
static struct history_writer *begin_file(struct history_stage *s, const struct run *run)
{
    struct history_writer *writer;
    int fd;

    *s = (struct history_stage){.text = BUF_INIT};
    snprintf(s->path, sizeof s->path, "/tmp/torchoscope_web_XXXXXX");
    fd = mkstemp(s->path);
    CHECK(fd >= 0);
    close(fd);
    writer = history_writer_create(s->path, run, NULL,
                                   &(struct history_options){.queue = 100}, NULL);
    CHECK(writer);
    for (uint64_t i = 0; i < 20; i++)
        write_step(writer, run->model, i);
    return writer;
}

static void stage_begin(struct history_stage *s)
{
    const struct web_wanted wanted = {0};
    struct shelf *shelf = shelf_new(NULL);
    struct run *run = sample_run(1);

    CHECK_INT(history_writer_close(begin_file(s, run), NULL), 0);
    run_free(run);
    s->session = session_open(s->path, NULL, NULL);
    CHECK(shelf && s->session && s->session->history);
    CHECK_INT(shelf_add_session(shelf, "run", s->session, NULL), 0);
    s->server = web_server_new(shelf, &wanted, NULL);
    CHECK(s->server);
}

static void stage_end(struct history_stage *s)
{
    buf_release(&s->text);
    web_server_free(s->server);
    session_close(s->session);
    unlink(s->path);
}

static unsigned ask(struct history_stage *s, const char *address)
{
    struct web_request request = {.method = STR("GET"),
                                  .host = STR("localhost:8080"),
                                  .token = str_of(web_server_token(s->server))};
    struct str rest = str_of(address), arg;
    struct web_answer answer = {0};

    str_split(&rest, '?', &request.path);
    while (request.n_args < WEB_ARGS && rest.len > 0 && str_split(&rest, '&', &arg)) {
        struct web_arg *to = &request.args[request.n_args++];

        to->value = arg;
        str_split(&to->value, '=', &to->name);
    }
    web_answer(s->server, &request, &answer);
    buf_clear(&s->text);
    if (answer.own)
        buf_add(&s->text, answer.own, answer.len);
    else
        buf_str(&s->text, answer.fixed);
    free(answer.own);
    return answer.status;
}

static bool says(const struct history_stage *s, const char *part)
{
    return str_find(buf_span(&s->text), str_of(part)) >= 0;
}

TEST(a_training_run_answers_requests)
{
    struct history_stage s;

    stage_begin(&s);
    CHECK_INT(ask(&s, "api/training?file=run"), 200);
    CHECK(says(&s, "\"kind\":\"training\"") && says(&s, "healthy in 20 logged steps"));
    CHECK_INT(ask(&s, "api/training?file=run&columns=5&since=17"), 200);
    CHECK(says(&s, "\"columns\":{\"columns\":1,\"first\":[16],\"last\":[19]"));
    CHECK_INT(ask(&s, "api/modules?file=run&columns=10&quick=1"), 200);
    CHECK(says(&s, "\"columns\":{\"columns\":10,") && says(&s, "\"width\":2"));
    CHECK_INT(ask(&s, "api/modules?file=run&from=4&to=7&around=5"), 200);
    CHECK(says(&s, "\"columns\":{\"columns\":4,\"first\":[4,5,6,7]"));
    CHECK(says(&s, "\"close_up\":\"00000000000000\""));
    CHECK_INT(ask(&s, "api/step?file=run&step=3"), 200);
    CHECK(says(&s, "\"text\":\"step 3\""));
    CHECK_INT(ask(&s, "api/step?file=run"), 200);
    CHECK(says(&s, "\"text\":\"step 19\""));
    CHECK_INT(ask(&s, "api/series?file=run&place=a&rows=8&log=1&clip=0.01&at=3"), 200);
    CHECK(says(&s, "\"name\":\"a.weight\"") && says(&s, "\"own\":{\"first\":3"));
    CHECK_INT(ask(&s, "api/series?file=run&name=a.weight&rows=0&phase=train"), 200);
    CHECK(says(&s, "\"kind\":\"grad_param\"") && !says(&s, "\"histogram\""));
    CHECK_INT(ask(&s, "api/series?file=run&below=1&phase=eval"), 200);
    CHECK(says(&s, "\"series\":[]"));
    stage_end(&s);
}

TEST(an_answer_that_several_clients_request_is_made_once_for_each_step)
{
    static const char *const shared[] = {
        "api/show?name=a&step=newest", "api/training",
        "api/modules?columns=10",      "api/step",
        "api/series?place=a",          "api/rows?columns=grad"};
    const struct web_wanted wanted = {0};
    struct shelf *shelf = shelf_new(NULL);
    struct run *run = sample_run(1);
    struct history_writer *writer;
    struct shelf_live live;
    struct history_stage s;

    writer = begin_file(&s, run);
    history_writer_flush(writer);
    live = (struct shelf_live){.name = "run",
                               .owner = owner_new(),
                               .model = run->model,
                               .run = run,
                               .path = s.path};
    CHECK_INT(shelf_add_live(shelf, &live, NULL, NULL), 0);
    s.server = web_server_new(shelf, &wanted, NULL);
    for (size_t i = 0; i < COUNT_OF(shared); i++) {
        uint64_t before = s.server->made;

        for (int client = 0; client < 5; client++)
            CHECK_INT(ask(&s, shared[i]), 200);
        CHECK_INT(s.server->made, before + 1);
    }
    CHECK_INT(ask(&s, "api/step"), 200);
    CHECK(says(&s, "\"text\":\"step 19\""));
    CHECK_INT(ask(&s, "api/step?step=3"), 200);
    CHECK(says(&s, "\"text\":\"step 3\""));
    write_step(writer, run->model, 20);
    history_writer_flush(writer);
    owner_answer(live.owner, 20);
    CHECK_INT(ask(&s, "api/step"), 200);
    CHECK(says(&s, "\"text\":\"step 20\""));
    CHECK_INT(s.server->made, COUNT_OF(shared) + 2);
    for (int client = 0; client < 5; client++) /* reads on each time */
        CHECK_INT(ask(&s, "api/modules?quick=1"), 200);
    CHECK_INT(s.server->made, COUNT_OF(shared) + 7);
    CHECK_INT(history_writer_close(writer, NULL), 0);
    owner_end(live.owner);
    stage_end(&s);
    owner_free(live.owner);
    run_free(run);
}

TEST(invalid_requests_are_refused_with_a_clear_error)
{
    static const struct {
        const char *address, *says;
        unsigned status;
    } cases[] = {
        {"api/training?file=run&columns=0", "columns is a number from 1", 400},
        {"api/training?file=run&columns=x", "columns is a number from 1", 400},
        {"api/training?file=run&place=a", "does not take", 400},
        {"api/modules?file=run&columns=99999", "columns is a number from 1", 400},
        {"api/modules?file=run&from=-1", "from is a number", 400},
        {"api/modules?file=run&rank=9999999999", "rank is a number", 400},
        {"api/step?file=run&step=soon", "a step is a number", 400},
        {"api/series?file=run&place=77", "no place 77", 404},
        {"api/series?file=run&place=nothing", "nothing is called", 404},
        {"api/series?file=run&rows=257", "rows is a number from 0", 400},
        {"api/series?file=run&phase=test", "phase is train or eval", 400},
        {"api/series?file=run&clip=0.5", "clip is a share", 400},
        {"api/series?file=run&clip=nan", "clip is a share", 400},
        {"api/series?file=run&log=1&log=1", "given twice", 400},
    };
    struct history_stage s;

    stage_begin(&s);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CHECK_INT(ask(&s, cases[i].address), cases[i].status);
        CHECK(says(&s, "\"kind\": \"error\"") && says(&s, cases[i].says));
    }
    stage_end(&s);
}
