#include "base/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/folder.h"
#include "read/read.h"

#define READ(literal) read_bytes(literal, sizeof(literal) - 1)

static const struct model *read_bytes(const void *at, size_t len)
{
    struct err err = {0};

    return read_model_memory(at, len, "test.pkl", NULL, &err);
}

static bool found(const struct model *model, enum finding_code code, const char *text)
{
    for (uint32_t i = 0; i < model->n_findings; i++)
        if (model->findings[i].code == code && strstr(model->findings[i].text, text))
            return true;
    return false;
}

static uint64_t acts(const struct model *model, const char *global, enum pickle_act act)
{
    const struct pickle_log *log = &model->pickle;

    for (uint32_t i = 0; i < log->n_globals; i++)
        if (str_is(model_string(model, log->globals[i].name), global))
            return log->globals[i].acts[act];
    return 0;
}

TEST(a_bare_pickle_becomes_a_tree_of_its_values)
{
    const struct model *model = READ("\x80\x02}(X\x05\x00\x00\x00"
                                     "epochK\x0cX\x04\x00\x00\x00optsX\x04\x00\x00\x00"
                                     "adamu.");
    uint32_t place;

    CHECK(model != NULL);
    CHECK_STR(model->format, "pickle");
    place = place_find(model, STR("epoch"));
    CHECK(place != NO_PLACE);
    CHECK_INT(model->kind[place], PLACE_VALUE);
    CHECK_INT(value_at(&model->values, model->object[place])->integer, 12);
    CHECK_INT(model->n_findings, 0);
    model_free(model);
}

TEST(each_pickle_after_the_first_becomes_a_group)
{
    const struct model *model = READ("\x80\x02}X\x01\x00\x00\x00"
                                     "aK\x01s.\x80\x02}X\x01\x00\x00\x00"
                                     "bK\x02s.cos\nsystem\n(S'id'\ntR.");

    CHECK(model != NULL);
    CHECK_INT(model->pickle.n_streams, 3);
    CHECK(place_find(model, STR("pickle 2.b")) != NO_PLACE);
    CHECK(place_find(model, STR("pickle 3")) != NO_PLACE);
    CHECK(found(model, FINDING_PICKLE_NESTED, "begins at byte 13"));
    CHECK_INT(acts(model, "os.system", PICKLE_CALLS), 1);
    model_free(model);
}

TEST(unused_bytes_after_the_pickle_are_reported)
{
    const struct model *model = READ("\x80\x02}X\x01\x00\x00\x00"
                                     "aK\x01s.\x00\x01\x02");

    CHECK(model != NULL);
    CHECK(found(model, FINDING_TRAILING, "3 unused bytes"));
    model_free(model);
}

TEST(a_pickle_inside_bytes_is_logged_too)
{
    const struct model *model = READ("\x80\x03"
                                     "c_pickle\nloads\nC\x18"
                                     "cos\nsystem\nVabcdefgh\n\x85R."
                                     "\x85R.");

    CHECK(model != NULL);
    CHECK_INT(acts(model, "_pickle.loads", PICKLE_CALLS), 1);
    CHECK_INT(acts(model, "os.system", PICKLE_CALLS), 1);
    CHECK(found(model, FINDING_PICKLE_NESTED, "24 bytes inside this pickle"));
    CHECK_INT(model->pickle.n_streams, 2);
    model_free(model);
}

TEST(a_pickle_inside_latin_1_text_is_found)
{
    /* Protocol 2 writes b'\x80\x02cos\nsystem\n)R.' like this. */
    const struct model *model = READ("\x80\x02"
                                     "c_codecs\nencode\nX\x11\x00\x00\x00\xc2\x80\x02"
                                     "cos\nsystem\n)R.X\x06\x00\x00\x00latin1\x86R.");

    CHECK(model != NULL);
    CHECK_INT(acts(model, "os.system", PICKLE_CALLS), 1);
    model_free(model);
}

TEST(ordinary_bytes_are_not_taken_for_pickles)
{
    const struct model *model = READ("\x80\x03(C\x09not one..C\x0a"
                                     "N.N.N.N.N.C\x04\x80\x02N.t.");

    CHECK(model != NULL);
    CHECK_INT(model->pickle.n_streams, 1);
    CHECK_INT(model->n_findings, 0);
    model_free(model);
}

/* Wrap `inner` in bytes of a new pickle. */
static size_t wrap(char *to, const char *inner, size_t len)
{
    to[0] = (char)0x80;
    to[1] = 3;
    memcpy(to + 2, "cm\nf\n0B", 7);
    to[9] = (char)len;
    to[10] = (char)(len >> 8);
    to[11] = to[12] = 0;
    memcpy(to + 13, inner, len);
    to[13 + len] = '.';
    return len + 14;
}

TEST(pickles_nested_too_deep_are_not_followed)
{
    char one[512] = "\x80\x02"
                    "cm\nf\n0N.",
         other[512];
    size_t len = 10;
    const struct model *model;

    for (int i = 0; i < 5; i++) {
        len = wrap(other, one, len);
        memcpy(one, other, len);
    }
    model = read_bytes(one, len);
    CHECK(model != NULL);
    CHECK_INT(model->pickle.n_streams, 6);
    CHECK(!model->pickle.streams[5].complete); /* the one that was not read */
    CHECK(found(model, FINDING_LIMIT, "more than 4 levels"));
    model_free(model);
}

TEST(a_truncated_pickle_shows_the_values_before_the_cut)
{
    const struct model *model = READ("\x80\x02}(X\x01\x00\x00\x00"
                                     "aK\x01X\x01\x00\x00\x00"
                                     "bK\x02h\x63u.");

    CHECK(model != NULL);
    CHECK(place_find(model, STR("a")) != NO_PLACE);
    CHECK(place_find(model, STR("b")) != NO_PLACE);
    CHECK(found(model, FINDING_PICKLE_MALFORMED, "BINGET at byte 20"));
    CHECK(model->partial);
    model_free(model);
}

TEST(a_bare_pickle_cut_at_any_byte_neither_crashes_nor_leaks)
{
    static const char whole[] = "\x80\x03}q\x00(X\x01\x00\x00\x00"
                                "aq\x01](K\x01K\x02"
                                "eX\x01\x00\x00\x00"
                                "bccollections\nOrderedDict\n)R("
                                "X\x01\x00\x00\x00xcm\nC\n)\x81}X\x01\x00\x00\x00"
                                "yK\x05sbuX\x01\x00\x00\x00"
                                "cC\x0f\x80\x02"
                                "cos\nsystem\n)R.u.I5\n.trailing";

    for (size_t n = 0; n <= sizeof whole - 1; n++)
        model_free(read_bytes(whole, n));
}

/* ---- real hostile files; skipped if they are not installed ---- */

static const char *models_folder(void)
{
    const char *folder = getenv("TORCHOSCOPE_MODELS");

    return folder ? folder : "../shared/models";
}

static void check_hostile(const char *folder, struct str name)
{
    struct err err = {0};
    const struct model *model;
    char path[1024];

    snprintf(path, sizeof path, "%s/%.*s", folder, STR_ARG(name));
    model = read_model(path, NULL, &err);
    if (!model)
        test_fail(__FILE__, __LINE__, "%s: %s", path, err.text);
    /* Each file logs what it would call, unless its name says that it is harmless. */
    if (model->pickle.n_globals == 0 && str_find(name, STR("benign")) < 0 &&
        str_find(name, STR("safe")) < 0)
        test_fail(__FILE__, __LINE__, "%s: no name in the log", path);
    for (uint32_t i = 0; i < model->pickle.n_streams; i++)
        if (!model->pickle.streams[i].complete &&
            !found(model, FINDING_PICKLE_MALFORMED, "byte"))
            test_fail(__FILE__, __LINE__,
                      "%s: truncated without a finding that says where", path);
    model_free(model);
}

static void check_folder(const char *part)
{
    struct arena arena;
    struct folder folder;
    struct err err = {0};
    char path[512];

    snprintf(path, sizeof path, "%s/%s", models_folder(), part);
    if (!path_is_folder(path))
        SKIP("the hostile files are not installed");
    arena_init(&arena, 0);
    CHECK(folder_open(&folder, path, &arena, &err) == 0);
    for (uint32_t i = 0; i < folder.n; i++)
        if (str_ends(folder.entries[i].name, STR(".pkl")))
            check_hostile(path, folder.entries[i].name);
    folder_close(&folder);
    arena_release(&arena);
}

TEST(every_hostile_pickle_of_picklescan_logs_what_it_calls)
{
    check_folder("picklescan");
}

TEST(every_hostile_pickle_of_modelaudit_logs_what_it_calls)
{
    check_folder("modelaudit");
}
