/* The questions about places: rows, show, code, attributes, timeline. */
#include <string.h>

#include "base/base.h"
#include "run/sample_block.h"
#include "run/sample_run.h"
#include "web/stage_in.h"

TEST(the_tree_is_requested_whole_or_by_columns)
{
    struct stage s;

    stage_begin(&s);
    CHECK_INT(ask(&s, "api/rows?file=sample"), 200);
    CHECK(says(&s, "\"kind\": \"rows\"") && says(&s, "\"name\": ["));
    CHECK_INT(ask(&s, "api/rows?columns=dtype,shape"), 200);
    CHECK(says(&s, "float32") && !says(&s, "\"name\": ["));
    CHECK_INT(ask(&s, "api/rows?columns=shap"), 400);
    CHECK(says(&s, "did you mean shape"));
    CHECK_INT(ask(&s, "api/rows?step=3"), 400);
    CHECK(says(&s, "no history"));
    CHECK_INT(ask(&s, "api/rows?place=3"), 400); /* not one of its arguments */
    stage_end(&s);
}

TEST(a_tensor_is_shown_with_its_window_picture_and_cell)
{
    struct stage s;

    stage_begin(&s);
    CHECK_INT(
        ask(&s, "api/show?name=a.weight&all=1&inner=1&bins=125&slice=&rows=1&columns=2"
                "&row=1&picture=64&cell=1,2&quantiles=0.1,50,99.9"),
        200);
    CHECK(says(&s, "\"inner\": {") && says(&s, "\"mean_abs\": 3.5"));
    CHECK(says(&s, "\"window_rows\": 1") &&
          says(&s, "\"texts\": [\"4.0000\",\"5.0000\"]"));
    CHECK(says(&s, "\"bits\": \"0xc0c00000\""));
    CHECK(says(&s, "\"statistics\": ["));
    CHECK_INT(ask(&s, "api/show?name=a.weight&slice=&cell=9,9"), 400);
    CHECK(says(&s, "2 rows and 3 columns"));
    CHECK_INT(ask(&s, "api/show?name=a.weight&picture=0"), 400);
    CHECK_INT(ask(&s, "api/show?name=a.weight&picture=257"), 400);
    CHECK_INT(ask(&s, "api/show?name=lost&slice="), 200);
    CHECK(says(&s, "\"values_why\": "));
    stage_end(&s);
}

TEST(code_and_attributes_are_requested_by_place_and_call)
{
    struct stage s;

    stage_serve(&s,
                session_of_run(sample_block((struct sample_block_wanted){0}), NULL));
    CHECK_INT(ask(&s, "api/code?name=block"), 200);
    CHECK(says(&s, "\"class\": \"net.Block\"") && says(&s, "2×8×8×8"));
    CHECK_INT(ask(&s, "api/code?name=block.relu&call=1"), 200);
    CHECK(says(&s, "\"number\": 1"));
    CHECK_INT(ask(&s, "api/code?name=block&call=-1"), 400);
    CHECK_INT(ask(&s, "api/code?name=blok"), 404);
    CHECK_INT(ask(&s, "api/attributes?name=block"), 200);
    CHECK_INT(ask(&s, "api/attributes?name=block&open=7.1"), 404);
    CHECK_INT(ask(&s, "api/attributes?name=block&open=a"), 400);
    stage_end(&s);
}

TEST(a_timeline_shows_one_pass_of_a_recording)
{
    struct stage s;

    stage_serve(&s, session_of_run(sample_run(2), NULL));
    CHECK_INT(ask(&s, "api/timeline"), 200);
    CHECK(says(&s, "\"kind\": \"timeline\", \"pass\": 1, \"passes\": 3"));
    CHECK_INT(ask(&s, "api/timeline?pass=0"), 200);
    CHECK(says(&s, "\"pass\": 0"));
    CHECK_INT(ask(&s, "api/timeline?pass=3"), 404);
    stage_end(&s);
    stage_begin(&s);
    CHECK_INT(ask(&s, "api/timeline"), 409);
    CHECK(says(&s, "not a recording"));
    stage_end(&s);
}

/* A live model belongs to the thread that runs it: nothing of it is read here. */
static int never(struct source *source, uint32_t storage, uint64_t at, void *to,
                 size_t n, struct err *err)
{
    (void)source, (void)storage, (void)at, (void)to, (void)n;
    return err_set(err, ERR_IO, "read by another thread");
}

TEST(values_code_and_attributes_of_a_live_model_are_not_read_here)
{
    static const struct source_ops ops = {.bytes = never};
    struct source live = {.ops = &ops}, *before;
    struct model *model;
    struct stage s;

    stage_begin(&s);
    model = (struct model *)(uintptr_t)s.session->model;
    before = model->source;
    model->source = &live;
    CHECK_INT(ask(&s, "api/show?name=a.weight&slice=&all=1"), 200);
    CHECK(!says(&s, "read by another thread") && !says(&s, "\"slice\""));
    CHECK_INT(ask(&s, "api/code?name=a"), 409);
    CHECK(says(&s, "can only be read in its own process"));
    CHECK_INT(ask(&s, "api/attributes?name=a"), 409);
    CHECK_INT(ask(&s, "api/rows"), 200);
    model->source = before;
    stage_end(&s);
}

TEST(hostile_arguments_are_refused_or_not_found)
{
    struct web_request request;
    struct stage s;

    stage_begin(&s);
    CHECK_INT(ask(&s, "api/attributes?name=a&open=99999999999999999999"), 400);
    CHECK_INT(ask(&s, "api/show?name=a.weight&slice=[[[[&rows=5&columns=5"), 400);
    CHECK_INT(ask(&s, "api/show?name=a.weight&slice=&row=9223372036854775807&rows=1"
                      "&column=9223372036854775807&columns=9223372036854775807"),
              200);
    CHECK_INT(ask(&s, "api/show?name=a.weight&slice=&row=9223372036854775808"), 400);
    ask(&s, "api/rows?columns=params");
    request = s.request;
    request.args[0].value = str_span("par\0ams", 7);
    free(s.answer.own);
    web_answer(s.server, &request, &s.answer);
    CHECK_INT(s.answer.status, 400);
    stage_end(&s);
}
