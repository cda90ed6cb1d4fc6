#include "study/safety/check.h"

#include "base/base.h"
#include "base/test.h"
#include "model/build.h"
#include "study/safety/expect.h"

/* A model being made, and the check of it. */
struct sample {
    struct build build;
    const struct model *model;
    struct arena arena;
    struct check check;
};

static void begin(struct sample *s, const char *format)
{
    *s = (struct sample){0};
    CHECK(build_init(&s->build, "x.pt", 0, NULL, NULL) == 0);
    s->build.model->format = format;
    arena_init(&s->arena, 0);
}

static void add_global(struct sample *s, const char *name, enum pickle_act act)
{
    struct pickle_event event = {.act = (uint8_t)act};
    ptrdiff_t dot = str_find_last_char(str_of(name), '.');

    if (s->build.model->pickle.n_streams == 0) {
        build_pickle_stream(&s->build, STR("data.pkl"), 10);
        s->build.model->pickle.streams[0].complete = true;
    }
    event.global = build_pickle_global(&s->build, str_of(name), (uint32_t)dot + 1);
    if (build_pickle_count(&s->build, event.global, act))
        build_pickle_event(&s->build, &event);
}

static void add_tensor(struct sample *s, const char *name, const int64_t *shape,
                       int rank)
{
    struct tensor tensor = {
        .dtype = DTYPE_FLOAT32, .storage = NO_STORAGE, .class_id = NO_CLASS};
    uint32_t node = build_node(&s->build, 0, PLACE_TENSOR, str_of(name));

    CHECK(build_tensor(&s->build, node, &tensor, shape, NULL, rank) != NO_OBJECT);
}

static void make(struct sample *s, const struct check_ask *ask)
{
    if (!s->model) {
        s->model = build_finish(&s->build, NULL);
        CHECK(s->model);
        build_release(&s->build);
    }
    CHECK(check_make(s->model, ask, &s->arena, &s->check, NULL) == 0);
}

static void end(struct sample *s)
{
    model_free(s->model);
    arena_release(&s->arena);
}

static const struct check_item *item_of(const struct sample *s, enum check_topic topic)
{
    for (uint32_t i = 0; i < s->check.n; i++)
        if (s->check.items[i].topic == topic)
            return &s->check.items[i];
    return NULL;
}

TEST(the_metadata_of_gguf_is_no_zip)
{
    struct sample s;

    begin(&s, "GGUF");
    build_fact(&s.build, "entries", value_int(build_values(&s.build), 20));
    make(&s, &(struct check_ask){0});
    CHECK_INT(s.check.items[1].topic, CHECK_FILE);
    end(&s);
}

TEST(a_valid_model_has_one_good_item_for_each_topic)
{
    struct sample s;

    begin(&s, "torch zip");
    add_global(&s, "collections.OrderedDict", PICKLE_CALLS);
    build_fact(&s.build, "entries", value_int(build_values(&s.build), 5));
    make(&s, &(struct check_ask){0});
    CHECK_INT(s.check.status, 0);
    CHECK_INT(s.check.n, 4);
    CHECK_INT(s.check.items[0].topic, CHECK_PICKLE);
    CHECK_INT(s.check.items[1].topic, CHECK_ZIP);
    CHECK_INT(s.check.items[2].topic, CHECK_TENSORS);
    CHECK_INT(s.check.items[3].topic, CHECK_VALUES);
    CHECK_INT(s.check.items[3].mark, CHECK_NOT_LOOKED_AT);
    CHECK_INT(s.check.entries, 5);
    end(&s);
}

TEST(dangerous_and_unknown_globals_are_items_and_patterns_allow_unknown_ones)
{
    static const char *const patterns[] = {"models.*"};
    struct verdict_allow allow = {patterns, 1};
    struct sample s;

    begin(&s, "pickle");
    add_global(&s, "models.yolo.Model", PICKLE_MAKES);
    make(&s, &(struct check_ask){0});
    CHECK_INT(s.check.status, 1);
    CHECK_INT(item_of(&s, CHECK_PICKLE)->says, CHECK_SAYS_UNKNOWN);
    make(&s, &(struct check_ask){.allow = &allow});
    CHECK_INT(s.check.status, 0);
    CHECK_INT(s.check.allowed, 1);
    CHECK_INT(item_of(&s, CHECK_PICKLE)->says, CHECK_SAYS_WELL);
    end(&s);

    begin(&s, "pickle");
    add_global(&s, "posix.system", PICKLE_CALLS);
    make(&s, &(struct check_ask){.allow = &allow});
    CHECK_INT(s.check.status, 1);
    CHECK_INT(s.check.verdict.verdict, VERDICT_UNSAFE);
    CHECK_INT(item_of(&s, CHECK_PICKLE)->says, CHECK_SAYS_GLOBAL);
    CHECK_INT(item_of(&s, CHECK_PICKLE)->index, 0);
    end(&s);
}

TEST(a_missing_pickle_is_never_called_safe)
{
    struct sample s;

    begin(&s, "torch zip");
    make(&s, &(struct check_ask){0});
    CHECK_INT(s.check.status, 2);
    CHECK_INT(item_of(&s, CHECK_PICKLE)->says, CHECK_SAYS_UNDECIDED);
    end(&s);
}

TEST(findings_beyond_notes_make_a_safe_file_fail)
{
    struct sample s;

    begin(&s, "safetensors");
    build_finding(&s.build, FINDING_BIG_ENDIAN, SEVERITY_NOTE, FINDING_NOWHERE, "a");
    make(&s, &(struct check_ask){0});
    CHECK_INT(s.check.status, 0);
    end(&s);
    begin(&s, "safetensors");
    build_finding(&s.build, FINDING_TRUNCATED, SEVERITY_ALARM, FINDING_NOWHERE, "b");
    make(&s, &(struct check_ask){0});
    CHECK_INT(s.check.status, 1);
    CHECK_INT(s.check.verdict.verdict, VERDICT_SAFE);
    CHECK_INT(item_of(&s, CHECK_FILE)->mark, CHECK_ALARM);
    end(&s);
}

TEST(a_second_pass_adds_only_new_findings)
{
    static const struct finding found[] = {
        {FINDING_ZIP_TRICK, SEVERITY_WARNING, FINDING_NOWHERE, "old", false, 0, 0},
        {FINDING_CHECKSUM, SEVERITY_ALARM, FINDING_NOWHERE, "new", false, 0, 0},
    };
    struct sample s;

    begin(&s, "safetensors");
    build_finding(&s.build, FINDING_ZIP_TRICK, SEVERITY_WARNING, FINDING_NOWHERE,
                  "old");
    make(&s, &(struct check_ask){.found = found, .n_found = 2});
    CHECK_INT(s.check.n_findings, 2);
    CHECK_STR(s.check.findings[1].text, "new");
    CHECK_INT(s.check.status, 1);
    end(&s);
}

TEST(a_second_pass_identifies_findings_by_file_and_entry)
{
    static const struct finding found[] = {
        {.code = FINDING_DAMAGED, .place = FINDING_NOWHERE, .text = "z", .entry = 8},
        {.code = FINDING_DAMAGED, .place = FINDING_NOWHERE, .text = "a", .entry = 9},
        {.code = FINDING_DAMAGED,
         .place = FINDING_NOWHERE,
         .text = "a",
         .file = 1,
         .entry = 8},
    };
    struct sample s;

    begin(&s, "safetensors");
    build_finding(&s.build, FINDING_DAMAGED, SEVERITY_ALARM, FINDING_NOWHERE, "a")
        ->entry = 8;
    make(&s, &(struct check_ask){.found = found, .n_found = 3});
    CHECK_INT(s.check.n_findings, 3);
    CHECK_INT(s.check.findings[1].entry, 9);
    CHECK_INT(s.check.findings[2].file, 1);
    end(&s);
}

TEST(non_finite_values_are_findings_with_their_place)
{
    static const int64_t shape[] = {4};
    struct stats good = {.count = 4},
                 bad = {.count = 4, .nan = 1, .pos_inf = 1, .neg_inf = 1};
    const struct stats *stats[] = {&good, &bad};
    const char *why[] = {NULL, NULL};
    struct check_values values = {stats, why, true};
    struct sample s;

    begin(&s, "safetensors");
    add_tensor(&s, "fine", shape, 1);
    add_tensor(&s, "broken", shape, 1);
    make(&s, &(struct check_ask){.values = &values});
    CHECK_INT(s.check.values, 8);
    CHECK_INT(s.check.n_findings, 1);
    CHECK_INT(s.check.findings[0].code, FINDING_NON_FINITE);
    CHECK_INT(s.check.findings[0].place, 2);
    CHECK_STR(s.check.findings[0].text,
              "broken holds 1 NaN and 2 infinities among 4 values");
    stats[1] = NULL;
    values.complete = false;
    make(&s, &(struct check_ask){.values = &values});
    CHECK(s.check.unread == 1 && s.check.stopped);
    CHECK_INT(item_of(&s, CHECK_VALUES)->mark, CHECK_WARNING);
    end(&s);
}

/* ---- expectations ---- */

static int expect(struct sample *s, const char *text, struct expectation *to,
                  struct err *err)
{
    return expect_read(str_of(text), "e.json", &s->arena, to, err);
}

TEST(differences_from_the_expectation_are_reported)
{
    static const int64_t shape[] = {2, 3};
    struct expectation e;
    struct sample s;

    begin(&s, "safetensors");
    add_tensor(&s, "same", shape, 2);
    add_tensor(&s, "shape", shape, 2);
    add_tensor(&s, "dtype", shape, 2);
    add_tensor(&s, "both", shape, 1);
    add_tensor(&s, "\xff", shape, 0);
    add_tensor(&s, "extra", shape, 0);
    CHECK(expect(&s,
                 "{\"x\": [{}], \"tensors\": ["
                 "{\"name\": \"same\", \"more\": [1], \"shape\": [2, 3], \"dtype\": "
                 "\"float32\"},"
                 "{\"name\": \"shape\", \"shape\": [2], \"dtype\": \"float32\"},"
                 "{\"name\": \"dtype\", \"shape\": [2, 3], \"dtype\": \"int8\"},"
                 "{\"name\": \"both\", \"shape\": [], \"dtype\": \"int8\"},"
                 "{\"name\": \"\xef\xbf\xbd\", \"shape\": [], \"dtype\": \"float32\"},"
                 "{\"name\": \"gone\", \"shape\": [7], \"dtype\": \"int8\"}]}",
                 &e, NULL) == 0);
    make(&s, &(struct check_ask){.expect = &e});
    CHECK_INT(s.check.n_findings, 5);
    CHECK_STR(s.check.findings[0].text, "shape: 2 expected, 2×3 found");
    CHECK_STR(s.check.findings[1].text, "dtype: int8 expected, float32 found");
    CHECK_STR(s.check.findings[2].text, "both: scalar int8 expected, 2 float32 found");
    CHECK_STR(s.check.findings[3].text, "extra: not expected, scalar float32 found");
    CHECK_STR(s.check.findings[4].text, "gone: 7 int8 expected, not found");
    CHECK_INT(s.check.findings[0].code, FINDING_UNEXPECTED);
    end(&s);
}

TEST(equal_names_are_compared_in_order)
{
    static const int64_t shape[] = {2, 3};
    struct expectation e;
    struct sample s;

    begin(&s, "safetensors");
    add_tensor(&s, "a", shape, 1);
    add_tensor(&s, "a", shape, 2);
    CHECK(expect(&s,
                 "{\"tensors\": [{\"name\": \"a\", \"shape\": [2], \"dtype\": "
                 "\"float32\"}, {\"name\": \"a\", \"shape\": [2, 3], \"dtype\": "
                 "\"float32\"}]}",
                 &e, NULL) == 0);
    make(&s, &(struct check_ask){.expect = &e});
    CHECK_INT(s.check.n_findings, 0);
    CHECK_INT(item_of(&s, CHECK_EXPECT)->mark, CHECK_GOOD);
    CHECK_INT(s.check.expected, 2);
    end(&s);
}

TEST(an_invalid_expectation_is_refused_with_a_clear_error)
{
    static const char *const texts[] = {
        "",
        "[]",
        "{}",
        "{\"tensors\": 1}",
        "{\"tensors\": [1]}",
        "{\"tensors\": [{}]}",
        "{\"tensors\": [{\"name\": 1, \"shape\": [], \"dtype\": \"a\"}]}",
        "{\"tensors\": [{\"name\": \"a\", \"shape\": [1.5], \"dtype\": \"a\"}]}",
        "{\"tensors\": [{\"name\": \"a\", \"shape\": {}, \"dtype\": \"a\"}]}",
        "{\"tensors\": [{\"name\": \"a\", \"shape\": [1], \"dtype\": \"a\"}",
        "{\"tensors\": []} x",
    };
    struct expectation e;
    struct sample s;

    begin(&s, "safetensors");
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct err err = {0};

        CHECK(expect(&s, texts[i], &e, &err) == -1);
        CHECK(err.code == ERR_FORMAT && str_starts(str_of(err.text), STR("e.json")));
    }
    make(&s, &(struct check_ask){0});
    end(&s);
}

TEST(the_worst_verdict_counts)
{
    CHECK_INT(check_worse(VERDICT_SAFE, VERDICT_NEEDS_CODE), VERDICT_NEEDS_CODE);
    CHECK_INT(check_worse(VERDICT_INCONCLUSIVE, VERDICT_NEEDS_CODE),
              VERDICT_INCONCLUSIVE);
    CHECK_INT(check_worse(VERDICT_INCONCLUSIVE, VERDICT_UNSAFE), VERDICT_UNSAFE);
}
