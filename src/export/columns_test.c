/* Each column of a tree must also be in JSON and CSV. */
#include "rows/columns.h"

#include <stdio.h>

#include "export/check_json_in.h"
#include "export/export.h"
#include "run/sample_run.h"
#include "session/sample_session.h"

/* The JSON path of a column's data. NULL: computed from other columns. */
static const struct {
    const char *column, *member;
} homes[] = {
    {"params", "params"},
    {"percent", NULL},
    {"bar", NULL},
    {"memory", "bytes"},
    {"memory%", NULL},
    {"own_params", "own"},
    {"own_mem", "own"},
    {"shapes", "shape"},
    {"count", "params"},
    {"bytes", "bytes"},
    {"tensors", "tensors"},
    {"shape", "shape"},
    {"dtype", "dtype"},
    {"device", "device"},
    {"trainable", "requires_grad"},
    {"zeros", "zeros"},
    {"role", "role"},
    {"storage", "storage"},
    {"offset", "offset"},
    {"strides", "strides"},
    {"type", "class"},
    {"class", "class"},
    {"args", "args"},
    {"mode", "training"},
    {"path", "name"},
    {"in", "in_shape"},
    {"out", "out_shape"},
    {"calls", "calls"},
    {"time", "time_ns"},
    {"time%", NULL},
    {"self", "self_ns"},
    {"timebar", NULL},
    {"average", NULL},
    {"avg_self", NULL},
    {"backward", "backward_ns"},
    {"device_time", "device_ns"},
    {"in_mem", "inputs"},
    {"out_mem", "out_bytes"},
    {"saved", "saved_bytes"},
    {"flops", "flops"},
    {"macs", NULL},
    {"ops", "ops"},
    {"nan", "nan"},
    {"outmean", "outputs"},
    {"outstd", "outputs"},
    {"outzeros", "outputs"},
    {"in_dtype", "inputs"},
    {"out_dtype", "outputs"},
    {"grad", "gradient"},
    {"update", "update_ratio"},
    {"weight", "weight_norm"},
    {"dead", "dead_share"},
};

/* The numbers of every place at a step. */
static void set_step(struct session *session, struct at_step *step,
                     struct step_numbers *at)
{
    for (uint32_t i = 0; i < session->model->n_places; i++)
        at[i] = (struct step_numbers){.known = (1u << STEP_NUMBERS) - 1};
    *step = (struct at_step){.asked = 7,
                             .step = {.first = 5, .last = 5, .merged = 1},
                             .at = at,
                             .n = session->model->n_places};
    session->step = step;
}

/* The documents about a file, a recording and one with operations, and both tables. */
static void write_all(struct buf *text)
{
    struct run *run = sample_run(1);
    struct session *file = sample_session(), *recording;
    struct session *ops = session_of_run(sample_ops(), NULL);
    struct export_choice all = {NULL};
    uint32_t tensors[4] = {0, 1, 2, 3};
    struct step_numbers at[64];
    struct at_step step;
    struct out out;

    run->calls[run_first_call(run, SAMPLE_A)].device_ns = 4000;
    recording = session_of_run(run, NULL);
    CHECK(recording && ops && ops->model->n_places <= 64);
    set_step(ops, &step, at);
    CHECK(session_stats_many(file, tensors, 4, NULL, NULL) == 0);
    for (int i = 0; i < 6; i++) {
        struct buf one = BUF_INIT;

        if (i == 0)
            DOCUMENT(one, export_tree_json(&json, file, all));
        else if (i == 1)
            DOCUMENT(one, export_stats_json(&json, file, all, true));
        else if (i == 2)
            DOCUMENT(one, export_tree_json(&json, recording, all));
        else if (i == 3)
            DOCUMENT(one, export_show_json(&json, recording, 1, NULL, NULL));
        else if (i == 4)
            DOCUMENT(one, export_run_json(&json, recording));
        else
            DOCUMENT(one, export_tree_json(&json, ops, all));
        buf_str(text, buf_span(&one));
        buf_release(&one);
    }
    out_init_buf(&out, text);
    CHECK(export_tree_csv(&out, recording, all, NULL) == 0);
    export_stats_csv(&out, file, all);
    CHECK(out_release(&out) == 0);
    session_close(file);
    session_close(recording);
    session_close(ops);
}

static const char *home_of(const char *column)
{
    for (size_t i = 0; i < sizeof homes / sizeof homes[0]; i++)
        if (str_is(str_of(column), homes[i].column))
            return homes[i].member ? homes[i].member : "";
    return NULL;
}

TEST(every_column_is_in_json_or_csv_or_computed_from_those)
{
    struct buf text = BUF_INIT;

    write_all(&text);
    CHECK_INT(sizeof homes / sizeof homes[0], n_column_table);
    for (size_t i = 0; i < n_column_table; i++) {
        const char *member = home_of(column_table[i].id);
        char key[64];

        if (!member) {
            printf("column %s is in neither list\n", column_table[i].id);
            CHECK(member != NULL);
        }
        if (!*member)
            continue;
        snprintf(key, sizeof key, "\"%s\": ", member);
        CHECK_INT(has(&text, key), true);
    }
    buf_release(&text);
}
