/* torch_zip.c - the format of torch.save() since 1.6: a zip with the pickle data.pkl and
 * one record data/KEY for each storage. TorchScript, torch.package and exported
 * programs are zips with other records. */
#include "base/base.h"
#include "read/file/file_source_in.h"
#include "read/file/input_in.h"
#include "read/torch/torch_fold_in.h"
#include "read/torch/torch_in.h"
#include "read/torch/torch_records_in.h"

static int torch_zip_knows(const struct input *input)
{
    static const char *const others[] = {"constants.pkl", "archive_format",
                                         ".data/extern_modules", "model.json"};
    const struct zip *zip = input->zip;

    if (!zip || zip_find(zip, "data.pkl") < 0)
        return 0;
    for (size_t i = 0; i < COUNT_OF(others); i++)
        if (zip_find(zip, others[i]) >= 0)
            return 0;
    return SURE_MAGIC;
}

static int torch_zip_read(struct input *input, struct build *build, struct err *err)
{
    struct torch_records records;
    const struct torch_dialect dialect = {
        .storage = torch_records_storage, .user = &records, .input = input};
    struct pickle pickle;

    if (torch_records_init(&records, input, build, "data/", err) < 0 ||
        torch_records_pickle(&records, "data.pkl", &pickle, err) < 0)
        return -1;
    torch_records_facts(&records, &pickle);
    if (torch_fold(build, input->node, &pickle, pickle.result, &dialect, err) < 0)
        return -1;
    torch_records_others(&records);
    torch_records_finish(&records);
    return 0;
}

int torch_read_entries(struct input *outer, struct blob *takes_blob, const char *name,
                       const struct torch_entries *entries, struct build *build,
                       struct err *err)
{
    struct input inner = {
        .blob = takes_blob, .path = name, .name = str_of(name), .inner = true};
    struct torch_records records;
    const struct torch_dialect dialect = {
        .storage = torch_records_storage, .user = &records, .input = &inner};
    struct pickle pickle;

    inner.node = outer->node;
    inner.depth = outer->depth + 1;
    if (file_source_keep(build, takes_blob, err) < 0 ||
        input_look(&inner, build, err) < 0)
        return -1;
    if (!torch_zip_knows(&inner))
        return err_set_about(err, ERR_FORMAT, name,
                             " is not a file that torch.save() wrote");
    if (torch_records_init(&records, &inner, build, "data/", err) < 0 ||
        torch_records_pickle(&records, "data.pkl", &pickle, err) < 0 ||
        torch_fold_entries(build, &pickle, pickle.result, &dialect, entries, err) < 0)
        return -1;
    torch_records_others(&records);
    torch_records_finish(&records);
    return 0;
}

static int read_part(const struct torch_part *part, struct input *inner,
                     struct build *build, struct err *err)
{
    struct torch_records records;
    const struct torch_dialect dialect = {.storage = torch_records_storage,
                                          .user = &records};
    struct pickle pickle;

    if (input_look(inner, build, err) < 0)
        return -1;
    if (!torch_zip_knows(inner))
        return err_set_about(err, ERR_FORMAT, part->name,
                             " is not a file that torch.save() wrote");
    if (torch_records_init(&records, inner, build, "data/", err) < 0)
        return -1;
    records.whole = part->whole;
    records.base = part->at;
    if (torch_records_pickle(&records, "data.pkl", &pickle, err) < 0 ||
        torch_fold(build, inner->node, &pickle, pickle.result, &dialect, err) < 0)
        return -1;
    torch_records_others(&records);
    torch_records_finish(&records);
    return 0;
}

int torch_read_part(const struct torch_part *part, uint32_t node, struct build *build,
                    struct err *err)
{
    struct input inner = {.path = part->name,
                          .name = str_of(part->name),
                          .node = node,
                          .depth = 1,
                          .inner = true};
    int status;

    inner.blob = blob_open_part(part->whole, part->at, part->size, part->name, err);
    if (!inner.blob)
        return -1;
    status = read_part(part, &inner, build, err);
    blob_close(inner.blob);
    return status;
}

const struct reader torch_zip_reader = {
    .name = "torch zip", .knows = torch_zip_knows, .read = torch_zip_read};
