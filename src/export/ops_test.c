#include <string.h>

#include "base/test.h"
#include "export/check_json_in.h"
#include "export/export.h"
#include "run/sample_run.h"

struct scene {
    struct session *session;
    struct arena arena;
    struct op_use_list uses;
    struct buf text;
};

static struct scene scene(struct run *run)
{
    struct scene s = {.session = session_of_run(run, NULL), .text = BUF_INIT};

    CHECK(s.session);
    arena_init(&s.arena, 0);
    CHECK(op_use_of(&s.uses, run, OP_USE_BY_OVERLOAD, OP_PHASES_ALL, &s.arena, NULL) ==
          0);
    return s;
}

static void end(struct scene *s)
{
    buf_release(&s->text);
    arena_release(&s->arena);
    session_close(s->session);
}

TEST(an_operation_is_written_with_its_tensors_and_attributes)
{
    struct scene s = scene(sample_ops());

    DOCUMENT(s.text, CHECK(export_ops_json(&json, s.session, &s.uses, NULL) == 0));
    CHECK(has(&s.text, "\"kind\": \"ops\", "));
    CHECK(has(&s.text,
              "{\"id\": 1, \"name\": \"aten::addmm\", \"overload\": \"\", \"family\": "
              "\"matmul\", \"phase\": \"forward\", \"module\": \"a\", \"place\": 1, "
              "\"call\": 1, \"step\": 0, \"thread\": 0, \"line\": \"net.py:5\", "
              "\"cause\": null, \"gradient\": null, \"attributes\": {\"alpha\": 1}, "));
    CHECK(has(&s.text, "\"flops\": 24, \"grad\": true, \"inputs\": [{\"position\": 0, "
                       "\"arg\": \"self\", \"value\": "));
    CHECK(has(&s.text, "\"requires_grad\": true, \"tensor\": \"a.bias\"}"));
    CHECK(has(&s.text, "\"new_bytes\": 16, \"flops\": 24, \"grad\": true, "));
    CHECK(has(&s.text, "\"cause\": 1, \"gradient\": \"a.weight\", \"attributes\": {}"));
    CHECK(has(&s.text, "\"written\": [{\"position\": 0, \"arg\": \"self\", "));
    CHECK(has(&s.text, "\"flops\": null, \"flops_why\": \"there is no formula for this "
                       "operation\", \"grad\": true, \"view\": true, "));
    CHECK(has(&s.text, "\"module\": null, \"place\": null, \"call\": null"));
    end(&s);
}

TEST(sums_of_phases_and_coverage_are_written)
{
    struct scene s = scene(sample_ops());

    DOCUMENT(s.text, CHECK(export_ops_json(&json, s.session, &s.uses, NULL) == 0));
    CHECK(has(&s.text,
              "\"backward\": {\"count\": 2, \"ns\": 80, \"new_bytes\": 40, "
              "\"flops\": 24, \"counted\": 1}, \"recompute\": {\"count\": 0, "));
    CHECK(has(&s.text, "\"all\": {\"count\": 9, \"ns\": 184, "));
    CHECK(has(&s.text, "\"coverage\": {\"ops\": 9, \"counted\": 2, \"matrix_ops\": 2, "
                       "\"matrix_counted\": 2}, \"lost\": 0, "));
    CHECK(has(&s.text, "{\"name\": \"aten::add_\", \"overload\": \"Tensor\", "
                       "\"family\": \"elementwise\", \"count\": 2, \"ns\": 27, "
                       "\"new_bytes\": 0, \"flops\": 0, \"counted\": 0, \"share\": "
                       "0.14673913043478262, \"module\": \"\", \"place\": 0, "
                       "\"line\": \"net.py:12\", \"id\": 3}"));
    end(&s);
}

TEST(edges_follow_the_data_from_producer_to_reader)
{
    struct scene s = scene(sample_ops());
    static const char *const edges[] = {
        "{\"source\": 0, \"target\": 1, \"value\": ",
        "{\"source\": 1, \"target\": 2, \"value\": ",
        "{\"source\": 2, \"target\": 3, \"value\": ",
        "{\"source\": 1, \"target\": 3, \"value\": ",
        "{\"source\": 7, \"target\": 8, \"value\": ",
    };

    DOCUMENT(s.text, CHECK(export_ops_json(&json, s.session, &s.uses, NULL) == 0));
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
        CHECK(has(&s.text, edges[i]));
    CHECK(has(&s.text, "\"arg\": \"mat2\"}"));
    CHECK(!has(&s.text, "{\"source\": 8, ")); /* nothing reads the last result */
    end(&s);
}

/* A buffer that is filled row by row and then read as a whole. */
TEST(a_value_of_many_parts_has_an_edge_from_each)
{
    enum { ROWS = 1500 };
    struct trace *trace = trace_new(sample_model(), &(struct trace_wanted){0});
    uint32_t buffer, fill, sum, n = 0;
    const char *at;
    struct scene s;

    CHECK(trace && trace_ops_begin(trace, 0));
    buffer = trace_op_storage(trace, ROWS * 16, 0, RUN_NONE, OP_STORAGE_OTHER);
    fill = trace_op_kind(trace, "aten::fill_", "", NULL, 0, OP_WRITES);
    sum = trace_op_kind(trace, "aten::sum", "", NULL, 0, 0);
    for (uint32_t i = 0; i < ROWS; i++)
        sample_op(trace, fill,
                  &(struct sample_tensor){.storage = buffer,
                                          .kind = OP_WRITTEN,
                                          .rows = 1,
                                          .columns = 4,
                                          .offset = 4 * (uint64_t)i},
                  1, NULL);
    sample_op(trace, sum,
              &(struct sample_tensor){
                  .storage = buffer, .kind = OP_IN, .rows = ROWS, .columns = 4},
              1, NULL);
    s = scene(trace_finish(trace, 1, 0));
    DOCUMENT(s.text, CHECK(export_ops_json(&json, s.session, &s.uses, NULL) == 0));
    for (at = buf_cstr(&s.text); (at = strstr(at, "\"target\": 1500,")); at++)
        n++;
    CHECK_INT(n, ROWS);
    CHECK(has(&s.text, "{\"source\": 0, \"target\": 1500, \"value\": "));
    CHECK(has(&s.text, "\"arg\": null}"));
    end(&s);
}

TEST(the_operations_used_are_a_table)
{
    struct scene s = scene(sample_ops());
    struct out out;

    out_init_buf(&out, &s.text);
    s.uses.n = 4;
    export_ops_csv(&out, s.session, &s.uses);
    CHECK(out_release(&out) == 0);
    CHECK(has(&s.text, "name,overload,family,count,ns,share,flops,counted,new_bytes,"
                       "module,line,id\r\naten::mm,,matmul,1,50,0.2717391304347826,24,"
                       "1,24,,net.py:5,7\r\n"));
    CHECK(has(&s.text, "aten::add_,Tensor,elementwise,2,27,0.14673913043478262,0,0,0,,"
                       "net.py:12,3\r\n"));
    end(&s);
}

TEST(without_operations_the_error_explains_how_to_record_them)
{
    struct session *session = session_of_run(sample_run(1), NULL);
    struct err err = {0};

    CHECK(export_has_ops(session, &err) < 0);
    CHECK(strstr(err.text, "record(model, ops=True)"));
    session_close(session);
}
