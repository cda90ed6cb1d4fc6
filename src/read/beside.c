#include "read/beside_in.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/base.h"
#include "read/shards_in.h"

#define CONFIG_LIMIT MIB
#define TEXT_LIMIT   1000 /* longer texts are cut */
#define LIST_LIMIT   64

/* ---- files ---- */

void beside_note(struct beside *self, const char *name, const char *why)
{
    build_finding(self->build, FINDING_UNSUPPORTED, SEVERITY_NOTE, 0,
                  "%s is not used: %s", name, why);
}

bool beside_has(struct beside *self, const char *name)
{
    struct blob *blob = blob_open_at(self->dir_fd, name, name, NULL);

    blob_close(blob);
    return blob != NULL;
}

bool beside_load(struct beside *self, const char *name, uint64_t limit,
                 struct str *ret_text)
{
    struct err why = {0};
    struct blob *blob = blob_open_at(self->dir_fd, name, name, &why);
    bool loaded = false;
    char words[64];

    if (!blob) {
        if (why.system != ENOENT)
            beside_note(self, name, err_reason(&why));
        return false;
    }
    arena_release(&self->arena);
    if (blob->size > limit) {
        snprintf(words, sizeof words, "it has more than %" PRIu64 " MB", limit / MIB);
        beside_note(self, name, words);
        goto out;
    }
    arena_init(&self->arena, 16 * CONFIG_LIMIT + 3 * (size_t)blob->size);
    if (blob_load(blob, 0, blob->size, &self->arena, ret_text, &why) < 0)
        beside_note(self, name, err_reason(&why));
    else
        loaded = true;

out:
    blob_close(blob);
    return loaded;
}

/* A small document as a tree. */
static bool load_tree(struct beside *self, const char *name, struct json_doc *tree)
{
    struct err why = {0};
    struct str text;

    if (!beside_load(self, name, CONFIG_LIMIT, &text))
        return false;
    if (json_doc_read(tree, text, name, &self->arena, &why) == 0 &&
        json_doc_kind(tree, JSON_DOC_ROOT) == JSON_OBJECT)
        return true;
    beside_note(self, name,
                why.code == ERR_NONE ? "it is not a JSON object" : err_reason(&why));
    return false;
}

/* ---- facts ---- */

void beside_add(struct beside_dict *dict, const char *key, uint32_t value)
{
    if (dict->n + 2 > COUNT_OF(dict->items) || value == VALUE_ID_FAILED)
        return;
    dict->items[dict->n++] = value_str(dict->values, str_of(key));
    dict->items[dict->n++] = value;
}

void beside_add_text(struct beside_dict *dict, const char *key, struct str text)
{
    if (text.len > 0)
        beside_add(dict, key, value_str(dict->values, str_head(text, TEXT_LIMIT)));
}

void beside_keep(struct beside *self, const char *key, const struct beside_dict *dict)
{
    if (dict->n > 0)
        build_fact(self->build, key,
                   value_make(dict->values, VALUE_DICT, STR(""), dict->items, dict->n));
}

void beside_add_count(struct beside_dict *dict, const char *key, int64_t n)
{
    if (n >= 0)
        beside_add(dict, key, value_int(dict->values, n));
}

/* ---- config.json ---- */

#define NAMES 8

/* A size, its key in GGUF, and the keys that configurations use for it. */
static const struct {
    const char *key; /* NULL: only to check */
    const char *names[NAMES];
    int size; /* enum beside_size, or -1 */
} sizes[] = {
    {"block_count",
     {"num_hidden_layers", "n_layer", "num_layers", "n_layers", "encoder_layers"},
     SIZE_BLOCKS},
    {"decoder_block_count",
     {"num_decoder_layers", "decoder_layers"},
     SIZE_DECODER_BLOCKS},
    {"context_length",
     {"max_position_embeddings", "n_positions", "n_ctx", "max_seq_len",
      "max_target_positions"},
     -1},
    {"embedding_length", {"hidden_size", "n_embd", "d_model", "dim"}, SIZE_EMBEDDING},
    {NULL, {"embed_dim", "embedding_size", "hidden_sizes"}, SIZE_FIRST},
    {"feed_forward_length",
     {"intermediate_size", "n_inner", "d_ff", "encoder_ffn_dim", "ffn_dim",
      "hidden_dim"},
     SIZE_INNER},
    {"attention.head_count",
     {"num_attention_heads", "n_head", "n_heads", "num_heads",
      "encoder_attention_heads"},
     -1},
    {"attention.head_count_kv", {"num_key_value_heads"}, -1},
    {"expert_count", {"num_local_experts", "num_experts", "n_routed_experts"}, -1},
    {"vocab_size", {"vocab_size"}, SIZE_VOCABULARY},
};

/* A count, or the first of a list of counts. */
static bool get_count(const struct json_doc *tree, uint32_t at, int64_t *ret_n)
{
    if (json_doc_kind(tree, at) == JSON_ARRAY)
        at = json_doc_first(tree, at);
    return json_doc_int(tree, at, ret_n) && *ret_n >= 0;
}

/* The first of these members that is a count; -1: none. */
static int64_t count_of(const struct json_doc *tree, uint32_t at,
                        const char *const *names, const char **ret_name)
{
    int64_t n;

    for (int i = 0; i < NAMES && names[i]; i++)
        if (get_count(tree, json_doc_get(tree, at, names[i]), &n)) {
            *ret_name = names[i];
            return n;
        }
    return -1;
}

static void read_sizes(const struct json_doc *tree, uint32_t at,
                       enum beside_section section, struct beside_config *config)
{
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        const char *name = "";
        int64_t n = count_of(tree, at, sizes[i].names, &name);

        if (sizes[i].size < 0)
            continue;
        config->sizes[section][sizes[i].size] = n;
        config->keys[section][sizes[i].size] = name;
    }
}

static void add_sizes(struct beside_dict *dict, const struct json_doc *tree,
                      struct beside_config *config)
{
    static const char *const names[SECTION_COUNT] = {NULL, "text_config",
                                                     "vision_config"};
    const char *name;

    for (int i = 0; i < SECTION_COUNT; i++)
        read_sizes(tree,
                   names[i] ? json_doc_get(tree, JSON_DOC_ROOT, names[i])
                            : JSON_DOC_ROOT,
                   i, config);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        int64_t n = count_of(tree, JSON_DOC_ROOT, sizes[i].names, &name);

        if (n < 0)
            n = count_of(tree, json_doc_get(tree, JSON_DOC_ROOT, "text_config"),
                         sizes[i].names, &name);
        if (sizes[i].key)
            beside_add_count(dict, sizes[i].key, n);
    }
}

bool beside_is_true(const struct beside_config *config, const char *key)
{
    return json_doc_true(config->tree, json_doc_get(config->tree, JSON_DOC_ROOT, key));
}

struct str beside_text_of(const struct json_doc *tree, uint32_t at, const char *key)
{
    uint32_t value = json_doc_get(tree, at, key);

    return json_doc_kind(tree, value) == JSON_STRING ? json_doc_text(tree, value)
                                                     : STR("");
}

static struct str architecture_of(const struct json_doc *tree)
{
    uint32_t list = json_doc_get(tree, JSON_DOC_ROOT, "architectures");
    uint32_t first = json_doc_first(tree, list);

    if (json_doc_kind(tree, list) == JSON_ARRAY &&
        json_doc_kind(tree, first) == JSON_STRING)
        return str_head(json_doc_text(tree, first), 200);
    return str_head(beside_text_of(tree, JSON_DOC_ROOT, "_class_name"), 200);
}

/* "float32", also of "torch.float32". */
static struct str dtype_of(const struct json_doc *tree)
{
    struct str dtype = beside_text_of(tree, JSON_DOC_ROOT, "torch_dtype");

    if (dtype.len == 0)
        dtype = beside_text_of(tree, JSON_DOC_ROOT, "dtype");
    return str_starts(dtype, STR("torch.")) ? str_from(dtype, 6) : dtype;
}

static void read_config(struct beside *self)
{
    struct beside_dict dict = {.values = build_values(self->build)};
    struct json_doc tree = {0};
    struct beside_config config = {.tree = &tree};
    struct str type;

    if (!load_tree(self, "config.json", &tree))
        return;
    config.architecture = architecture_of(&tree);
    config.own_code = json_doc_get(&tree, JSON_DOC_ROOT, "auto_map") != 0;
    type = beside_text_of(&tree, JSON_DOC_ROOT, "model_type");
    if (type.len == 0)
        type =
            beside_text_of(&tree, JSON_DOC_ROOT, "architecture"); /* timm: "resnet50" */
    if (config.architecture.len == 0 && type.len == 0)
        return; /* of something else */
    beside_add_text(&dict, "class", config.architecture);
    beside_add_text(&dict, "architecture", type);
    add_sizes(&dict, &tree, &config);
    beside_add_text(&dict, "dtype", dtype_of(&tree));
    beside_quantised(&dict, &tree);
    beside_keep(self, "model", &dict);
    beside_classes(self, &config);
}

/* ---- adapter_config.json ---- */

/* A list of texts, or one text. */
static void add_targets(struct beside_dict *dict, const struct json_doc *tree)
{
    uint32_t at = json_doc_get(tree, JSON_DOC_ROOT, "target_modules");
    uint32_t items[LIST_LIMIT], n = 0;

    if (json_doc_kind(tree, at) == JSON_STRING) {
        beside_add_text(dict, "targets", json_doc_text(tree, at));
        return;
    }
    if (json_doc_kind(tree, at) != JSON_ARRAY)
        return;
    for (at = json_doc_first(tree, at); at && n < LIST_LIMIT;
         at = json_doc_next(tree, at))
        if (json_doc_kind(tree, at) == JSON_STRING)
            items[n++] =
                value_str(dict->values, str_head(json_doc_text(tree, at), 200));
    beside_add(dict, "targets",
               value_make(dict->values, VALUE_LIST, STR(""), items, n));
}

static void add_number(struct beside_dict *dict, const struct json_doc *tree,
                       const char *key, const char *name)
{
    uint32_t at = json_doc_get(tree, JSON_DOC_ROOT, name);
    int64_t n;
    double real;

    if (json_doc_kind(tree, at) != JSON_NUMBER)
        return;
    if (json_doc_int(tree, at, &n))
        beside_add_count(dict, key, n);
    else if (json_doc_real(tree, at, &real))
        beside_add(dict, key, value_real(dict->values, real));
}

/* The first dimension of each lora_A.weight is the rank, unless modules have their own.
 */
static void check_rank(struct beside *self, const struct json_doc *tree)
{
    const struct model *model = self->build->model;
    uint32_t own = json_doc_get(tree, JSON_DOC_ROOT, "rank_pattern");
    int64_t rank;

    if (json_doc_first(tree, own) ||
        !json_doc_int(tree, json_doc_get(tree, JSON_DOC_ROOT, "r"), &rank))
        return;
    for (uint32_t node = 1; node < self->build->n_nodes; node++) {
        uint32_t id = build_tensor_at(self->build, node);

        if (id >= model->n_tensors || model->tensors[id].rank != 2 ||
            model->tensors[id].flags & TENSOR_INVALID ||
            !str_starts(model_string(model, model->name[node]), STR("lora_A.")) ||
            tensor_shape(model, &model->tensors[id])[0] == rank)
            continue;
        build_finding(self->build, FINDING_SIZE_MISMATCH, SEVERITY_WARNING, node,
                      "adapter_config.json says r %" PRId64
                      ", the tensors have %" PRId64,
                      rank, tensor_shape(model, &model->tensors[id])[0]);
        return; /* one says it for all */
    }
}

/* The types of peft, in words; AdaLoRA has its own keys for the rank. */
static const struct {
    const char *type, *words, *rank;
} adapters[] = {
    {"LORA", "LoRA", "r"},
    {"ADALORA", "AdaLoRA", "target_r"},
    {"IA3", "IA3", "r"},
    {"LOHA", "LoHa", "r"},
    {"LOKR", "LoKr", "r"},
    {"OFT", "OFT", "r"},
    {"BOFT", "BOFT", "r"},
    {"VERA", "VeRA", "r"},
    {"PROMPT_TUNING", "prompt tuning", "r"},
    {"PREFIX_TUNING", "prefix tuning", "r"},
    {"P_TUNING", "p-tuning", "r"},
};

static void add_kind(struct beside_dict *dict, const struct json_doc *tree,
                     struct str type)
{
    const char *rank = "r";

    if (json_doc_true(tree, json_doc_get(tree, JSON_DOC_ROOT, "use_dora")))
        type = STR("DoRA");
    for (size_t i = 0; i < COUNT_OF(adapters); i++)
        if (str_is(type, adapters[i].type)) {
            rank = adapters[i].rank;
            type = str_of(adapters[i].words);
            break;
        }
    beside_add_text(dict, "kind", type);
    add_number(dict, tree, "rank", rank);
}

static void read_adapter(struct beside *self)
{
    struct beside_dict dict = {.values = build_values(self->build)};
    struct json_doc tree = {0};
    struct str type;

    if (!load_tree(self, "adapter_config.json", &tree))
        return;
    type = beside_text_of(&tree, JSON_DOC_ROOT, "peft_type");
    if (type.len == 0)
        return; /* of something else */
    add_kind(&dict, &tree, type);
    add_number(&dict, &tree, "alpha", "lora_alpha");
    add_number(&dict, &tree, "virtual_tokens", "num_virtual_tokens");
    beside_add_text(&dict, "base",
                    beside_text_of(&tree, JSON_DOC_ROOT, "base_model_name_or_path"));
    add_targets(&dict, &tree);
    beside_keep(self, "adapter", &dict);
    if (str_is(type, "LORA"))
        check_rank(self, &tree);
}

/* ---- the whole ---- */

/* Names of files that never stand alone. */
static const char *const usual[] = {
    "model*.safetensors", "pytorch_model*.bin",
    "adapter_model.*",    "diffusion_pytorch_model*.safetensors",
    "*.index.json",
};

static bool is_usual(struct str name)
{
    for (size_t i = 0; i < COUNT_OF(usual); i++)
        if (str_glob(name, usual[i]))
            return true;
    return false;
}

/* Opens the folder of the model; the caller closes it unless the input owns it. -1: there
 * is none. */
static int open_folder(const struct input *input, struct build *build)
{
    ptrdiff_t slash;
    char *path;

    if (input->folder)
        return input->folder->fd;
    if (!input->on_disk || !is_usual(input->name))
        return -1;
    slash = str_find_last_char(str_of(input->path), '/');
    path = slash < 0 ? arena_printf(&build->scratch, ".")
                     : arena_printf(&build->scratch, "%.*s", (int)(slash ? slash : 1),
                                    input->path);
    return path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
}

static bool is_adapter(const struct model *model)
{
    struct str name = model_string(model, model->files[0].name);
    ptrdiff_t slash = str_find_last_char(name, '/');

    return str_starts(str_from(name, (size_t)(slash + 1)), STR("adapter_"));
}

void beside_read(const struct input *input, struct build *build)
{
    const struct model *model = build->model;
    struct beside self = {.input = input, .build = build};

    /* A GGUF file has all of this in its own metadata. */
    if (model->n_tensors == 0 || model->n_files == 0 || build_spent(build) ||
        str_starts(str_of(model->format), STR("GGUF")))
        return;
    self.dir_fd = open_folder(input, build);
    if (self.dir_fd < 0)
        return;
    self.whole = input->folder || !shards_is_part(input->name) ||
                 str_ends(input->name, STR(".index.json"));
    arena_init(&self.arena, CONFIG_LIMIT);
    if (!is_adapter(model))
        read_config(&self);
    else
        read_adapter(&self);
    beside_tokenizer(&self);
    arena_release(&self.arena);
    if (!input->folder)
        close(self.dir_fd);
}
