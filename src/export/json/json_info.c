#include "export/export_in.h"

#include "facts/facts.h"

static void write_file(struct document *doc, uint32_t i)
{
    json_str(doc->json, "name", model_string(doc->model, doc->model->files[i].name));
    json_u64(doc->json, "bytes", doc->model->files[i].size);
}

static void write_facts(struct document *doc, const char *key,
                        const struct model_fact *facts, uint32_t n)
{
    json_object(doc->json, key);
    for (uint32_t i = 0; i < n; i++) {
        json_key(doc->json, model_string(doc->model, facts[i].key));
        document_value(doc, NULL, facts[i].value);
    }
    json_object_end(doc->json);
}

/* Unique tensors by dtype. */
static void write_dtypes(struct document *doc)
{
    struct {
        uint64_t tensors, numel, bytes;
    } sums[DTYPE_COUNT] = {{0, 0, 0}};

    for (uint32_t i = 0; i < doc->model->n_tensors; i++) {
        const struct tensor *tensor = &doc->model->tensors[i];

        if (tensor->place >= doc->model->n_places || tensor->flags & TENSOR_DERIVED)
            continue;
        sums[tensor->dtype].tensors++;
        sums[tensor->dtype].numel += tensor->numel;
        sums[tensor->dtype].bytes += tensor_bytes(tensor);
    }
    json_array(doc->json, "dtypes");
    for (int i = 0; i < DTYPE_COUNT; i++) {
        if (sums[i].tensors == 0)
            continue;
        json_object(doc->json, NULL);
        json_text(doc->json, "dtype", dtype_name((enum dtype)i));
        json_u64(doc->json, "tensors", sums[i].tensors);
        json_u64(doc->json, "numel", sums[i].numel);
        json_u64(doc->json, "bytes", sums[i].bytes);
        json_object_end(doc->json);
    }
    json_array_end(doc->json);
}

static void write_devices(struct document *doc)
{
    const struct model *model = doc->model;
    uint32_t *tensors =
        arena_array(&doc->arena, (size_t)model->n_devices + 1, sizeof *tensors);

    json_array(doc->json, "devices");
    for (uint32_t i = 0; tensors && i < model->n_tensors; i++) {
        if (model->tensors[i].device < model->n_devices)
            tensors[model->tensors[i].device]++;
    }
    for (uint32_t i = 0; tensors && i < model->n_devices; i++) {
        struct str name = model_string(model, model->devices[i]);

        if (tensors[i] == 0)
            continue;
        json_object(doc->json, NULL);
        if (name.len > 0)
            json_str(doc->json, "device", name);
        else
            json_null(doc->json, "device");
        json_u64(doc->json, "tensors", tensors[i]);
        json_object_end(doc->json);
    }
    json_array_end(doc->json);
}

void document_global(struct document *doc, uint32_t index)
{
    const struct pickle_global *global = &doc->model->pickle.globals[index];
    const char *about;
    enum trust trust = verdict_judge(doc->model, &doc->session->verdict, index, &about);

    json_str(doc->json, "name", model_string(doc->model, global->name));
    json_text(doc->json, "trust", trust_name(trust));
    if (*about)
        json_text(doc->json, "about", about);
    for (int act = 0; act < PICKLE_ACT_COUNT; act++)
        export_nonzero(doc->json, pickle_act_name((enum pickle_act)act),
                       global->acts[act]);
}

static void write_pickle(struct document *doc, uint32_t i)
{
    const struct pickle_stream *stream = &doc->model->pickle.streams[i];

    json_str(doc->json, "name", model_string(doc->model, stream->name));
    json_u64(doc->json, "bytes", stream->size);
    json_u64(doc->json, "opcodes", stream->opcodes);
    json_u64(doc->json, "protocol", stream->protocol);
    json_bool(doc->json, "complete", stream->complete);
}

static void write_details(struct document *doc)
{
    struct facts list = {0};
    struct show show;
    struct file_facts facts = {.show = &show, .to = &list, .all = "--json"};
    struct err err = {0};

    if (show_init(&show, doc->session, &doc->arena, &err) < 0 ||
        facts_file(&facts, &err) < 0)
        document_no_details(doc, &err);
    else
        document_facts(doc, "details", &list);
    facts_release(&list);
}

void export_info_json(struct json *json, const struct session *session)
{
    const struct model *model = session->model;
    struct document doc;

    document_begin(&doc, json, session, "info");
    document_list(&doc, "files", model->n_files, write_file);
    write_facts(&doc, "facts", model->facts, model->n_facts);
    write_facts(&doc, "metadata", model->metadata, model->n_metadata);
    write_dtypes(&doc);
    write_devices(&doc);
    document_list(&doc, "globals", model->pickle.n_globals, document_global);
    document_list(&doc, "pickles", model->pickle.n_streams, write_pickle);
    if (doc.run)
        document_slowest(&doc);
    write_details(&doc);
    document_end(&doc);
}

void export_program_json(struct json *json, const struct export_program *program)
{
    json_object(json, NULL);
    json_u64(json, "torchoscope", 1);
    json_text(json, "kind", "program");
    json_text(json, "version", program->version);
    json_text(json, "kernels", program->kernels);
    json_array(json, "formats");
    for (size_t i = 0; program->format(i); i++)
        json_text(json, NULL, program->format(i));
    json_array_end(json);
    json_array(json, "libraries");
    for (size_t i = 0; i < program->n_libraries; i++) {
        json_object(json, NULL);
        json_text(json, "name", program->libraries[i].name);
        json_text(json, "version", program->libraries[i].version);
        json_object_end(json);
    }
    json_array_end(json);
    json_object_end(json);
}
