/* tflite.c - TFLite: a flatbuffer with the identifier TFL3. Constants become tensors below
 * the parts of their names, the operators of the first subgraph a program. */
#include "base/base.h"
#include "read/file/file_source_in.h"
#include "read/flat/tflite_in.h"

#define NAME_MOST   4096
#define RANK_MOST   64
#define SCALES_MOST 100 /* shown */
#define GRAPHS_MOST 1000

static int tflite_knows(const struct input *input)
{
    return input->blob && input->head.len >= 8 &&
                   memcmp(input->head.at + 4, "TFL3", 4) == 0
               ? SURE_MAGIC + 1 /* a zip with labels may follow */
               : 0;
}

static enum dtype dtype_of(int64_t type)
{
    static const enum dtype dtypes[] = {
        DTYPE_FLOAT32, DTYPE_FLOAT16,    DTYPE_INT32,   DTYPE_UINT8,     DTYPE_INT64,
        DTYPE_UNKNOWN, DTYPE_BOOL,       DTYPE_INT16,   DTYPE_COMPLEX64, DTYPE_INT8,
        DTYPE_FLOAT64, DTYPE_COMPLEX128, DTYPE_UINT64,  DTYPE_UNKNOWN,   DTYPE_UNKNOWN,
        DTYPE_UINT32,  DTYPE_UINT16,     DTYPE_UNKNOWN, DTYPE_BFLOAT16};

    return type >= 0 && (size_t)type < COUNT_OF(dtypes) ? dtypes[type] : DTYPE_UNKNOWN;
}

/* ---- quantisation ---- */

static uint32_t floats(struct tflite *tflite, struct flat_vector vector)
{
    struct values *values = build_values(tflite->build);
    uint32_t items[SCALES_MOST + 1], n = 0;

    for (; n < vector.n && n < SCALES_MOST; n++) {
        uint32_t bits =
            (uint32_t)flat_number(&tflite->flat, vector.at + 4 * (uint64_t)n, 4);
        float value;

        memcpy(&value, &bits, sizeof value);
        items[n] = value_real(values, value);
    }
    if (vector.n == 1)
        return items[0];
    if (n < vector.n)
        items[n++] = value_make(values, VALUE_CUT, STR("too long"), NULL, 0);
    return value_make(values, VALUE_LIST, STR(""), items, n);
}

static uint32_t integers(struct tflite *tflite, struct flat_vector vector)
{
    struct values *values = build_values(tflite->build);
    uint32_t items[SCALES_MOST + 1], n = 0;

    for (; n < vector.n && n < SCALES_MOST; n++)
        items[n] =
            value_int(values, (int64_t)flat_number(&tflite->flat,
                                                   vector.at + 8 * (uint64_t)n, 8));
    if (vector.n == 1)
        return items[0];
    if (n < vector.n)
        items[n++] = value_make(values, VALUE_CUT, STR("too long"), NULL, 0);
    return value_make(values, VALUE_LIST, STR(""), items, n);
}

/* real = scale * (stored - zero_point), of each index along the axis. */
static uint32_t quantisation(struct tflite *tflite, struct flat_table tensor)
{
    struct values *values = build_values(tflite->build);
    struct flat_table table = flat_table(&tflite->flat, tensor, 4);
    struct flat_vector scale = flat_vector(&tflite->flat, table, 2, 4);
    struct flat_vector zero = flat_vector(&tflite->flat, table, 3, 8);
    uint32_t items[6], n = 0;

    if (scale.n == 0)
        return VALUE_ID_NONE;
    items[n++] = value_str(values, STR("scale"));
    items[n++] = floats(tflite, scale);
    items[n++] = value_str(values, STR("zero_point"));
    items[n++] = integers(tflite, zero);
    if (scale.n > 1) {
        items[n++] = value_str(values, STR("axis"));
        items[n++] = value_int(values, flat_int(&tflite->flat, table, 6, 4, 0));
    }
    return value_make(values, VALUE_DICT, STR(""), items, n);
}

/* ---- tensors ---- */

/* Where the bytes of a buffer are; false: it has none. Large ones are outside of the
 * flatbuffer. */
static bool buffer_at(struct tflite *tflite, uint32_t index, uint64_t *ret_at,
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
        *ret_at = (uint64_t)flat_int(flat, buffer, 1, 8, 0);
        *ret_size = (uint64_t)flat_int(flat, buffer, 2, 8, 0);
        return *ret_at > 1 && *ret_size > 0;
    }
    return true;
}

/* The node of a constant: "block/conv/weights;other" is block.conv.weights. A name that
 * occurs twice gets a number. */
static uint32_t make_node(struct tflite *tflite, uint32_t parent, struct str name,
                          uint32_t index)
{
    struct build *build = tflite->build;
    ptrdiff_t end = str_find_char(name, ';');
    struct str rest = end > 0 ? str_head(name, (size_t)end) : name, part;
    const char *numbered;
    uint32_t node;
    bool again;

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

static int add_constant(struct tflite *tflite, struct flat_table table, uint32_t index,
                        uint32_t parent, const int64_t *shape, uint64_t at,
                        uint64_t size, struct err *err)
{
    struct build *build = tflite->build;
    struct tflite_tensor *one = &tflite->tensors[index];
    struct storage storage = {.at = at, .bytes = size, .dtype = one->dtype};
    struct tensor tensor = {.dtype = one->dtype,
                            .role = ROLE_PLAIN,
                            .class_id = NO_CLASS,
                            .extra = quantisation(tflite, table)};

    if (dtype_info((enum dtype)one->dtype)->kind == DTYPE_KIND_FLOAT ||
        tensor.extra != VALUE_ID_NONE) {
        tensor.role = ROLE_PARAMETER;
        tensor.flags = TENSOR_ROLE_GUESSED;
    }
    if (tensor.extra == VALUE_ID_FAILED)
        return arena_err(&build->model->arena, tflite->input->path, err);
    one->node = make_node(tflite, parent, one->name, index);
    if (one->node == NO_PLACE || build_storage_name(build, &storage, one->name) < 0)
        return arena_err(&build->model->arena, tflite->input->path, err);
    tensor.storage = file_source_plain(build, tflite->input->blob, &storage);
    if (tensor.storage != NO_STORAGE)
        one->tensor = build_tensor(build, one->node, &tensor, shape, NULL, one->rank);
    return one->tensor == NO_OBJECT
               ? arena_err(&build->model->arena, tflite->input->path, err)
               : 0;
}

static int add_tensor(struct tflite *tflite, struct flat_table table, uint32_t index,
                      uint32_t parent, struct err *err)
{
    struct flat *flat = &tflite->flat;
    struct tflite_tensor *one = &tflite->tensors[index];
    struct flat_vector sizes = flat_vector(flat, table, 0, 4);
    struct flat_vector open = flat_vector(flat, table, 7, 4);
    uint32_t buffer = (uint32_t)flat_int(flat, table, 2, 4, 0);
    int64_t shape[RANK_MOST], dims[RANK_MOST];
    uint64_t at, size;

    *one = (struct tflite_tensor){
        .node = NO_PLACE,
        .tensor = NO_OBJECT,
        .value = PROGRAM_NONE,
        .shape = PROGRAM_NONE,
        .dtype = (uint8_t)dtype_of(flat_int(flat, table, 1, 1, 0))};
    one->name = flat_text(flat, table, 3, NAME_MOST, &tflite->build->scratch);
    if (sizes.n > RANK_MOST)
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
    if (flat->bad || !buffer_at(tflite, buffer, &at, &size))
        return 0;
    return add_constant(tflite, table, index, parent, shape, at, size, err);
}

/* ---- subgraphs ---- */

static int add_graph(struct tflite *tflite, struct flat_table graph, uint32_t node,
                     struct err *err)
{
    struct flat *flat = &tflite->flat;
    struct flat_vector tensors = flat_vector(flat, graph, 0, 4);

    tflite->tensors =
        arena_array(&tflite->build->scratch, tensors.n + 1, sizeof *tflite->tensors);
    if (!tflite->tensors)
        return arena_err(&tflite->build->scratch, tflite->input->path, err);
    tflite->n_tensors = 0;
    for (uint32_t i = 0; i < tensors.n && !flat->bad; i++) {
        if (add_tensor(tflite, flat_table_at(flat, tensors.at + 4 * (uint64_t)i), i,
                       node, err) < 0)
            return -1;
        tflite->n_tensors++;
        if (!work_step(tflite->build->work, 0))
            return err_set_about(err, ERR_CANCELLED, tflite->input->path, ": stopped");
    }
    return 0;
}

static int add_graphs(struct tflite *tflite, struct flat_vector graphs, struct err *err)
{
    struct build *build = tflite->build;

    for (uint32_t i = 0; i < graphs.n && i < GRAPHS_MOST; i++) {
        struct flat_table graph =
            flat_table_at(&tflite->flat, graphs.at + 4 * (uint64_t)i);
        uint32_t node = tflite->input->node;
        const char *name = arena_printf(&build->scratch, "subgraph %u", i);

        if (i > 0)
            node =
                name ? build_child(build, node, PLACE_MODULE, str_of(name)) : NO_PLACE;
        if (node == NO_PLACE)
            return arena_err(&build->model->arena, tflite->input->path, err);
        if (add_graph(tflite, graph, node, err) < 0 ||
            (i == 0 && tflite->input->node == 0 &&
             tflite_program(tflite, graph, err) < 0))
            return -1;
    }
    if (graphs.n > GRAPHS_MOST)
        build_finding(build, FINDING_LIMIT, SEVERITY_ALARM, FINDING_NOWHERE,
                      "only the first %d of %u subgraphs are shown", GRAPHS_MOST,
                      graphs.n);
    return 0;
}

static void add_facts(struct tflite *tflite, struct flat_table model, uint32_t graphs)
{
    struct build *build = tflite->build;
    struct values *values = build_values(build);
    struct str description =
        flat_text(&tflite->flat, model, 2, NAME_MOST, &build->scratch);

    if (tflite->input->node != 0)
        return;
    build_fact(build, "version",
               value_int(values, flat_int(&tflite->flat, model, 0, 4, 0)));
    build_fact(build, "subgraphs", value_int(values, graphs));
    if (description.len > 0)
        build_metadata(build, STR("description"), value_str(values, description));
}

static int tflite_read(struct input *input, struct build *build, struct err *err)
{
    struct tflite *tflite = arena_alloc(&build->scratch, sizeof *tflite);
    struct flat_table model;
    struct flat_vector graphs;

    if (!tflite)
        return arena_err(&build->scratch, input->path, err);
    tflite->input = input;
    tflite->build = build;
    flat_init(&tflite->flat, input->blob);
    model = flat_root(&tflite->flat);
    tflite->codes = flat_vector(&tflite->flat, model, 1, 4);
    tflite->buffers = flat_vector(&tflite->flat, model, 4, 4);
    graphs = flat_vector(&tflite->flat, model, 2, 4);
    if (tflite->flat.bad || graphs.n == 0)
        return err_set_about(err, ERR_FORMAT, input->path,
                             " is a damaged TFLite file. Download it again");
    add_facts(tflite, model, graphs.n);
    if (add_graphs(tflite, graphs, err) < 0)
        return -1;
    if (tflite->flat.limit)
        build_finding(
            build, FINDING_LIMIT, SEVERITY_ALARM, FINDING_NOWHERE,
            "its parts refer to each other too often, which may be an attack: "
            "the rest is left out");
    else if (tflite->flat.bad)
        build_finding(build, FINDING_DAMAGED, SEVERITY_ALARM, FINDING_NOWHERE,
                      "an offset leads outside of the file: the rest is left out. "
                      "Download it again");
    return 0;
}

const struct reader tflite_reader = {
    .name = "TFLite", .knows = tflite_knows, .read = tflite_read};
