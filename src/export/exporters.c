#include "export/exporters.h"

#include <string.h>
#include <strings.h>

#include "base/base.h"
#include "base/whole_file.h"
#include "export/export.h"
#include "study/program_use.h"

static int export_text(struct out *out, struct session *session,
                       const struct export_wanted *wanted, struct err *err)
{
    struct pen pen = {.out = out, .width = wanted->view.width, .ascii = wanted->ascii};
    struct printed printed;
    int status = printed_begin(&printed, session, &wanted->view, err);

    if (status == 0 && wanted->title)
        out_printf(out, "%s\n", wanted->title);
    if (status == 0)
        status = printed_write(&printed, &pen, true, err);
    printed_end(&printed);
    return status;
}

/* The whole recording, or the tree of a model. */
static int export_json(struct out *out, struct session *session,
                       const struct export_wanted *wanted, struct err *err)
{
    struct json json;

    (void)wanted;
    (void)err;
    json_init_text(&json, out);
    if (session->run)
        export_run_json(&json, session);
    else
        export_tree_json(&json, session, (struct export_choice){0});
    return 0;
}

/* The operations of a recording, or of a file that has a program. */
static int export_ops(struct out *out, struct session *session,
                      const struct export_wanted *wanted, struct err *err)
{
    struct op_use_list uses;
    struct arena arena;
    struct json json;
    int status;

    (void)wanted;
    if (export_has_ops(session, err) < 0)
        return -1;
    arena_init(&arena, 0);
    json_init_text(&json, out);
    status = session->run ? op_use_of(&uses, session->run, OP_USE_BY_OVERLOAD,
                                      OP_PHASES_ALL, &arena, err)
                          : program_use_of(&uses, session->model, &arena, err);
    if (status == 0)
        status = export_ops_json(&json, session, &uses, err);
    arena_release(&arena);
    return status;
}

/* The history of a training run. */
static int export_history(struct out *out, struct session *session,
                          const struct export_wanted *wanted, struct err *err)
{
    const struct export_history_wanted history = EXPORT_HISTORY_WANTED;
    struct json json;

    (void)wanted;
    json_init_text(&json, out);
    return export_history_json(&json, session, &history, err);
}

/* The page of a training run; for other sessions a report. */
static int export_html(struct out *out, struct session *session,
                       const struct export_wanted *wanted, struct err *err)
{
    if (session->history && wanted->page_file)
        return wanted->page_file(out, session, wanted, err);
    if (wanted->no_source || wanted->no_paths || wanted->no_values)
        return err_set(err, ERR_USAGE,
                       "only the page of a training run has parts to leave out");
    return export_report(out, session, wanted, err);
}

static int export_csv(struct out *out, struct session *session,
                      const struct export_wanted *wanted, struct err *err)
{
    (void)wanted;
    return export_tree_csv(out, session, (struct export_choice){0}, err);
}

const struct exporter exporters[] = {
    {"txt", "the tree as text", true, export_text},
    {"md", "the tree as a table in Markdown", true, export_markdown},
    {"json", "all facts (docs/json.md): a recording whole, or the tree", false,
     export_json},
    {"ops.json", "the operations of a recording (docs/json.md)", false, export_ops},
    {"history.json", "the history of a training run (docs/json.md)", false,
     export_history},
    {"trace.json", "times of a recording, for Perfetto or chrome://tracing", false,
     export_chrome_trace},
    {"html", "a self-contained page: tree, checks, times; a training run as served",
     false, export_html},
    {"csv", "a table of tensors, or of a recording's modules", false, export_csv},
    {"safetensors", "all readable tensors, and no code", false, export_safetensors},
};
static const struct exporter notebook = {"notebook", "the output of a notebook cell",
                                         true, export_notebook};
const size_t n_exporters = COUNT_OF(exporters);

const struct exporter *exporter_find(struct str suffix)
{
    for (size_t i = 0; i < n_exporters; i++)
        if (strlen(exporters[i].suffix) == suffix.len &&
            strncasecmp(exporters[i].suffix, suffix.at, suffix.len) == 0)
            return &exporters[i];
    return str_is(suffix, notebook.suffix) ? &notebook : NULL;
}

/* The format whose suffix ends the path. "x.ops.json" ends in two; the name before must
 * not be empty, so the first dot that matches gives the longest suffix. */
static const struct exporter *by_path(const char *path)
{
    const char *slash = strrchr(path, '/');

    for (const char *at = slash ? slash + 1 : path; (at = strchr(at, '.')); at++) {
        const struct exporter *found = exporter_find(str_of(at + 1));

        if (found)
            return found;
    }
    return NULL;
}

const struct exporter *exporter_of(const char *path, struct err *err)
{
    const struct exporter *found = by_path(path);
    struct buf names = BUF_INIT;

    if (found)
        return found;
    for (size_t i = 0; i < n_exporters; i++)
        buf_printf(&names, "%s.%s",
                   i == 0                 ? ""
                   : i + 1 == n_exporters ? " or "
                                          : ", ",
                   exporters[i].suffix);
    err_set(err, ERR_USAGE, "%s: unknown format; use %s", path, buf_cstr(&names));
    buf_release(&names);
    return NULL;
}

int exporter_can(const struct exporter *exporter, const struct export_wanted *wanted,
                 struct err *err)
{
    const struct printed_wanted *view = &wanted->view;
    const char *asked = view->columns             ? "columns"
                        : view->filter            ? "a filter"
                        : view->depth != ALL_ROWS ? "a depth"
                        : view->flat              ? "a flat list"
                        : view->sort              ? "an order"
                        : view->top != ALL_ROWS   ? "a number of rows"
                                                  : NULL;

    if ((wanted->no_source || wanted->no_paths || wanted->no_values) &&
        exporter->write != export_html)
        return err_set(err, ERR_USAGE,
                       "%s has no parts to leave out, only the page of a training run",
                       exporter->suffix);
    if (exporter->chosen || !asked)
        return 0;
    return err_set(err, ERR_USAGE, "%s always has everything; only txt and md take %s",
                   exporter->suffix, asked);
}

int exporter_write(const struct exporter *exporter, const char *path,
                   struct session *session, const struct export_wanted *wanted,
                   struct err *err)
{
    struct whole_file file;
    struct out out;

    if (whole_file_begin(&file, path, err) < 0)
        return -1;
    out_init_fd(&out, file.fd);
    return whole_file_end(&file, &out, path,
                          exporter->write(&out, session, wanted, err), err);
}
