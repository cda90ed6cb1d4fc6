#include "export/export.h"

#include "base/test.h"
#include "export/check_json_in.h"
#include "facts/check_text.h"
#include "session/sample_session.h"

/* The sample with its values checked: one NaN, one tensor whose data is missing. */
struct sample {
    struct session *session;
    struct arena arena;
    struct check check;
};

static void begin(struct sample *s)
{
    uint32_t tensors[4] = {0, 1, 2, 3};
    struct check_values values = {.complete = true};

    s->session = sample_session();
    arena_init(&s->arena, 0);
    CHECK(session_stats_many(s->session, tensors, 4, NULL, NULL) == 0);
    values.stats = (const struct stats *const *)s->session->stats;
    values.why = s->session->why;
    CHECK(check_make(s->session->model, &(struct check_ask){.values = &values},
                     &s->arena, &s->check, NULL) == 0);
}

static void end(struct sample *s)
{
    session_close(s->session);
    arena_release(&s->arena);
}

static void sentence(const struct sample *s, enum check_topic topic, uint32_t nth,
                     struct buf *to)
{
    struct facts facts = {0};

    buf_clear(to);
    for (uint32_t i = 0; i < s->check.n; i++)
        if (s->check.items[i].topic == topic && nth-- == 0)
            check_facts(&facts, s->session->model, &s->check, &s->check.items[i], 0);
    facts_join(to, &facts, "\n");
    facts_release(&facts);
}

TEST(a_check_is_written_in_sentences)
{
    struct buf text = BUF_INIT;
    struct sample s;

    begin(&s);
    CHECK_INT(s.check.status, 1);
    sentence(&s, CHECK_PICKLE, 0, &text);
    CHECK_STR(buf_cstr(&text), "none: the format holds no code");
    sentence(&s, CHECK_TENSORS, 0, &text);
    CHECK_STR(buf_cstr(&text), "4 of 5 lie inside their storages");
    sentence(&s, CHECK_VALUES, 0, &text);
    CHECK_STR(buf_cstr(&text), "a.bias holds 1 NaN among 2 values");
    sentence(&s, CHECK_VALUES, 1, &text);
    CHECK_STR(buf_cstr(&text), "1 tensor was not readable");
    buf_release(&text);
    end(&s);
}

TEST(a_check_is_one_json_document_and_one_of_sarif)
{
    static const struct export_skipped skipped = {"a\x1b\"", "is plain text"};
    struct export_checked sum = {.verdict = VERDICT_INCONCLUSIVE,
                                 .status = 2,
                                 .complete = true,
                                 .skipped = &skipped,
                                 .n_skipped = 1};
    struct buf text = BUF_INIT;
    struct sample s;
    struct json json;
    struct out out;

    begin(&s);
    out_init_buf(&out, &text);
    json_init_text(&json, &out);
    export_check_begin(&json);
    export_check_model(&json, s.session, &s.check);
    export_check_error(&json, "x\n", "nobody knows");
    export_check_end(&json, &sum);
    CHECK(out_release(&out) == 0);
    check_json(&text);
    CHECK(has(&text, "\"code\": \"non-finite\", \"severity\": \"alarm\", \"text\": "
                     "\"a.bias holds 1 NaN among 2 values\", \"name\": \"a.bias\""));
    CHECK(has(&text, "{\"path\": \"x\\n\", \"verdict\": \"inconclusive\", \"status\": "
                     "2, \"error\": \"nobody knows\"}"));
    CHECK(has(&text, "\"verdict\": \"inconclusive\", \"status\": 2, \"complete\": "
                     "true}"));
    buf_clear(&text);

    out_init_buf(&out, &text);
    json_init_text(&json, &out);
    export_sarif_begin(&json, "1.2.3");
    export_sarif_model(&json, s.session, &s.check);
    export_sarif_error(&json, "./a b#\xff", "a [link](x) {0}");
    export_sarif_end(&json, &sum);
    CHECK(out_release(&out) == 0);
    check_json(&text);
    CHECK(has(&text, "\"fullyQualifiedName\": \"a.bias\""));
    CHECK(has(&text, "\"uri\": \"a%20b%23%FF\", \"uriBaseId\": \"%SRCROOT%\""));
    CHECK(has(&text, "\"text\": \"a \\\\[link\\\\](x) {{0}}\""));
    buf_release(&text);
    end(&s);
}
