#include <fcntl.h>
#include <math.h>
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

static const char *temporary(char *path)
{
    int fd;

    strcpy(path, "/tmp/torchoscope_run_XXXXXX"); /* NOLINT: it fits */
    fd = mkstemp(path);
    CHECK(fd >= 0);
    close(fd);
    return path;
}

static struct run *written(uint32_t steps, char *path)
{
    struct run *run = sample_run(steps);
    struct err err = {0};

    run->calls[0].device_ns = 77;
    run->calls[0].device_bytes = -9;
    run->calls[0].flags |= RUN_DEVICE_BYTES;
    if (run->n_merged > 0)
        run->merged[0].device_ns = 78;
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

/* They are followed by the name of the file. */
static void same_strings(const struct intern *a, const struct intern *b)
{
    CHECK(a->n == b->n || a->n + 1 == b->n);
    for (uint32_t i = 0; i < a->n; i++)
        CHECK(str_eq(intern_str(a, i), intern_str(b, i)));
}

static void same_plain(const struct values *a, const struct values *b)
{
    CHECK_INT(a->n, b->n);
    for (uint32_t i = 0; i < a->n; i++) {
        CHECK_INT(a->at[i].kind, b->at[i].kind);
        CHECK_INT(a->at[i].text, b->at[i].text);
        CHECK_INT(a->at[i].n, b->at[i].n);
        CHECK_INT(a->at[i].integer, b->at[i].integer);
        if (value_items(a, i))
            CHECK_MEM(value_items(b, i), value_items(a, i), a->at[i].n * 4);
    }
}

static void same_places(const struct model *a, const struct model *b)
{
    CHECK_INT(a->n_places, b->n_places);
    for (uint32_t p = 0; p < a->n_places; p++) {
        CHECK_INT(a->parent[p], b->parent[p]);
        CHECK_INT(a->end[p], b->end[p]);
        CHECK_INT(a->name[p], b->name[p]);
        CHECK_INT(a->object[p], b->object[p]);
        CHECK_INT(a->kind[p], b->kind[p]);
        CHECK_INT(a->flags[p], b->flags[p]);
    }
    CHECK_INT(a->n_objects, b->n_objects);
    for (uint32_t i = 0; i < a->n_objects; i++) {
        CHECK_INT(a->objects[i].class_id, b->objects[i].class_id);
        CHECK_INT(a->objects[i].args, b->objects[i].args);
        CHECK_INT(a->objects[i].place, b->objects[i].place);
        CHECK_INT(a->objects[i].training, b->objects[i].training);
    }
}

static void same_tensors(const struct model *a, const struct model *b)
{
    CHECK_INT(a->n_tensors, b->n_tensors);
    for (uint32_t i = 0; i < a->n_tensors; i++) {
        const struct tensor *x = &a->tensors[i], *y = &b->tensors[i];

        CHECK_INT(x->dtype, y->dtype);
        CHECK_INT(x->role, y->role);
        CHECK_INT(x->rank, y->rank);
        CHECK_INT(x->flags, y->flags);
        CHECK_INT(x->device, y->device);
        CHECK_INT(x->storage, y->storage);
        CHECK_INT(x->place, y->place);
        CHECK_INT(x->places, y->places);
        CHECK_INT(x->numel, y->numel);
        CHECK_MEM(tensor_shape(b, y), tensor_shape(a, x), x->rank * sizeof(int64_t));
        CHECK_MEM(tensor_strides(b, y), tensor_strides(a, x),
                  x->rank * sizeof(int64_t));
    }
    CHECK_INT(a->n_storages, b->n_storages);
    for (uint32_t i = 0; i < a->n_storages; i++)
        CHECK_INT(a->storages[i].bytes, b->storages[i].bytes);
}

static void same_model(const struct model *a, const struct model *b)
{
    same_strings(&a->strings, &b->strings);
    same_plain(&a->values, &b->values);
    same_places(a, b);
    same_tensors(a, b);
    CHECK_INT(a->n_classes, b->n_classes);
    CHECK_MEM(b->classes, a->classes, a->n_classes * sizeof *a->classes);
    CHECK_INT(a->n_facts, b->n_facts);
    CHECK_MEM(b->facts, a->facts, a->n_facts * sizeof *a->facts);
    CHECK_INT(a->n_metadata, b->n_metadata);
    CHECK_MEM(b->metadata, a->metadata, a->n_metadata * sizeof *a->metadata);
    for (uint32_t i = a->n_findings; i < b->n_findings; i++)
        CHECK_STR(b->findings[i].text, "");
    for (uint32_t i = 0; i < a->n_findings; i++) {
        CHECK_STR(b->findings[i].text, a->findings[i].text);
        CHECK_INT(b->findings[i].code, a->findings[i].code);
        CHECK_INT(b->findings[i].severity, a->findings[i].severity);
        CHECK_INT(b->findings[i].place, a->findings[i].place);
    }
    CHECK_INT(a->partial, b->partial);
}

static void same_real(double a, double b)
{
    CHECK((isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b)));
}

static void same_values(const struct run *a, const struct run *b)
{
    CHECK_INT(a->n_values, b->n_values);
    for (uint32_t i = 0; i < a->n_values; i++) {
        struct run_value x = a->values[i], y = b->values[i];

        CHECK_MEM(b->dims + y.shape, a->dims + x.shape, x.rank * sizeof(int64_t));
        CHECK_MEM(b->dims + y.strides, a->dims + x.strides, x.rank * sizeof(int64_t));
        x.shape = x.strides = y.shape = y.strides = 0;
        CHECK_INT(x.dtype, y.dtype);
        CHECK_INT(x.rank, y.rank);
        CHECK_INT(x.flags, y.flags);
        CHECK_INT(x.device, y.device);
        CHECK_INT(x.storage, y.storage);
        CHECK_INT(x.stats, y.stats);
        CHECK_INT(x.why, y.why);
        CHECK_INT(x.kept, y.kept);
        CHECK_INT(x.bytes, y.bytes);
    }
    CHECK_INT(a->n_stats, b->n_stats);
    for (uint32_t i = 0; i < a->n_stats; i++) {
        CHECK_INT(a->stats[i].count, b->stats[i].count);
        CHECK_INT(a->stats[i].kind, b->stats[i].kind);
        CHECK_INT(a->stats[i].int_min, b->stats[i].int_min);
        same_real(a->stats[i].min, b->stats[i].min);
        same_real(a->stats[i].max, b->stats[i].max);
        same_real(a->stats[i].mean, b->stats[i].mean);
        same_real(a->stats[i].m2, b->stats[i].m2);
    }
}

static void same_merged(const struct run *a, const struct run *b)
{
    CHECK_INT(a->n_merged, b->n_merged);
    CHECK_INT(a->n_merged_ios, b->n_merged_ios);
    for (uint32_t i = 0; i < a->n_merged; i++) {
        struct run_merged x = a->merged[i], y = b->merged[i];

        CHECK_INT(x.n_ios, y.n_ios);
        for (uint32_t k = 0; k < x.n_ios; k++) {
            const struct run_merged_io *p = &a->merged_ios[x.ios + k];
            const struct run_merged_io *q = &b->merged_ios[y.ios + k];

            CHECK_INT(p->kind, q->kind);
            CHECK_INT(p->path, q->path);
            CHECK_INT(p->n_shapes, q->n_shapes);
            CHECK_INT(p->stats, q->stats);
            CHECK_MEM(b->dims + q->shapes, a->dims + p->shapes,
                      p->n_shapes ? 3 * sizeof(int64_t) : 0);
        }
        x.ios = y.ios = 0;
        CHECK_MEM(&y, &x, offsetof(struct run_merged, newest) + sizeof x.newest);
    }
}

static void same_call(const struct run_call *a, const struct run_call *b)
{
    CHECK_MEM(&b->object, &a->object, offsetof(struct run_call, flags));
    CHECK_INT(a->flags, b->flags);
    CHECK_MEM(&b->start_ns, &a->start_ns,
              sizeof *a - offsetof(struct run_call, start_ns));
}

static void same_run(const struct run *a, const struct run *b)
{
    same_strings(&a->strings, &b->strings);
    same_plain(&a->plain, &b->plain);
    same_values(a, b);
    same_merged(a, b);
    CHECK_STR(b->name, a->name);
    CHECK_INT(a->n_calls, b->n_calls);
    for (uint32_t i = 0; i < a->n_calls; i++)
        same_call(&a->calls[i], &b->calls[i]);
    CHECK_INT(a->n_ios, b->n_ios);
    for (uint32_t i = 0; i < a->n_ios; i++) {
        CHECK_INT(a->ios[i].call, b->ios[i].call);
        CHECK_INT(a->ios[i].kind, b->ios[i].kind);
        CHECK_INT(a->ios[i].path, b->ios[i].path);
        CHECK_INT(a->ios[i].value, b->ios[i].value);
    }
    CHECK_INT(a->n_params, b->n_params);
    for (uint32_t i = 0; i < a->n_params; i++) {
        CHECK_INT(a->params[i].tensor, b->params[i].tensor);
        CHECK_INT(a->params[i].step, b->params[i].step);
        CHECK_INT(a->params[i].gradient, b->params[i].gradient);
        CHECK_INT(a->params[i].value, b->params[i].value);
    }
    CHECK_INT(a->n_gaps, b->n_gaps);
    CHECK_MEM(b->gaps, a->gaps, a->n_gaps * sizeof *a->gaps);
    CHECK_INT(a->n_devices, b->n_devices);
    CHECK_MEM(b->devices, a->devices, a->n_devices * sizeof *a->devices);
    CHECK_INT(a->n_facts, b->n_facts);
    CHECK_MEM(b->facts, a->facts, a->n_facts * sizeof *a->facts);
    if (b->passes)
        CHECK_INT(a->passes, b->passes);
    CHECK_INT(a->wall_ns, b->wall_ns);
    CHECK_INT(a->own_ns, b->own_ns);
    CHECK_INT(a->hooks_ns, b->hooks_ns);
}

static void round_trip(uint32_t steps)
{
    char path[64];
    struct run *run = written(steps, path), *again = read_again(path);
    float kept[6] = {0};

    CHECK(run_file_is(path));
    unlink(path);
    same_model(run->model, again->model);
    same_run(run, again);
    CHECK_STR(again->model->format, "recording");
    CHECK_INT(again->n_kept, 1);
    CHECK_INT(again->kept[0].value, run->kept[0].value);
    CHECK(run_kept_bytes(again, 0, 4, kept, 20, NULL) == 0);
    CHECK(kept[0] == 2 && kept[4] == 6);
    CHECK(run_kept_bytes(again, 0, 20, kept, 5, NULL) < 0);
    run_free(run);
    run_free(again);
}

TEST(a_run_comes_back_from_its_file_field_by_field)
{
    round_trip(2);
}

TEST(a_run_with_merged_calls_comes_back_from_its_file)
{
    round_trip(200);
}

TEST(the_values_of_parameters_are_not_in_a_recording)
{
    char path[64];
    struct run *run = written(1, path), *again = read_again(path);
    const char *why = NULL;

    unlink(path);
    CHECK(!tensor_readable(again->model, &again->model->tensors[0], &why));
    CHECK_STR(why, "values are not in a recording");
    run_free(run);
    run_free(again);
}

TEST(a_kept_value_may_be_larger_than_a_part)
{
    struct trace_wanted wanted = {.keep_limit = 16 << 20};
    struct trace *trace = trace_new(sample_model(), &wanted);
    size_t n = (3 << 20) + 5;
    char path[64], *bytes = malloc(n), *back = malloc(n);
    struct run *run, *again;

    CHECK(trace && bytes && back);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)(i * 31 >> 4);
    CHECK(trace_keep(trace, sample_value(trace, 1, 1, 0), bytes, n));
    run = trace_finish(trace, 0, 0);
    CHECK(run_file_write(run, NULL, temporary(path), NULL, NULL) == 0);
    again = read_again(path);
    CHECK(run_kept_bytes(again, 0, 0, back, n, NULL) == 0);
    CHECK_MEM(back, bytes, n);
    CHECK(run_kept_bytes(again, 0, (1 << 20) - 3, back, 7, NULL) == 0);
    CHECK_MEM(back, bytes + (1 << 20) - 3, 7);
    run_free(run);
    run = again;
    CHECK(run_file_write(run, NULL, path, NULL, NULL) ==
          0); /* over the file it reads from */
    again = read_again(path);
    memset(back, 0, n);
    CHECK(run_kept_bytes(again, 0, 0, back, n, NULL) == 0);
    CHECK_MEM(back, bytes, n);
    unlink(path);
    run_free(run);
    run_free(again);
    free(bytes);
    free(back);
}

TEST(a_lent_value_is_written_without_a_copy)
{
    static const char bytes[] = "elements";
    struct trace *trace = trace_new(sample_model(), &(struct trace_wanted){0});
    uint32_t first = sample_value(trace, 1, 1, 0),
             second = sample_value(trace, 1, 1, 0);
    char path[64], back[8];
    struct run *run, *again;

    CHECK_INT(trace_lend(trace, first, bytes, 8), 0);
    CHECK_INT(trace_lend(trace, second, bytes + 4, 4), 1);
    CHECK_INT(trace_lend(trace, first, bytes, 8), 0); /* it is kept already */
    CHECK_INT(trace_lend(trace, second + 1, bytes, 8), RUN_NONE);
    run = trace_finish(trace, 0, 0);
    CHECK(run->kept[0].at == bytes);
    CHECK(run_file_write(run, NULL, temporary(path), NULL, NULL) == 0);
    again = read_again(path);
    CHECK(run_kept_bytes(again, 1, 0, back, 4, NULL) == 0);
    CHECK_MEM(back, "ents", 4);
    unlink(path);
    run_free(run);
    run_free(again);
}

/* ---- files that are something else ---- */

static void edit(const char *path, const char *sql)
{
    sqlite3 *db = NULL;

    CHECK(sqlite3_open(path, &db) == SQLITE_OK);
    CHECK(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK);
    sqlite3_close(db);
}

static void refused(const char *sql, const char *expected)
{
    char path[64];
    struct err err = {0};

    run_free(written(1, path));
    edit(path, sql);
    CHECK(!run_file_read(path, NULL, &err));
    CHECK(strstr(err.text, expected) != NULL);
    unlink(path);
}

TEST(files_that_are_not_recordings_are_refused_with_a_clear_error)
{
    refused("PRAGMA user_version=3", "version 3");
    refused("PRAGMA user_version=0", "version 0");
    refused("PRAGMA application_id=1", "not a recording");
    refused("DROP TABLE call", "table call is missing");
    refused("DROP TABLE call; CREATE VIEW call AS SELECT * FROM io",
            "table call does not have the columns");
    refused("ALTER TABLE call RENAME COLUMN place TO at", "table call");
    refused("ALTER TABLE gap ADD COLUMN more AS (kind + 1)", "table gap");
    refused("ALTER TABLE gap ADD COLUMN more DEFAULT (1)", "table gap");
    refused("DROP TABLE section", "table section is missing");
    refused("DELETE FROM model_place", "damaged");
}

TEST(a_newer_or_missing_section_is_reported)
{
    refused("UPDATE section SET version=9 WHERE name='run'",
            "its section \"run\" has version 9, and this torchoscope reads up to "
            "version 2. Update torchoscope");
    refused("UPDATE section SET version=2 WHERE name='model'; DROP TABLE model_place",
            "its section \"model\" has version 2");
    refused("UPDATE section SET name='history' WHERE name='run'",
            "has no section \"run\", which this torchoscope needs to show it; it holds "
            "history (version 2)");
    refused("DELETE FROM section", "has no section \"model\"");
    refused("UPDATE section SET name='model'", "has no section \"run\"");
    refused("UPDATE section SET version=0", "has no section");
}

/* The run as read after a change by `sql`. */
static struct run *changed(const char *sql)
{
    char path[64];
    struct run *run;

    run_free(written(1, path));
    edit(path, sql);
    run = read_again(path);
    unlink(path);
    return run;
}

/* After `sql`, the file of an unchanged run must read the same. */
static void same_after(const char *sql)
{
    char path[64];
    struct run *run = written(1, path), *again;

    edit(path, sql);
    again = read_again(path);
    unlink(path);
    same_model(run->model, again->model);
    same_run(run, again);
    CHECK(!again->model->partial);
    run_free(run);
    run_free(again);
}

TEST(unused_tables_are_ignored)
{
    same_after("CREATE INDEX i ON call(object); CREATE INDEX j ON io(value, kind)");
    same_after("CREATE TABLE more(x); INSERT INTO more VALUES(1)");
    same_after("CREATE VIEW v AS SELECT 1");
    same_after("CREATE TRIGGER t AFTER INSERT ON call BEGIN SELECT 1; END");
    same_after("ALTER TABLE call ADD COLUMN flops INTEGER; UPDATE call SET flops=7");
    same_after("ALTER TABLE gap ADD COLUMN a; ALTER TABLE gap ADD COLUMN b TEXT");
    same_after("ANALYZE");
}

/* Convert to version 1: no table of sections, and passes were not counted. */
#define TO_VERSION_1                                                                   \
    "DROP TABLE section; DELETE FROM meta WHERE key='passes'; PRAGMA user_version=1"

TEST(a_file_of_version_1_still_opens)
{
    struct run *run = changed(TO_VERSION_1);

    same_after(TO_VERSION_1);
    CHECK_INT(run->n_calls, 5);
    CHECK_INT(run->passes, 0);
    run_free(run);
}

TEST(unknown_sections_are_reported_and_skipped)
{
    char path[64];
    struct run *run = changed("INSERT INTO section VALUES(2, 'graph', 1);"
                              "INSERT INTO section VALUES(3, 'history', 4);"
                              "CREATE TABLE node(id INTEGER PRIMARY KEY, name TEXT)");
    const struct model *model = run->model;
    struct run *again;

    CHECK(!model->partial);
    CHECK_INT(model->n_findings, 2);
    CHECK_INT(model->findings[1].severity, SEVERITY_NOTE);
    CHECK_STR(model->findings[1].text,
              "this file also holds graph (version 1), history (version 4), which this "
              "version of torchoscope does not show");
    /* A new file holds neither. */
    CHECK(run_file_write(run, NULL, temporary(path), NULL, NULL) == 0);
    again = read_again(path);
    CHECK_INT(again->model->n_findings, 1);
    unlink(path);
    run_free(run);
    run_free(again);
}

static void left_out(const char *sql)
{
    struct run *run = changed(sql);

    CHECK(run->model->partial);
    CHECK(run->model->n_findings > 1);
    run_free(run);
}

TEST(dangling_rows_are_dropped_with_a_finding)
{
    left_out("UPDATE call SET object=99 WHERE id=2");
    left_out("UPDATE call SET parent=3 WHERE id=3");
    left_out("UPDATE call SET place=-1 WHERE id=1");
    left_out("UPDATE io SET value=1000 WHERE id=1");
    left_out("UPDATE io SET call=3 WHERE id=0");
    left_out("UPDATE value SET shape=77");
    left_out("UPDATE value SET shape=NULL WHERE id=2");
    left_out("UPDATE value SET stats=4294967294 WHERE id=2");
    left_out("UPDATE shape SET sizes='2,x'");
    left_out("UPDATE model_tensor SET storage=9");
    left_out("UPDATE model_place SET parent=9 WHERE id=4");
    left_out("UPDATE model_place SET object=9 WHERE kind=2");
    left_out("UPDATE model_plain SET items=x'ffffff7f' WHERE kind=8");
    left_out("UPDATE model_string SET text='a' WHERE id=9");
    left_out("UPDATE kept SET bytes=9000000");
    left_out("UPDATE kept SET part=2");
    left_out("DELETE FROM io WHERE id=2");
    left_out("UPDATE gap SET kind=99");
}

TEST(a_truncated_kept_value_is_not_written_again)
{
    char path[64];
    struct run *run = changed("UPDATE kept_part SET data=x'01020304'");
    struct err err = {0};

    CHECK_INT(run->n_kept, 1);
    CHECK(run_file_write(run, NULL, temporary(path), NULL, &err) < 0);
    CHECK(strstr(err.text, "cut short"));
    unlink(path);
    run_free(run);
}

TEST(calls_before_a_damaged_one_are_kept)
{
    struct run *run = changed("UPDATE call SET object=99 WHERE id=2");

    CHECK_INT(run->n_calls, 2);
    CHECK_INT(run->n_ios, 5);
    run_free(run);
}

/* ---- damage ---- */

/* Read everything in a run, to prove that no index is out of bounds. */
static uint64_t touch(struct run *run)
{
    const struct model *model = run->model;
    uint64_t sum = model->n_places;

    for (uint32_t i = 0; i < run->n_calls; i++) {
        const struct run_call *call = &run->calls[i];

        sum += model->objects[call->object].place + model->end[call->place];
        sum += call->parent == RUN_NONE ? 0 : run->calls[call->parent].object;
        for (uint32_t k = 0; k < call->n_ios; k++) {
            const struct run_io *io = &run->ios[call->ios + k];

            sum += run_string(run, io->path).len;
            sum += io->value == RUN_NONE ? 0 : run->values[io->value].bytes;
        }
    }
    for (uint32_t i = 0; i < run->n_values; i++) {
        const struct run_value *value = &run->values[i];

        for (int k = 0; k < value->rank; k++)
            sum += (uint64_t)run->dims[value->shape + (uint32_t)k];
        sum += value->stats == RUN_NONE ? 0 : run->stats[value->stats].count;
        sum += run->devices[value->device];
    }
    for (uint32_t i = 0; i < run->n_params; i++)
        sum += model->tensors[run->params[i].tensor].numel +
               run->values[run->params[i].value].bytes;
    for (uint32_t i = 0; i < run->n_kept; i++) {
        char bytes[24];

        if (run->kept[i].bytes == sizeof bytes)
            sum += run_kept_bytes(run, i, 0, bytes, sizeof bytes, NULL) == 0;
    }
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

/* Unused bytes (zeros among zeros): test only one in 16. */
static bool is_idle(struct str bytes, size_t i)
{
    return i > 0 && i + 1 < bytes.len && i % 16 && !bytes.at[i - 1] && !bytes.at[i] &&
           !bytes.at[i + 1];
}

TEST(damaged_files_give_an_error_or_a_part)
{
    struct arena arena;
    char path[64], *copy;
    struct str bytes;

    arena_init(&arena, 0);
    run_free(written(1, path));
    edit(path, "PRAGMA page_size=512; VACUUM"); /* leaves little of it empty */
    bytes = load(&arena, path);
    copy = malloc(bytes.len);
    CHECK(copy && bytes.len < 30000);
    for (size_t i = 0; i < bytes.len; i++) {
        if (is_idle(bytes, i))
            continue;
        memcpy(copy, bytes.at, bytes.len);
        copy[i] = (char)~copy[i];
        look_at(copy, bytes.len);
    }
    free(copy);
    for (size_t len = 0; len < bytes.len; len += 97) {
        copy = malloc(len + 1);
        CHECK(copy);
        memcpy(copy, bytes.at, len);
        look_at(copy, len);
        free(copy);
    }
    arena_release(&arena);
    unlink(path);
}

/* Requested by tests/fuzz/make_corpus.py. */
TEST(a_seed_for_the_fuzz_target_is_written_on_request)
{
    const char *path = getenv("TORCHOSCOPE_SEED");
    struct run *run;

    if (!path)
        SKIP("TORCHOSCOPE_SEED is not set");
    run = sample_run(2);
    CHECK(run_file_write(run, NULL, path, NULL, NULL) == 0);
    run_free(run);
}

TEST(a_file_is_written_atomically)
{
    struct run *run = sample_run(1);
    struct err err = {0};
    struct work work;

    CHECK(run_file_write(run, NULL, "/nowhere/at/all.scope", NULL, &err) < 0);
    CHECK(err.code == ERR_IO);
    work_init(&work);
    atomic_store(&work.cancel, 1);
    CHECK(run_file_write(run, NULL, "/tmp/torchoscope_stopped.scope", &work, &err) < 0);
    CHECK(err.code == ERR_CANCELLED);
    CHECK(access("/tmp/torchoscope_stopped.scope", F_OK) < 0);
    CHECK(!run_file_is("/tmp/torchoscope_stopped.scope"));
    run_free(run);
}
