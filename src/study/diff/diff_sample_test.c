#include "study/diff/diff_sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/test.h"
#include "model/build.h"

#define MOST_STORAGES 4096

struct sample_source {
    struct source source;
    float *at[MOST_STORAGES];
    size_t bytes[MOST_STORAGES];
    uint32_t n;
};

static int sample_bytes(struct source *source, uint32_t storage, uint64_t at, void *to,
                        size_t n, struct err *err)
{
    struct sample_source *self = (struct sample_source *)source;

    if (storage >= self->n || at > self->bytes[storage] ||
        n > self->bytes[storage] - at)
        return err_set(err, ERR_IO, "read beyond the storage");
    memcpy(to, (const char *)self->at[storage] + at, n);
    return 0;
}

static void sample_close(struct source *source)
{
    struct sample_source *self = (struct sample_source *)source;

    for (uint32_t i = 0; i < self->n; i++)
        free(self->at[i]);
    free(self);
}

static const struct source_ops sample_ops = {.bytes = sample_bytes,
                                             .close = sample_close};

static float value_of(unsigned seed, size_t i)
{
    uint64_t x = ((uint64_t)seed << 32 | i) * 0x9e3779b97f4a7c15u;

    x ^= x >> 29;
    x *= 0xbf58476d1ce4e5b9u;
    return seed == 0 ? 0.0F : (float)((x >> 40) % 2000) - 1000.0F;
}

/* n values as the word says: "7", "7~", "7'", "7+8". */
static void fill(float *to, size_t n, const char *word, const int64_t *shape, int rank)
{
    size_t parts = 1, each, i;

    for (i = 0; word[i]; i++)
        parts += word[i] == '+';
    each = n / parts;
    for (size_t part = 0; part < parts; part++) {
        char *end;
        unsigned seed = (unsigned)strtoul(word, &end, 10);

        for (i = 0; i < each; i++) {
            size_t from = i;

            if (*end == '\'' && rank == 2)
                from = i % (size_t)shape[1] * (size_t)shape[0] + i / (size_t)shape[1];
            to[part * each + i] = value_of(seed, from) + (*end == '~' ? 0.5F : 0.0F);
        }
        word = strchr(end, '+') ? strchr(end, '+') + 1 : end;
    }
}

static uint32_t add_storage(struct build *b, struct sample_source *source, size_t n,
                            unsigned flags)
{
    struct storage storage = {.bytes = n * 4, .flags = (uint8_t)flags};

    CHECK(source->n < MOST_STORAGES);
    source->at[source->n] = calloc(n + 1, sizeof(float));
    source->bytes[source->n++] = n * 4;
    return build_storage(b, &storage);
}

static uint16_t half_of(float value)
{
    union {
        float value;
        uint32_t bits;
    } x = {.value = value};

    if (value == 0)
        return 0;
    return (uint16_t)((x.bits >> 16 & 0x8000) |
                      (((x.bits >> 23 & 0xff) - 127 + 15) << 10) |
                      (x.bits >> 13 & 0x3ff));
}

static void add_tensor(struct build *b, struct sample_source *source, uint32_t node,
                       struct str name, const char *dims, const char *word,
                       const char *type)
{
    bool buffer = str_ends(name, STR("running_mean"));
    struct tensor tensor = {.dtype = DTYPE_FLOAT32,
                            .role = buffer ? ROLE_BUFFER : ROLE_PARAMETER,
                            .class_id = NO_CLASS};
    int64_t shape[4];
    char *end;
    size_t n = 1;
    int rank = 0;

    for (; *dims; dims = *end ? end + 1 : end) {
        shape[rank] = strtol(dims, &end, 10);
        n *= (size_t)shape[rank++];
    }
    tensor.storage =
        add_storage(b, source, n, strcmp(word, "lost") == 0 ? STORAGE_MISSING : 0);
    fill(source->at[source->n - 1], n, word, shape, rank);
    if (strcmp(type, "f16") == 0) {
        float *at = source->at[source->n - 1];

        tensor.dtype = DTYPE_FLOAT16;
        for (size_t i = 0; i < n; i++) {
            uint16_t half = half_of(at[i]);

            memcpy((char *)at + 2 * i, &half, 2);
        }
    }
    build_tensor(b, node, &tensor, shape, NULL, rank);
}

static uint32_t find_node(struct build *b, struct str name)
{
    struct buf path = BUF_INIT;
    uint32_t node;

    for (node = 0; node < b->n_nodes; node++) {
        buf_clear(&path);
        build_path(b, node, &path);
        if (str_eq(buf_span(&path), name))
            break;
    }
    buf_release(&path);
    CHECK(node < b->n_nodes);
    return node;
}

static void add_line(struct build *b, struct sample_source *source, struct str line)
{
    char name[200] = "", what[40] = "", word[80] = "", type[20] = "", text[400];
    struct str last;
    uint32_t parent, node;

    CHECK(line.len < sizeof text);
    snprintf(text, sizeof text, "%.*s", STR_ARG(line));
    CHECK(sscanf(text, "%199s %39s %79s %19s", name, what, word, type) >= 2);
    parent = build_dotted(b, 0, str_of(name), &last);
    if (strcmp(what, "dict") == 0) {
        node = build_child(b, parent, PLACE_GROUP, last);
        build_set_kind(b, node, PLACE_GROUP);
        build_set_flags(b, node, PLACE_STATE_DICT);
    } else if (strcmp(what, "class") == 0) {
        node = build_child(b, parent, PLACE_MODULE, last);
        build_object(b, node)->class_id = build_class(b, str_of(word));
    } else if (strcmp(what, "value") == 0) {
        node = build_node(b, parent, PLACE_VALUE, last);
        build_set_object(b, node,
                         value_int(build_values(b), (int64_t)strtol(word, NULL, 10)));
    } else if (word[0] == '=') {
        node = build_node(b, parent, PLACE_TENSOR, last);
        build_tensor_again(b, node, build_tensor_at(b, find_node(b, str_of(word + 1))));
    } else {
        node = build_node(b, parent, PLACE_TENSOR, last);
        add_tensor(b, source, node, last, strcmp(what, "1") == 0 ? "1" : what, word,
                   type);
    }
}

const struct model *diff_sample(const char *lines)
{
    struct sample_source *source = calloc(1, sizeof *source);
    struct str rest = str_of(lines), line;
    const struct model *model;
    struct build b;

    CHECK(source && build_init(&b, "sample.pth", 0, NULL, NULL) == 0);
    source->source = (struct source){.ops = &sample_ops};
    while (str_split(&rest, '\n', &line))
        if (line.len)
            add_line(&b, source, line);
    b.model->source = &source->source;
    model = build_finish(&b, NULL);
    CHECK(model);
    build_release(&b);
    return model;
}

/* ---- two of them ---- */

void both_make(struct both *both, const char *left, const char *right,
               const struct diff_wanted *wanted)
{
    struct err err = {0};

    both->left = diff_sample(left);
    both->right = diff_sample(right);
    arena_init(&both->arena, 0);
    if (diff_make(&both->diff, both->left, both->right, wanted, &both->arena, NULL,
                  &err) < 0)
        test_fail(__FILE__, __LINE__, "%s", err.text);
}

void both_drop(struct both *both)
{
    arena_release(&both->arena);
    model_free(both->left);
    model_free(both->right);
}

const struct diff_pair *both_pair(const struct both *both, bool right, const char *name)
{
    uint32_t place = place_find(right ? both->right : both->left, str_of(name));

    CHECK(place != NO_PLACE);
    for (uint32_t i = 0; i < both->diff.n_pairs; i++) {
        const struct diff_pair *pair = &both->diff.pairs[i];

        if ((right ? pair->right : pair->left) == place)
            return pair;
    }
    test_fail(__FILE__, __LINE__, "%s is in no pair", name);
}

const struct diff_node *both_node(const struct both *both, const char *name)
{
    for (uint32_t i = 1; i < both->diff.n_nodes; i++)
        if (both->diff.nodes[i].parent == 0 && str_is(both->diff.nodes[i].name, name))
            return &both->diff.nodes[i];
    test_fail(__FILE__, __LINE__, "no node %s", name);
}

const char *both_parts(const struct both *both)
{
    static char text[1000];
    size_t n = 0;

    text[0] = 0;
    for (uint32_t i = 0; i < both->diff.n_parts && n < 900; i++) {
        const struct diff_node *nodes = both->diff.nodes;
        const struct diff_node *node = &nodes[both->diff.parts[i].node];
        struct str above = STR("");

        if (node->parent != DIFF_NONE && node->parent != 0)
            above = nodes[node->parent].name;
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%.*s%s%.*s %s",
                              i ? ", " : "", STR_ARG(above), above.len ? "." : "",
                              STR_ARG(node->name),
                              diff_fate_name(both->diff.parts[i].fate));
    }
    return text;
}

void both_check(const struct both *both)
{
    const struct diff *diff = &both->diff;
    uint32_t met[2] = {0, 0}, i, tensors = 0, p;

    for (i = 0; i < diff->n_pairs; i++) {
        met[0] += diff->pairs[i].left != NO_PLACE;
        met[1] += diff->pairs[i].right != NO_PLACE;
        CHECK(diff->pairs[i].left != NO_PLACE || diff->pairs[i].right != NO_PLACE);
        CHECK((diff->pairs[i].state == DIFF_JOINED) ==
              (diff->pairs[i].join != DIFF_NONE));
    }
    for (p = 0; p < both->left->n_places; p++)
        met[0] -= both->left->kind[p] == PLACE_TENSOR;
    for (p = 0; p < both->right->n_places; p++)
        met[1] -= both->right->kind[p] == PLACE_TENSOR;
    CHECK_INT(met[0], 0);
    CHECK_INT(met[1], 0);
    for (i = 0; i < diff->n_nodes; i++) {
        uint32_t sum = diff->nodes[i].pair != DIFF_NONE, child;

        CHECK(i == 0 || diff->nodes[i].parent < i);
        for (child = i + 1; child < diff->nodes[i].end;
             child = diff->nodes[child].end) {
            CHECK_INT(diff->nodes[child].parent, i);
            sum += diff->nodes[child].sums.tensors;
        }
        CHECK_INT(child, diff->nodes[i].end);
        CHECK_INT(diff->nodes[i].sums.tensors, sum);
        CHECK(i == 0 || sum > 0);
    }
    CHECK_INT(diff->total.tensors, diff->n_pairs);
    for (i = 0; i < diff->n_parts; i++)
        tensors += diff->nodes[diff->parts[i].node].sums.tensors;
    CHECK_INT(tensors, diff->n_pairs);
}
