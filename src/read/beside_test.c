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

struct made {
    const char *name;
    int rows, columns; /* 0: one dimension */
};

/* A GPT2 of 2 blocks: vocabulary 6, embedding 4, inner size 8. */
static const struct made gpt2[] = {
    {"transformer.wte.weight", 6, 4},
    {"transformer.h.0.ln_1.weight", 4, 0},
    {"transformer.h.0.attn.c_attn.weight", 4, 12},
    {"transformer.h.0.mlp.c_fc.weight", 4, 8},
    {"transformer.h.1.mlp.c_fc.weight", 4, 8},
};

static const char gpt2_config[] =
    "{\"architectures\": [\"GPT2LMHeadModel\"], \"model_type\": \"gpt2\",\n"
    " \"n_layer\": 2, \"n_embd\": 4, \"n_inner\": 8, \"vocab_size\": 6,\n"
    " \"n_head\": 2, \"torch_dtype\": \"float32\"}";

static const char tokenizer[] =
    "{\"version\": \"1.0\", \"added_tokens\": [{\"id\": 1, \"content\": \"b\"},\n"
    " {\"id\": 3, \"content\": \"<end>\"}], \"model\": {\"type\": \"BPE\",\n"
    " \"vocab\": {\"a\": 0, \"b\": 1, \"c\\u00e9\": 2}, \"merges\": [\"a b\"]}}";

static void write_model(struct place *place, const char *name)
{
    struct buf header = BUF_INIT, file = BUF_INIT;
    size_t at = 0;

    for (size_t i = 0; i < COUNT_OF(gpt2); i++) {
        const struct made *one = &gpt2[i];
        size_t n = 4 * (size_t)one->rows * (size_t)(one->columns ? one->columns : 1);

        buf_printf(&header, "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[%d", i ? "," : "{",
                   one->name, one->rows);
        if (one->columns)
            buf_printf(&header, ",%d", one->columns);
        buf_printf(&header, "],\"data_offsets\":[%zu,%zu]}", at, at + n);
        at += n;
    }
    buf_char(&header, '}');
    put64(&file, header.len);
    buf_str(&file, buf_span(&header));
    buf_fill(&file, '\0', at);
    write_file(place, name, buf_span(&file));
    buf_release(&header);
    buf_release(&file);
}

static void make_folder(struct place *place)
{
    snprintf(place->folder, sizeof place->folder, "/tmp/torchoscope_beside_XXXXXX");
    CHECK(mkdtemp(place->folder) != NULL);
    write_model(place, "model.safetensors");
}

static void drop(struct place *place)
{
    static const char *const names[] = {
        "model.safetensors",         "config.json",         "tokenizer.json",
        "adapter_model.safetensors", "adapter_config.json", "tokenizer_config.json",
        "chat_template.jinja",       "other.safetensors"};

    for (size_t i = 0; i < COUNT_OF(names); i++)
        unlink(inside(place, names[i]));
    CHECK(rmdir(place->folder) == 0);
}

/* The dict that files beside the model gave it; VALUE_ID_NONE: none. */
static uint32_t fact_of(const struct model *model, const char *key)
{
    for (uint32_t i = 0; i < model->n_facts; i++)
        if (str_is(model_string(model, model->facts[i].key), key))
            return model->facts[i].value;
    return VALUE_ID_NONE;
}

static int64_t count_in(const struct model *model, const char *fact, const char *key)
{
    uint32_t value;

    if (!value_get(&model->values, fact_of(model, fact), key, &value) ||
        value_at(&model->values, value)->kind != VALUE_INT)
        return -1;
    return value_at(&model->values, value)->integer;
}

static bool is_text(const struct model *model, const char *fact, const char *key,
                    const char *text)
{
    uint32_t value;

    return value_get(&model->values, fact_of(model, fact), key, &value) &&
           str_is(value_text(&model->values, value), text);
}

static bool has_class(const struct model *model, const char *path, const char *name)
{
    uint32_t place = place_find(model, str_of(path));

    return place != NO_PLACE && str_is(place_class(model, place), name);
}

TEST(a_folder_has_its_configuration_its_classes_and_its_tokenizer)
{
    struct place place;

    make_folder(&place);
    write_file(&place, "config.json", str_of(gpt2_config));
    write_file(&place, "tokenizer.json", str_of(tokenizer));
    write_file(&place, "chat_template.jinja", STR("{{ x }}"));
    for (int by_folder = 0; by_folder < 2; by_folder++) {
        const char *path =
            by_folder ? place.folder : inside(&place, "model.safetensors");
        const struct model *model = read_model(path, NULL, NULL);

        CHECK(model && model->n_findings == 0 && !model->partial);
        CHECK(is_text(model, "model", "class", "GPT2LMHeadModel"));
        CHECK(is_text(model, "model", "architecture", "gpt2"));
        CHECK_INT(count_in(model, "model", "block_count"), 2);
        CHECK_INT(count_in(model, "tokenizer", "tokens"), 3);
        CHECK_INT(count_in(model, "tokenizer", "added"), 1);
        CHECK_INT(count_in(model, "tokenizer", "merges"), 1);
        CHECK(str_is(place_class(model, 0), "GPT2LMHeadModel"));
        CHECK(place_object(model, 0)->guessed);
        CHECK(has_class(model, "transformer", "GPT2Model"));
        CHECK(has_class(model, "transformer.h", "ModuleList"));
        CHECK(has_class(model, "transformer.h.1", "GPT2Block"));
        CHECK(has_class(model, "transformer.h.0.attn", "GPT2Attention"));
        CHECK(has_class(model, "transformer.h.0.mlp.c_fc", "linear"));
        model_free(model);
    }
    drop(&place);
}

/* How many findings of this code there are with this text in them. */
static int findings(const struct model *model, enum finding_code code, const char *text)
{
    int n = 0;

    for (uint32_t i = 0; i < model->n_findings; i++)
        n += model->findings[i].code == code && strstr(model->findings[i].text, text);
    return n;
}

static const struct model *with_config(struct place *place, const char *config)
{
    write_file(place, "config.json", str_of(config));
    return read_model(place->folder, NULL, NULL);
}

TEST(sizes_that_the_tensors_do_not_have_are_warnings_and_name_no_class)
{
    static const struct {
        const char *config, *says;
    } wrong[] = {
        {"\"n_layer\": 3", "config.json says n_layer 3, the tensors have 2"},
        {"\"n_embd\": 5", "config.json says n_embd 5, the tensors have 4"},
        {"\"n_inner\": 16", "config.json says n_inner 16, the tensors have 8"},
        {"\"vocab_size\": 9223372036854775807", "vocab_size 9223372036854775807, the"},
    };
    struct place place;
    char text[200];

    make_folder(&place);
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        const struct model *model;

        snprintf(text, sizeof text,
                 "{\"architectures\": [\"GPT2LMHeadModel\"], \"n_embd\": 4, %s}",
                 wrong[i].config);
        model = with_config(&place, text);
        CHECK(model && model->n_findings == 1 && !model->partial);
        CHECK_INT(findings(model, FINDING_SIZE_MISMATCH, wrong[i].says), 1);
        CHECK(model->findings[0].severity == SEVERITY_WARNING);
        CHECK(place_class(model, 0).len == 0);
        CHECK(!has_class(model, "transformer.h.1", "GPT2Block"));
        model_free(model);
    }
    drop(&place);
}

/* Whatever the file is, the model is read, is complete, and at most a note says that the
 * file is not used. */
static void check_cut(struct place *place, const char *name, const char *text)
{
    size_t len = strlen(text);

    for (size_t cut = 0; cut < len; cut++) {
        const struct model *model;

        write_file(place, name, str_span(text, cut));
        model = read_model(place->folder, NULL, NULL);
        CHECK(model && model->n_tensors == COUNT_OF(gpt2) && !model->partial);
        CHECK_INT(model->n_findings, 1);
        CHECK_INT(findings(model, FINDING_UNEXPECTED, name), 1);
        CHECK(model->findings[0].severity == SEVERITY_NOTE);
        model_free(model);
    }
    CHECK(unlink(inside(place, name)) == 0);
}

TEST(files_cut_at_every_byte_are_notes)
{
    struct place place;

    make_folder(&place);
    check_cut(&place, "config.json", gpt2_config);
    check_cut(&place, "tokenizer.json", tokenizer);
    check_cut(&place, "tokenizer_config.json",
              "{\"a\": [{}], \"tokenizer_class\": \"X\", \"chat_template\": [1]}");
    drop(&place);
}

TEST(odd_configurations_are_harmless)
{
    static const char *const odd[] = {
        "[]",
        "3",
        "{\"architectures\": {\"a\": \"GPT2LMHeadModel\"}, \"model_type\": 7}",
        "{\"architectures\": [[\"x\"]], \"model_type\": \"gpt2\", \"n_layer\": -1,"
        " \"n_embd\": 1e999, \"vocab_size\": 123456789012345678901234567890}",
        "{\"architectures\": [\"GPT2../../etc/passwd\"], \"model_type\": "
        "\"/dev/zero\"}",
        "{\"architectures\": [\"\\u001b[31m\\u202e\"], \"torch_dtype\": [], "
        "\"quantization_config\": 5, \"text_config\": []}",
    };
    struct place place;
    struct buf deep = BUF_INIT;
    const struct model *model;

    make_folder(&place);
    for (size_t i = 0; i < COUNT_OF(odd); i++) {
        model = with_config(&place, odd[i]);
        CHECK(model && model->n_tensors == COUNT_OF(gpt2) && !model->partial);
        CHECK_INT(count_in(model, "model", "block_count"), -1);
        CHECK_INT(count_in(model, "model", "vocab_size"), -1);
        model_free(model);
    }
    buf_fill(&deep, '[', 100000);
    write_file(&place, "config.json", buf_span(&deep));
    write_file(&place, "tokenizer.json", buf_span(&deep));
    model = read_model(place.folder, NULL, NULL);
    CHECK(model && model->n_findings == 2 && !model->partial);
    model_free(model);
    buf_release(&deep);
    drop(&place);
}

TEST(only_files_of_the_folder_are_opened_and_only_regular_ones)
{
    struct place place;
    const struct model *model;

    make_folder(&place);
    CHECK(mkfifo(inside(&place, "config.json"), 0600) == 0);
    CHECK(symlink("/dev/zero", inside(&place, "tokenizer.json")) == 0);
    CHECK(symlink("missing", inside(&place, "tokenizer_config.json")) == 0);
    model = read_model(place.folder, NULL, NULL);
    CHECK(model && model->n_tensors == COUNT_OF(gpt2) && !model->partial);
    CHECK_INT(findings(model, FINDING_UNEXPECTED, "config.json"), 1);
    CHECK_INT(findings(model, FINDING_UNEXPECTED, "tokenizer.json"), 1);
    CHECK(fact_of(model, "model") == VALUE_ID_NONE);
    model_free(model);
    drop(&place);
}

TEST(a_file_of_any_name_is_not_judged_by_what_lies_beside_it)
{
    struct place place;
    const struct model *model;

    make_folder(&place);
    write_file(&place, "config.json", str_of(gpt2_config));
    write_model(&place, "other.safetensors");
    model = read_model(inside(&place, "other.safetensors"), NULL, NULL);
    CHECK(model && fact_of(model, "model") == VALUE_ID_NONE);
    CHECK(place_class(model, 0).len == 0);
    model_free(model);
    drop(&place);
}

TEST(an_adapter_names_its_rank_and_its_base)
{
    struct place place;
    const struct model *model;

    make_folder(&place);
    write_model(&place, "adapter_model.safetensors");
    write_file(&place, "config.json", str_of(gpt2_config));
    write_file(&place, "adapter_config.json",
               STR("{\"peft_type\": \"LORA\", \"r\": 8, \"lora_alpha\": 16,"
                   " \"base_model_name_or_path\": \"a/b\","
                   " \"target_modules\": [\"q_proj\", 3, \"v_proj\"]}"));
    model = read_model(inside(&place, "adapter_model.safetensors"), NULL, NULL);
    CHECK(model && model->n_findings == 0);
    CHECK(is_text(model, "adapter", "kind", "LoRA"));
    CHECK_INT(count_in(model, "adapter", "rank"), 8);
    CHECK_INT(count_in(model, "adapter", "alpha"), 16);
    CHECK(is_text(model, "adapter", "base", "a/b"));
    CHECK(fact_of(model, "model") == VALUE_ID_NONE);
    model_free(model);
    drop(&place);
}
