/* A recording. The file header (format, application, version) is corrected, so that
 * most mutations reach the tables; inputs of odd size keep theirs. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "compare/pair_text.h"
#include "export/export.h"
#include "export/exporters.h"
#include "facts/calls_text.h"
#include "facts/notes.h"
#include "facts/ops_table.h"
#include "facts/performance.h"
#include "facts/run_text.h"
#include "run/run_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Read every field of a run, so that the sanitizer checks all references. */
static uint64_t touch(struct run *run)
{
    const struct model *model = run->model;
    uint64_t sum = model->n_places;
    char byte;

    for (uint32_t i = 0; i < run->n_calls; i++) {
        const struct run_call *call = &run->calls[i];

        sum += model->objects[call->object].place + model->end[call->place];
        sum += call->parent == RUN_NONE ? 0 : run->calls[call->parent].object;
        for (uint32_t k = 0; k < call->n_ios; k++)
            if (run->ios[call->ios + k].value != RUN_NONE)
                sum += run->values[run->ios[call->ios + k].value].bytes;
    }
    for (uint32_t i = 0; i < run->n_values; i++)
        for (int k = 0; k < run->values[i].rank; k++)
            sum += (uint64_t)run->dims[run->values[i].shape + (uint32_t)k];
    for (uint32_t i = 0; i < model->n_objects; i++)
        sum += run_count_calls(run, i);
    for (uint32_t i = 0; i < run->n_kept; i++)
        if (run->kept[i].bytes)
            sum += run_kept_bytes(run, i, run->kept[i].bytes - 1, &byte, 1, NULL) == 0;
    return sum;
}

/* The same for its operations. */
static uint64_t touch_ops(const struct run *run)
{
    const struct run_ops *ops = run->ops;
    uint32_t list[4];
    uint64_t sum = 0;

    for (uint32_t i = 0; i < ops->n_ops; i++) {
        const struct run_op *op = &ops->ops[i];

        sum += op_name(run, op).len + op_attribute(run, op, "alpha");
        sum += op->cause == RUN_NONE ? 0 : ops->ops[op->cause].ns;
        for (uint32_t k = 0; k < op->n_ios; k++)
            sum += op_producers(ops, ops->ios[op->ios + k].value, list, 4);
    }
    return sum;
}

/* Prevents the reads from being optimised away. */
volatile uint64_t fuzz_scope_seen;

/* The same for the text output. */
static uint64_t look(const struct session *session)
{
    struct facts facts = {0};
    struct buf text = BUF_INIT;
    struct arena arena;
    struct show show;
    uint64_t sum;

    arena_init(&arena, 0);
    if (show_init(&show, session, &arena, NULL) == 0) {
        notes_run(&facts, &show, NULL);
        run_ran(&facts, &show);
        performance_slowest(&facts, &show, 3, false, NULL);
        for (uint32_t p = 0; p < show.activity->n; p++) {
            performance_place(&facts, &show, p);
            calls_facts(&facts, &show, p, 3);
        }
        facts_text(&text, &facts, 11);
    }
    sum = text.len;
    buf_release(&text);
    facts_release(&facts);
    arena_release(&arena);
    return sum;
}

/* Both graphs; a file may claim any order of operations and calls. */
static void write_graphs(struct out *out, const struct run *run)
{
    const enum op_graph_level levels[] = {OP_GRAPH_OPS, OP_GRAPH_MODULES};
    struct op_graph graph;
    struct arena arena;
    struct json json;

    json_init_text(&json, out);
    for (int i = 0; i < 2; i++) {
        arena_init(&arena, 64 * MIB);
        if (op_graph_make(&graph, run, (struct op_graph_wanted){.level = levels[i]},
                          &arena, NULL) == 0)
            export_graph(&json, run, &graph);
        arena_release(&arena);
    }
}

/* The operations in every form. */
static void write_ops(struct out *out, struct session *session)
{
    const struct export_wanted wanted = {0};
    struct op_use_list uses;
    struct op_use_table table = {
        .run = session->run, .uses = &uses, .top = UINT32_MAX, .width = 80};
    struct buf text = BUF_INIT;
    struct arena arena;

    (void)exporter_find(STR("trace.json"))->write(out, session, &wanted, NULL);
    (void)exporter_find(STR("ops.json"))->write(out, session, &wanted, NULL);
    arena_init(&arena, 0);
    if (session->run->ops && op_use_of(&uses, session->run, OP_USE_BY_OVERLOAD,
                                       OP_PHASES_ALL, &arena, NULL) == 0) {
        export_ops_csv(out, session, &uses);
        (void)ops_table_text(out, &table, NULL);
        ops_table_sums(&text, session->run, &uses, OP_PHASES_ALL);
        fuzz_scope_seen += text.len;
    }
    buf_release(&text);
    arena_release(&arena);
}

/* Compare it with itself. */
static void write_pair(struct out *out, struct json *json, struct session *session)
{
    const struct diff_wanted wanted = {.values = true};
    struct pair *pair = pair_on(session, session, &wanted, NULL, NULL);

    if (!pair)
        return;
    (void)pair_text_write(&(struct pen){.out = out}, pair, true, NULL);
    (void)export_diff_json(json, pair, &wanted.tolerance, true, NULL);
    pair_close(pair);
}

/* Write every document and discard the output. */
static void write_everything(struct run *run)
{
    const struct export_choice all = {NULL};
    struct session *session = session_on_run(run, NULL, NULL);
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    struct json json;
    struct out out;

    if (session) {
        fuzz_scope_seen += look(session);
        out_init_fd(&out, fd);
        json_init_text(&json, &out);
        export_run_json(&json, session);
        export_tree_json(&json, session, all);
        export_info_json(&json, session);
        export_stats_json(&json, session, all, true);
        for (uint32_t place = 0; place < run->model->n_places && place < 20; place++)
            export_show_json(&json, session, place, NULL, NULL);
        (void)export_tree_csv(&out, session, all, NULL);
        write_ops(&out, session);
        write_graphs(&out, run);
        write_pair(&out, &json, session);
        (void)out_release(&out);
    }
    session_close(session);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy;
    struct run *run;

    if (size < 100)
        return 0;
    copy = malloc(size);
    if (!copy)
        abort();
    memcpy(copy, data, size);
    if (size % 2 == 0) {
        memcpy(copy, "SQLite format 3", 16);
        memcpy(copy + 60, data[63] == 1 ? "\0\0\0\1" : "\0\0\0\2", 4);
        memcpy(copy + 68, "TSCP", 4);
    }
    run = run_file_read_memory(copy, size, "input.scope", NULL, NULL);
    if (run) {
        fuzz_scope_seen += touch(run) + (run->ops ? touch_ops(run) : 0);
        write_everything(run);
    }
    run_free(run);
    free(copy);
    return 0;
}
