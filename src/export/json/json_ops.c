/* The document of operations: sums, those used, all of them, and the data flow. */
#include "export/export_in.h"

#include "base/base.h"
#include "run/op_table.h"

int export_has_ops(const struct session *session, struct err *err)
{
    if (session->run ? session->run->ops != NULL : session->model->program != NULL)
        return 0;
    if (!session->run)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s: this file does not store its computation. Recordings, made "
                       "in Python with torchoscope.record(model, ops=True), and files "
                       "with a program (TorchScript, .pt2, ONNX, Keras, TFLite, "
                       "ExecuTorch) have operations",
                       session->model->path);
    if (session->run->ops_damaged)
        return err_set(err, ERR_FORMAT,
                       "%s: its operations are damaged; torchoscope info shows where",
                       session->model->path);
    return err_set(err, ERR_UNSUPPORTED,
                   "%s: this recording has no operations; record them with "
                   "torchoscope.record(model, ops=True)",
                   session->model->path);
}

/* ---- sums ---- */

static void write_sum(struct json *json, const struct op_sum *sum)
{
    json_u64(json, "count", sum->count);
    json_u64(json, "ns", sum->ns);
    json_u64(json, "new_bytes", sum->new_bytes);
    json_u64(json, "flops", sum->flops);
    json_u64(json, "counted", sum->count - sum->unknown);
}

static void write_totals(struct document *doc)
{
    struct op_sum phases[OP_PHASES], all = {0};
    struct json *json = doc->json;

    op_use_phases(doc->run, phases);
    json_object(json, "totals");
    for (int i = 0; i < OP_PHASES; i++) {
        json_object(json, op_phase_name(i));
        write_sum(json, &phases[i]);
        json_object_end(json);
        op_sum_add(&all, &phases[i]);
    }
    json_object(json, "all");
    write_sum(json, &all);
    json_object_end(json);
    json_object_end(json);
    json_object(json, "coverage");
    json_u64(json, "ops", all.count);
    json_u64(json, "counted", all.count - all.unknown);
    json_u64(json, "matrix_ops", all.matrix);
    json_u64(json, "matrix_counted", all.matrix - all.matrix_unknown);
    json_object_end(json);
}

static void write_uses(struct document *doc, const struct op_use_list *uses)
{
    struct json *json = doc->json;

    json_array(json, "uses");
    for (uint32_t i = 0; i < uses->n; i++) {
        const struct op_use *use = &uses->at[i];

        json_object(json, NULL);
        document_op_kind(doc, use->kind);
        write_sum(json, &use->sum);
        if (uses->sum.ns)
            json_real(json, "share", (double)use->sum.ns / (double)uses->sum.ns);
        else
            json_null(json, "share");
        document_op_module(doc, use->place);
        document_line(doc, use->line);
        export_number(json, "id", use->first);
        json_object_end(json);
    }
    json_array_end(json);
}

/* ---- the data flow ---- */

static void write_edge(struct document *doc, uint32_t source, uint32_t target,
                       const struct run_op_io *io)
{
    struct str name = document_op_arg(doc->run, &doc->run->ops->ops[target], io->arg);

    json_object(doc->json, NULL);
    json_u64(doc->json, "source", source);
    json_u64(doc->json, "target", target);
    json_u64(doc->json, "value", io->value);
    if (name.at)
        json_str(doc->json, "arg", name);
    else
        json_null(doc->json, "arg");
    json_object_end(doc->json);
}

static void write_edges(struct document *doc, struct op_walk *walk)
{
    const struct run_ops *ops = doc->run->ops;
    const struct run_op_io *io;

    json_array(doc->json, "edges");
    for (uint32_t i = 0; i < ops->n_ops; i++)
        for (uint32_t at = 0; (io = op_next(doc->run, &ops->ops[i], OP_IN, &at));) {
            uint32_t n = op_walk(walk, io->value);

            for (uint32_t k = 0; k < n; k++)
                write_edge(doc, walk->found[k], i, io);
        }
    json_array_end(doc->json);
}

int export_ops_json(struct json *json, const struct session *session,
                    const struct op_use_list *uses, struct err *err)
{
    const struct run_ops *ops;
    struct document doc;
    struct op_walk walk;
    struct arena arena;

    if (!session->run)
        return export_script_json(json, session, uses, err);
    ops = session->run->ops;
    arena_init(&arena, 0);
    if (op_walk_init(&walk, ops, &arena) < 0) {
        arena_err(&arena, "the data flow", err);
        arena_release(&arena);
        return -1;
    }
    document_begin(&doc, json, session, "ops");
    write_totals(&doc);
    json_u64(json, "lost", ops->lost);
    write_uses(&doc, uses);
    document_list(&doc, "ops", ops->n_ops, document_op);
    write_edges(&doc, &walk);
    document_end(&doc);
    arena_release(&arena);
    return 0;
}
