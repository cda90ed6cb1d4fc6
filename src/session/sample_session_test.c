#include "session/sample_session.h"

#include <math.h>
#include <string.h>

#include "base/test.h"
#include "model/build.h"

static const float weights[6] = {1, 2, 3, 4, 5, -6};
static const float biases[2] = {0, NAN};
static const int64_t counts[1] = {7};

static const struct {
    const void *at;
    size_t bytes;
} storages[3] = {
    {weights, sizeof weights}, {biases, sizeof biases}, {counts, sizeof counts}};

static int sample_bytes(struct source *source, uint32_t storage, uint64_t at, void *to,
                        size_t n, struct err *err)
{
    (void)source;
    if (storage >= 3 || at > storages[storage].bytes ||
        n > storages[storage].bytes - at)
        return err_set(err, ERR_IO, "read beyond the storage");
    memcpy(to, (const char *)storages[storage].at + at, n);
    return 0;
}

static void sample_close(struct source *source)
{
    (void)source;
}

static const struct source_ops sample_ops = {.bytes = sample_bytes,
                                             .close = sample_close};
static struct source sample_source = {.ops = &sample_ops, .any_thread = true};

static uint32_t add(struct build *b, uint32_t parent, const char *name, uint8_t dtype,
                    uint8_t role, uint16_t flags, uint32_t storage,
                    const int64_t *shape, int rank)
{
    struct tensor tensor = {.dtype = dtype,
                            .role = role,
                            .flags = flags,
                            .storage = storage,
                            .class_id = NO_CLASS,
                            .device = build_device(b, STR("cpu"))};
    uint32_t node = build_node(b, parent, PLACE_TENSOR, str_of(name));

    return build_tensor(b, node, &tensor, shape, NULL, rank);
}

static void add_storages(struct build *b)
{
    for (int i = 0; i < 3; i++) {
        struct storage storage = {.bytes = storages[i].bytes};

        CHECK_INT(build_storage(b, &storage), i);
    }
    build_storage(b, &(struct storage){.bytes = 16, .flags = STORAGE_MISSING});
}

static void fill(struct build *b)
{
    static const int64_t shape[2] = {2, 3}, two[1] = {2}, four[1] = {4};
    uint32_t module, other, value, weight;

    add_storages(b);
    build_set_flags(b, 0, PLACE_STATE_DICT);
    module = build_node(b, 0, PLACE_MODULE, STR("a"));
    build_object(b, module)->class_id =
        build_class(b, STR("torch.nn.modules.linear.Linear"));
    weight = add(b, module, "weight", DTYPE_FLOAT32, ROLE_PARAMETER,
                 TENSOR_GRAD_KNOWN | TENSOR_GRAD, 0, shape, 2);
    add(b, module, "bias", DTYPE_FLOAT32, ROLE_PARAMETER, TENSOR_GRAD_KNOWN, 1, two, 1);
    other = build_node(b, 0, PLACE_MODULE, STR("b"));
    build_tensor_again(b, build_node(b, other, PLACE_TENSOR, STR("weight")), weight);
    add(b, other, "count", DTYPE_INT64, ROLE_BUFFER, 0, 2, NULL, 0);
    value = build_node(b, 0, PLACE_VALUE, STR("=x\n"));
    build_set_object(b, value, value_str(build_values(b), STR("<&>")));
    add(b, 0, "lost", DTYPE_FLOAT32, ROLE_PLAIN, 0, 3, four, 1);
}

struct session *sample_session(void)
{
    struct build b;
    const struct model *model;
    struct session *session;

    CHECK(build_init(&b, "sample.pth", 0, NULL, NULL) == 0);
    b.model->format = "sample";
    b.model->source = &sample_source;
    fill(&b);
    model = build_finish(&b, NULL);
    CHECK(model);
    build_release(&b);
    session = session_of(model, NULL);
    CHECK(session);
    return session;
}

uint32_t sample_place(const struct session *session, const char *name)
{
    uint32_t place = place_find(session->model, str_of(name));

    CHECK(place != NO_PLACE);
    return place;
}
