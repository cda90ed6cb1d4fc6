#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/test.h"
#include "read/file/test_zip_in.h"
#include "read/read.h"

/* A folder for one test, and the path of something in it. */
struct place {
    char folder[64];
    char path[256];
};

static void make_folder(struct place *place)
{
    snprintf(place->folder, sizeof place->folder, "/tmp/torchoscope_shards_XXXXXX");
    CHECK(mkdtemp(place->folder) != NULL);
}

static const char *inside(struct place *place, const char *name)
{
    snprintf(place->path, sizeof place->path, "%s/%s", place->folder, name);
    return place->path;
}

static void write_file(struct place *place, const char *name, struct str bytes)
{
    FILE *file = fopen(inside(place, name), "wb");

    CHECK(file && fwrite(bytes.at, 1, bytes.len, file) == bytes.len);
    CHECK(fclose(file) == 0);
}

/* A safetensors file with one-element tensors of these names. */
static void write_shard(struct place *place, const char *name, const char *const *names,
                        size_t n)
{
    struct buf header = BUF_INIT, file = BUF_INIT;

    for (size_t i = 0; i < n; i++)
        buf_printf(
            &header,
            "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[%zu,%zu]}",
            i ? "," : "{", names[i], 4 * i, 4 * i + 4);
    buf_char(&header, '}');
    put64(&file, header.len);
    buf_str(&file, buf_span(&header));
    buf_fill(&file, '\0', 4 * n);
    write_file(place, name, buf_span(&file));
    buf_release(&header);
    buf_release(&file);
}

static void write_text(struct place *place, const char *name, const char *text)
{
    write_file(place, name, str_of(text));
}

#define ONE "model-00001-of-00002.safetensors"
#define TWO "model-00002-of-00002.safetensors"

static const char *const first[] = {"layer.0.weight", "layer.0.bias"};
static const char *const second[] = {"layer.1.weight"};

static void write_both(struct place *place)
{
    write_shard(place, ONE, first, 2);
    write_shard(place, TWO, second, 1);
}

static void drop(struct place *place)
{
    static const char *const names[] = {
        ONE,
        TWO,
        "model.safetensors.index.json",
        "a.dat",
        "b.dat",
        "notes.txt",
        "link.index.json",
        "more.index.json",
    };

    for (size_t i = 0; i < COUNT_OF(names); i++)
        unlink(inside(place, names[i]));
    CHECK(rmdir(place->folder) == 0);
}

static const char honest_index[] =
    "{\"metadata\": {\"total_size\": 12},\n \"weight_map\": {\n"
    " \"layer.1.weight\": \"" TWO "\",\n"
    " \"layer.0.weight\": \"" ONE "\",\n"
    " \"layer.0.bias\": \"" ONE "\"}}";

TEST(shards_are_one_model_by_index_and_by_folder)
{
    struct place place;
    const struct model *model;

    make_folder(&place);
    write_both(&place);
    write_text(&place, "model.safetensors.index.json", honest_index);
    for (int by_folder = 0; by_folder < 2; by_folder++) {
        model = read_model(by_folder ? place.folder
                                     : inside(&place, "model.safetensors.index.json"),
                           NULL, NULL);
        CHECK(model && model->n_tensors == 3 && model->n_findings == 0);
        CHECK_STR(model->format, "safetensors shards");
        CHECK(place_find(model, STR("layer.1.weight")) != NO_PLACE);
        /* One tree: layer stands once, with 0 before 1. */
        CHECK(place_find(model, STR("layer.0")) == 2 && model->n_places == 7);
        model_free(model);
    }
    drop(&place);
}

TEST(a_folder_of_shards_needs_no_index)
{
    struct place place;
    const struct model *model;

    make_folder(&place);
    write_both(&place);
    model = read_model(place.folder, NULL, NULL);
    CHECK(model && model->n_tensors == 3 && model->n_findings == 0);
    model_free(model);
    unlink(inside(&place, ONE));
    model = read_model(place.folder, NULL, NULL);
    CHECK(model && model->n_tensors == 1 && model->partial);
    CHECK(strstr(test_finding(model, FINDING_MISSING_SHARD), "1 of 2 shards"));
    model_free(model);
    drop(&place);
}

TEST(a_missing_shard_is_named_with_its_tensors)
{
    struct place place;
    const struct model *model;

    make_folder(&place);
    write_shard(&place, TWO, second, 1);
    write_text(&place, "model.safetensors.index.json", honest_index);
    model = read_model(place.folder, NULL, NULL);
    CHECK(model && model->n_tensors == 1 && model->partial);
    CHECK(strstr(test_finding(model, FINDING_MISSING_SHARD), ONE));
    CHECK(strstr(test_finding(model, FINDING_MISSING_SHARD), "layer.0.bias"));
    model_free(model);
    drop(&place);
}

TEST(an_index_that_disagrees_with_its_shards_is_told)
{
    struct place place;
    const struct model *model;

    make_folder(&place);
    write_both(&place);
    /* layer.1.weight is said to be in the first, layer.0.bias is not mentioned, ghost
     * is nowhere, and the total is wrong. */
    write_text(&place, "model.safetensors.index.json",
               "{\"metadata\": {\"total_size\": 7.0}, \"weight_map\": {"
               "\"layer.1.weight\": \"" ONE "\", \"layer.0.weight\": \"" ONE "\","
               "\"ghost\": \"" TWO "\"}}");
    model = read_model(place.folder, NULL, NULL);
    CHECK(model && model->n_tensors == 3);
    CHECK_INT(model->n_findings, 4);
    for (uint32_t i = 0; i < model->n_findings; i++)
        CHECK(model->findings[i].code == FINDING_SHARD_MISMATCH);
    model_free(model);
    drop(&place);
}

TEST(a_tensor_in_two_shards_is_a_finding)
{
    struct place place;
    const struct model *model;

    make_folder(&place);
    write_shard(&place, ONE, first, 2);
    write_shard(&place, TWO, first, 1);
    model = read_model(place.folder, NULL, NULL);
    CHECK(model && test_finding(model, FINDING_DUPLICATE));
    model_free(model);
    drop(&place);
}

TEST(a_path_in_an_index_is_not_opened)
{
    struct place place;
    const struct model *model;

    make_folder(&place);
    write_both(&place);
    write_text(&place, "model.safetensors.index.json",
               "{\"weight_map\": {\"layer.1.weight\": \"" TWO "\", "
               "\"evil\": \"../../etc/passwd\", \"worse\": \"/etc/passwd\"}}");
    model = read_model(inside(&place, "model.safetensors.index.json"), NULL, NULL);
    CHECK(model && model->n_tensors == 1 && model->n_files == 2);
    CHECK(test_finding(model, FINDING_UNSAFE_PATH));
    model_free(model);
    drop(&place);
}

TEST(shards_are_looked_for_beside_a_link)
{
    struct place place, cache;
    const struct model *model;
    char target[300];

    make_folder(&place);
    make_folder(&cache);
    write_text(&place, "model.safetensors.index.json", honest_index);
    write_both(&cache);
    snprintf(target, sizeof target, "%s/model.safetensors.index.json", place.folder);
    CHECK(symlink(target, inside(&cache, "link.index.json")) == 0);
    model = read_model(inside(&cache, "link.index.json"), NULL, NULL);
    CHECK(model && model->n_tensors == 3 && model->n_findings == 0);
    model_free(model);
    drop(&place);
    drop(&cache);
}

TEST(an_index_in_memory_has_no_files_beside_it)
{
    struct err err = {0};

    CHECK(!read_model_memory(honest_index, sizeof honest_index - 1, "x.index.json",
                             NULL, &err));
    CHECK(strstr(err.text, "JSON"));
}

TEST(a_folder_with_one_model_gives_that_and_with_several_says_so)
{
    struct place place;
    const struct model *model;
    struct err err = {0};

    make_folder(&place);
    write_text(&place, "notes.txt", "hello");
    CHECK(!read_model(place.folder, NULL, &err) && err.code == ERR_USAGE);
    write_shard(&place, "a.dat", first, 2);
    model = read_model(place.folder, NULL, NULL);
    CHECK(model && model->n_tensors == 2);
    CHECK_STR(model->format, "safetensors");
    model_free(model);
    write_shard(&place, "b.dat", second, 1);
    CHECK(!read_model(place.folder, NULL, &err) && err.code == ERR_USAGE);
    CHECK(strstr(err.text, "a.dat, b.dat"));
    drop(&place);
}

/* The note about models that are not shown; or NULL. */
static const char *note_of(const struct model *model)
{
    for (uint32_t i = 0; i < model->n_findings; i++)
        if (strstr(model->findings[i].text, "not shown: "))
            return model->findings[i].text;
    return NULL;
}

TEST(a_folder_names_the_models_that_it_does_not_show)
{
    struct place place;
    const struct model *model;
    struct err err = {0};
    char below[300];

    make_folder(&place);
    write_shard(&place, "model.safetensors", first, 2);
    model = read_model(place.folder, NULL, NULL);
    CHECK(model && !note_of(model));
    model_free(model);
    write_text(&place, "args.bin", "\x80\x02}q\x01.");
    snprintf(below, sizeof below, "%s/2_Dense", place.folder);
    CHECK(mkdir(below, 0700) == 0);
    write_shard(&place, "2_Dense/model.safetensors", second, 1);
    model = read_model(place.folder, NULL, NULL);
    CHECK(model && note_of(model));
    CHECK(strstr(note_of(model), "not shown: args.bin, 2_Dense/model.safetensors."));
    CHECK_INT(model->n_tensors, 2);
    model_free(model);
    unlink(inside(&place, "model.safetensors"));
    unlink(inside(&place, "args.bin"));
    CHECK(!read_model(place.folder, NULL, &err) && err.code == ERR_USAGE);
    CHECK(strstr(err.text, "but below it: 2_Dense/model.safetensors. Name the one"));
    unlink(inside(&place, "2_Dense/model.safetensors"));
    CHECK(rmdir(below) == 0);
    drop(&place);
}

TEST(the_files_of_an_index_are_not_named_as_others)
{
    struct place place;
    const struct model *model;

    make_folder(&place);
    write_both(&place);
    write_text(&place, "model.safetensors.index.json", honest_index);
    model = read_model(place.folder, NULL, NULL);
    CHECK(model && !note_of(model));
    model_free(model);
    unlink(inside(&place, "model.safetensors.index.json"));
    model = read_model(place.folder, NULL, NULL);
    CHECK(model && !note_of(model));
    model_free(model);
    drop(&place);
}

TEST(a_safetensors_file_hides_no_pickle_unless_config_json_is_there)
{
    struct place place;
    const struct model *model;
    struct err err = {0};
    char name[200] = "b";

    make_folder(&place);
    write_shard(&place, "a.safetensors", first, 2);
    memset(name + 1, 'x', 100);
    write_text(&place, name, "\x80\x02}q\x01.");
    CHECK(!read_model(place.folder, NULL, &err) && err.code == ERR_USAGE);
    CHECK(strstr(err.text, "a.safetensors, bxxx") && strstr(err.text, "xxx...xxx"));
    write_text(&place, "config.json", "{}");
    model = read_model(place.folder, NULL, NULL);
    CHECK(model && note_of(model));
    model_free(model);
    unlink(inside(&place, "a.safetensors"));
    unlink(inside(&place, name));
    unlink(inside(&place, "config.json"));
    drop(&place);
}

TEST(shards_of_a_format_that_is_not_read_are_named)
{
    struct place place;
    struct err err = {0};

    make_folder(&place);
    write_text(&place, ONE, "PYTORCH1........");
    write_text(&place, TWO, "PYTORCH1........");
    CHECK(!read_model(place.folder, NULL, &err) && err.code == ERR_UNSUPPORTED);
    CHECK(strstr(err.text, "PyTorch 1.0 preview"));
    drop(&place);
}

TEST(a_shard_that_cannot_be_read_does_not_hide_the_others)
{
    struct place place;
    const struct model *model;

    make_folder(&place);
    write_text(&place, ONE, "<!doctype html>");
    write_shard(&place, TWO, second, 1);
    write_text(&place, "model.safetensors.index.json", honest_index);
    model = read_model(place.folder, NULL, NULL);
    CHECK(model && model->n_tensors == 1 && model->partial);
    CHECK(strstr(test_finding(model, FINDING_DAMAGED), "a web page"));
    CHECK(strstr(test_finding(model, FINDING_MISSING_SHARD), "cannot be read"));
    model_free(model);
    drop(&place);
}

TEST(an_index_cut_anywhere_is_survived)
{
    struct place place;

    make_folder(&place);
    write_both(&place);
    for (size_t cut = 0; cut < sizeof honest_index - 1; cut += 3) {
        write_file(&place, "model.safetensors.index.json",
                   (struct str){honest_index, cut});
        model_free(
            read_model(inside(&place, "model.safetensors.index.json"), NULL, NULL));
    }
    drop(&place);
}
