/* The list of a server's files, for its page. */
#include "base/base.h"
#include "export/export.h"
#include "study/safety/verdict.h"

void export_shelf_begin(struct json *json, const char *kind, uint64_t news,
                        bool complete)
{
    json_object(json, NULL);
    json_u64(json, "torchoscope", 1);
    json_text(json, "kind", kind);
    json_u64(json, "news", news);
    json_bool(json, "complete", complete);
    json_array(json, "files");
}

static void write_has(struct json *json, unsigned has)
{
    static const struct {
        unsigned flag;
        const char *name;
    } names[] = {{SESSION_GRAPH, "graph"},   {SESSION_OPS, "ops"},
                 {SESSION_CALLS, "calls"},   {SESSION_HISTORY, "history"},
                 {SESSION_VALUES, "values"}, {SESSION_RANKS, "ranks"}};

    json_array(json, "has");
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (has & names[i].flag)
            json_text(json, NULL, names[i].name);
    json_array_end(json);
}

static void write_training(struct json *json, const struct export_shelf_file *file)
{
    json_bool(json, "live", file->live);
    json_bool(json, "ended", file->ended);
    if (file->died)
        json_bool(json, "died", true);
    json_u64(json, "steps", file->steps);
    if (file->has_steps)
        json_u64(json, "newest_step", file->newest);
    if (file->has_loss)
        json_real(json, "loss", file->loss);
    json_u64(json, "alarms", file->alarms);
}

void export_shelf_file(struct json *json, const struct export_shelf_file *file)
{
    json_object(json, NULL);
    json_str(json, "file", file->file);
    json_str(json, "name", file->name);
    if (file->path)
        json_text(json, "path", file->path);
    json_text(json, "kind", file->kind);
    if (file->format && file->format[0])
        json_text(json, "format", file->format);
    if (file->judged)
        json_text(json, "verdict", verdict_name((enum verdict)file->verdict));
    else
        json_null(json, "verdict");
    if (file->why)
        json_text(json, "why", file->why);
    json_u64(json, "bytes", file->bytes);
    if (file->opened && !file->why)
        json_u64(json, "params", file->params);
    if (file->has & SESSION_HISTORY)
        write_training(json, file);
    if (file->capsule)
        json_text(json, "capsule", file->capsule);
    if (file->labels)
        json_text(json, "labels", file->labels);
    json_u64(json, "version", file->version);
    json_bool(json, "pending", !file->opened);
    write_has(json, file->has);
    json_object_end(json);
}

void export_shelf_end(struct json *json)
{
    json_array_end(json);
    json_object_end(json);
}

void export_error_json(struct json *json, const char *sentence)
{
    json_object(json, NULL);
    json_u64(json, "torchoscope", 1);
    json_text(json, "kind", "error");
    json_text(json, "error", sentence);
    json_object_end(json);
}
