#include "everything.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "export/export.h"
#include "export/picture/picture.h"
#include "read/read.h"
#include "session/session.h"
#include "study/program_use.h"

/* Tensors with more elements are not digested one by one: a tensor may validly repeat
 * one element 2^40 times, which only statistics handle efficiently. */
#define MOST_ELEMENTS 100000

/* Names, classes and findings: follow every reference. */
static size_t look_at_places(const struct model *model)
{
    struct buf path = {0};
    size_t seen = 0;

    for (uint32_t p = 0; p < model->n_places; p++) {
        /* The full names of a deep tree take quadratic space. */
        if (p < 2000) {
            buf_clear(&path);
            place_path(model, p, &path);
            seen += path.len;
        }
        seen += place_name(model, p).len + place_class(model, p).len;
    }
    for (uint32_t i = 0; i < model->n_findings; i++)
        seen += strlen(model->findings[i].text);
    buf_release(&path);
    return seen;
}

/* Passes over elements whose results the session does not cache. */
static void look_at_elements(const struct model *model, const struct tensor *tensor)
{
    static const double at[] = {0, 0.5, 1};
    uint64_t bins[16];
    double values[3];
    char hex[65];

    if (!tensor_readable(model, tensor, NULL) || tensor->numel > MOST_ELEMENTS)
        return;
    (void)elements_sha256(model, tensor, NULL, hex, NULL);
    (void)quantile_exact(model, tensor, at, values, 3, NULL, NULL);
    memset(bins, 0, sizeof bins);
    (void)histogram_linear(model, tensor, -1, 1, bins, 16, NULL, NULL);
}

static void look_at_numbers(struct session *session)
{
    const struct model *model = session->model;
    uint32_t *all = calloc(model->n_tensors + 1, sizeof *all);

    if (!all)
        abort();
    for (uint32_t i = 0; i < model->n_tensors; i++)
        all[i] = i;
    session->want_exponents = true;
    (void)session_stats_many(session, all, model->n_tensors, NULL, NULL);
    for (uint32_t i = 0; i < model->n_tensors && i < 100; i++)
        look_at_elements(model, &model->tensors[i]);
    free(all);
}

/* Write the operations, if the file has some. */
static void write_program(struct out *out, const struct session *session)
{
    struct op_use_list uses;
    struct arena arena;
    struct json json;

    if (!session->model->program)
        return;
    arena_init(&arena, 0);
    if (program_use_of(&uses, session->model, &arena, NULL) == 0) {
        json_init_text(&json, out);
        (void)export_ops_json(&json, session, &uses, NULL);
        export_ops_csv(out, session, &uses);
    }
    arena_release(&arena);
}

/* Draw the program at both levels, and write its graph. */
static void draw_program(struct out *out, const struct session *session)
{
    static const char *const forms[] = {"svg", "json"};

    for (unsigned i = 0; session->model->program && i < 4; i++) {
        struct picture_wanted picture = {.color = DIAGRAM_FAMILY};
        struct graph_wanted wanted = GRAPH_WANTED;
        struct diagram diagram;
        struct arena arena;

        wanted.level = i & 1 ? GRAPH_OPS : GRAPH_MODULES;
        wanted.all = i & 2;
        arena_init(&arena, 4 * GIB);
        if (diagram_make(&diagram, session, &wanted, &arena, NULL) == 0)
            (void)picture_form_find(str_of(forms[i / 2]))
                ->write(out, &diagram, &picture, NULL);
        arena_release(&arena);
    }
}

/* Write every document and discard the output. */
static void write_everything(const struct session *session)
{
    const struct export_choice all = {NULL};
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    struct json json;
    struct out out;

    out_init_fd(&out, fd);
    json_init_text(&json, &out);
    export_tree_json(&json, session, all);
    json_init_text(&json, &out);
    export_info_json(&json, session);
    export_stats_csv(&out, session, all);
    write_program(&out, session);
    draw_program(&out, session);
    (void)out_release(&out);
    close(fd);
}

struct everything everything_of(const void *at, size_t size, const char *name)
{
    struct everything result = {0};
    struct err err = {0};
    const struct model *model = read_model_memory(at, size, name, NULL, &err);
    struct session *session;

    if (!model)
        return result;
    result.model = true;
    result.places = model->n_places;
    result.tensors = model->n_tensors;
    result.findings = model->n_findings;
    (void)look_at_places(model);
    session = session_of(model, &err);
    if (!session)
        return result;
    look_at_numbers(session);
    write_everything(session);
    session_close(session);
    return result;
}
