#include <stdio.h>
#include <unistd.h>

#include "base/test.h"
#include "export/exporters.h"
#include "session/sample_session.h"

TEST(exported_tensors_read_back_and_skipped_ones_are_reported)
{
    struct session *session = sample_session(), *again;
    struct export_wanted wanted = {.view = PRINTED_WANTED_INIT};
    struct buf text = BUF_INIT;
    const struct model *model;
    const struct stats *stats;
    char path[64];
    struct err err = {0};
    uint32_t place;

    snprintf(path, sizeof path, "/tmp/torchoscope-test-%d.safetensors", (int)getpid());
    CHECK_INT(exporter_write(exporter_of(path, NULL), path, session, &wanted, &err), 0);
    again = session_open(path, NULL, &err);
    unlink(path);
    CHECK(again);
    model = again->model;
    CHECK_STR(model->format, "safetensors");
    CHECK_INT(model->n_findings, 0);
    CHECK_INT(model->n_tensors, 4); /* the tied one twice, the lost one not */
    place = place_find(model, STR("b.count"));
    CHECK(place != NO_PLACE);
    CHECK_INT(place_tensor(model, place)->dtype, DTYPE_INT64);
    CHECK(session_stats(again, model->object[place], NULL, &stats, &err) == 0);
    CHECK(stats->min == 7);
    place = place_find(model, STR("b.weight"));
    CHECK(session_stats(again, model->object[place], NULL, &stats, &err) == 0);
    CHECK(stats->min == -6 && stats->max == 5);
    CHECK_INT(model->n_metadata, 2);
    buf_str(&text, value_text(&model->values, model->metadata[1].value));
    CHECK_STR(buf_cstr(&text), "lost: its data is missing");
    session_close(again);
    session_close(session);
    buf_release(&text);
}

TEST(a_header_of_exported_tensors_ends_at_a_multiple_of_eight)
{
    struct session *session = sample_session();
    struct export_wanted wanted = {.view = PRINTED_WANTED_INIT};
    struct buf file = BUF_INIT;
    struct out out;

    out_init_buf(&out, &file);
    CHECK_INT(export_safetensors(&out, session, &wanted, NULL), 0);
    out_release(&out);
    CHECK(file.len > 8 && (uint8_t)file.at[0] % 8 == 0);
    CHECK(file.at[8] == '{');
    session_close(session);
    buf_release(&file);
}
