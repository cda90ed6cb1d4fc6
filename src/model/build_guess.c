#include <string.h>
#include <strings.h>

#include "base/base.h"
#include "model/build_in.h"

/* The own tensors of a module that identify its layer, by name. */
struct guess_own {
    const struct tensor *weight, *bias, *running_mean;
    const struct tensor *weight_ih, *weight_hh, *in_proj;
    const struct tensor *lora_a, *lora_b;
    uint32_t layers; /* number of weight_ih_l* */
};

#define MOST_SIZES 5 /* in, out and three of the kernel */

enum model_guess {
    GUESS_CONV,
    GUESS_CONV_TRANSPOSE,
    GUESS_LINEAR,
    GUESS_EMBEDDING,
    GUESS_BATCHNORM,
    GUESS_LAYERNORM,
    GUESS_RMSNORM,
    GUESS_GROUPNORM,
    GUESS_NORM,
    GUESS_LSTM,
    GUESS_GRU,
    GUESS_RNN,
    GUESS_ATTENTION,
    GUESS_LORA,
    GUESS_COUNT
};

static const char *const guess_names[GUESS_COUNT] = {
    [GUESS_CONV] = "conv",
    [GUESS_CONV_TRANSPOSE] = "convtranspose",
    [GUESS_LINEAR] = "linear",
    [GUESS_EMBEDDING] = "embedding",
    [GUESS_BATCHNORM] = "batchnorm",
    [GUESS_LAYERNORM] = "layernorm",
    [GUESS_RMSNORM] = "rmsnorm",
    [GUESS_GROUPNORM] = "groupnorm",
    [GUESS_NORM] = "norm",
    [GUESS_LSTM] = "lstm",
    [GUESS_GRU] = "gru",
    [GUESS_RNN] = "rnn",
    [GUESS_ATTENTION] = "attention",
    [GUESS_LORA] = "lora",
};

struct guessing {
    struct model *model;
    uint32_t class_of[GUESS_COUNT]; /* class id, or NO_CLASS until needed */
    /* Cache: the last arguments of each kind and the sizes they were made from. Equal
     * layers often follow each other. */
    struct {
        int64_t sizes[MOST_SIZES];
        uint32_t args;
    } last[GUESS_COUNT];
};

#define NAME(text)                                                                     \
    {                                                                                  \
        text, sizeof text - 1                                                          \
    }
static const struct str buffer_names[] = {
    NAME("running_mean"),
    NAME("running_var"),
    NAME("num_batches_tracked"),
    NAME("position_ids"),
    NAME("token_type_ids"),
    NAME("inv_freq"),
    NAME("masked_bias"),
    NAME("attn_mask"),
    NAME("causal_mask"),
    NAME("relative_position_index"),
    NAME("relative_coords_table"),
    NAME("anchors"),
    NAME("anchor_grid"),
    NAME("zero_point"),
    NAME("min_val"),
    NAME("max_val"),
    NAME("fake_quant_enabled"),
    NAME("observer_enabled"),
    NAME("_float_tensor"),
};

bool build_is_buffer_name(struct str last_name)
{
    for (size_t i = 0; i < COUNT_OF(buffer_names); i++)
        if (str_eq(last_name, buffer_names[i]))
            return true;
    return false;
}

/* Does the name contain this word, ignoring case? */
static bool has_word(struct str name, const char *word)
{
    size_t n = strlen(word);

    for (size_t i = 0; i + n <= name.len; i++)
        if (strncasecmp(name.at + i, word, n) == 0)
            return true;
    return false;
}

static void look_at(struct guess_own *own, struct str name, const struct tensor *tensor)
{
    if (str_is(name, "weight") || str_is(name, "weight_v") ||
        str_is(name, "weight_orig") || tensor->flags & TENSOR_DERIVED)
        own->weight = tensor;
    else if (str_is(name, "bias"))
        own->bias = tensor;
    else if (str_is(name, "running_mean"))
        own->running_mean = tensor;
    else if (str_is(name, "weight_ih_l0"))
        own->weight_ih = tensor;
    else if (str_is(name, "weight_hh_l0"))
        own->weight_hh = tensor;
    else if (str_is(name, "in_proj_weight"))
        own->in_proj = tensor;
    if (str_starts(name, STR("lora_A.")) || str_starts(name, STR("lora_down.")))
        own->lora_a = tensor;
    else if (str_starts(name, STR("lora_B.")) || str_starts(name, STR("lora_up.")))
        own->lora_b = tensor;
    if (str_starts(name, STR("weight_ih_l")) && !str_ends(name, STR("_reverse")))
        own->layers++;
}

static int64_t size_at(const struct guessing *g, const struct tensor *tensor, int i)
{
    return tensor && i < tensor->rank ? tensor_shape(g->model, tensor)[i] : -1;
}

/* The class of a guess, added on first use. */
static uint32_t guess_class(struct guessing *g, enum model_guess guess)
{
    struct model *model = g->model;
    uint32_t name;

    if (g->class_of[guess] != NO_CLASS)
        return g->class_of[guess];
    name = intern_add(&model->strings, str_of(guess_names[guess]));
    if (name == INTERN_NONE ||
        arena_room(&model->arena, &model->classes, model->n_classes,
                   &model->classes_room, sizeof *model->classes) < 0)
        return NO_CLASS;
    model->classes[model->n_classes] = (struct class_info){.name = name};
    g->class_of[guess] = model->n_classes++;
    return g->class_of[guess];
}

/* The argument names of each kind; the last one of a convolution is a tuple. */
static const char *const arg_names[GUESS_COUNT][3] = {
    [GUESS_CONV] = {"in", "out", "kernel_size"},
    [GUESS_CONV_TRANSPOSE] = {"in", "out", "kernel_size"},
    [GUESS_LINEAR] = {"in", "out"},
    [GUESS_EMBEDDING] = {"num", "dim"},
    [GUESS_BATCHNORM] = {"features"},
    [GUESS_LAYERNORM] = {"features"},
    [GUESS_RMSNORM] = {"features"},
    [GUESS_GROUPNORM] = {"features"},
    [GUESS_NORM] = {"features"},
    [GUESS_LSTM] = {"in", "hidden", "layers"},
    [GUESS_GRU] = {"in", "hidden", "layers"},
    [GUESS_RNN] = {"in", "hidden", "layers"},
    [GUESS_ATTENTION] = {"dim"},
    [GUESS_LORA] = {"in", "out", "rank"},
};

/* The value of argument `i`; a kernel takes all sizes from the third on. */
static uint32_t arg_value(struct values *values, enum model_guess guess, int i,
                          const int64_t *sizes, int n)
{
    uint32_t kernel[MOST_SIZES];

    if (guess > GUESS_CONV_TRANSPOSE || i < 2)
        return value_int(values, sizes[i]);
    for (int k = 2; k < n; k++)
        kernel[k - 2] = value_int(values, sizes[k]);
    return value_make(values, VALUE_TUPLE, STR(""), kernel, (uint32_t)(n - 2));
}

static uint32_t make_args(struct values *values, enum model_guess guess,
                          const int64_t *sizes, int n)
{
    uint32_t items[6], count = 0;

    for (int i = 0; i < 3 && arg_names[guess][i]; i++) {
        items[count++] = value_str(values, str_of(arg_names[guess][i]));
        items[count++] = arg_value(values, guess, i, sizes, n);
    }
    return value_make(values, VALUE_DICT, STR(""), items, count);
}

/* Sets the guessed class and its arguments. */
static int set_guess(struct guessing *g, uint32_t place, enum model_guess guess,
                     const int64_t *sizes, int n)
{
    struct object *object = build_object_at(g->model, place);
    int64_t all[MOST_SIZES] = {0};

    if (!object)
        return -1;
    memcpy(all, sizes, (size_t)n * sizeof *sizes);
    if (g->class_of[guess] == NO_CLASS ||
        memcmp(all, g->last[guess].sizes, sizeof all) != 0) {
        g->last[guess].args = make_args(&g->model->values, guess, sizes, n);
        memcpy(g->last[guess].sizes, all, sizeof all);
    }
    object->class_id = guess_class(g, guess);
    object->guessed = true;
    object->args = g->last[guess].args;
    return g->model->arena.spent ? -1 : 0;
}

static int set_sizes(struct guessing *g, uint32_t place, enum model_guess guess,
                     int64_t first, int64_t second)
{
    const int64_t sizes[2] = {first, second};

    return set_guess(g, place, guess, sizes, 2);
}

/* weight: (out, in, kernel...); transposed (in, out, kernel...), recognised by the size
 * of the bias. */
static int guess_conv(struct guessing *g, uint32_t place, const struct guess_own *own)
{
    const int64_t *shape = tensor_shape(g->model, own->weight);
    int64_t bias = size_at(g, own->bias, 0);
    bool transposed = own->bias && bias != shape[0] && bias == shape[1];
    int64_t sizes[MOST_SIZES];

    if (own->bias && bias != shape[0] && !transposed)
        return 0;
    memcpy(sizes, shape, own->weight->rank * sizeof *sizes);
    sizes[0] = shape[transposed ? 0 : 1];
    sizes[1] = shape[transposed ? 1 : 0];
    return set_guess(g, place, transposed ? GUESS_CONV_TRANSPOSE : GUESS_CONV, sizes,
                     own->weight->rank);
}

/* weight: (out, in); (in, out) if the size of the bias says so. Embeddings have no bias
 * and are recognised by name. */
static int guess_matrix(struct guessing *g, uint32_t place, const struct guess_own *own)
{
    const int64_t *shape = tensor_shape(g->model, own->weight);
    struct str name = place_name(g->model, place);
    int64_t bias = size_at(g, own->bias, 0);

    if (!own->bias && (has_word(name, "emb") || str_is(name, "wte") ||
                       str_is(name, "wpe") || has_word(name, "codebook")))
        return set_sizes(g, place, GUESS_EMBEDDING, shape[0], shape[1]);
    if (own->bias && bias != shape[0]) {
        if (bias != shape[1])
            return 0;
        return set_sizes(g, place, GUESS_LINEAR, shape[0], shape[1]);
    }
    return set_sizes(g, place, GUESS_LINEAR, shape[1], shape[0]);
}

/* weight: (features). */
static int guess_norm(struct guessing *g, uint32_t place, const struct guess_own *own)
{
    struct str name = place_name(g->model, place);
    enum model_guess guess = GUESS_NORM;

    if (own->running_mean)
        guess = GUESS_BATCHNORM;
    else if (has_word(name, "rms"))
        guess = GUESS_RMSNORM;
    else if (has_word(name, "ln") || has_word(name, "layer_norm") ||
             has_word(name, "layernorm"))
        guess = GUESS_LAYERNORM;
    else if (has_word(name, "gn") || has_word(name, "group_norm"))
        guess = GUESS_GROUPNORM;
    return set_sizes(g, place, guess, size_at(g, own->weight, 0), 0);
}

/* weight_ih: (gates * hidden, in); weight_hh: (gates * hidden, hidden). */
static int guess_recurrent(struct guessing *g, uint32_t place,
                           const struct guess_own *own)
{
    int64_t hidden = size_at(g, own->weight_hh, 1);
    int64_t rows = size_at(g, own->weight_hh, 0);
    int64_t sizes[3] = {size_at(g, own->weight_ih, 1), hidden, own->layers};
    enum model_guess guess;

    if (hidden < 1 || rows % hidden != 0 || sizes[0] < 0)
        return 0;
    switch (rows / hidden) {
    case 4:
        guess = GUESS_LSTM;
        break;
    case 3:
        guess = GUESS_GRU;
        break;
    case 1:
        guess = GUESS_RNN;
        break;
    default:
        return 0;
    }
    return set_guess(g, place, guess, sizes, 3);
}

/* lora_A: (rank, in); lora_B: (out, rank). Those of convolutions have trailing kernel
 * sizes. */
static int guess_lora(struct guessing *g, uint32_t place, const struct guess_own *own)
{
    const int64_t sizes[3] = {size_at(g, own->lora_a, 1), size_at(g, own->lora_b, 0),
                              size_at(g, own->lora_a, 0)};

    if (sizes[0] < 0 || sizes[1] < 0 || size_at(g, own->lora_b, 1) != sizes[2])
        return 0;
    return set_guess(g, place, GUESS_LORA, sizes, 3);
}

static int guess_module(struct guessing *g, uint32_t place)
{
    const struct model *model = g->model;
    struct guess_own own = {0};
    int64_t embed;

    for (uint32_t c = place_first(model, place); c != NO_PLACE;
         c = place_next(model, c))
        if (model->kind[c] == PLACE_TENSOR)
            look_at(&own, place_name(model, c), place_tensor(model, c));
    if (own.in_proj) {
        embed = size_at(g, own.in_proj, 1);
        return embed < 0 ? 0 : set_sizes(g, place, GUESS_ATTENTION, embed, 0);
    }
    if (own.weight_ih && own.weight_hh)
        return guess_recurrent(g, place, &own);
    if (own.lora_a && own.lora_b && !own.weight)
        return guess_lora(g, place, &own);
    if (!own.weight)
        return 0;
    switch (own.weight->rank) {
    case 1:
        return guess_norm(g, place, &own);
    case 2:
        return guess_matrix(g, place, &own);
    case 3:
    case 4:
    case 5:
        return guess_conv(g, place, &own);
    default:
        return 0;
    }
}

/* The output scale of a quantised layer: its zero point follows. */
static bool is_scale(const struct model *model, uint32_t place)
{
    uint32_t next = place_next(model, place);

    return str_is(place_name(model, place), "scale") && next != NO_PLACE &&
           str_is(place_name(model, next), "zero_point");
}

/* Integers cannot be trained: unless they are a packed weight, they are a buffer. */
static void guess_role(struct model *model, uint32_t place)
{
    struct tensor *tensor = &model->tensors[model->object[place]];
    const struct dtype_info *info = dtype_info(tensor->dtype);

    if (!(tensor->flags & TENSOR_ROLE_GUESSED) || tensor->role != ROLE_PARAMETER)
        return;
    if ((info->kind == DTYPE_KIND_INT || info->kind == DTYPE_KIND_UINT ||
         info->kind == DTYPE_KIND_BOOL) &&
        !info->quantised && !has_word(place_name(model, place), "weight"))
        tensor->role = ROLE_BUFFER;
    if (is_scale(model, place))
        tensor->role = ROLE_BUFFER;
}

/* The state_dict of a wrapper: all names begin with "module." or "_orig_mod.". */
static bool is_wrapper(const struct model *model, uint32_t place)
{
    uint32_t parent = model->parent[place];
    struct str name = place_name(model, place);

    if (parent == NO_PLACE || (!str_is(name, "module") && !str_is(name, "_orig_mod")))
        return false;
    return (model->flags[parent] & (PLACE_STATE_DICT | PLACE_PREFIX)) &&
           place == parent + 1 && model->end[place] == model->end[parent];
}

void build_guess_layers(struct model *model)
{
    struct guessing g = {.model = model};
    const struct object *object;

    for (int i = 0; i < GUESS_COUNT; i++)
        g.class_of[i] = NO_CLASS;
    for (uint32_t p = 0; p < model->n_places; p++) {
        if (model->kind[p] == PLACE_TENSOR && model->object[p] < model->n_tensors)
            guess_role(model, p);
        if (model->kind[p] != PLACE_MODULE || (model->flags[p] & PLACE_AGAIN))
            continue;
        if (is_wrapper(model, p))
            model->flags[p] |= PLACE_PREFIX;
        object = place_object(model, p);
        if ((!object || object->class_id == NO_CLASS) && guess_module(&g, p) < 0)
            return;
    }
}
