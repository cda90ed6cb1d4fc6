/* Writes a run to a temporary file, in one transaction, and renames it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/whole_file.h"
#include "run/file_in.h"

struct scope_write {
    sqlite3 *db;
    const struct run *run;
    const struct model *model;
    struct work *work;
    struct shapes shapes;
    struct buf items; /* of the plain value being written */
    const struct values *plain;
    const struct intern *strings;
    /* The model's, plus code from another source. */
    const struct class_info *classes;
    const struct intern *model_strings;
    /* Rows of merged shapes and kept parts, and their owners. */
    struct merged_shape_row *merged_shapes;
    uint32_t *merged_of; /* by merged io */
    uint32_t *part_of;   /* by kept value: its first part */
    uint32_t *kept_of;   /* by part */
    uint32_t n_merged_shapes, n_parts;
    char *part;      /* buffer for a part copied from a file; or NULL */
    bool replaces;   /* the file already has sections */
    struct err lost; /* why a part was unreadable */
};

static void get_shape(void *user, uint32_t i, void *row)
{
    struct scope_write *w = user;

    ((struct text_row *)row)->text = w->shapes.texts[i];
}

/* ---- rows ---- */

static void get_string(void *user, uint32_t i, void *row)
{
    const struct scope_write *w = user;

    ((struct text_row *)row)->text = intern_str(w->strings, i);
}

static void get_plain(void *user, uint32_t i, void *row)
{
    struct scope_write *w = user;
    const struct value *value = &w->plain->at[i];
    const uint32_t *items = value_items(w->plain, i);
    struct plain_row *to = row;

    buf_clear(&w->items);
    for (uint32_t k = 0; items && k < value->n; k++)
        for (int byte = 0; byte < 4; byte++)
            buf_char(&w->items, (char)(items[k] >> 8 * byte));
    to->kind = value->kind;
    to->text = value->text;
    to->count = value->n;
    to->items = buf_span(&w->items);
    if (value->kind == VALUE_REAL)
        to->real = value->real;
    else
        to->integer = (uint64_t)value->integer;
}

/* Rows that are stored as they are written. */
#define GET(name, from)                                                                \
    static void get_##name(void *user, uint32_t i, void *row)                          \
    {                                                                                  \
        const struct scope_write *w = user;                                            \
                                                                                       \
        memcpy(row, &(from)[i], sizeof *(from));                                       \
    }
GET(class, w->classes)
GET(storage, w->model->storages)
GET(object, w->model->objects)
GET(model_device, w->model->devices)
GET(device, w->run->devices)
GET(run_fact, w->run->facts)
GET(stats, w->run->stats)
GET(call, w->run->calls)
GET(io, w->run->ios)
GET(merged, w->run->merged)
GET(param, w->run->params)
GET(gap, w->run->gaps)
GET(merged_shape, w->merged_shapes)

static void get_tensor(void *user, uint32_t i, void *row)
{
    struct scope_write *w = user;
    const struct tensor *tensor = &w->model->tensors[i];
    struct tensor_row *to = row;

    to->tensor = *tensor;
    to->shape = shapes_add(&w->shapes, tensor_shape(w->model, tensor), tensor->rank);
    to->strides =
        shapes_add(&w->shapes, tensor_strides(w->model, tensor), tensor->rank);
}

static void get_place(void *user, uint32_t i, void *row)
{
    const struct scope_write *w = user;

    *(struct place_row *)row = (struct place_row){.parent = w->model->parent[i],
                                                  .name = w->model->name[i],
                                                  .object = w->model->object[i],
                                                  .kind = w->model->kind[i],
                                                  .flags = w->model->flags[i]};
}

static void get_fact(void *user, uint32_t i, void *row)
{
    const struct scope_write *w = user;
    const struct model *model = w->model;
    struct fact_row *to = row;

    to->kind = i >= model->n_facts;
    to->fact = to->kind ? model->metadata[i - model->n_facts] : model->facts[i];
}

static void get_finding(void *user, uint32_t i, void *row)
{
    const struct scope_write *w = user;
    const struct finding *finding = &w->model->findings[i];

    *(struct finding_row *)row =
        (struct finding_row){.code = str_of(finding_name(finding->code)),
                             .severity = str_of(severity_name(finding->severity)),
                             .place = finding->place,
                             .text = str_of(finding->text)};
}

static void get_value(void *user, uint32_t i, void *row)
{
    struct scope_write *w = user;
    const struct run_value *value = &w->run->values[i];
    const int64_t *dims = w->run->dims;
    struct value_row *to = row;

    to->value = *value;
    if (!w->run->ops)
        to->value.op_value = RUN_NONE;
    to->shape = shapes_add(&w->shapes, dims + value->shape, value->rank);
    to->strides = UINT32_MAX;
    if (value->strides != RUN_NONE)
        to->strides = shapes_add(&w->shapes, dims + value->strides, value->rank);
}

static void get_merged_io(void *user, uint32_t i, void *row)
{
    const struct scope_write *w = user;
    struct merged_io_row *to = row;

    to->io = w->run->merged_ios[i];
    to->merged = w->merged_of[i];
}

static void get_kept(void *user, uint32_t i, void *row)
{
    const struct scope_write *w = user;
    struct kept_row *to = row;

    to->kept = w->run->kept[i];
    to->part = w->part_of[i];
}

static void get_part(void *user, uint32_t i, void *row)
{
    struct scope_write *w = user;
    const struct run_kept *kept = &w->run->kept[w->kept_of[i]];
    uint64_t at = (uint64_t)(i - w->part_of[w->kept_of[i]]) * SCOPE_PART;
    size_t n = kept->bytes - at < SCOPE_PART ? (size_t)(kept->bytes - at) : SCOPE_PART;
    const char *from = kept->at ? (const char *)kept->at + at : w->part;

    /* After the first error the file is discarded: do not read the rest. */
    if (!kept->at && (w->lost.code || run_kept_bytes(w->run, w->kept_of[i], at, w->part,
                                                     n, &w->lost) < 0))
        n = 0;
    ((struct text_row *)row)->text = str_span(from, n);
}

static void get_meta(void *user, uint32_t i, void *row)
{
    const struct scope_write *w = user;
    const struct meta_row rows[] = {
        {STR("writer"), STR("torchoscope " TORCHOSCOPE_VERSION), 0},
        {STR("name"), str_of(w->run->name), 0},
        {STR("format"), str_of(w->model->format), 0},
        {STR("wall_ns"), STR(""), (int64_t)w->run->wall_ns},
        {STR("own_ns"), STR(""), (int64_t)w->run->own_ns},
        {STR("hooks_ns"), STR(""), (int64_t)w->run->hooks_ns},
        {STR("partial"), STR(""), w->model->partial},
        {STR("passes"), STR(""), w->run->passes},
        {STR("ops_lost"), STR(""), w->run->ops ? (int64_t)w->run->ops->lost : 0},
    };

    *(struct meta_row *)row = rows[i];
}
#define META_ROWS 8 /* and `ops_lost`, if it has operations */

/* ---- owners of rows ---- */

static int plan_merged(struct scope_write *w, struct arena *arena)
{
    const struct run *run = w->run;
    uint32_t n = 0, at;

    w->merged_of = arena_array(arena, (size_t)run->n_merged_ios + 1, sizeof(uint32_t));
    for (uint32_t i = 0; i < run->n_merged_ios; i++)
        n += run->merged_ios[i].n_shapes;
    w->merged_shapes = arena_array(arena, (size_t)n + 1, sizeof *w->merged_shapes);
    if (!w->merged_of || !w->merged_shapes)
        return -1;
    for (uint32_t i = 0; i < run->n_merged; i++)
        for (uint32_t k = 0; k < run->merged[i].n_ios; k++)
            w->merged_of[run->merged[i].ios + k] = i;
    for (uint32_t i = 0; i < run->n_merged_ios; i++) {
        at = run->merged_ios[i].shapes;
        for (uint32_t k = 0; k < run->merged_ios[i].n_shapes; k++) {
            int rank = (int)run->dims[at];

            w->merged_shapes[w->n_merged_shapes++] = (struct merged_shape_row){
                .merged_io = i,
                .shape = shapes_add(&w->shapes, run->dims + at + 1, rank)};
            at += (uint32_t)rank + 1;
        }
    }
    return 0;
}

static int plan_parts(struct scope_write *w, struct arena *arena, struct err *err)
{
    const struct run *run = w->run;
    bool in_file = false;
    uint64_t n = 0;

    for (uint32_t i = 0; i < run->n_kept; i++) {
        in_file = in_file || !run->kept[i].at;
        n += (run->kept[i].bytes + SCOPE_PART - 1) / SCOPE_PART;
    }
    if (in_file)
        w->part = arena_alloc(arena, SCOPE_PART);
    w->part_of = arena_array(arena, (size_t)run->n_kept + 1, sizeof(uint32_t));
    w->kept_of = arena_array(arena, (size_t)n + 1, sizeof(uint32_t));
    if (!w->part_of || !w->kept_of || (in_file && !w->part) || n >= UINT32_MAX)
        return arena_err(arena, "writing", err);
    for (uint32_t i = 0; i < run->n_kept; i++) {
        w->part_of[i] = w->n_parts;
        for (uint64_t at = 0; at < run->kept[i].bytes; at += SCOPE_PART)
            w->kept_of[w->n_parts++] = i;
    }
    return 0;
}

/* Adds code that the model does not hold, to a copy of its classes and strings. */
static int plan_code(struct scope_write *w, struct source *code, struct arena *arena)
{
    const struct model *model = w->model;
    struct class_info *classes;
    struct class_code found;
    struct intern *strings;

    w->classes = model->classes;
    w->model_strings = &model->strings;
    if (!code)
        return 0;
    classes = arena_array(arena, (size_t)model->n_classes + 1, sizeof *classes);
    strings = arena_alloc(arena, sizeof *strings);
    if (!classes || !strings || intern_init(strings, arena) < 0)
        return -1;
    for (uint32_t i = 0; i < model->strings.n; i++)
        if (intern_add(strings, model_string(model, i)) != i)
            return -1;
    for (uint32_t i = 0; i < model->n_classes; i++) {
        classes[i] = model->classes[i];
        if (classes[i].source || source_code(code, i, arena, &found, NULL) < 0)
            continue;
        classes[i].source = intern_add(strings, found.text);
        classes[i].file = intern_add(strings, found.text.len ? found.file : STR(""));
        classes[i].line = found.text.len ? found.line : 0;
    }
    w->classes = classes;
    w->model_strings = strings;
    return arena->spent ? -1 : 0;
}

/* ---- tables ---- */

static int write_texts(struct scope_write *w, bool of_model, struct err *err)
{
    const struct model *model = w->model;
    const struct run *run = w->run;

    w->strings = of_model ? w->model_strings : &run->strings;
    w->plain = of_model ? &model->values : &run->plain;
    if (table_write(w->db, of_model ? TABLE_MODEL_STRING : TABLE_RUN_STRING,
                    w->strings->n, get_string, w, w->work, err) < 0)
        return -1;
    return table_write(w->db, of_model ? TABLE_MODEL_PLAIN : TABLE_RUN_PLAIN,
                       w->plain->n, get_plain, w, w->work, err);
}

static int write_tables(struct scope_write *w, struct err *err)
{
    const struct model *model = w->model;
    const struct run *run = w->run;
    const uint32_t sections = run->ops ? SECTION_HISTORY : SECTION_OPS;
    const struct {
        enum scope_table table;
        uint32_t n;
        get_row *get;
    } tables[] = {
        {TABLE_SECTION, sections - SECTION_MODEL, scope_get_section},
        {TABLE_META, META_ROWS + (run->ops != NULL), get_meta},
        {TABLE_MODEL_CLASS, model->n_classes, get_class},
        {TABLE_MODEL_DEVICE, model->n_devices, get_model_device},
        {TABLE_MODEL_STORAGE, model->n_storages, get_storage},
        {TABLE_MODEL_TENSOR, model->n_tensors, get_tensor},
        {TABLE_MODEL_OBJECT, model->n_objects, get_object},
        {TABLE_MODEL_PLACE, model->n_places, get_place},
        {TABLE_MODEL_FACT, model->n_facts + model->n_metadata, get_fact},
        {TABLE_MODEL_FINDING, model->n_findings - run->other_sections, get_finding},
        {TABLE_RUN_FACT, run->n_facts, get_run_fact},
        {TABLE_DEVICE, run->n_devices, get_device},
        {TABLE_STATS, run->n_stats, get_stats},
        {TABLE_VALUE, run->n_values, get_value},
        {TABLE_CALL, run->n_calls, get_call},
        {TABLE_IO, run->n_ios, get_io},
        {TABLE_MERGED, run->n_merged, get_merged},
        {TABLE_MERGED_IO, run->n_merged_ios, get_merged_io},
        {TABLE_MERGED_SHAPE, w->n_merged_shapes, get_merged_shape},
        {TABLE_PARAM, run->n_params, get_param},
        {TABLE_GAP, run->n_gaps, get_gap},
        {TABLE_KEPT, run->n_kept, get_kept},
        {TABLE_KEPT_PART, w->n_parts, get_part},
    };

    for (size_t i = 0; i < COUNT_OF(tables); i++)
        if (!(w->replaces && tables[i].table == TABLE_SECTION) &&
            table_write(w->db, tables[i].table, tables[i].n, tables[i].get, w, w->work,
                        err) < 0)
            return -1;
    if (write_texts(w, true, err) < 0 || write_texts(w, false, err) < 0)
        return -1;
    if (run->ops && scope_write_ops(w->db, run, &w->shapes, w->work, err) < 0)
        return -1;
    /* Last: writing the other tables collects the shapes. */
    return table_write(w->db, TABLE_SHAPE, w->shapes.n, get_shape, w, w->work, err);
}

static int run_sql(sqlite3 *db, const char *sql, struct err *err)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        return err_set(err, ERR_IO, "%s", sqlite3_errmsg(db));
    return 0;
}

static int make_tables(sqlite3 *db, bool with_ops, struct err *err)
{
    struct buf sql = BUF_INIT;
    int status = 0;

    for (int i = 0; i < TABLE_COUNT && status == 0; i++) {
        if (scope_tables[i].section == SECTION_OPS && !with_ops)
            continue;
        buf_clear(&sql);
        table_sql(i, table_columns(i), &sql);
        status = run_sql(db, buf_cstr(&sql), err);
    }
    buf_release(&sql);
    return status;
}

/* Fill the empty tables. */
static int fill_tables(struct scope_write *w, struct source *code, struct err *err)
{
    struct arena arena;
    int status = -1;

    arena_init(&arena, 0);
    if (plan_merged(w, &arena) < 0 || plan_code(w, code, &arena) < 0)
        arena_err(&arena, "writing", err);
    else if (plan_parts(w, &arena, err) < 0 || write_tables(w, err) < 0)
        status = -1;
    else if (w->shapes.bad || w->items.bad)
        err_set(err, ERR_LIMIT, "no memory left");
    else if (w->lost.code)
        *err = w->lost;
    else
        status = 0;
    arena_release(&arena);
    return status;
}

static int fill(struct scope_write *w, struct source *code, struct err *err)
{
    char pragmas[200];

    snprintf(pragmas, sizeof pragmas,
             "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; "
             "PRAGMA locking_mode=EXCLUSIVE; PRAGMA application_id=%d; "
             "PRAGMA user_version=%d; BEGIN",
             SCOPE_APPLICATION, SCOPE_VERSION);
    if (run_sql(w->db, pragmas, err) < 0 || make_tables(w->db, w->run->ops, err) < 0 ||
        fill_tables(w, code, err) < 0)
        return -1;
    return run_sql(w->db, "COMMIT", err);
}

static struct scope_write write_begin(const struct run *run, struct work *work)
{
    struct scope_write w = {.run = run, .model = run->model, .work = work};

    arena_init(&w.shapes.arena, 0);
    return w;
}

static void write_release(struct scope_write *w)
{
    buf_release(&w->items);
    arena_release(&w->shapes.arena);
}

static int write_database(const struct run *run, struct source *code, const char *path,
                          struct work *work, struct err *err)
{
    struct scope_write w = write_begin(run, work);
    int status = -1;

    map_init(&w.shapes.by_hash, &w.shapes.arena);
    if (sqlite3_open_v2(path, &w.db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
        err_set(err, ERR_IO, "%s", w.db ? sqlite3_errmsg(w.db) : "no memory left");
    else
        status = fill(&w, code, err);
    if (sqlite3_close(w.db) != SQLITE_OK && status == 0)
        status = err_set(err, ERR_IO, "cannot be closed");
    write_release(&w);
    return status;
}

/* ---- in a file that is written ---- */

static int has_ops(sqlite3 *db, bool *ret_has, struct err *err)
{
    sqlite3_stmt *stmt = NULL;
    int status = sqlite3_prepare_v2(
        db, "SELECT 1 FROM section NOT INDEXED WHERE name = 'ops'", -1, &stmt, NULL);

    if (status == SQLITE_OK)
        status = sqlite3_step(stmt);
    sqlite3_finalize(stmt);
    if (status != SQLITE_ROW && status != SQLITE_DONE)
        return err_set(err, ERR_IO, "%s", sqlite3_errmsg(db));
    *ret_has = status == SQLITE_ROW;
    return 0;
}

/* Deletes all rows of a run; makes tables of operations if it has none. */
static int clear_tables(sqlite3 *db, bool adds_ops, struct err *err)
{
    struct buf sql = BUF_INIT;
    int status;

    for (int i = TABLE_META; i < TABLE_COUNT; i++) {
        if (scope_tables[i].section == SECTION_OPS && adds_ops)
            table_sql(i, table_columns(i), &sql);
        else
            buf_printf(&sql, "DELETE FROM %s", scope_tables[i].name);
        buf_str(&sql, STR("; "));
    }
    if (adds_ops)
        buf_printf(&sql,
                   "INSERT INTO section(id, name, version) "
                   "SELECT max(id) + 1, 'ops', %u FROM section",
                   (unsigned)scope_section_version(SECTION_OPS));
    status = sql.bad ? err_set(err, ERR_LIMIT, "no memory left")
                     : run_sql(db, buf_cstr(&sql), err);
    buf_release(&sql);
    return status;
}

int scope_replace_run(sqlite3 *db, const struct run *run, struct source *code,
                      struct err *err)
{
    struct scope_write w = write_begin(run, NULL);
    bool has = false;
    int status = -1;

    w.db = db;
    w.replaces = true;
    map_init(&w.shapes.by_hash, &w.shapes.arena);
    if (has_ops(db, &has, err) < 0)
        goto out;
    if (has && !run->ops)
        err_set(err, ERR_USAGE, "it has operations, and the other recording none");
    else if (clear_tables(db, !has && run->ops, err) == 0)
        status = fill_tables(&w, code, err);
out:
    write_release(&w);
    return status;
}

/* ---- the file ---- */

static bool has_history(const char *path)
{
    sqlite3_stmt *stmt = NULL;
    sqlite3 *db = NULL;
    bool has = false;

    if (!run_file_is(path))
        return false;
    db = scope_open(path);
    if (db) {
        sqlite3_prepare_v2(db,
                           "SELECT 1 FROM section NOT INDEXED WHERE name = 'history'",
                           -1, &stmt, NULL);
        has = stmt && sqlite3_step(stmt) == SQLITE_ROW;
    }
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return has;
}

int run_file_may_replace(const char *path, struct err *err)
{
    if (!has_history(path))
        return 0;
    return err_set_about(err, ERR_USAGE, path,
                         ": holds the history of a training, which would be lost. Save "
                         "to another path.");
}

int run_file_write(const struct run *run, struct source *code, const char *path,
                   struct work *work, struct err *err)
{
    struct whole_file file;
    struct err local = {0};

    if (run_file_may_replace(path, err) < 0 || whole_file_begin(&file, path, err) < 0)
        return -1;
    if (write_database(run, code, file.name, work, &local) == 0) {
        if (!file.direct)
            scope_remove_journals(file.path);
        return whole_file_keep(&file, err);
    }
    whole_file_drop(&file);
    return err_set_about(err, local.code, path, ": %s", local.text);
}
