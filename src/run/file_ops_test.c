#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/blob.h"
#include "base/test.h"
#include "run/run_file.h"
#include "run/sample_run.h"

/* A run with every kind of operation data: sources, lists, statistics, lost ones. */
static struct run *ops_run(void)
{
    struct run *run = sample_ops();
    struct run_ops *ops = (struct run_ops *)(uintptr_t)run->ops;
    uint32_t *sources = arena_array(&run->arena, 3, sizeof *sources);

    CHECK(sources && ops->n_sources == 0 && ops->n_values > 4);
    sources[0] = 0, sources[1] = 2, sources[2] = 3;
    ops->sources = sources;
    ops->n_sources = 3;
    ops->values[3].n_sources = 2;
    ops->values[4].sources = 2;
    ops->values[4].n_sources = 1;
    ops->values[4].flags |= OP_VALUE_UNSEEN;
    ops->ios[1].item = 7;
    ops->ops[8].flags |= OP_RAISED;
    ops->ops[8].attributes = 0;
    ops->ops[1].flops = INT64_MAX;
    ops->lost = UINT64_MAX;
    return run;
}

static const char *temporary(char *path)
{
    int fd;

    strcpy(path, "/tmp/torchoscope_ops_XXXXXX"); /* NOLINT: it fits */
    fd = mkstemp(path);
    CHECK(fd >= 0);
    close(fd);
    return path;
}

static struct run *written(char *path)
{
    struct run *run = ops_run();
    struct err err = {0};

    CHECK_STR(
        run_file_write(run, NULL, temporary(path), NULL, &err) < 0 ? err.text : "", "");
    return run;
}

static struct run *read_again(const char *path)
{
    struct err err = {0};
    struct run *run = run_file_read(path, NULL, &err);

    CHECK_STR(err.text, "");
    CHECK(run);
    return run;
}

/* ---- equal, field by field ---- */

static void same_kinds(const struct run_ops *a, const struct run_ops *b)
{
    CHECK_INT(a->n_kinds, b->n_kinds);
    CHECK_INT(a->n_args, b->n_args);
    CHECK_MEM(b->args, a->args, a->n_args * sizeof *a->args);
    for (uint32_t i = 0; i < a->n_kinds; i++) {
        CHECK_INT(a->kinds[i].name, b->kinds[i].name);
        CHECK_INT(a->kinds[i].overload, b->kinds[i].overload);
        CHECK_INT(a->kinds[i].n_args, b->kinds[i].n_args);
        CHECK_INT(a->kinds[i].args, b->kinds[i].args);
        CHECK_INT(a->kinds[i].flags, b->kinds[i].flags);
        CHECK_INT(a->kinds[i].family, b->kinds[i].family);
    }
}

static void same_types(const struct run *a, const struct run *b)
{
    CHECK_INT(a->ops->n_types, b->ops->n_types);
    for (uint32_t i = 0; i < a->ops->n_types; i++) {
        const struct run_op_type *x = &a->ops->types[i], *y = &b->ops->types[i];

        CHECK_INT(x->dtype, y->dtype);
        CHECK_INT(x->layout, y->layout);
        CHECK_INT(x->rank, y->rank);
        CHECK_INT(x->device, y->device);
        CHECK_INT(x->class_name, y->class_name);
        CHECK_INT(x->numel, y->numel);
        CHECK_INT(x->bytes, y->bytes);
        CHECK_MEM(b->dims + y->shape, a->dims + x->shape, x->rank * sizeof(int64_t));
        CHECK_INT(x->strides == RUN_NONE, y->strides == RUN_NONE);
        if (x->strides != RUN_NONE)
            CHECK_MEM(b->dims + y->strides, a->dims + x->strides,
                      x->rank * sizeof(int64_t));
    }
}

static void same_storages(const struct run_ops *a, const struct run_ops *b)
{
    CHECK_INT(a->n_storages, b->n_storages);
    for (uint32_t i = 0; i < a->n_storages; i++) {
        CHECK_INT(a->storages[i].bytes, b->storages[i].bytes);
        CHECK_INT(a->storages[i].born, b->storages[i].born);
        CHECK_INT(a->storages[i].seen, b->storages[i].seen);
        CHECK_INT(a->storages[i].died, b->storages[i].died);
        CHECK_INT(a->storages[i].tensor, b->storages[i].tensor);
        CHECK_INT(a->storages[i].device, b->storages[i].device);
        CHECK_INT(a->storages[i].role, b->storages[i].role);
    }
}

static void same_values(const struct run_ops *a, const struct run_ops *b)
{
    CHECK_INT(a->n_values, b->n_values);
    CHECK_INT(a->n_sources, b->n_sources);
    CHECK_MEM(b->sources, a->sources, a->n_sources * sizeof *a->sources);
    for (uint32_t i = 0; i < a->n_values; i++) {
        const struct run_op_value *x = &a->values[i], *y = &b->values[i];

        CHECK_INT(x->type, y->type);
        CHECK_INT(x->storage, y->storage);
        CHECK_INT(x->write, y->write);
        CHECK_INT(x->producer, y->producer);
        CHECK_INT(x->output, y->output);
        CHECK_INT(x->flags, y->flags);
        CHECK_INT(x->n_sources, y->n_sources);
        if (x->n_sources)
            CHECK_INT(x->sources, y->sources);
        CHECK_INT(x->tensor, y->tensor);
        CHECK_INT(x->stats, y->stats);
        CHECK_INT(x->offset, y->offset);
    }
}

static void same_op(const struct run_op *x, const struct run_op *y)
{
    CHECK_INT(x->kind, y->kind);
    CHECK_INT(x->attributes, y->attributes);
    CHECK_INT(x->phase, y->phase);
    CHECK_INT(x->flags, y->flags);
    CHECK_INT(x->n_ios, y->n_ios);
    CHECK_INT(x->ios, y->ios);
    CHECK_INT(x->call, y->call);
    CHECK_INT(x->place, y->place);
    CHECK_INT(x->step, y->step);
    CHECK_INT(x->thread, y->thread);
    CHECK_INT(x->line, y->line);
    CHECK_INT(x->cause, y->cause);
    CHECK_INT(x->gradient, y->gradient);
    CHECK_INT(x->start_ns, y->start_ns);
    CHECK_INT(x->ns, y->ns);
    CHECK_INT(x->new_bytes, y->new_bytes);
    CHECK_INT(x->flops, y->flops);
}

static void same_ops(const struct run_ops *a, const struct run_ops *b)
{
    CHECK_INT(a->n_ops, b->n_ops);
    for (uint32_t i = 0; i < a->n_ops; i++)
        same_op(&a->ops[i], &b->ops[i]);
    CHECK_INT(a->n_ios, b->n_ios);
    for (uint32_t i = 0; i < a->n_ios; i++) {
        CHECK_INT(a->ios[i].value, b->ios[i].value);
        CHECK_INT(a->ios[i].arg, b->ios[i].arg);
        CHECK_INT(a->ios[i].item, b->ios[i].item);
        CHECK_INT(a->ios[i].kind, b->ios[i].kind);
        CHECK_INT(a->ios[i].flags, b->ios[i].flags);
    }
    CHECK_INT(a->n_totals, b->n_totals);
    for (uint32_t i = 0; i < a->n_totals; i++) {
        const struct run_op_total *x = &a->totals[i], *y = &b->totals[i];

        CHECK_INT(x->kind, y->kind);
        CHECK_INT(x->place, y->place);
        CHECK_INT(x->line, y->line);
        CHECK_INT(x->phase, y->phase);
        CHECK_INT(x->first, y->first);
        CHECK_INT(x->count, y->count);
        CHECK_INT(x->ns, y->ns);
        CHECK_INT(x->new_bytes, y->new_bytes);
        CHECK_INT(x->flops, y->flops);
        CHECK_INT(x->unknown, y->unknown);
    }
    CHECK(a->lost == b->lost);
}

static void same(const struct run *a, const struct run *b)
{
    CHECK(a->ops && b->ops);
    same_kinds(a->ops, b->ops);
    same_types(a, b);
    same_storages(a->ops, b->ops);
    same_values(a->ops, b->ops);
    same_ops(a->ops, b->ops);
}

TEST(operations_come_back_from_their_file_field_by_field)
{
    char path[64];
    struct run *run = written(path), *again = read_again(path), *third;

    same(run, again);
    CHECK_INT(again->model->n_findings, run->model->n_findings);
    CHECK(run_file_write(again, NULL, path, NULL, NULL) == 0);
    third = read_again(path);
    same(run, third);
    unlink(path);
    run_free(run);
    run_free(again);
    run_free(third);
}

TEST(the_values_of_calls_name_those_of_operations)
{
    struct trace *trace = trace_new(sample_model(), &(struct trace_wanted){0});
    char path[64];
    struct run *run, *again;

    CHECK(trace && trace_ops_begin(trace, 0));
    sample_value(trace, 2, 3, 0);
    sample_value(trace, 2, 3, 1);
    sample_op(trace, trace_op_kind(trace, "aten::t", "", NULL, 0, 0),
              &(struct sample_tensor){.storage = RUN_NONE, .rows = 1, .columns = 1}, 1,
              NULL);
    run = trace_finish(trace, 1, 0);
    CHECK(run && run->n_values == 2);
    run->values[0].op_value = RUN_NONE;
    run->values[1].op_value = 0;
    CHECK(run_file_write(run, NULL, temporary(path), NULL, NULL) == 0);
    again = read_again(path);
    CHECK_INT(again->values[0].op_value, RUN_NONE);
    CHECK_INT(again->values[1].op_value, 0);
    unlink(path);
    run_free(run);
    run_free(again);
}

/* ---- other files ---- */

static void edit(const char *path, const char *sql)
{
    sqlite3 *db = NULL;

    CHECK(sqlite3_open(path, &db) == SQLITE_OK);
    CHECK(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK);
    sqlite3_close(db);
}

static struct run *changed(const char *sql)
{
    char path[64];
    struct run *run;

    run_free(written(path));
    edit(path, sql);
    run = read_again(path);
    unlink(path);
    return run;
}

TEST(a_file_without_operations_has_no_table_of_them)
{
    struct run *run = sample_run(1), *again;
    char path[64];
    sqlite3 *db = NULL;

    CHECK(run_file_write(run, NULL, temporary(path), NULL, NULL) == 0);
    CHECK(sqlite3_open(path, &db) == SQLITE_OK);
    CHECK(sqlite3_exec(db, "SELECT * FROM op", NULL, NULL, NULL) != SQLITE_OK);
    sqlite3_close(db);
    again = read_again(path);
    CHECK(!again->ops);
    CHECK_INT(again->model->n_findings, run->model->n_findings);
    unlink(path);
    run_free(run);
    run_free(again);
}

TEST(a_file_from_before_operations_still_opens)
{
    struct run *run = changed("DELETE FROM section WHERE name='ops';"
                              "ALTER TABLE value DROP COLUMN op_value");

    CHECK(!run->ops && !run->model->partial);
    for (uint32_t i = 0; i < run->n_values; i++)
        CHECK_INT(run->values[i].op_value, RUN_NONE);
    run_free(run);
}

TEST(a_newer_section_of_operations_is_reported_and_skipped)
{
    struct run *run = changed("UPDATE section SET version=2 WHERE name='ops';"
                              "DROP TABLE op_io");
    const struct model *model = run->model;

    CHECK(!run->ops && !model->partial);
    CHECK_STR(model->findings[model->n_findings - 1].text,
              "this file also holds ops (version 2), which this version of torchoscope "
              "does not show");
    run_free(run);
}

/* Check that the operations are dropped with one finding, and the calls are there. */
static void dropped(const char *sql, const char *expected)
{
    struct run *run = changed(sql);
    const struct model *model = run->model;
    bool own; /* is the first finding ours? The other belongs to the model */

    CHECK(!run->ops && run->ops_damaged);
    CHECK(model->partial);
    CHECK_INT(model->n_findings, 2);
    own = strcmp(model->findings[0].text, "a note about it") != 0;
    CHECK_STR(model->findings[own ? 0 : 1].text, expected);
    CHECK_INT(run->n_calls, 4);
    for (uint32_t i = 0; i < run->n_values; i++)
        CHECK_INT(run->values[i].op_value, RUN_NONE);
    run_free(run);
}

#define LEFT_OUT "; all operations are skipped"

TEST(foreign_tables_of_operations_are_skipped)
{
    dropped("DROP TABLE op_total", "table op_total is missing" LEFT_OUT);
    dropped("DROP TABLE op; CREATE TABLE op(id INTEGER PRIMARY KEY, name TEXT)",
            "table op does not have the columns of a recording" LEFT_OUT);
}

TEST(operations_with_a_wrong_number_are_skipped)
{
    static const struct {
        const char *sql, *why;
    } cases[] = {
        {"op_kind SET name=999 WHERE id=1", "table op_kind: 1 dangling references"},
        {"op_kind SET flags=256 WHERE id=1", "table op_kind, row 1: flags"},
        {"op_arg SET op_kind=99 WHERE id=2", "table op_arg, row 2: op_kind"},
        {"op_arg SET op_kind=0 WHERE id=9", "table op_arg, row 9: op_kind"},
        {"op_type SET shape=NULL WHERE id=1", "table op_type, row 1: shape"},
        {"op_type SET layout=99 WHERE id=1", "table op_type, row 1: layout"},
        {"op_type SET device=7 WHERE id=1", "table op_type, row 1: device"},
        {"op_storage SET born=9 WHERE id=3", "table op_storage, row 3: born"},
        {"op_storage SET seen=-1 WHERE id=3", "table op_storage, row 3: seen"},
        {"op_storage SET died=10 WHERE id=3", "table op_storage, row 3: died"},
        {"op_storage SET role=5 WHERE id=3", "table op_storage, row 3: role"},
        {"op_value SET type=99 WHERE id=3", "table op_value, row 3: type"},
        {"op_value SET producer=9 WHERE id=3", "table op_value, row 3: producer"},
        {"op_value SET flags=8 WHERE id=3", "table op_value, row 3: flags"},
        {"op_value SET storage=99 WHERE id=3", "table op_value: 1 dangling references"},
        {"op_source SET source=3 WHERE id=1", "table op_source, row 1: source"},
        {"op_source SET source=NULL WHERE id=1", "table op_source, row 1: source"},
        {"op_source SET op_value=1 WHERE id=2", "table op_source, row 2: op_value"},
        {"op SET kind=99 WHERE id=2", "table op, row 2: kind"},
        {"op SET phase=4 WHERE id=2", "table op, row 2: phase"},
        {"op SET flags=16 WHERE id=2", "table op, row 2: flags"},
        {"op SET step=NULL WHERE id=2", "table op, row 2: step"},
        {"op SET thread=NULL WHERE id=2", "table op, row 2: thread"},
        {"op SET cause=7 WHERE id=7", "table op, row 7: cause"},
        {"op SET flops=-1 WHERE id=7", "table op, row 7: flops"},
        {"op SET call=99 WHERE id=0", "table op: 1 dangling references"},
        {"op SET place=99 WHERE id=0", "table op: 1 dangling references"},
        {"op SET gradient=99 WHERE id=0", "table op: 1 dangling references"},
        {"op SET attributes=999 WHERE id=0", "table op: 1 dangling references"},
        {"op SET id=99 WHERE id=8", "table op, row 8: its number is not the next one"},
        {"op_io SET op=9 WHERE id=1", "table op_io, row 1: op"},
        {"op_io SET op=0 WHERE id=5", "table op_io, row 5: op"},
        {"op_io SET op_value=99 WHERE id=5", "table op_io, row 5: op_value"},
        {"op_io SET kind=3 WHERE id=5", "table op_io, row 5: kind"},
        {"op_io SET item=65535 WHERE id=5", "table op_io, row 5: item"},
        {"op_value SET producer=8 WHERE id=1",
         "table op_io, row 1: a value of a later operation"},
        {"op_total SET kind=99 WHERE id=1", "table op_total, row 1: kind"},
        {"op_total SET phase=4 WHERE id=8", "table op_total, row 8: phase"},
        {"op_total SET phase=0 WHERE id=8", "table op_total, row 8: phase"},
        {"op_total SET ns=1000 WHERE id=1", "table op_total, row 1: ns"},
        {"op_total SET unknown=2 WHERE id=1", "table op_total, row 1: unknown"},
        {"op_total SET count=0 WHERE id=1", "table op_total, row 1: count"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char sql[100], why[100];

        snprintf(sql, sizeof sql, "UPDATE %s", cases[i].sql);
        snprintf(why, sizeof why, "%s" LEFT_OUT, cases[i].why);
        dropped(sql, why);
    }
}

TEST(a_value_with_a_wrong_operation_value_is_a_finding)
{
    struct run *run = changed("INSERT INTO value(id, dtype, layout, flags, device,"
                              " shape, storage, op_value) VALUES"
                              "(0, 'float32', 0, 0, 0, 0, 0, 99)");
    const struct model *model = run->model;

    CHECK(run->ops);
    CHECK_INT(run->values[0].op_value, RUN_NONE);
    CHECK_STR(model->findings[1].text,
              "table value: 1 dangling references in op_value");
    run_free(run);
}

/* ---- damage ---- */

/* Read everything about operations, to prove that no index is out of bounds. */
static uint64_t touch(const struct run *run)
{
    const struct run_ops *ops = run->ops;
    uint32_t list[4];
    uint64_t sum = 1;

    for (uint32_t i = 0; ops && i < ops->n_ops; i++) {
        const struct run_op *op = &ops->ops[i];

        sum += op_name(run, op).len + op_attribute(run, op, "alpha");
        sum += run_string(run, op->line).len;
        sum += op->call == RUN_NONE ? 0 : run->calls[op->call].object;
        sum += op->place == NO_PLACE ? 0 : run->model->end[op->place];
        sum += op->gradient == RUN_NONE ? 0 : run->model->tensors[op->gradient].numel;
        sum += op->cause == RUN_NONE ? 0 : ops->ops[op->cause].ns;
        for (uint32_t k = 0; k < op->n_ios; k++) {
            const struct run_op_value *value =
                &ops->values[ops->ios[op->ios + k].value];
            const struct run_op_type *type = &ops->types[value->type];

            sum += op_producers(ops, ops->ios[op->ios + k].value, list, 4);
            for (int d = 0; d < type->rank; d++)
                sum += (uint64_t)run->dims[type->shape + (uint32_t)d];
            sum += value->storage == RUN_NONE ? 0 : ops->storages[value->storage].bytes;
            sum += value->stats == RUN_NONE ? 0 : run->stats[value->stats].count;
        }
    }
    for (uint32_t i = 0; ops && i < ops->n_totals; i++)
        sum += ops->kinds[ops->totals[i].kind].name + ops->totals[i].count;
    return sum;
}

static void look_at(const void *at, size_t size)
{
    struct err err = {0};
    struct run *run = run_file_read_memory(at, size, "bytes", NULL, &err);

    CHECK(run || err.text[0]);
    if (run)
        CHECK(touch(run) > 0);
    run_free(run);
}

static struct str load(struct arena *arena, const char *path)
{
    struct blob *blob = blob_open_file(path, NULL);
    struct str bytes = {0};

    CHECK(blob && blob_load(blob, 0, blob->size, arena, &bytes, NULL) == 0);
    blob_close(blob);
    return bytes;
}

TEST(damaged_files_with_operations_give_an_error_or_a_part)
{
    struct arena arena;
    char path[64], *copy;
    struct str bytes;

    arena_init(&arena, 0);
    run_free(written(path));
    edit(path, "PRAGMA page_size=512; VACUUM");
    bytes = load(&arena, path);
    unlink(path);
    copy = malloc(bytes.len);
    CHECK(copy && bytes.len < 40000);
    for (size_t i = 0; i < bytes.len; i++) {
        if (i % 16 && i + 1 < bytes.len && !bytes.at[i] && !bytes.at[i + 1])
            continue; /* zeros among zeros are unused */
        memcpy(copy, bytes.at, bytes.len);
        copy[i] = (char)~copy[i];
        look_at(copy, bytes.len);
    }
    for (size_t len = 0; len < bytes.len; len += 211) {
        char *part = malloc(len + 1);

        CHECK(part);
        memcpy(part, bytes.at, len);
        look_at(part, len);
        free(part);
    }
    free(copy);
    arena_release(&arena);
}

/* Each value consists of the previous one, twice: 2^n paths lead to the first. */
TEST(values_that_share_sources_take_linear_time)
{
    enum { N = 60 };
    uint32_t sources[2 * N], list[4];
    struct run_op_value values[N + 1] = {{.producer = 0}};
    struct run_ops ops = {.values = values, .n_values = N + 1, .sources = sources};
    struct op_walk walk;
    struct arena arena;

    for (uint32_t i = 1; i <= N; i++) {
        values[i] = (struct run_op_value){
            .producer = RUN_NONE, .sources = 2 * (i - 1), .n_sources = 2};
        sources[2 * (i - 1)] = sources[2 * i - 1] = i - 1;
    }
    CHECK_INT(op_producers(&ops, N, list, 4), 1);
    CHECK_INT(list[0], 0);
    ops.n_ops = 1;
    arena_init(&arena, 0);
    CHECK(op_walk_init(&walk, &ops, &arena) == 0);
    for (int again = 0; again < 2; again++) {
        CHECK_INT(op_walk(&walk, N), 1);
        CHECK_INT(walk.found[0], 0);
    }
    CHECK_INT(op_walk(&walk, N + 1), 0);
    arena_release(&arena);
}

/* Requested by tests/fuzz/make_corpus.py. */
TEST(an_ops_seed_for_the_fuzz_target_is_written_on_request)
{
    const char *path = getenv("TORCHOSCOPE_SEED");
    struct run *run;

    if (!path)
        SKIP("TORCHOSCOPE_SEED is not set");
    run = ops_run();
    CHECK(run_file_write(run, NULL, path, NULL, NULL) == 0);
    run_free(run);
}
