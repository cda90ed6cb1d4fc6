#include "export/export.h"

#include <string.h>

#include "base/test.h"
#include "export/check_json_in.h"
#include "session/sample_session.h"

static void measure_all(struct session *session)
{
    uint32_t tensors[4] = {0, 1, 2, 3};

    CHECK(session_stats_many(session, tensors, 4, NULL, NULL) == 0);
}

TEST(a_tree_lists_modules_groups_tensors_and_values)
{
    struct session *session = sample_session();
    struct buf text = BUF_INIT;

    DOCUMENT(text, export_tree_json(&json, session, (struct export_choice){NULL}));
    CHECK(str_starts(buf_span(&text), STR("{\"torchoscope\": 1, \"kind\": \"tree\", "
                                          "\"path\": \"sample.pth\"")));
    CHECK(has(&text,
              "\"verdict\": \"safe\", \"counts\": {\"stored\": 14, \"unique\": 8, "
              "\"logical\": 8, \"trainable\": 6, \"frozen\": 2, "));
    CHECK(has(&text,
              "{\"name\": \"a\", \"place\": 1, \"parent\": 0, \"class\": "
              "\"torch.nn.modules.linear.Linear\", \"params\": 8, \"bytes\": 32, "
              "\"tensors\": 2}"));
    CHECK(has(&text, "{\"name\": \"a.weight\", \"place\": 2, \"parent\": 1, \"shape\": "
                     "[2, 3], \"dtype\": \"float32\", \"numel\": 6, \"bytes\": 24, "
                     "\"role\": \"parameter\", \"layout\": \"strided\", \"strides\": "
                     "[3, 1], \"offset\": 0, \"storage\": 0, \"device\": \"cpu\", "
                     "\"requires_grad\": true, \"also_at\": [\"b.weight\"]}"));
    CHECK(has(&text, "\"tied_to\": \"a.weight\""));
    CHECK(has(&text, "\"readable\": false, \"readable_why\": \"its data is missing\""));
    CHECK(has(&text, "{\"name\": \"=x\\n\", \"place\": 7, \"parent\": 0, \"value\": "
                     "\"<&>\"}"));
    buf_release(&text);
    session_close(session);
}

TEST(a_selection_omits_places_and_keeps_the_counts)
{
    struct session *session = sample_session();
    bool keep[16] = {false};
    struct buf text = BUF_INIT;

    keep[sample_place(session, "a.bias")] = true;
    DOCUMENT(text, export_tree_json(&json, session, (struct export_choice){keep}));
    CHECK(has(&text, "\"name\": \"a.bias\"") && !has(&text, "\"name\": \"a.weight\""));
    CHECK(has(&text, "\"unique\": 8"));
    CHECK(has(&text, "\"modules\": []"));
    buf_release(&text);
    session_close(session);
}

TEST(statistics_are_members_of_the_tensor)
{
    struct session *session = sample_session();
    struct buf text = BUF_INIT;

    measure_all(session);
    DOCUMENT(text,
             export_stats_json(&json, session, (struct export_choice){NULL}, true));
    CHECK(has(&text, "\"mode\": \"full\", \"complete\": true"));
    CHECK(has(&text, "\"count\": 6, \"nan\": 0, \"pos_inf\": 0, \"neg_inf\": 0, "
                     "\"zeros\": 0, \"min\": -6.0, \"max\": 5.0, \"mean\": 1.5, "
                     "\"std\": 3.93"));
    CHECK(has(&text, "\"min_at\": [1, 2], \"max_at\": [1, 1]"));
    CHECK(has(&text, "\"min\": 7, \"max\": 7, \"mean\": 7.0, \"l2\": 7.0"));
    CHECK(has(&text, "\"count\": null, \"stats_why\": \"its data is missing\""));
    buf_release(&text);
    session_close(session);
}

TEST(facts_have_their_numbers_beside_their_text)
{
    struct session *session = sample_session();
    struct buf text = BUF_INIT;

    DOCUMENT(text, export_info_json(&json, session));
    CHECK(has(&text, "{\"id\": \"params\", \"label\": \"params\", \"text\": "));
    CHECK(has(&text, "\"kind\": \"count\", \"value\": 8}"));
    CHECK(has(&text, "\"kind\": \"bytes\", \"value\": "));
    buf_clear(&text);
    DOCUMENT(text, export_show_json(&json, session, sample_place(session, "b.weight"),
                                    NULL, NULL));
    CHECK(has(&text, "\"label\": \"tied\""));
    CHECK(has(&text, "\"name\": \"a.weight\", \"place\": "));
    buf_release(&text);
    session_close(session);
}

TEST(a_table_is_quoted_and_has_no_formulas)
{
    struct session *session = sample_session();
    struct buf text = BUF_INIT;
    struct out out;

    measure_all(session);
    out_init_buf(&out, &text);
    export_stats_csv(&out, session, (struct export_choice){NULL});
    CHECK(export_tree_csv(&out, session, (struct export_choice){NULL}, NULL) == 0);
    CHECK(out_release(&out) == 0);
    CHECK(str_starts(buf_span(&text), STR("name,shape,dtype,numel,bytes,count,min,")));
    CHECK(has(&text, "a.bias,\"[2]\",float32,2,8,2,0.0,0.0,0.0,,0.0,1,0,0,1,\"[0]\","
                     "\"[0]\",,,\r\n"));
    CHECK(has(&text, "b.count,\"[]\",int64,1,8,1,7,7,7.0,,7.0,0,0,0,0,\"[]\",\"[]\",,,"
                     "\r\n"));
    CHECK(has(&text, "b.weight,\"[2, 3]\",float32,6,24,parameter,true,cpu,strided,"
                     "\"[3, 1]\",0,0,,,a.weight\r\n"));
    CHECK(
        has(&text, "lost,\"[4]\",float32,4,16,,,,,,,,,,,,,,its data is missing,\r\n"));
    buf_release(&text);
    session_close(session);
}

TEST(one_place_is_shown_by_its_kind)
{
    struct session *session = sample_session();
    struct buf text = BUF_INIT;

    DOCUMENT(text,
             export_show_json(&json, session, sample_place(session, "a"), NULL, NULL));
    CHECK(has(&text, "\"what\": \"module\", \"module\": {\"name\": \"a\""));
    CHECK(has(&text, "\"own\": {\"params\": 8, \"bytes\": 32}"));
    buf_clear(&text);
    DOCUMENT(text, export_show_json(&json, session, sample_place(session, "=x\n"), NULL,
                                    NULL));
    CHECK(has(&text, "\"what\": \"value\", \"value\": {\"name\": \"=x\\n\""));
    buf_clear(&text);
    DOCUMENT(text, export_info_json(&json, session));
    CHECK(has(&text, "\"dtypes\": [\n{\"dtype\": \"float32\", \"tensors\": 3, "
                     "\"numel\": 12, \"bytes\": 48}") ||
          has(&text, "{\"dtype\": \"float32\", \"tensors\": 3, \"numel\": 12"));
    buf_release(&text);
    session_close(session);
}

static const char *one_format(size_t i)
{
    return i == 0 ? "safetensors" : NULL;
}

TEST(the_program_describes_itself)
{
    static const struct export_library zlib = {"zlib", "1.2.13"};
    const struct export_program program = {"0.1.0", "avx2", one_format, &zlib, 1};
    struct buf text = BUF_INIT;

    DOCUMENT(text, export_program_json(&json, &program));
    CHECK_STR(
        buf_cstr(&text),
        "{\"torchoscope\": 1, \"kind\": \"program\", \"version\": \"0.1.0\", "
        "\"kernels\": \"avx2\", \"formats\": [\n  \"safetensors\"\n], "
        "\"libraries\": [\n  {\"name\": \"zlib\", \"version\": \"1.2.13\"}\n]}\n");
    buf_release(&text);
}
