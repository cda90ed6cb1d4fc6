#include <string.h>

#include "base/buf.h"
#include "base/test.h"
#include "model/source.h"
#include "read/read.h"

#define RAW "\0\0\x80\x3f\0\0\0\x40" /* 1 and 2 as float32 */

static void text(struct buf *to, const char *s)
{
    size_t n = strlen(s);

    buf_char(to, 'X');
    for (int i = 0; i < 4; i++)
        buf_char(to, (char)(n >> 8 * i));
    buf_text(to, s);
}

/* A dict whose key "w" is an array of two elements, up to the BUILD of its wrapper. */
static void begin(struct buf *to, const char *dtype, bool aligned)
{
    buf_clear(to);
    buf_add(to, "\x80\x03}(", 4);
    text(to, "w");
    buf_text(to, "cjoblib.numpy_pickle\nNumpyArrayWrapper\n)\x81}(");
    text(to, "shape");
    buf_text(to, "K\x02\x85");
    text(to, "order");
    text(to, "C");
    text(to, "dtype");
    buf_text(to, "cnumpy\ndtype\n");
    text(to, dtype);
    buf_text(to, "\x89\x88\x87R");
    if (aligned) {
        text(to, "numpy_array_alignment_bytes");
        buf_text(to, "K\x10");
    }
    buf_text(to, "ub");
}

/* The rest of the dict, which refers to the memo. */
static void end(struct buf *to)
{
    text(to, "after");
    buf_text(to, "K\x07u.");
}

static const struct model *read_file(const struct buf *file)
{
    struct err err = {0};

    return read_model_memory(file->at, file->len, "x.joblib", NULL, &err);
}

static bool found(const struct model *model, enum finding_code code, const char *part)
{
    for (uint32_t i = 0; i < model->n_findings; i++)
        if (model->findings[i].code == code && strstr(model->findings[i].text, part))
            return true;
    return false;
}

static bool names(const struct model *model, const char *global)
{
    for (uint32_t i = 0; i < model->pickle.n_globals; i++)
        if (str_is(model_string(model, model->pickle.globals[i].name), global))
            return true;
    return false;
}

static void check_array(const struct buf *file)
{
    const struct model *model = read_file(file);
    float values[2];

    CHECK(model != NULL);
    CHECK_STR(model->format, "pickle");
    CHECK_INT(model->n_findings, 0);
    CHECK(model->pickle.streams[0].complete);
    CHECK_INT(model->n_tensors, 1);
    CHECK(place_find(model, STR("w")) != NO_PLACE);
    CHECK(place_find(model, STR("after")) != NO_PLACE);
    CHECK(source_bytes(model->source, model->tensors[0].storage, 0, values, 8, NULL) ==
          0);
    CHECK(values[0] == 1 && values[1] == 2);
    model_free(model);
}

TEST(joblib_arrays_are_tensors_and_the_pickle_continues_after_their_data)
{
    struct buf file = BUF_INIT;

    begin(&file, "f4", true);
    buf_add(&file, "\x03\xff\xff\xff" RAW, 12);
    end(&file);
    check_array(&file);
    begin(&file, "f4", false); /* before joblib 1.2 */
    buf_add(&file, RAW, 8);
    end(&file);
    check_array(&file);
    buf_release(&file);
}

TEST(an_array_of_objects_in_a_joblib_file_is_a_nested_pickle)
{
    struct buf file = BUF_INIT;
    const struct model *model;

    begin(&file, "O8", true);
    buf_text(&file, "\x80\x04]\x94(cos\nsystem\nX\x01");
    buf_add(&file, "\0\0\0x\x85Re.", 8);
    end(&file);
    model = read_file(&file);
    CHECK(model != NULL);
    CHECK_INT(model->pickle.n_streams, 2);
    CHECK(names(model, "os.system"));
    CHECK(place_find(model, STR("after")) != NO_PLACE);
    CHECK(model->pickle.streams[0].complete && model->pickle.streams[1].complete);
    model_free(model);
    buf_release(&file);
}

TEST(code_in_raw_elements_is_found_because_pickle_load_runs_it)
{
    struct buf file = BUF_INIT;
    const struct model *model;

    begin(&file, "S20", false);
    buf_text(&file, "cos\nsystem\n(S'true'\n");
    buf_text(&file, "tR.12345678901234567");
    end(&file);
    model = read_file(&file);
    CHECK(model != NULL);
    CHECK(found(model, FINDING_PICKLE_MALFORMED, "pickle.load() runs them"));
    CHECK(names(model, "os.system"));
    model_free(model);
    buf_release(&file);
}

TEST(missing_bytes_of_a_joblib_array_are_a_finding)
{
    struct buf file = BUF_INIT;
    const struct model *model;

    begin(&file, "f4", true);
    buf_add(&file, "\x03\xff\xff\xff" RAW, 8);
    model = read_file(&file);
    CHECK(model != NULL);
    CHECK(found(model, FINDING_PICKLE_MALFORMED, "8 raw bytes follow it, but only 4"));
    CHECK(!model->pickle.streams[0].complete);
    model_free(model);
    begin(&file, "f4", true);
    buf_add(&file, "\x7f\xff\xff\xff" RAW, 12);
    model = read_file(&file);
    CHECK(found(model, FINDING_PICKLE_MALFORMED, "padding"));
    model_free(model);
    begin(&file, "Q9", true); /* an unknown dtype: the size of its data is unknown */
    buf_add(&file, "\x03\xff\xff\xff" RAW, 12);
    end(&file);
    model = read_file(&file);
    CHECK(found(model, FINDING_UNSUPPORTED, "shape (2,) and dtype Q9"));
    CHECK(!model->pickle.streams[0].complete);
    model_free(model);
    buf_release(&file);
}

TEST(a_joblib_file_cut_at_any_byte_neither_crashes_nor_leaks)
{
    struct buf file = BUF_INIT;

    begin(&file, "f4", true);
    buf_add(&file, "\x03\xff\xff\xff" RAW, 12);
    end(&file);
    while (file.len > 0) {
        file.len--;
        model_free(read_file(&file));
    }
    begin(&file, "O8", true);
    buf_text(&file, "\x80\x04]\x94(cos\nsystem\nKeKee.");
    end(&file);
    while (file.len > 0) {
        file.len--;
        model_free(read_file(&file));
    }
    buf_release(&file);
}
