#include "export/export.h"

#include <math.h>
#include <string.h>

#include "base/test.h"
#include "export/check_json_in.h"
#include "model/build.h"
#include "run/sample_run.h"

static struct session *session_with(struct run *run)
{
    struct session *session = session_of_run(run, NULL);

    CHECK(session);
    return session;
}

/* The line that contains `part`, from `part` on. */
static struct str line(const struct buf *text, const char *part)
{
    ptrdiff_t at = str_find(buf_span(text), str_of(part)), end;
    struct str rest;

    CHECK(at >= 0);
    rest = str_from(buf_span(text), (size_t)at);
    end = str_find(rest, STR("\n"));
    return end >= 0 ? str_head(rest, (size_t)end) : rest;
}

TEST(the_modules_of_a_recording_have_their_calls)
{
    struct session *session = session_with(sample_run(2));
    struct buf text = BUF_INIT;
    struct str module;

    DOCUMENT(text, export_tree_json(&json, session, (struct export_choice){NULL}));
    CHECK(has(&text, "\"run\": {\"name\": \"Net\", \"facts\": {\"torch\": \"2.13.0\", "
                     "\"threads\": 2}, \"passes\": 3, \"calls\": 9, "));
    CHECK(has(&text, "\"gaps\": [{\"kind\": \"keywords\", \"text\": \"keywords are not "
                     "shown\"}]}, "));
    module = line(&text, "{\"name\": \"a\", \"place\": 1, \"parent\"");
    CHECK(str_find(module, STR("\"calls\": 3, \"time_ns\": ")) > 0);
    CHECK(str_find(module, STR("\"backward_ns\": 100, ")) > 0);
    module = line(&text, "{\"name\": \"list\", ");
    CHECK(str_find(module, STR("\"calls\": 0, \"container\": true}")) > 0);
    buf_release(&text);
    session_close(session);
}

TEST(calls_that_raised_have_their_error)
{
    struct session *session = session_with(sample_run(1));
    struct buf text = BUF_INIT;

    DOCUMENT(text, export_info_json(&json, session));
    CHECK(has(&text, "\"raised\": {\"name\": \"a\", \"place\": 1, \"call\": 4, "
                     "\"error\": \"ValueError: no\"}"));
    CHECK(has(&text, "\"slowest\": [\n"));
    CHECK(has(&text, "{\"class\": \"torch.nn.modules.activation.ReLU\", \"places\": 1, "
                     "\"calls\": 1, \"self_ns\": 90}"));
    buf_release(&text);
    session_close(session);
}

TEST(a_module_is_shown_with_its_calls_in_full)
{
    struct session *session = session_with(sample_run(2));
    struct buf text = BUF_INIT;

    DOCUMENT(text, export_show_json(&json, session, 1, NULL, NULL));
    CHECK(has(&text, "\"calls\": [\n  {\"call\": 1, \"name\": \"a\", \"place\": 1, "
                     "\"class\": \"torch.nn.modules.linear.Linear\", \"number\": 0, "
                     "\"parent\": 0, \"step\": 0, \"thread\": 0, \"line\": "
                     "\"net.py:12\", \"flags\": [\"training\"], \"start_ns\": "));
    CHECK(has(&text,
              "\"inputs\": [{\"path\": \"[0]\", \"value\": 0, \"shape\": [4, 3], "
              "\"dtype\": \"float32\", \"device\": \"cpu\", "));
    CHECK(has(&text, "\"stats\": {\"count\": 8, \"nan\": 0, \"pos_inf\": 0, "
                     "\"neg_inf\": 0, \"zeros\": 0, \"min\": 2.0, \"max\": 2.0, "));
    CHECK(has(&text, "\"grad_outputs\": [{\"path\": \"\", "));
    CHECK(has(&text, "\"merged\": [], \"gaps\": [], \"details\": ["));
    buf_release(&text);
    session_close(session);
}

TEST(merged_calls_are_listed_beside_the_others)
{
    struct session *session = session_with(sample_run(200));
    struct buf text = BUF_INIT;

    DOCUMENT(text, export_run_json(&json, session));
    CHECK(has(&text, "\"calls\": 801, "));
    CHECK(
        has(&text, "\"merged\": [\n  {\"name\": \"\", \"place\": 0, \"calls\": 136, "));
    CHECK(has(&text, "{\"kind\": \"in\", \"path\": \"[0]\", \"shapes\": [[4, 3]], "
                     "\"stats\": {\"count\": "));
    buf_release(&text);
    session_close(session);
}

TEST(the_whole_recording_names_values_by_number)
{
    struct session *session = session_with(sample_run(1));
    struct buf text = BUF_INIT;

    DOCUMENT(text, export_run_json(&json, session));
    CHECK(str_starts(buf_span(&text), STR("{\"torchoscope\": 1, \"kind\": \"run\", ")));
    CHECK(has(&text, "\"inputs\": [{\"path\": \"[0]\", \"value\": 1}, {\"path\": "
                     "\"mask\"}], \"outputs\": [{\"path\": \"\", \"value\": 2}]"));
    CHECK(has(&text, "\"values\": [\n  {\"value\": 0, \"shape\": [4, 3], "));
    CHECK(has(&text, "\"kept_bytes\": 24}"));
    CHECK(has(&text, "{\"name\": \"a.weight\", \"place\": 2, \"step\": 0, "
                     "\"gradient\": true, \"value\": "));
    CHECK(has(&text, "{\"kind\": \"keywords\", "));
    CHECK(!has(&text, "{\"kind\": \"container\""));
    buf_release(&text);
    session_close(session);
}

TEST(times_on_a_device_are_listed_beside_those_of_the_host)
{
    struct run *run = sample_run(1);
    uint32_t call = run_first_call(run, SAMPLE_A);
    struct session *session;
    struct buf text = BUF_INIT;

    run->calls[call].device_ns = 4000;
    run->calls[call].device_bytes = -512;
    run->calls[call].flags |= RUN_DEVICE_BYTES;
    session = session_with(run);
    DOCUMENT(text, export_run_json(&json, session));
    CHECK(has(&text, "\"device_ns\": 4000, \"device_bytes\": -512"));
    CHECK(!has(&text, "\"device_ns\": 0"));
    buf_release(&text);
    session_close(session);
}

TEST(a_table_of_a_recording_has_rows_for_modules)
{
    struct session *session = session_with(sample_run(2));
    struct buf text = BUF_INIT;
    struct out out;

    out_init_buf(&out, &text);
    CHECK(export_tree_csv(&out, session, (struct export_choice){NULL}, NULL) == 0);
    CHECK(out_release(&out) == 0);
    CHECK(
        has(&text,
            ",tied_to,class,params,calls,time_ns,self_ns,backward_ns,"
            "device_ns,in_shape,out_shape,out_bytes,nan,inf,raised,producer,gap\r\n"));
    CHECK(has(&text, "\r\na,,,,,,,,,,,,,,,torch.nn.modules.linear.Linear,8,3,"));
    CHECK(has(&text, "\r\nlist,,,,,,,,,,,,,,,torch.nn.modules.container.ModuleList,0,"
                     "0,,,,,,,,,,,,\r\n"));
    CHECK(has(&text, "\r\na.weight,\"[2, 3]\",float32,6,24,parameter,true,cpu,strided,"
                     "\"[3, 1]\",0,0,,,,,,,,,,,,,,,,,,\r\n"));
    buf_release(&text);
    session_close(session);
}

/* ---- what recordings may also hold ---- */

static struct trace *odd_trace(void)
{
    struct trace_wanted wanted = {0};
    struct build build;
    const struct model *model;
    uint32_t node;

    CHECK(build_init(&build, "odd", 0, NULL, NULL) == 0);
    build_set_kind(&build, 0, PLACE_MODULE);
    CHECK(build_object(&build, 0));
    node = build_node(&build, 0, PLACE_MODULE, STR("=\"\xff\n\x1b[31m"));
    build_object(&build, node)->class_id =
        build_class(&build, STR("\\\"</script>\x01"));
    model = build_finish(&build, NULL);
    CHECK(model);
    build_release(&build);
    return trace_new(model, &wanted);
}

TEST(hostile_names_make_valid_documents)
{
    struct trace *trace = odd_trace();
    struct session *session;
    struct buf text = BUF_INIT;
    struct run *run;
    struct out out;
    uint32_t call;

    CHECK(trace);
    call = trace_begin(trace, 0, 1, 0, trace_string(trace, "\"\n\xc3", 3), 5);
    trace_io(trace, call, RUN_IN, trace_string(trace, "[\"\\\x7f\xfe", 5), RUN_NONE, 0);
    trace_error(trace, call, trace_string(trace, "E: \x00\x1b\"", 6));
    trace_end(trace, 0, call, RUN_RAISED, 4); /* before it began */
    trace_gap(trace, RUN_GAP_ERROR, 1, "\"},\r\n");
    trace_fact_text(trace, "\"key\"\n", "\xff");
    trace_fact(trace, "nan", value_real(trace_values(trace), NAN));
    run = trace_finish(trace, 0, UINT64_MAX);
    CHECK(run);
    session = session_with(run);
    DOCUMENT(text, export_run_json(&json, session));
    CHECK(has(&text, "\"\\\"key\\\"\\n\": \"\xef\xbf\xbd\""));
    CHECK(has(&text, "\"nan\": \"NaN\""));
    CHECK(has(&text, "\"share\": null"));
    CHECK(has(&text, "\"time_ns\": 0, \"self_ns\": 0, "));
    buf_clear(&text);
    DOCUMENT(text, export_tree_json(&json, session, (struct export_choice){NULL}));
    buf_clear(&text);
    DOCUMENT(text, export_info_json(&json, session));
    buf_clear(&text);
    DOCUMENT(text, export_show_json(&json, session, 1, NULL, NULL));
    buf_clear(&text);
    out_init_buf(&out, &text);
    CHECK(export_tree_csv(&out, session, (struct export_choice){NULL}, NULL) == 0);
    CHECK(out_release(&out) == 0);
    CHECK(has(&text, "\r\n\"'=\"\"")); /* no formula */
    buf_release(&text);
    session_close(session);
}

static uint32_t odd_value(struct trace *trace, enum dtype dtype, double mean,
                          const char *why)
{
    const int64_t shape[] = {2, 2};
    struct run_value value = {.dtype = (uint8_t)dtype, .rank = 2, .numel = 4};
    struct stats stats;

    stats_init(&stats, dtype);
    stats.count = 4;
    stats.pos_inf = 1;
    stats.min = stats.max = stats.mean = mean;
    stats.max_at = 3;
    stats.sampled = true;
    value.device = trace_device(trace, "cpu");
    value.why = why ? trace_string(trace, why, strlen(why)) : 0;
    return trace_value(trace, &value, shape, NULL, why ? NULL : &stats);
}

TEST(values_without_numbers_have_a_reason)
{
    struct trace *trace = odd_trace();
    struct buf text = BUF_INIT;
    struct session *session;
    struct run *run;
    uint32_t call;

    CHECK(trace);
    call = trace_begin(trace, 0, 1, 0, 0, 5);
    trace_io(trace, call, RUN_IN, 0, odd_value(trace, DTYPE_FLOAT32, 0, "no data"), 0);
    trace_io(trace, call, RUN_IN, 0, odd_value(trace, DTYPE_FLOAT32, NAN, NULL), 0);
    trace_io(trace, call, RUN_OUT, 0, odd_value(trace, DTYPE_COMPLEX64, 1, NULL), 0);
    trace_end(trace, 0, call, 0, 9);
    run = trace_finish(trace, 9, 0);
    CHECK(run);
    session = session_with(run);
    DOCUMENT(text, export_run_json(&json, session));
    CHECK(has(&text, "\"stats\": null, \"stats_why\": \"no data\"}"));
    CHECK(has(&text, "\"stats\": {\"count\": 4, \"nan\": 0, \"pos_inf\": 1, "
                     "\"neg_inf\": 0, \"sampled\": true}}"));
    CHECK(has(&text, "\"max_at\": [1, 1], \"of\": \"abs\", \"sampled\": true}}"));
    buf_release(&text);
    session_close(session);
}

TEST(a_session_may_borrow_a_run)
{
    struct run *run = sample_run(1);
    struct session *session = session_on_run(run, NULL, NULL);
    struct buf text = BUF_INIT;

    CHECK(session);
    DOCUMENT(text, export_run_json(&json, session));
    session_close(session);
    CHECK(run->n_calls > 0 && run->model->n_places > 0);
    buf_clear(&text);
    DOCUMENT(text, export_call(&json, run, 0));
    CHECK(str_starts(buf_span(&text), STR("{\"call\": 0, \"name\": \"\", ")));
    buf_release(&text);
    run_free(run);
}
