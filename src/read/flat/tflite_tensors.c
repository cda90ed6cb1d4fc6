/* Tensors of a subgraph: names, shapes, quantisation, and the bytes of constants. */
#include "base/base.h"
#include "read/file/file_source_in.h"
#include "read/flat/tflite_in.h"

#define LISTED_MOST 100 /* scales of a tensor that are shown */
#define TEXTS_MOST  1000
#define TEXT_MOST   1000

enum { TYPE_STRING = 5 };

enum dtype tflite_dtype(int64_t type)
{
    static const enum dtype dtypes[] = {
        DTYPE_FLOAT32,   DTYPE_FLOAT16,       DTYPE_INT32,      DTYPE_UINT8,
        DTYPE_INT64,     DTYPE_UNKNOWN,       DTYPE_BOOL,       DTYPE_INT16,
        DTYPE_COMPLEX64, DTYPE_INT8,          DTYPE_FLOAT64,    DTYPE_COMPLEX128,
        DTYPE_UINT64,    DTYPE_UNKNOWN,       DTYPE_UNKNOWN,    DTYPE_UINT32,
        DTYPE_UINT16,    DTYPE_INT4,          DTYPE_BFLOAT16,   DTYPE_INT2,
        DTYPE_UINT4,     DTYPE_FLOAT8_E4M3FN, DTYPE_FLOAT8_E5M2};

    return type >= 0 && (size_t)type < COUNT_OF(dtypes) ? dtypes[type] : DTYPE_UNKNOWN;
}

/* ---- quantisation ---- */

/* A list of floats (of 4 bytes) or integers (of 8); one alone is a number. */
static uint32_t numbers(struct tflite *tflite, struct flat_vector vector, unsigned size)
{
    struct values *values = build_values(tflite->build);
    uint32_t items[LISTED_MOST + 1], n = 0;

    for (; n < vector.n && n < LISTED_MOST; n++) {
        uint64_t bits =
            flat_number(&tflite->flat, vector.at + size * (uint64_t)n, size);

        items[n] = size == 4 ? value_real(values, flat_real((uint32_t)bits))
                             : value_int(values, (int64_t)bits);
    }
    if (vector.n == 1)
        return items[0];
    if (n < vector.n)
        items[n++] = value_make(values, VALUE_CUT, STR("too long"), NULL, 0);
    return value_make(values, VALUE_LIST, STR(""), items, n);
}

/* The name of tensor `index` of the subgraph, which may come later. */
static struct str name_at(struct tflite *tflite, const struct tflite_graph *graph,
                          int64_t index)
{
    struct flat_vector tensors = flat_vector(&tflite->flat, graph->table, 0, 4);
    struct flat_table table = {0};

    if (index >= 0 && index < tensors.n)
        table = flat_table_at(&tflite->flat, tensors.at + 4 * (uint64_t)index);
    return flat_text(&tflite->flat, table, 3, TFLITE_NAME_MOST,
                     &tflite->build->scratch);
}

/* Blocks along the axis: the scales are in another tensor. */
static uint32_t blocks(struct tflite *tflite, const struct tflite_graph *graph,
                       struct flat_table details, uint32_t *items)
{
    static const char *const keys[] = {"scales", "zero_points"};
    struct values *values = build_values(tflite->build);
    uint32_t n = 0;

    for (unsigned i = 0; i < 2; i++) {
        int64_t index = flat_int(&tflite->flat, details, i, 4, i == 0 ? 0 : -1);

        if (index < 0 || (i == 1 && index == 0))
            continue;
        items[n++] = value_str(values, str_of(keys[i]));
        items[n++] = value_str(values, name_at(tflite, graph, index));
    }
    items[n++] = value_str(values, STR("block_size"));
    items[n++] = value_int(values, flat_int(&tflite->flat, details, 2, 4, 0));
    return n;
}

/* real = scale * (stored - zero_point), of each index along the axis. */
static uint32_t quantisation(struct tflite *tflite, const struct tflite_graph *graph,
                             struct flat_table tensor)
{
    enum { BLOCKWISE = 2 };
    struct flat *flat = &tflite->flat;
    struct values *values = build_values(tflite->build);
    struct flat_table table = flat_table(flat, tensor, 4);
    struct flat_vector scale = flat_vector(flat, table, 2, 4);
    struct flat_vector zero = flat_vector(flat, table, 3, 8);
    int64_t details = flat_int(flat, table, 4, 1, 0);
    uint32_t items[14], n = 0;

    if (scale.n > 0) {
        items[n++] = value_str(values, STR("scale"));
        items[n++] = numbers(tflite, scale, 4);
        items[n++] = value_str(values, STR("zero_point"));
        items[n++] = zero.n > 0 ? numbers(tflite, zero, 8) : value_int(values, 0);
    }
    if (details == BLOCKWISE) {
        n += blocks(tflite, graph, flat_table(flat, table, 5), items + n);
    } else if (details > 0) {
        items[n++] = value_str(values, STR("details"));
        items[n++] = value_str(values, STR("of an unknown kind"));
    }
    if (scale.n > 1 || details == BLOCKWISE) {
        items[n++] = value_str(values, STR("axis"));
        items[n++] = value_int(values, flat_int(flat, table, 6, 4, 0));
    }
    return n > 0 ? value_make(values, VALUE_DICT, STR(""), items, n) : VALUE_ID_NONE;
}

/* ---- buffers ---- */

bool tflite_buffer(struct tflite *tflite, uint32_t index, uint64_t *ret_at,
                   uint64_t *ret_size)
{
    struct flat *flat = &tflite->flat;
    struct flat_table buffer;
    struct flat_vector data;

    if (index == 0 || index >= tflite->buffers.n)
        return false;
    buffer = flat_table_at(flat, tflite->buffers.at + 4 * (uint64_t)index);
    data = flat_vector(flat, buffer, 0, 1);
    *ret_at = data.at;
    *ret_size = data.n;
    if (data.n == 0) {
        /* Of a file above 2 GB it is behind the flatbuffer; 1 stands for empty. */
        *ret_at = (uint64_t)flat_int(flat, buffer, 1, 8, 0);
        *ret_size = (uint64_t)flat_int(flat, buffer, 2, 8, 0);
        return *ret_at > 1 && *ret_size > 0;
    }
    return true;
}

/* The storage of a buffer; another one if tensors of another type share it. */
static uint32_t storage_of(struct tflite *tflite, uint32_t buffer,
                           struct storage *storage)
{
    struct build *build = tflite->build;
    uint32_t id;

    if (map_find(&tflite->storages, buffer, &id) &&
        build->model->storages[id].dtype == storage->dtype)
        return id;
    id = file_source_plain(build, tflite->input->blob, storage);
    if (id != NO_STORAGE && map_put(&tflite->storages, buffer, id) < 0)
        return NO_STORAGE;
    return id;
}

/* ---- constants ---- */

/* The node of a constant: "block/conv/weights;other" is block.conv.weights. A name that
 * occurs twice gets a number. */
static uint32_t make_node(struct tflite *tflite, uint32_t parent, struct str name,
                          uint32_t index)
{
    struct build *build = tflite->build;
    ptrdiff_t end = str_find_char(name, ';');
    struct str rest = end > 0 ? str_head(name, (size_t)end) : name, part;
    const char *numbered;
    bool again;
    uint32_t node;

    while (str_find_char(rest, '/') >= 0 && str_split(&rest, '/', &part))
        if (part.len > 0 && parent != NO_PLACE)
            parent = build_child(build, parent, PLACE_MODULE, part);
    if (parent == NO_PLACE)
        return NO_PLACE;
    if (rest.len == 0)
        rest = STR("tensor");
    node = build_child(build, parent, PLACE_VALUE, rest);
    if (node == NO_PLACE || build_tensor_at(build, node) == NO_OBJECT)
        return node;
    numbered = arena_printf(&build->scratch, "%.*s#%u", STR_ARG(rest), index);
    return numbered ? build_leaf(build, parent, PLACE_VALUE, str_of(numbered), &again)
                    : NO_PLACE;
}

/* Strings are no tensor here but a list: their count, where each begins and the last
 * ends, then their bytes. */
static uint32_t strings(struct tflite *tflite, uint64_t at, uint64_t size)
{
    struct flat *flat = &tflite->flat;
    struct values *values = build_values(tflite->build);
    uint64_t n = flat_number(flat, at, 4);
    uint32_t items[TEXTS_MOST + 1], n_items = 0;

    for (uint64_t i = 0; i < n && n_items < TEXTS_MOST; i++) {
        uint64_t begin = 0, end = 0;
        struct str text = STR("");

        if (4 * (i + 3) <= size) {
            begin = flat_number(flat, at + 4 * (i + 1), 4);
            end = flat_number(flat, at + 4 * (i + 2), 4);
        }
        if (begin < 4 || begin > end || end > size)
            break;
        text = flat_bytes(flat, at + begin, end - begin, TEXT_MOST,
                          &tflite->build->scratch);
        items[n_items++] = value_str(values, text);
    }
    if (n_items < n)
        items[n_items++] =
            value_make(values, VALUE_CUT,
                       n > TEXTS_MOST ? STR("too long") : STR("damaged"), NULL, 0);
    return value_make(values, VALUE_LIST, STR(""), items, n_items);
}

/* A constant of a subgraph while it is made. */
struct constant {
    struct flat_table table;
    uint32_t index, buffer;
    const int64_t *shape;
    uint64_t at, size;
    bool other_file;
};

static uint32_t make_storage(struct tflite *tflite, const struct constant *constant,
                             const struct tflite_tensor *one)
{
    struct build *build = tflite->build;
    struct flat_table sparsity = flat_table(&tflite->flat, constant->table, 6);
    struct storage storage = {
        .at = constant->at, .bytes = constant->size, .dtype = one->dtype};
    const char *why = NULL;
    uint32_t id;

    if (build_storage_name(build, &storage, one->name) < 0)
        return NO_STORAGE;
    if (constant->other_file) {
        storage.bytes =
            flat_dense_bytes((enum dtype)one->dtype, constant->shape, one->rank);
        return file_source_missing(build, &storage);
    }
    if (sparsity.at == 0)
        return storage_of(tflite, constant->buffer, &storage);
    id = tflite_sparse(tflite, sparsity, constant->shape, one->rank, &storage, &why);
    if (why)
        build_finding(build, FINDING_UNSUPPORTED, SEVERITY_WARNING, one->node,
                      "its values are unknown: %s", why);
    return id;
}

static int add_constant(struct tflite *tflite, struct tflite_graph *graph,
                        const struct constant *constant, struct err *err)
{
    struct build *build = tflite->build;
    struct tflite_tensor *one = &graph->tensors[constant->index];
    struct tensor tensor = {.dtype = one->dtype,
                            .role = ROLE_PLAIN,
                            .class_id = NO_CLASS,
                            .extra = quantisation(tflite, graph, constant->table)};

    if (tensor.extra != VALUE_ID_NONE) {
        tensor.role = ROLE_PARAMETER; /* integers with a scale stand for reals */
    } else if (dtype_info((enum dtype)one->dtype)->kind == DTYPE_KIND_FLOAT) {
        tensor.role = ROLE_PARAMETER;
        tensor.flags = TENSOR_ROLE_GUESSED;
    }
    if (tensor.extra == VALUE_ID_FAILED)
        return arena_err(&build->model->arena, tflite->input->path, err);
    one->node = make_node(tflite, graph->node, one->name, constant->index);
    tensor.storage =
        one->node == NO_PLACE ? NO_STORAGE : make_storage(tflite, constant, one);
    if (tensor.storage != NO_STORAGE)
        one->tensor =
            build_tensor(build, one->node, &tensor, constant->shape, NULL, one->rank);
    return one->tensor == NO_OBJECT
               ? arena_err(&build->model->arena, tflite->input->path, err)
               : 0;
}

static int add_strings(struct tflite *tflite, struct tflite_graph *graph,
                       const struct constant *constant, struct err *err)
{
    struct build *build = tflite->build;
    struct tflite_tensor *one = &graph->tensors[constant->index];
    uint32_t value = strings(tflite, constant->at, constant->size);

    one->node = make_node(tflite, graph->node, one->name, constant->index);
    if (value == VALUE_ID_FAILED || one->node == NO_PLACE)
        return arena_err(&build->model->arena, tflite->input->path, err);
    build_set_object(build, one->node, value);
    return 0;
}

/* Finds the bytes of a tensor; false: it is not a constant. */
static bool find_bytes(struct tflite *tflite, struct constant *constant)
{
    struct flat *flat = &tflite->flat;

    constant->buffer = (uint32_t)flat_int(flat, constant->table, 2, 4, 0);
    constant->other_file = flat_int(flat, constant->table, 10, 4, 0) != 0;
    if (constant->other_file) {
        tflite->n_other_file++;
        return true;
    }
    tflite->n_no_buffer += constant->buffer >= tflite->buffers.n && constant->buffer;
    return tflite_buffer(tflite, constant->buffer, &constant->at, &constant->size);
}

/* ---- all of them ---- */

static int add_tensor(struct tflite *tflite, struct tflite_graph *graph, uint32_t index,
                      struct flat_table table, struct err *err)
{
    struct flat *flat = &tflite->flat;
    struct tflite_tensor *one = &graph->tensors[index];
    struct flat_vector sizes = flat_vector(flat, table, 0, 4);
    struct flat_vector open = flat_vector(flat, table, 7, 4);
    int64_t type = flat_int(flat, table, 1, 1, 0);
    int64_t shape[TFLITE_RANK_MOST], dims[TFLITE_RANK_MOST];
    struct constant constant = {.table = table, .index = index, .shape = shape};

    *one = (struct tflite_tensor){.node = NO_PLACE,
                                  .tensor = NO_OBJECT,
                                  .shape = PROGRAM_NONE,
                                  .dtype = (uint8_t)tflite_dtype(type),
                                  .variable = flat_int(flat, table, 5, 1, 0) != 0};
    one->name = flat_text(flat, table, 3, TFLITE_NAME_MOST, &tflite->build->scratch);
    if (sizes.n > TFLITE_RANK_MOST)
        return 0;
    one->rank = (uint8_t)sizes.n;
    for (uint32_t i = 0; i < sizes.n; i++) {
        shape[i] = (int32_t)flat_number(flat, sizes.at + 4 * (uint64_t)i, 4);
        dims[i] = open.n == sizes.n
                      ? (int32_t)flat_number(flat, open.at + 4 * (uint64_t)i, 4)
                      : shape[i];
        if (dims[i] < 0)
            dims[i] = -1;
    }
    one->shape = build_dims(tflite->build, dims, one->rank);
    if (flat->bad || !find_bytes(tflite, &constant))
        return 0;
    return type == TYPE_STRING && !constant.other_file
               ? add_strings(tflite, graph, &constant, err)
               : add_constant(tflite, graph, &constant, err);
}

int tflite_tensors(struct tflite *tflite, struct tflite_graph *graph, struct err *err)
{
    struct flat *flat = &tflite->flat;
    struct arena *arena = &tflite->build->scratch;
    struct flat_vector tensors = flat_vector(flat, graph->table, 0, 4);

    for (uint32_t i = 0; i < tensors.n && !flat->bad; i++) {
        struct flat_table table = flat_table_at(flat, tensors.at + 4 * (uint64_t)i);

        if (arena_room(arena, &graph->tensors, i, &graph->room,
                       sizeof *graph->tensors) < 0)
            return arena_err(arena, tflite->input->path, err);
        if (add_tensor(tflite, graph, i, table, err) < 0)
            return -1;
        graph->n_tensors++;
        if (!work_step(tflite->build->work, 0))
            return err_set_about(err, ERR_CANCELLED, tflite->input->path, ": stopped");
    }
    return 0;
}
