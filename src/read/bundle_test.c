#include <string.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/test.h"
#include "read/file/test_zip_in.h"
#include "read/read.h"

static const struct model *read_zip(struct test_zip *zip, struct err *err)
{
    test_zip_end(zip, &(struct test_end){0});
    return read_model_memory(zip->bytes.at, zip->bytes.len, "x.zip", NULL, err);
}

static void add(struct test_zip *zip, const char *name, const char *content, size_t n,
                bool deflate)
{
    test_zip_add(zip, &(struct test_member){.name = name,
                                            .content = content,
                                            .content_len = n,
                                            .deflate = deflate});
}

/* How often a name is called. */
static uint64_t calls(const struct model *model, const char *name)
{
    const struct pickle_log *log = &model->pickle;

    for (uint32_t i = 0; i < log->n_globals; i++)
        if (str_is(model_string(model, log->globals[i].name), name))
            return log->globals[i].acts[PICKLE_CALLS];
    return 0;
}

/* Were all pickles read to their end? */
static bool all_complete(const struct model *model)
{
    for (uint32_t i = 0; i < model->pickle.n_streams; i++)
        if (!model->pickle.streams[i].complete)
            return false;
    return true;
}

/* {'a': 1} and posix.system("x") as pickles. */
#define SAFE        "\x80\x02}q\0X\1\0\0\0aq\1K\1s."
#define EVIL        "cposix\nsystem\n(S'x'\ntR."
#define BYTES(text) text, sizeof(text) - 1

TEST(members_of_a_zip_are_read_below_their_names)
{
    struct test_zip zip = {0};
    const struct model *model;

    add(&zip, "run/a.pkl", BYTES(SAFE), false);
    add(&zip, "run/b.pkl", BYTES(SAFE), true);
    add(&zip, "run/notes.txt", BYTES("hello"), false);
    add(&zip, "other/notes.txt", BYTES("hello"), false);
    model = read_zip(&zip, NULL);
    CHECK(model);
    CHECK_INT(model->n_findings, 0);
    CHECK_STR(model->format, "zip bundle");
    CHECK(place_find(model, STR("run.a.pkl.a")) != NO_PLACE);
    CHECK(place_find(model, STR("run.b.pkl.a")) != NO_PLACE);
    CHECK(place_find(model, STR("run.notes.txt")) != NO_PLACE);
    CHECK(all_complete(model) && model->pickle.n_globals == 0);
    model_free(model);
    test_zip_release(&zip);
}

TEST(a_pickle_in_a_zip_is_judged_whatever_its_name)
{
    struct test_zip zip = {0};
    const struct model *model;

    add(&zip, "model.pt", BYTES(SAFE), false);
    add(&zip, "README", BYTES("\x80\x02" EVIL), true);
    model = read_zip(&zip, NULL);
    CHECK(model);
    CHECK_INT(calls(model, "posix.system"), 1);
    model_free(model);
    test_zip_release(&zip);
}

TEST(the_settings_of_stable_baselines_are_values_and_pickles)
{
    /* base64 of "\x80\2cposix\nsystem\nq\0." */
    static const char data[] =
        "{\"gamma\": 0.99, \"policy_class\": {\":type:\": \"<class>\", "
        "\":serialized:\": \"gAJjcG9zaXgKc3lzdGVtCnEALg==\"}}";
    struct test_zip zip = {0};
    const struct model *model;
    uint32_t place;

    add(&zip, "data", data, sizeof data - 1, true);
    add(&zip, "policy.pth", BYTES(SAFE), false);
    model = read_zip(&zip, NULL);
    CHECK(model);
    place = place_find(model, STR("data.gamma"));
    CHECK(place != NO_PLACE);
    CHECK_NEAR(value_at(&model->values, model->object[place])->real, 0.99, 1e-12);
    CHECK_INT(model->pickle.n_streams, 2);
    CHECK(str_is(model_string(model, model->pickle.streams[0].name),
                 "data: policy_class"));
    CHECK_INT(model->pickle.n_globals, 1);
    model_free(model);
    test_zip_release(&zip);
}

TEST(the_handler_of_an_archive_for_torchserve_is_code)
{
    struct test_zip zip = {0};
    const struct model *model;

    add(&zip, "MAR-INF/MANIFEST.json",
        BYTES("{\"model\": {\"handler\": \"serve.py:entry\"}}"), false);
    add(&zip, "model.pt", BYTES(SAFE), false);
    model = read_zip(&zip, NULL);
    CHECK(model);
    CHECK_INT(calls(model, "serve.handle"), 1);
    model_free(model);
    test_zip_release(&zip);
}

TEST(a_member_that_cannot_be_read_is_never_safe)
{
    struct test_zip zip = {0};
    const struct model *model;

    add(&zip, "a.pkl", BYTES(SAFE), false);
    test_zip_add(&zip, &(struct test_member){.name = "b.pkl",
                                             .content = "garbage",
                                             .method = ZIP_DEFLATED});
    model = read_zip(&zip, NULL);
    CHECK(model);
    CHECK(!all_complete(model));
    model_free(model);
    test_zip_release(&zip);
}

TEST(a_zip_without_a_model_is_refused)
{
    struct test_zip zip = {0};
    struct err err = {0};

    add(&zip, "weights/a.pt", BYTES("x"), false);
    add(&zip, "weights/b.pt", BYTES("y"), false);
    CHECK(!read_zip(&zip, &err));
    CHECK(strstr(err.text, "a zip archive of 2 files"));
    test_zip_release(&zip);
}
