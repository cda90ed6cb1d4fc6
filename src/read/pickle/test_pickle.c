#include "read/pickle/test_pickle_in.h"

#include <string.h>

#include "base/base.h"
#include "base/json_write.h"
#include "base/test.h"

#define SHOWN_DEPTH 16

void ran_init(struct ran *ran, const void *at, size_t len)
{
    struct bytes in = bytes_of(at, len);

    memset(ran, 0, sizeof *ran);
    CHECK(build_init(&ran->build, "test", 64 * MIB, NULL, &ran->err) == 0);
    ran->status = pickle_run(&ran->pickle, &ran->build, &in, STR("test"), &ran->err);
    ran->left = bytes_left(&in);
}

void ran_release(struct ran *ran)
{
    buf_release(&ran->text);
    build_release(&ran->build);
}

static void show(struct buf *to, const struct values *values, uint32_t id, int depth);

static void show_items(struct buf *to, const struct values *values, uint32_t id,
                       const char *between, int depth)
{
    const uint32_t *items = value_items(values, id);
    uint32_t n = value_at(values, id)->n;

    for (uint32_t i = 0; i < n; i++) {
        if (i > 0)
            buf_text(to, i % 2 ? between : ", ");
        show(to, values, items[i], depth + 1);
    }
}

static void show_held(struct buf *to, const struct values *values, uint32_t id,
                      int depth)
{
    static const char *const open[] = {
        [VALUE_LIST] = "[", [VALUE_TUPLE] = "(", [VALUE_SET] = "set(",
        [VALUE_DICT] = "{", [VALUE_CALL] = "(",  [VALUE_OBJECT] = "{"};
    static const char *const close[] = {
        [VALUE_LIST] = "]", [VALUE_TUPLE] = ")", [VALUE_SET] = ")",
        [VALUE_DICT] = "}", [VALUE_CALL] = ")",  [VALUE_OBJECT] = "}"};
    enum value_kind kind = value_at(values, id)->kind;

    buf_str(to, value_text(values, id));
    buf_text(to, open[kind]);
    if (depth < SHOWN_DEPTH)
        show_items(to, values, id,
                   kind == VALUE_DICT || kind == VALUE_OBJECT ? ": " : ", ", depth);
    else
        buf_text(to, "...");
    buf_text(to, close[kind]);
}

static void show_bytes(struct buf *to, struct str bytes)
{
    buf_text(to, "b'");
    for (size_t i = 0; i < bytes.len; i++)
        buf_printf(to, "%02x", (unsigned char)bytes.at[i]);
    buf_text(to, "'");
}

static void show(struct buf *to, const struct values *values, uint32_t id, int depth)
{
    const struct value *value = value_at(values, id);
    struct str text = value_text(values, id);
    char digits[32];

    switch ((enum value_kind)value->kind) {
    case VALUE_NONE:
        buf_text(to, "None");
        break;
    case VALUE_BOOL:
        buf_text(to, value->integer ? "True" : "False");
        break;
    case VALUE_INT:
        buf_printf(to, "%lld", (long long)value->integer);
        break;
    case VALUE_REAL:
        real_text(value->real, digits);
        buf_text(to, digits);
        break;
    case VALUE_BIGINT:
        buf_str(to, text);
        break;
    case VALUE_STR:
        buf_printf(to, "'%.*s'", STR_ARG(text));
        break;
    case VALUE_BYTES:
        show_bytes(to, text);
        break;
    case VALUE_GLOBAL:
        buf_printf(to, "<%.*s>", STR_ARG(text));
        break;
    case VALUE_CUT:
        buf_printf(to, "<%.*s>", STR_ARG(text));
        break;
    case VALUE_TENSOR:
        buf_printf(to, "tensor %lld", (long long)value->integer);
        break;
    default:
        show_held(to, values, id, depth);
    }
}

const char *ran_text(struct ran *ran)
{
    buf_clear(&ran->text);
    if (ran->status == 0)
        show(&ran->text, build_values(&ran->build),
             pickle_value(&ran->pickle, ran->pickle.result, NULL), 0);
    return buf_cstr(&ran->text);
}

bool ran_found(const struct ran *ran, enum finding_code code, const char *text)
{
    const struct model *model = ran->build.model;

    for (uint32_t i = 0; i < model->n_findings; i++)
        if (model->findings[i].code == code && strstr(model->findings[i].text, text))
            return true;
    return false;
}

uint64_t ran_acts(const struct ran *ran, const char *global, enum pickle_act act)
{
    const struct model *model = ran->build.model;

    for (uint32_t i = 0; i < model->pickle.n_globals; i++)
        if (str_is(model_string(model, model->pickle.globals[i].name), global))
            return model->pickle.globals[i].acts[act];
    return 0;
}
