#include "rows/sample_rows.h"

#include <string.h>

#include "base/base.h"
#include "base/test.h"
#include "rows/textual.h"

void sample_begin(struct sample *sample, const char *path)
{
    *sample = (struct sample){0};
    CHECK(build_init(&sample->build, path, 0, NULL, NULL) == 0);
    sample->build.model->format = "torch zip";
}

void sample_finish(struct sample *sample)
{
    sample->model = build_finish(&sample->build, NULL);
    CHECK(sample->model);
    build_release(&sample->build);
    sample->session = session_of(sample->model, NULL);
    CHECK(sample->session);
    arena_init(&sample->arena, 0);
    CHECK(show_init(&sample->show, sample->session, &sample->arena, NULL) == 0);
}

void sample_release(struct sample *sample)
{
    session_close(sample->session);
    arena_release(&sample->arena);
    buf_release(&sample->text);
}

/* One word: 3, 0.5, 'text', True, None, or 7,7 as a tuple. */
static uint32_t read_value(struct values *values, struct str word)
{
    uint32_t items[8];
    uint32_t n = 0;
    struct str part;
    int64_t integer;
    double real;

    if (str_find_char(word, ',') >= 0) {
        while (str_split(&word, ',', &part))
            items[n++] = read_value(values, part);
        return value_make(values, VALUE_TUPLE, STR(""), items, n);
    }
    if (str_is(word, "None"))
        return VALUE_ID_NONE;
    if (str_is(word, "True") || str_is(word, "False"))
        return value_bool(values, str_is(word, "True"));
    if (str_to_i64(word, &integer))
        return value_int(values, integer);
    if (str_to_double(word, &real))
        return value_real(values, real);
    return value_str(values, str_span(word.at + 1, word.len - 2));
}

uint32_t sample_module(struct sample *sample, uint32_t parent, const char *name,
                       const char *class_name, const char *args)
{
    struct build *build = &sample->build;
    struct values *values = build_values(build);
    uint32_t node = build_node(build, parent, PLACE_MODULE, str_of(name));
    struct object *object = build_object(build, node);
    struct str rest = str_of(args), word;
    uint32_t items[32];
    uint32_t n = 0;

    while (rest.len > 0 && str_split(&rest, ' ', &word)) {
        size_t equals = (size_t)str_find_char(word, '=');

        items[n++] = value_str(values, str_head(word, equals));
        items[n++] = read_value(values, str_from(word, equals + 1));
    }
    object->class_id = build_class(build, str_of(class_name));
    object->args = value_make(values, VALUE_DICT, STR(""), items, n);
    return node;
}

static uint32_t add_tensor(struct sample *sample, uint32_t parent, struct str name,
                           const char *shape)
{
    struct tensor tensor = {.dtype = DTYPE_FLOAT32, .class_id = NO_CLASS};
    struct storage storage = {.dtype = DTYPE_FLOAT32, .bytes = 4};
    struct str rest = str_of(shape), word;
    int64_t sizes[8];
    int rank = 0;

    while (rest.len > 0 && str_split(&rest, ' ', &word)) {
        CHECK(str_to_i64(word, &sizes[rank]));
        storage.bytes *= (uint64_t)sizes[rank++];
    }
    tensor.storage = build_storage(&sample->build, &storage);
    return build_tensor(&sample->build,
                        build_node(&sample->build, parent, PLACE_TENSOR, name), &tensor,
                        sizes, NULL, rank);
}

uint32_t sample_tensor(struct sample *sample, uint32_t parent, const char *name,
                       const char *shape)
{
    return add_tensor(sample, parent, str_of(name), shape);
}

void sample_dotted(struct sample *sample, const char *name, const char *shape)
{
    struct str last;
    uint32_t parent = build_dotted(&sample->build, 0, str_of(name), &last);

    add_tensor(sample, parent, last, shape);
}

void sample_plain(struct sample *sample, uint32_t parent, const char *name,
                  uint32_t value)
{
    uint32_t node = build_node(&sample->build, parent, PLACE_VALUE, str_of(name));

    build_set_object(&sample->build, node, value);
}

const char *sample_tree(struct sample *sample, const struct view *view, unsigned width)
{
    const struct column *usual[] = {column_find(STR("params")), column_find(STR("%")),
                                    column_find(STR("memory")),
                                    column_find(STR("shapes"))};
    struct rows rows;
    struct textual what = {.show = &sample->show,
                           .rows = &rows,
                           .columns = usual,
                           .n_columns = COUNT_OF(usual),
                           .width = width,
                           .ascii = sample->ascii,
                           .isolate = sample->isolate,
                           .name = view->flat ? LABEL_PATH : LABEL_NAME};
    struct out out;

    CHECK(rows_make(&rows, &sample->show, view, &sample->arena, NULL) == 0);
    buf_clear(&sample->text);
    out_init_buf(&out, &sample->text);
    if (width > 0 && width < TEXTUAL_NARROW)
        CHECK(textual_narrow(&out, &what, NULL) == 0);
    else
        CHECK(textual_wide(&out, &what, NULL) == 0);
    CHECK(out_release(&out) == 0);
    return buf_cstr(&sample->text);
}
