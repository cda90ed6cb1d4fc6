/* The options of operators. */
#include "base/base.h"
#include "base/buf.h"
#include "read/flat/tflite_in.h"

#define LISTED_MOST 64
#define FIELDS_MOST 24
#define BYTES_SHOWN 16

/* The fields of a table of options, in the order of their ids: a name and a kind, or -
 * if it is not shown.
 *   i number, default 0   d number, default 1   l number of 64 bits   f float
 *   b boolean   y boolean, default true   o boolean that is shown if it is true
 *   t dtype   u dtype, default int32   s text
 *   v numbers   w numbers of 64 bits   r floats   z booleans
 * The other letters are enumerations. */
struct fields {
    uint8_t more; /* of the second union */
    uint8_t type; /* in the union */
    const char *fields;
};

static const struct fields tables[] = {
    {0, 1, "padding:p stride_w:i stride_h:i activation:a dilation_w:d dilation_h:d"},
    {0, 2,
     "padding:p stride_w:i stride_h:i depth_multiplier:i activation:a dilation_w:d "
     "dilation_h:d"},
    {0, 3, "channels:i columns:v embedding_dim:v"},
    {0, 4, "type:h"},
    {0, 5, "padding:p stride_w:i stride_h:i filter_w:i filter_h:i activation:a"},
    {0, 6, "rank:i activation:a"},
    {0, 7, "activation:a"},
    {0, 8, "activation:a weights_format:g keep_num_dims:b"},
    {0, 9, "beta:f"},
    {0, 10, "axis:i activation:a"},
    {0, 11, "activation:a"},
    {0, 12, "activation:a"},
    {0, 13, "radius:i bias:f alpha:f beta:f"},
    {0, 14, "activation:a cell_clip:f proj_clip:f kernel:k"},
    {0, 15, "- - align_corners:b half_pixel_centers:b"},
    {0, 16, "subgraph:i"},
    {0, 17, "new_shape:v"},
    {0, 18, "ngram_size:i max_skip_size:i include_all_ngrams:b"},
    {0, 19, "block_size:i"},
    {0, 20, "combiner:c"},
    {0, 21, "activation:a"},
    {0, 23, "axis:i batch_dims:i"},
    {0, 27, "keep_dims:b"},
    {0, 28, "activation:a"},
    {0, 29, "activation:a"},
    {0, 30, "squeeze_dims:v"},
    {0, 31, "time_major:b activation:a"},
    {0, 32,
     "begin_mask:i end_mask:i ellipsis_mask:i new_axis_mask:i shrink_axis_mask:i "
     "offset:o"},
    {0, 35, "num_splits:i"},
    {0, 37, "from:t to:t"},
    {0, 40, "output_type:t"},
    {0, 49, "padding:p stride_w:i stride_h:i activation:a"},
    {0, 50, "validate_indices:b"},
    {0, 55, "out_type:t"},
    {0, 57, "output_type:t"},
    {0, 58, "min:f max:f num_bits:i narrow_range:b"},
    {0, 59, "values_count:i axis:i"},
    {0, 61, "axis:i"},
    {0, 64, "num:i axis:i"},
    {0, 69, "activation:a cell_clip:f proj_clip:f merge_outputs:b time_major:y"},
    {0, 70, "time_major:b activation:a merge_outputs:b"},
    {0, 71, "activation:a cell_clip:f proj_clip:f time_major:b - diagonal:o"},
    {0, 74, "align_corners:b half_pixel_centers:b"},
    {0, 75, "alpha:f"},
    {0, 77, "mode:m"},
    {0, 79, "num_splits:i"},
    {0, 80, "index_type:u"},
    {0, 87, "seq_dim:i batch_dim:i"},
    {0, 92, "then_subgraph:i else_subgraph:i"},
    {0, 93, "cond_subgraph:i body_subgraph:i"},
    {0, 94, "block_size:i"},
    {0, 101, "adj_x:b adj_y:b"},
    {0, 102, "exclusive:b reverse:b"},
    {0, 103, "init_subgraph:i"},
    {0, 106,
     "padding:p stride_d:i stride_w:i stride_h:i activation:a dilation_d:d "
     "dilation_w:d dilation_h:d"},
    {0, 107, "table_id:i key_dtype:t value_dtype:t"},
    {0, 111, "container:s shared_name:s"},
    {0, 114, "seed:l seed2:l"},
    {0, 115, "boundaries:r"},
    {0, 116, "approximate:b"},
    {1, 1, "dimension:l"},
    {1, 2, "broadcast_dimensions:w"},
    {1, 3, "start_indices:w limit_indices:w strides:w"},
    {1, 4,
     "window_strides:w padding:w lhs_dilation:w rhs_dilation:w window_reversal:z "
     "input_batch_dimension:l input_feature_dimension:l input_spatial_dimensions:w "
     "kernel_input_feature_dimension:l kernel_output_feature_dimension:l "
     "kernel_spatial_dimensions:w output_batch_dimension:l "
     "output_feature_dimension:l output_spatial_dimensions:w feature_group_count:l "
     "batch_group_count:l"},
    {1, 5,
     "call_target_name:s has_side_effect:b backend_config:s api_version:i "
     "called_computations:v"},
    {1, 6, "dimensions:w body_subgraph:i"},
    {1, 7,
     "indices_are_sorted:b update_window_dims:w inserted_window_dims:w "
     "scatter_dims_to_operand_dims:w index_vector_dim:l unique_indices:b "
     "update_subgraph:i"},
    {1, 8, "direction:q type:n"},
    {1, 9, "slice_sizes:w"},
    {1, 10, "edge_padding_low:w edge_padding_high:w interior_padding:w"},
    {1, 11, "iota_dimension:l"},
    {1, 12,
     "lhs_batching_dimensions:w rhs_batching_dimensions:w "
     "lhs_contracting_dimensions:w rhs_contracting_dimensions:w"},
    {1, 13,
     "window_dimensions:w window_strides:w base_dilations:w window_dilations:w "
     "padding:w body_subgraph:i"},
    {1, 14, "dimension:l is_stable:b comparator_subgraph:i"},
    {1, 15, "cond_subgraph:i body_subgraph:i"},
    {1, 16,
     "offset_dims:w collapsed_slice_dims:w start_index_map:w index_vector_dim:l "
     "slice_sizes:w indices_are_sorted:b"},
    {1, 17, "permutation:w"},
    {1, 19, "algorithm:x"},
    {1, 20, "reduce_function:e"},
    {1, 21, "name:s decomposition_subgraph:i - - version:i"},
    {1, 23, "branch_subgraphs:v"},
};

static const struct enumeration {
    char kind;
    uint8_t size; /* bytes */
    const char *names;
} enumerations[] = {
    {'p', 1, "same valid"},
    {'a', 1, "none relu relu_n1_to_1 relu6 tanh sign_bit"},
    {'g', 1, "default shuffled4x16int8"},
    {'h', 1, "unknown sparse dense"},
    {'k', 1, "full basic"},
    {'c', 1, "sum mean sqrtn"},
    {'m', 1, "reflect symmetric"},
    {'q', 4, "EQ NE GE GT LE LT"},
    {'n', 4, "none float float_total_order signed unsigned"},
    {'x', 1, "default philox threefry"},
    {'e', 4, "unsupported add mul minimum maximum all any"},
};

static uint32_t name_of(struct values *values, const char *names, int64_t number)
{
    struct str rest = str_of(names), name;

    for (int64_t i = 0; rest.len > 0 && str_split(&rest, ' ', &name); i++)
        if (i == number)
            return value_str(values, name);
    return value_int(values, number);
}

static uint32_t dtype_value(struct values *values, int64_t type)
{
    static const char *const others[] = {"string", "resource", "variant"};
    enum dtype dtype = tflite_dtype(type);

    if (type == 5 || type == 13 || type == 14)
        return value_str(values, str_of(others[type == 5 ? 0 : type - 12]));
    return dtype == DTYPE_UNKNOWN ? value_int(values, type)
                                  : value_str(values, str_of(dtype_name(dtype)));
}

static uint32_t item_value(struct tflite *tflite, uint64_t at, char kind)
{
    struct values *values = build_values(tflite->build);
    unsigned size = kind == 'w' ? 8 : kind == 'z' ? 1 : 4;
    uint64_t bits = flat_number(&tflite->flat, at, size);

    switch (kind) {
    case 'r':
        return value_real(values, flat_real((uint32_t)bits));
    case 'z':
        return value_bool(values, bits != 0);
    case 'w':
        return value_int(values, (int64_t)bits);
    default:
        return value_int(values, (int32_t)bits);
    }
}

static uint32_t list_value(struct tflite *tflite, struct flat_table table, unsigned id,
                           char kind)
{
    struct values *values = build_values(tflite->build);
    unsigned size = kind == 'w' ? 8 : kind == 'z' ? 1 : 4;
    struct flat_vector vector = flat_vector(&tflite->flat, table, id, size);
    uint32_t items[LISTED_MOST + 1], n = 0;

    for (; n < vector.n && n < LISTED_MOST; n++)
        items[n] = item_value(tflite, vector.at + size * (uint64_t)n, kind);
    if (n < vector.n)
        items[n++] = value_make(values, VALUE_CUT, STR("too long"), NULL, 0);
    return value_make(values, VALUE_LIST, STR(""), items, n);
}

static uint32_t text_value(struct tflite *tflite, struct flat_table table, unsigned id)
{
    struct arena before = build_scratch_begin(tflite->build);
    struct str text =
        flat_text(&tflite->flat, table, id, 1000, &tflite->build->scratch);
    uint32_t value = value_str(build_values(tflite->build), text);

    build_scratch_end(tflite->build, before);
    return value;
}

static uint32_t option(struct tflite *tflite, struct flat_table table, unsigned id,
                       char kind)
{
    struct flat *flat = &tflite->flat;
    struct values *values = build_values(tflite->build);

    for (size_t i = 0; i < COUNT_OF(enumerations); i++)
        if (enumerations[i].kind == kind)
            return name_of(values, enumerations[i].names,
                           flat_int(flat, table, id, enumerations[i].size, 0));
    switch (kind) {
    case 'b':
    case 'o':
    case 'y':
        return value_bool(values, flat_int(flat, table, id, 1, kind == 'y') != 0);
    case 'f':
        return value_real(values, flat_float(flat, table, id, 0));
    case 't':
    case 'u':
        return dtype_value(values, flat_int(flat, table, id, 1, kind == 'u' ? 2 : 0));
    case 's':
        return text_value(tflite, table, id);
    case 'v':
    case 'w':
    case 'r':
    case 'z':
        return list_value(tflite, table, id, kind);
    case 'l':
        return value_int(values, flat_int(flat, table, id, 8, 0));
    default:
        return value_int(values, flat_int(flat, table, id, 4, kind == 'd'));
    }
}

static const char *fields_of(int64_t type, bool more)
{
    for (size_t i = 0; i < COUNT_OF(tables); i++)
        if (tables[i].type == type && tables[i].more == more)
            return tables[i].fields;
    return "";
}

/* Adds what the table has to `items`, keys and values; returns how many. */
static uint32_t add_fields(struct tflite *tflite, struct flat_table table,
                           const char *fields, uint32_t *items)
{
    struct values *values = build_values(tflite->build);
    struct str rest = str_of(fields), field;
    uint32_t n = 0;

    for (unsigned id = 0; rest.len > 0 && str_split(&rest, ' ', &field); id++) {
        char kind = field.at[field.len - 1];

        if (field.len == 1 ||
            (kind == 'o' && flat_int(&tflite->flat, table, id, 1, 0) == 0))
            continue;
        items[n++] = value_str(values, str_head(field, field.len - 2));
        items[n++] = option(tflite, table, id, kind);
    }
    return n;
}

/* The options of a custom operator: a map, else under a name of their own. */
static uint32_t custom_options(struct tflite *tflite, struct flat_table op)
{
    struct values *values = build_values(tflite->build);
    struct flat_vector bytes = flat_vector(&tflite->flat, op, 5, 1);
    struct arena before;
    uint32_t pair[2];

    if (bytes.n == 0)
        return VALUE_ID_NONE;
    pair[1] = flat_flex(&tflite->flat, bytes.at, bytes.n, tflite->build);
    if (value_at(values, pair[1])->kind == VALUE_DICT)
        return pair[1];
    if (pair[1] == VALUE_ID_NONE) {
        before = build_scratch_begin(tflite->build);
        pair[1] = value_bytes(values,
                              flat_bytes(&tflite->flat, bytes.at, bytes.n, BYTES_SHOWN,
                                         &tflite->build->scratch),
                              bytes.n);
        build_scratch_end(tflite->build, before);
    }
    pair[0] = value_str(values, STR("custom_options"));
    return value_make(values, VALUE_DICT, STR(""), pair, 2);
}

uint32_t tflite_options(struct tflite *tflite, struct flat_table op)
{
    struct flat *flat = &tflite->flat;
    uint32_t items[2 * FIELDS_MOST], n = 0;

    for (int more = 0; more < 2 && n == 0; more++) {
        unsigned field = more ? 11 : 3;
        const char *fields = fields_of(flat_int(flat, op, field, 1, 0), more);

        if (*fields)
            n = add_fields(tflite, flat_table(flat, op, field + 1), fields, items);
    }
    if (n == 0)
        return custom_options(tflite, op);
    return value_make(build_values(tflite->build), VALUE_DICT, STR(""), items, n);
}
