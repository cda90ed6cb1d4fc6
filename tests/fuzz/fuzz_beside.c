/* Files beside a model: the input is config.json, adapter_config.json,
 * tokenizer_config.json and tokenizer.json, with separators. Reads a small model with
 * these files in its folder. */
#define _GNU_SOURCE /* memmem */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "read/read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char separator[] = "\n----\n";
static const char *const names[] = {"config.json", "adapter_config.json",
                                    "tokenizer_config.json", "tokenizer.json"};
static char folder[] = "/tmp/fuzz_beside_XXXXXX";

/* Names of a decoder and of an adapter, with sizes to compare with. */
static const char header[] =
    "{\"model.embed_tokens.weight\":{\"dtype\":\"F16\",\"shape\":[6,4],"
    "\"data_offsets\":[0,48]},"
    "\"model.layers.0.self_attn.q_proj.weight\":{\"dtype\":\"F16\",\"shape\":[4,4],"
    "\"data_offsets\":[48,80]},"
    "\"model.layers.0.self_attn.q_proj.lora_A.weight\":{\"dtype\":\"F16\","
    "\"shape\":[2,4],\"data_offsets\":[80,96]},"
    "\"model.layers.0.mlp.up_proj.qweight\":{\"dtype\":\"I32\",\"shape\":[1,8],"
    "\"data_offsets\":[96,128]}}";

static void path_of(char to[80], const char *name)
{
    snprintf(to, 80, "%s/%s", folder, name);
}

static void drop_folder(void)
{
    char path[80];

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        path_of(path, names[i]);
        unlink(path);
    }
    path_of(path, "model.safetensors");
    unlink(path);
    rmdir(folder);
}

static FILE *create(const char *name)
{
    char path[80];
    FILE *file;

    path_of(path, name);
    file = fopen(path, "wb");
    if (!file)
        abort();
    return file;
}

static void write_model(void)
{
    FILE *file = create("model.safetensors");
    uint64_t length = sizeof header - 1;

    for (int i = 0; i < 8; i++)
        fputc((int)(length >> 8 * i & 255), file);
    fputs(header, file);
    for (int i = 0; i < 128; i++)
        fputc(i, file);
    if (fclose(file) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool made;
    const struct model *model;

    if (!made) {
        if (!mkdtemp(folder))
            abort();
        atexit(drop_folder);
        write_model();
        made = true;
    }
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const uint8_t *cut = memmem(data, size, separator, sizeof separator - 1);
        size_t n = cut ? (size_t)(cut - data) : size;
        size_t skip = cut ? n + sizeof separator - 1 : n;
        FILE *file = create(names[i]);

        if (fwrite(data, 1, n, file) != n || fclose(file) != 0)
            abort();
        data += skip;
        size -= skip;
    }
    model = read_model(folder, NULL, NULL);
    if (!model)
        abort(); /* the model is read whatever these files contain */
    model_free(model);
    return 0;
}
