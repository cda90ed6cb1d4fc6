#include "read/pickle/pickle_fold_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/utf8.h"

/* Converts Latin-1 text back to bytes. */
static bool latin1_bytes(const struct pickle *pickle, struct str text,
                         struct str *ret_bytes)
{
    char *to = arena_alloc(&pickle->build->scratch, text.len + 1);
    size_t n = 0, at = 0;

    if (!to)
        return false;
    while (at < text.len) {
        uint32_t code;
        int len = utf8_decode(str_from(text, at), &code);

        if (len == 0 || code > 0xff)
            return false;
        to[n++] = (char)code;
        at += (size_t)len;
    }
    *ret_bytes = (struct str){to, n};
    return true;
}

/* Bytes of the file, unchanged; Python 2's str also holds bytes. */
static bool plain_bytes(const struct pickle *pickle, node_id id, struct str *ret_bytes)
{
    const struct node *node = pickle_node(pickle, id);

    if (!node || (node->kind != NODE_BYTES &&
                  !(node->kind == NODE_STR && node->flags & NODE_PYTHON2)))
        return false;
    *ret_bytes = pickle_text(pickle, id);
    return true;
}

static bool text_as_bytes(const struct pickle *pickle, node_id id,
                          struct str *ret_bytes)
{
    const struct node *node = pickle_node(pickle, id);

    return node && node->kind == NODE_STR &&
           latin1_bytes(pickle, pickle_text(pickle, id), ret_bytes);
}

bool pickle_bytes(const struct pickle *pickle, node_id id, struct str *ret_bytes)
{
    if (plain_bytes(pickle, id, ret_bytes))
        return true;
    /* bytes() and bytearray() may wrap any other form. */
    if (pickle_is_call(pickle, id, "builtins.bytes") ||
        pickle_is_call(pickle, id, "builtins.bytearray")) {
        id = pickle_arg(pickle, id, 0);
        if (id == NO_NODE) {
            *ret_bytes = STR("");
            return true;
        }
        if (plain_bytes(pickle, id, ret_bytes) || text_as_bytes(pickle, id, ret_bytes))
            return true;
    }
    return pickle_is_call(pickle, id, "_codecs.encode") &&
           text_as_bytes(pickle, pickle_arg(pickle, id, 0), ret_bytes);
}

static uint32_t fold_bytes(struct folding *f, node_id id)
{
    struct str bytes;

    if (!pickle_bytes(f->pickle, id, &bytes))
        return NOT_FOLDED;
    return value_bytes(f->values, str_head(bytes, VALUE_BYTES_KEPT), bytes.len);
}

static uint32_t fold_as_dict(struct folding *f, node_id id)
{
    return folding_dict(f, id, VALUE_DICT, STR(""));
}

static uint32_t fold_as_list(struct folding *f, node_id id)
{
    return folding_list(f, id, VALUE_LIST);
}

static uint32_t fold_as_tuple(struct folding *f, node_id id)
{
    return folding_list(f, id, VALUE_TUPLE);
}

static uint32_t fold_as_set(struct folding *f, node_id id)
{
    return folding_list(f, id, VALUE_SET);
}

/* complex, range and slice: drop "builtins". */
static uint32_t fold_builtin(struct folding *f, node_id id)
{
    struct str name = pickle_text(f->pickle, pickle_callee(f->pickle, id));
    uint32_t n = pickle_args(f->pickle, id), values[3];

    if (n > COUNT_OF(values))
        return NOT_FOLDED;
    for (uint32_t i = 0; i < n; i++) {
        values[i] = folding_any(f, pickle_arg(f->pickle, id, i));
        if (values[i] == VALUE_ID_FAILED)
            return VALUE_ID_FAILED;
    }
    return value_make(f->values, VALUE_CALL, str_from(name, strlen("builtins.")),
                      values, n);
}

/* getattr(X, 'name') of a global X is the name X.name: members of an Enum and methods
 * written in C are pickled like this. Of an object it is a method of its class. */
static uint32_t fold_getattr(struct folding *f, node_id id)
{
    const struct pickle *p = f->pickle;
    node_id of = pickle_arg(p, id, 0), name = pickle_arg(p, id, 1);
    const struct node *node = pickle_node(p, of), *text_node = pickle_node(p, name);
    char *text;

    if (node && (node->kind == NODE_NEW || node->kind == NODE_CALL)) {
        of = pickle_class(p, node->call.callee);
        node = pickle_node(p, of);
    }
    if (!node || node->kind != NODE_GLOBAL || !text_node || text_node->kind != NODE_STR)
        return NOT_FOLDED;
    text = arena_printf(&p->build->scratch, "%.*s.%.*s", STR_ARG(pickle_text(p, of)),
                        STR_ARG(pickle_text(p, name)));
    if (!text)
        return VALUE_ID_FAILED;
    return value_make(f->values, VALUE_GLOBAL, str_of(text), NULL, 0);
}

/* datetime, date and time pickle as bytes: year (big-endian, two), month, day, hour,
 * minute, second, microseconds (three). A time has no date before it. */
static uint32_t fold_datetime(struct folding *f, node_id id)
{
    struct str bytes;
    unsigned char b[10] = {0};
    unsigned micro;
    char text[40];
    int n;

    if (!pickle_bytes(f->pickle, pickle_arg(f->pickle, id, 0), &bytes) ||
        (bytes.len != 10 && bytes.len != 6 && bytes.len != 4))
        return NOT_FOLDED;
    memcpy(b + (bytes.len == 6 ? 4 : 0), bytes.at, bytes.len);
    micro = (unsigned)b[7] << 16 | (unsigned)b[8] << 8 | b[9];
    /* The top bit of the month (of a time: of the hour) marks a repeated hour. */
    b[bytes.len == 6 ? 4 : 2] &= 0x7f;
    n = snprintf(text, sizeof text, "%04u-%02u-%02u %02u:%02u:%02u", b[0] * 256u + b[1],
                 b[2], b[3], b[4], b[5], b[6]);
    if (micro > 0)
        n += snprintf(text + n, sizeof text - (size_t)n, ".%06u", micro);
    if (bytes.len == 4)
        return value_str(f->values, str_span(text, 10));
    if (bytes.len == 6)
        return value_str(f->values, str_span(text + 11, (size_t)n - 11));
    return value_str(f->values, str_span(text, (size_t)n));
}

/* PosixPath('a', 'b', 'c') is a/b/c; the first part of an absolute path is "/". */
static uint32_t fold_path(struct folding *f, node_id id)
{
    const struct pickle *p = f->pickle;
    uint32_t n = pickle_args(p, id);
    size_t len = 0, at = 0;
    char *text;

    for (uint32_t i = 0; i < n && i < f->max_items; i++)
        len += pickle_text(p, pickle_arg(p, id, i)).len + 1;
    text = arena_alloc(&p->build->scratch, len + 1);
    if (!text)
        return VALUE_ID_FAILED;
    for (uint32_t i = 0; i < n && i < f->max_items; i++) {
        struct str part = pickle_text(p, pickle_arg(p, id, i));

        if (part.len == 0)
            continue;
        if (at > 0 && text[at - 1] != '/')
            text[at++] = '/';
        memcpy(text + at, part.at, part.len);
        at += part.len;
    }
    return folding_named(f, pickle_text(p, pickle_callee(p, id)), str_span(text, at));
}

/* UUID's state is {'int': a number of 128 bits}. */
static uint32_t fold_uuid(struct folding *f, node_id id)
{
    const struct pickle *p = f->pickle;
    node_id number = folding_get(f, node_state(p, pickle_node(p, id)), "int");
    const struct node *node = pickle_node(p, number);
    unsigned char b[16] = {0};
    struct str bytes;
    char text[40];

    if (!node || node->flags & NODE_DECIMAL ||
        (node->kind != NODE_INT && node->kind != NODE_BIGINT))
        return NOT_FOLDED;
    bytes = pickle_text(p, number);
    for (unsigned i = 0; i < 16; i++) {
        if (node->kind == NODE_BIGINT)
            b[i] = i < bytes.len ? (unsigned char)bytes.at[i] : 0;
        else if (i < 8)
            b[i] = (unsigned char)((uint64_t)node->integer >> 8 * i);
    }
    snprintf(text, sizeof text,
             "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             b[15], b[14], b[13], b[12], b[11], b[10], b[9], b[8], b[7], b[6], b[5],
             b[4], b[3], b[2], b[1], b[0]);
    return value_str(f->values, str_of(text));
}

/* functools.partial(f) with the state (function, arguments, keyword arguments, dict).
 */
static uint32_t fold_partial(struct folding *f, node_id id)
{
    const struct pickle *p = f->pickle;
    node_id state = node_state(p, pickle_node(p, id));
    uint32_t values[3], n = 0;

    if (pickle_count(p, state) < 3)
        return NOT_FOLDED;
    for (; n < 3; n++) {
        values[n] = folding_any(f, pickle_item(p, state, n));
        if (values[n] == VALUE_ID_FAILED)
            return VALUE_ID_FAILED;
    }
    while (n > 1 && (values[n - 1] == VALUE_ID_NONE ||
                     value_at(f->values, values[n - 1])->n == 0))
        n--;
    return value_make(f->values, VALUE_CALL, STR("functools.partial"), values, n);
}

/* omegaconf keeps its content in _content or _val; _parent leads back up. */
static uint32_t fold_omegaconf(struct folding *f, node_id id)
{
    node_id state = node_state(f->pickle, pickle_node(f->pickle, id));
    node_id content = folding_get(f, state, "_content");

    if (content == NO_NODE)
        content = folding_get(f, state, "_val");
    return content == NO_NODE ? NOT_FOLDED : folding_any(f, content);
}

static uint32_t fold_device(struct folding *f, node_id id)
{
    struct str kind = pickle_text(f->pickle, pickle_arg(f->pickle, id, 0));
    char text[64];
    int64_t index;

    if (kind.len == 0 || kind.len > 32)
        return NOT_FOLDED;
    if (!pickle_int(f->pickle, pickle_arg(f->pickle, id, 1), &index))
        return folding_named(f, STR("torch.device"), kind);
    snprintf(text, sizeof text, "%.*s:%lld", STR_ARG(kind), (long long)index);
    return folding_named(f, STR("torch.device"), str_of(text));
}

/* _get_layout('torch.sparse_coo') is that name. */
static uint32_t fold_layout(struct folding *f, node_id id)
{
    struct str name = pickle_text(f->pickle, pickle_arg(f->pickle, id, 0));

    if (name.len == 0)
        return NOT_FOLDED;
    return value_make(f->values, VALUE_GLOBAL, name, NULL, 0);
}

/* THE TABLE of callees and the functions that fold their calls, sorted by name. Objects
 * of other classes keep their attributes, calls of other functions their arguments. */
struct folder_of {
    const char *callee;
    uint32_t (*fold)(struct folding *f, node_id id);
};
static const struct folder_of table[] = {
    {"_codecs.encode", fold_bytes},
    {"builtins.bytearray", fold_bytes},
    {"builtins.bytes", fold_bytes},
    {"builtins.complex", fold_builtin},
    {"builtins.dict", fold_as_dict},
    {"builtins.frozenset", fold_as_set},
    {"builtins.getattr", fold_getattr},
    {"builtins.list", fold_as_list},
    {"builtins.range", fold_builtin},
    {"builtins.set", fold_as_set},
    {"builtins.slice", fold_builtin},
    {"builtins.tuple", fold_as_tuple},
    {"collections.Counter", fold_as_dict},
    {"collections.OrderedDict", fold_as_dict},
    {"collections.defaultdict", fold_as_dict},
    {"collections.deque", fold_as_list},
    {"datetime.date", fold_datetime},
    {"datetime.datetime", fold_datetime},
    {"datetime.time", fold_datetime},
    {"functools.partial", fold_partial},
    {"numpy._core.multiarray._reconstruct", folding_numpy_array},
    {"numpy._core.multiarray.scalar", folding_numpy_scalar},
    {"numpy.core.multiarray._reconstruct", folding_numpy_array},
    {"numpy.core.multiarray.scalar", folding_numpy_scalar},
    {"numpy.dtype", folding_numpy_dtype},
    {"omegaconf.dictconfig.DictConfig", fold_omegaconf},
    {"omegaconf.listconfig.ListConfig", fold_omegaconf},
    {"omegaconf.nodes.AnyNode", fold_omegaconf},
    {"omegaconf.nodes.BooleanNode", fold_omegaconf},
    {"omegaconf.nodes.BytesNode", fold_omegaconf},
    {"omegaconf.nodes.EnumNode", fold_omegaconf},
    {"omegaconf.nodes.FloatNode", fold_omegaconf},
    {"omegaconf.nodes.IntegerNode", fold_omegaconf},
    {"omegaconf.nodes.PathNode", fold_omegaconf},
    {"omegaconf.nodes.StringNode", fold_omegaconf},
    {"pathlib.PosixPath", fold_path},
    {"pathlib.PurePosixPath", fold_path},
    {"pathlib.PureWindowsPath", fold_path},
    {"pathlib.WindowsPath", fold_path},
    {"pathlib._local.PosixPath", fold_path},
    {"pathlib._local.PurePosixPath", fold_path},
    {"pathlib._local.PureWindowsPath", fold_path},
    {"pathlib._local.WindowsPath", fold_path},
    {"torch.Size", fold_as_tuple},
    {"torch.device", fold_device},
    {"torch.jit._pickle.build_boollist", fold_as_list},
    {"torch.jit._pickle.build_doublelist", fold_as_list},
    {"torch.jit._pickle.build_intlist", fold_as_list},
    {"torch.jit._pickle.build_tensorlist", fold_as_list},
    {"torch.serialization._get_layout", fold_layout},
    {"uuid.UUID", fold_uuid},
};

static int compare_callee(const void *name, const void *row)
{
    return str_cmp(*(const struct str *)name,
                   str_of(((const struct folder_of *)row)->callee));
}

uint32_t folding_call(struct folding *f, node_id id)
{
    struct str callee = pickle_text(f->pickle, pickle_callee(f->pickle, id));
    const struct folder_of *row =
        bsearch(&callee, table, COUNT_OF(table), sizeof table[0], compare_callee);

    return row ? row->fold(f, id) : NOT_FOLDED;
}
