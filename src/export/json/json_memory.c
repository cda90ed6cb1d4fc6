/* Memory and parameters without gradient, for a run with operations. */
#include "export/export_in.h"

/* The members that identify an operation. */
static void write_op(struct document *doc, const char *key, uint32_t op)
{
    const struct run_op *of;

    if (op == RUN_NONE) {
        json_null(doc->json, key);
        return;
    }
    of = &doc->run->ops->ops[op];
    json_object(doc->json, key);
    json_u64(doc->json, "op", op);
    json_str(doc->json, "op_name", op_name(doc->run, of));
    json_text(doc->json, "phase", op_phase_name((enum op_phase)of->phase));
    if (of->line)
        json_str(doc->json, "line", run_string(doc->run, of->line));
    if (of->place < doc->model->n_places)
        document_named(doc, of->place);
    json_object_end(doc->json);
}

static void write_kinds(struct document *doc, const char *name, const uint64_t *bytes)
{
    struct buf key = BUF_INIT;

    json_object(doc->json, name);
    for (int i = 0; i < MEMORY_KINDS; i++) {
        buf_clear(&key);
        buf_printf(&key, "%s_bytes", memory_kind_name((enum memory_kind)i));
        json_u64(doc->json, buf_cstr(&key), bytes[i]);
    }
    json_object_end(doc->json);
    buf_release(&key);
}

static void write_phase(struct document *doc, uint32_t i)
{
    const struct memory_phase *phase = &doc->memory.phases[i];

    json_text(doc->json, "phase", op_phase_name((enum op_phase)i));
    json_u64(doc->json, "ops", phase->ops);
    json_u64(doc->json, "allocated_bytes", phase->allocated);
    json_u64(doc->json, "peak_bytes", phase->peak);
    write_op(doc, "peak_op", phase->peak_op);
}

static void write_memory(struct document *doc)
{
    const struct memory_use *memory = &doc->memory;

    json_u64(doc->json, "peak_bytes", memory->peak);
    write_op(doc, "peak_op", memory->peak_op);
    write_kinds(doc, "at_peak", memory->at_peak);
    write_kinds(doc, "most", memory->most);
    if (memory->saved_op == RUN_NONE) {
        json_null(doc->json, "saved_bytes");
        json_text(doc->json, "saved_why", "no backward was recorded");
    } else {
        json_u64(doc->json, "saved_bytes", memory->saved);
        json_u64(doc->json, "saved_outside_bytes", memory->outside);
        write_op(doc, "saved_op", memory->saved_op);
    }
    document_list(doc, "phases", OP_PHASES, write_phase);
    export_flag(doc->json, "partial", memory->partial);
}

void document_memory(struct document *doc)
{
    if (!doc->run->ops || !doc->memory.live)
        return;
    json_object(doc->json, "memory");
    write_memory(doc);
    json_object_end(doc->json);
}

void document_live_bytes(struct document *doc)
{
    if (!doc->run->ops || !doc->memory.live)
        return;
    json_array(doc->json, "live_bytes");
    for (uint32_t i = 0; i < doc->memory.n; i++)
        json_u64(doc->json, NULL, doc->memory.live[i]);
    json_array_end(doc->json);
}

void document_saved(struct document *doc, uint32_t place)
{
    const struct memory_use *memory = &doc->memory;

    if (!memory->saved_here || memory->saved_op == RUN_NONE)
        return;
    json_u64(doc->json, "saved_bytes", memory->saved_here[place]);
    json_u64(doc->json, "saved_own_bytes", memory->saved_own[place]);
}

static void write_no_gradient(struct document *doc, uint32_t i)
{
    const struct no_gradient *one = &doc->no_gradients.at[i];

    document_named(doc, doc->model->tensors[one->tensor].place);
    json_text(doc->json, "why", no_gradient_name(one->why));
    write_op(doc, "op", one->op);
}

void document_no_gradient(struct document *doc)
{
    if (doc->run->ops)
        document_list(doc, "no_gradient", doc->no_gradients.n, write_no_gradient);
}

/* Modules that save something, in the order of the tree. */
static void write_saved(struct document *doc)
{
    json_array(doc->json, "modules");
    for (uint32_t p = 0; p < doc->model->n_places; p++) {
        if (doc->memory.saved_here[p] == 0 || doc->model->kind[p] != PLACE_MODULE)
            continue;
        json_object(doc->json, NULL);
        document_named(doc, p);
        document_saved(doc, p);
        json_object_end(doc->json);
    }
    json_array_end(doc->json);
}

int export_memory(struct json *json, const struct run *run, struct err *err)
{
    struct document doc = {.json = json, .model = run->model, .run = run};
    int status;

    arena_init(&doc.arena, 0);
    status = memory_use_of(&doc.memory, run, &doc.arena, err);
    if (status == 0) {
        json_object(json, NULL);
        write_memory(&doc);
        write_saved(&doc);
        document_live_bytes(&doc);
        json_object_end(json);
    }
    arena_release(&doc.arena);
    buf_release(&doc.path);
    return status;
}
