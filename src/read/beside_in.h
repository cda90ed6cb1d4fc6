/* beside_in.h - reads the files beside a model on disk: config.json,
 * adapter_config.json and those of the tokenizer. Their names are fixed, never taken
 * from a file; nothing in them is executed. A damaged one is a note, never a failure.
 *
 *   beside.c            finds and reads the files; the facts "model" and "adapter"
 *   beside_quantised.c  the settings of packed weights in config.json
 *   beside_classes.c    classes of known families, and sizes checked against tensors
 *   beside_families.c   THE TABLE of these families (beside_families_in.h)
 *   beside_tokenizer.c  the fact "tokenizer"
 *
 * The facts are dicts with the keys of GGUF's metadata: block_count, head_count ... */
#ifndef READ_BESIDE_IN_H
#define READ_BESIDE_IN_H

#include "base/json_doc.h"
#include "read/file/input_in.h"

struct beside {
    const struct input *input;
    struct build *build;
    struct arena arena; /* for the file being read */
    int dir_fd;
    bool whole; /* the model is complete: its sizes can be checked */
};

/* The sizes in a config.json that can be checked against tensors; -1: missing. */
enum beside_size {
    SIZE_BLOCKS,
    SIZE_DECODER_BLOCKS, /* of a model that has an encoder too */
    SIZE_VOCABULARY,
    SIZE_EMBEDDING,
    SIZE_FIRST, /* width of the first layers, if it is not that of the others */
    SIZE_INNER, /* of the feed-forward layers */
    SIZE_COUNT
};
/* Where in config.json a size is. */
enum beside_section { SECTION_WHOLE, SECTION_TEXT, SECTION_VISION, SECTION_COUNT };

struct beside_config {
    struct str architecture; /* architectures[0], or _class_name; may be empty */
    int64_t sizes[SECTION_COUNT][SIZE_COUNT];
    const char *keys[SECTION_COUNT][SIZE_COUNT]; /* their keys in config.json */
    bool own_code;               /* its classes are in Python files in the folder */
    const struct json_doc *tree; /* the whole */
};

/* A dict being built. */
struct beside_dict {
    struct values *values;
    uint32_t items[48];
    uint32_t n;
};

/* Read the files beside the model just read; call it before build_finish(). */
void beside_read(const struct input *input, struct build *build);

/* A boolean of config.json. */
bool beside_is_true(const struct beside_config *config, const char *key);

/* Sets the guessed classes of modules, and compares sizes with the tensors. */
void beside_classes(struct beside *self, const struct beside_config *config);
void beside_tokenizer(struct beside *self);

/* Adds the settings of packed weights in config.json. */
void beside_quantised(struct beside_dict *dict, const struct json_doc *config);

/* Clears the arena and loads a file of the folder into it. False: it does not exist, or
 * cannot be read, which adds a note. */
bool beside_load(struct beside *self, const char *name, uint64_t limit,
                 struct str *ret_text);
bool beside_has(struct beside *self, const char *name);
void beside_note(struct beside *self, const char *name, const char *why);

/* The text of a key of an object; empty if it is missing or another type. */
struct str beside_text_of(const struct json_doc *tree, uint32_t at, const char *key);

void beside_add(struct beside_dict *dict, const char *key, uint32_t value);
void beside_add_text(struct beside_dict *dict, const char *key, struct str text);
void beside_add_count(struct beside_dict *dict, const char *key, int64_t n);
/* Adds the dict as a fact, unless it is empty. */
void beside_keep(struct beside *self, const char *key, const struct beside_dict *dict);

#endif
