#include "export/export_in.h"

#include <math.h>

#include "base/base.h"
#include "facts/ops_table.h"
#include "run/op_table.h"
#include "study/program_use.h"
#include "text/escape.h"

/* CSV and JSON have their own lists of fields beside the table of columns
 * (rows/columns.h), because names and values are a contract (docs/json.md): a row here is
 * one place with raw names and exact numbers, while a row of a tree may be several equal
 * blocks, and its cells are rounded and escaped for people. columns_test.c fails for a
 * column that has no field. */

/* A table being written: fields of one row, separated by commas. */
struct csv_table {
    struct out *out;
    const struct session *session;
    const struct model *model;
    struct activities activities; /* of a recording */
    struct buf text, field;
    bool first; /* nothing written yet in this row */
};

static void add_field(struct csv_table *table, struct str field)
{
    if (!table->first)
        out_char(table->out, ',');
    table->first = false;
    out_str(table->out, field);
}

/* Text from the file: quoted if necessary, and never read as a formula. */
static void add_text(struct csv_table *table, struct str text)
{
    buf_clear(&table->field);
    escape_csv(&table->field, text);
    add_field(table, buf_span(&table->field));
}

static void add_path(struct csv_table *table, uint32_t place)
{
    buf_clear(&table->text);
    place_path(table->model, place, &table->text);
    add_text(table, buf_span(&table->text));
}

static void add_u64(struct csv_table *table, uint64_t number)
{
    buf_clear(&table->field);
    buf_printf(&table->field, "%llu", (unsigned long long)number);
    add_field(table, buf_span(&table->field));
}

static void add_real(struct csv_table *table, double number)
{
    char text[32];

    if (isnan(number))
        add_field(table, STR("NaN"));
    else if (isinf(number))
        add_field(table, number > 0 ? STR("Infinity") : STR("-Infinity"));
    else
        add_field(table, str_span(text, (size_t)real_text(number, text)));
}

static void add_nothing(struct csv_table *table, int n)
{
    while (n-- > 0)
        add_field(table, STR(""));
}

/* Quoted, because lists contain commas. */
static void add_list(struct csv_table *table, const int64_t *items, int n)
{
    buf_clear(&table->field);
    buf_text(&table->field, "\"[");
    for (int i = 0; i < n; i++)
        buf_printf(&table->field, i ? ", %lld" : "%lld", (long long)items[i]);
    buf_text(&table->field, "]\"");
    add_field(table, buf_span(&table->field));
}

static void add_tie(struct csv_table *table, uint32_t place)
{
    uint32_t first = table->model->tensors[table->model->object[place]].place;

    if (first == place || first >= table->model->n_places)
        add_nothing(table, 1);
    else
        add_path(table, first);
}

/* name,shape,dtype,numel,bytes: the first fields of each tensor's row. */
static void add_tensor(struct csv_table *table, uint32_t place)
{
    const struct tensor *tensor = place_tensor(table->model, place);
    uint64_t bytes;

    add_path(table, place);
    add_list(table, tensor_shape(table->model, tensor), tensor->rank);
    add_field(table, str_of(dtype_name(tensor->dtype)));
    add_u64(table, tensor->numel);
    if (dtype_size(tensor->dtype, tensor->numel, &bytes))
        add_u64(table, bytes);
    else
        add_nothing(table, 1);
}

/* Writers of rows for tensors and, optionally, for modules. */
struct csv_rows {
    const char *header;
    void (*tensor)(struct csv_table *table, uint32_t place);
    void (*module)(struct csv_table *table, uint32_t place); /* or NULL */
};

static void write_rows(struct csv_table *table, struct export_choice choice,
                       const struct csv_rows *rows)
{
    out_text(table->out, rows->header);
    out_text(table->out, "\r\n");
    for (uint32_t place = 0; place < table->model->n_places; place++) {
        bool tensor = table->model->kind[place] == PLACE_TENSOR;
        bool module = table->model->kind[place] == PLACE_MODULE && rows->module;

        if (!(tensor || module) || !export_keeps(choice, place))
            continue;
        table->first = true;
        if (tensor)
            add_tensor(table, place);
        (tensor ? rows->tensor : rows->module)(table, place);
        out_text(table->out, "\r\n");
    }
    buf_release(&table->text);
    buf_release(&table->field);
}

/* ---- the tree ---- */

static void add_storage(struct csv_table *table, const struct tensor *tensor)
{
    const struct model *model = table->model;
    const struct storage *storage;
    char text[STORAGE_NAME_MAX];

    if (tensor->storage == NO_STORAGE) {
        add_nothing(table, 3);
        return;
    }
    storage = &model->storages[tensor->storage];
    add_u64(table, tensor->storage);
    add_text(table, storage_name(model, storage, text));
    if (model->n_files > 1 && storage->file < model->n_files)
        add_text(table, model_string(model, model->files[storage->file].name));
    else
        add_nothing(table, 1);
}

static void tree_row(struct csv_table *table, uint32_t place)
{
    const struct tensor *tensor = place_tensor(table->model, place);

    add_field(table, str_of(export_role_name(tensor->role)));
    if (tensor->flags & TENSOR_GRAD_KNOWN)
        add_field(table, tensor->flags & TENSOR_GRAD ? STR("true") : STR("false"));
    else
        add_nothing(table, 1);
    add_text(table, tensor_device(table->model, tensor));
    add_field(table, str_of(export_layout_name(tensor->layout)));
    if (tensor->layout == LAYOUT_STRIDED) {
        add_list(table, tensor_strides(table->model, tensor), tensor->rank);
        add_u64(table, tensor->offset);
    } else {
        add_nothing(table, 2);
    }
    add_storage(table, tensor);
    add_tie(table, place);
}

#define TREE_HEADER                                                                    \
    "name,shape,dtype,numel,bytes,role,requires_grad,device,layout,strides,offset,"    \
    "storage,storage_key,file,tied_to"

/* ---- the tree of a recording ---- */

#define RUN_HEADER                                                                     \
    ",class,params,calls,time_ns,self_ns,backward_ns,device_ns,in_shape,out_shape,"    \
    "out_bytes,nan,inf,raised,producer,gap"
#define TREE_COLUMNS 15
#define RUN_COLUMNS  15

static void run_tensor_row(struct csv_table *table, uint32_t place)
{
    tree_row(table, place);
    add_nothing(table, RUN_COLUMNS);
}

static void add_shape(struct csv_table *table, uint32_t call, enum run_io_kind kind)
{
    const struct run *run = table->session->run;
    uint32_t value = call == RUN_NONE ? RUN_NONE : activity_value(run, call, kind);

    if (value == RUN_NONE)
        add_nothing(table, 1);
    else
        add_list(table, run->dims + run->values[value].shape, run->values[value].rank);
}

static void add_activity(struct csv_table *table, const struct activity *did)
{
    add_u64(table, did->total_ns);
    add_u64(table, did->self_ns);
    if (did->backward_ns)
        add_u64(table, did->backward_ns);
    else
        add_nothing(table, 1);
    if (did->device_ns)
        add_u64(table, did->device_ns);
    else
        add_nothing(table, 1);
    add_shape(table, did->newest, RUN_IN);
    add_shape(table, did->newest, RUN_OUT);
    add_u64(table, did->out_bytes);
    add_u64(table, did->nan);
    add_u64(table, did->inf);
    add_field(table, did->flags & ACTIVITY_RAISED ? STR("true") : STR(""));
    add_field(table, did->flags & ACTIVITY_PRODUCER ? STR("true") : STR(""));
}

static void run_module_row(struct csv_table *table, uint32_t place)
{
    const struct activity *did = &table->activities.at[place];
    const struct run *run = table->session->run;

    add_path(table, place);
    add_nothing(table, TREE_COLUMNS - 1);
    add_text(table, place_class(table->model, place));
    add_u64(table, counts_params(&table->session->places, place));
    add_u64(table, did->calls);
    if (did->calls > 0)
        add_activity(table, did);
    else
        add_nothing(table, 11);
    if (did->gap != RUN_NONE)
        add_field(table, str_of(run_gap_name(run->gaps[did->gap].kind)));
    else
        add_nothing(table, 1);
}

int export_tree_csv(struct out *out, const struct session *session,
                    struct export_choice choice, struct err *err)
{
    struct csv_table table = {.out = out, .session = session, .model = session->model};
    const struct csv_rows of_model = {TREE_HEADER, tree_row, NULL};
    const struct csv_rows of_run = {TREE_HEADER RUN_HEADER, run_tensor_row,
                                    run_module_row};
    struct arena arena;
    int status = 0;

    arena_init(&arena, GIB);
    if (session->run)
        status = activity_of(&table.activities, session->run, &arena, err);
    if (status == 0)
        write_rows(&table, choice, session->run ? &of_run : &of_model);
    arena_release(&arena);
    return status;
}

/* ---- statistics ---- */

static void add_extreme(struct csv_table *table, const struct stats *stats, bool max)
{
    int64_t integer = max ? stats->int_max : stats->int_min;

    if (stats->kind == STATS_REAL) {
        add_real(table, max ? stats->max : stats->min);
    } else if (stats->kind == STATS_UINT) {
        add_u64(table, (uint64_t)integer);
    } else {
        buf_clear(&table->field);
        buf_printf(&table->field, "%lld", (long long)integer);
        add_field(table, buf_span(&table->field));
    }
}

static void add_index(struct csv_table *table, const struct tensor *tensor, uint64_t at)
{
    const int64_t *shape = tensor_shape(table->model, tensor);
    int64_t index[SLICE_RANK];

    at /= dtype_info(tensor->dtype)->values;
    for (int i = tensor->rank - 1; i >= 0 && tensor->rank <= SLICE_RANK; i--) {
        index[i] = shape[i] > 0 ? (int64_t)(at % (uint64_t)shape[i]) : 0;
        at = shape[i] > 0 ? at / (uint64_t)shape[i] : 0;
    }
    if (tensor->rank <= SLICE_RANK)
        add_list(table, index, tensor->rank);
    else
        add_nothing(table, 1);
}

static void add_moments(struct csv_table *table, const struct stats *stats)
{
    if (!stats_measured(stats)) {
        add_nothing(table, 5);
        return;
    }
    add_extreme(table, stats, false);
    add_extreme(table, stats, true);
    add_real(table, stats->mean);
    if (stats_finite(stats) > 1)
        add_real(table, stats_std(stats));
    else
        add_nothing(table, 1);
    add_real(table, stats_l2(stats));
}

static void stats_row(struct csv_table *table, uint32_t place)
{
    const struct tensor *tensor = place_tensor(table->model, place);
    uint32_t id = table->model->object[place];
    const struct stats *stats = session_known(table->session, id);
    const char *why = session_why(table->session, id);

    if (stats) {
        add_u64(table, stats->count);
        add_moments(table, stats);
        add_u64(table, stats->nan);
        add_u64(table, stats->pos_inf);
        add_u64(table, stats->neg_inf);
        add_u64(table, stats->zeros);
    } else {
        add_nothing(table, 10);
    }
    if (stats && stats_measured(stats)) {
        add_index(table, tensor, stats->min_at);
        add_index(table, tensor, stats->max_at);
    } else {
        add_nothing(table, 2);
    }
    add_tie(table, place);
    add_text(table, str_of(why));
    add_field(table, str_of(session_sha256(table->session, id)));
}

void export_stats_csv(struct out *out, const struct session *session,
                      struct export_choice choice)
{
    struct csv_table table = {.out = out, .session = session, .model = session->model};
    const struct csv_rows rows = {
        "name,shape,dtype,numel,bytes,count,min,max,mean,std,l2,nan,pos_inf,neg_inf,"
        "zeros,min_at,max_at,tied_to,stats_why,sha256",
        stats_row, NULL};

    write_rows(&table, choice, &rows);
}

/* ---- operations ---- */

static void add_use(struct csv_table *table, const struct op_use *use,
                    const struct op_sum *all)
{
    const struct run *run = table->session->run;

    table->first = true;
    add_text(table, use->name);
    add_text(table, use->overload);
    add_field(table, str_of(op_family_name(run->ops->kinds[use->kind].family)));
    add_u64(table, use->sum.count);
    add_u64(table, use->sum.ns);
    if (all->ns)
        add_real(table, (double)use->sum.ns / (double)all->ns);
    else
        add_nothing(table, 1);
    add_u64(table, use->sum.flops);
    add_u64(table, use->sum.count - use->sum.unknown);
    add_u64(table, use->sum.new_bytes);
    if (use->place < table->model->n_places)
        add_path(table, use->place);
    else
        add_nothing(table, 1);
    add_text(table, run_string(run, use->line));
    if (use->first == RUN_NONE)
        add_nothing(table, 1);
    else
        add_u64(table, use->first);
    out_text(table->out, "\r\n");
}

/* For a file: fields that only a run has stay empty. */
static void add_program_use(struct csv_table *table, const struct op_use *use)
{
    const struct program_op *op = &table->model->program->ops[use->first];
    struct buf line = BUF_INIT;

    table->first = true;
    add_text(table, use->name);
    add_nothing(table, 1);
    add_field(table, str_of(op_family_name(op_family_of(use->name))));
    add_u64(table, use->sum.count);
    add_nothing(table, 3);
    add_u64(table, 0);
    add_nothing(table, 1);
    add_path(table, use->place);
    program_line(&line, table->model, op->file, op->line);
    add_text(table, buf_span(&line));
    add_u64(table, use->first);
    out_text(table->out, "\r\n");
    buf_release(&line);
}

void export_ops_csv(struct out *out, const struct session *session,
                    const struct op_use_list *uses)
{
    struct csv_table table = {.out = out, .session = session, .model = session->model};

    out_text(out, "name,overload,family,count,ns,share,flops,counted,new_bytes,module,"
                  "line,id\r\n");
    for (uint32_t i = 0; i < uses->n; i++)
        if (session->run)
            add_use(&table, &uses->at[i], &uses->sum);
        else
            add_program_use(&table, &uses->at[i]);
    buf_release(&table.text);
    buf_release(&table.field);
}
