/* bench_browse - the time of a key in a tree of many modules, and the memory of the tree
 * besides its model:
 *     bench_browse 1000000
 * Prints milliseconds of thread time, which a busy machine affects little. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "explorer/browse.h"
#include "model/build.h"

#define PER_BLOCK 5 /* modules in a block, including itself */

static uint32_t add_module(struct build *build, uint32_t parent, const char *name,
                           const char *class_name, int64_t size)
{
    struct values *values = build_values(build);
    uint32_t node = build_node(build, parent, PLACE_MODULE, str_of(name));
    uint32_t items[2] = {value_str(values, STR("size")), value_int(values, size)};
    uint32_t args = value_make(values, VALUE_DICT, STR(""), items, 2);
    struct object *object = build_object(build, node);

    object->class_id = build_class(build, str_of(class_name));
    object->args = args;
    return node;
}

static void add_tensor(struct build *build, uint32_t parent, const char *name,
                       int64_t size)
{
    struct tensor tensor = {.dtype = DTYPE_FLOAT32, .class_id = NO_CLASS};
    struct storage storage = {.dtype = DTYPE_FLOAT32, .bytes = (uint64_t)size * 4};

    tensor.storage = build_storage(build, &storage);
    build_tensor(build, build_node(build, parent, PLACE_TENSOR, str_of(name)), &tensor,
                 &size, NULL, 1);
}

/* Stages of up to a hundred blocks of four layers; neighbours are never equal. */
static void make_blocks(struct build *build, uint32_t modules)
{
    uint32_t stage = 0, n = modules / PER_BLOCK;
    char name[24];

    for (uint32_t i = 0; i < n; i++) {
        int64_t size = 16 + i % 61;
        uint32_t block, node;

        if (i % 100 == 0) {
            snprintf(name, sizeof(name), "layer%u", i / 100);
            stage = add_module(build, 0, name, "torch.nn.Sequential", 0);
        }
        snprintf(name, sizeof(name), "%u", i % 100);
        block = add_module(build, stage, name, "models.Bottleneck", size);
        node = add_module(build, block, "conv1", "torch.nn.Conv2d", size);
        add_tensor(build, node, "weight", size * size);
        node = add_module(build, block, "bn1", "torch.nn.BatchNorm2d", size);
        add_tensor(build, node, "weight", size);
        add_module(build, block, "relu", "torch.nn.ReLU", 0);
        node = add_module(build, block, "fc", "torch.nn.Linear", size);
        add_tensor(build, node, "weight", size * 3);
    }
}

/* Alternating Linear and ReLU below the root: one run of pairs. */
static void make_chain(struct build *build, uint32_t modules)
{
    char name[24];

    for (uint32_t i = 0; i < modules; i++) {
        uint32_t node;

        snprintf(name, sizeof(name), "%u", i);
        if (i % 2) {
            add_module(build, 0, name, "torch.nn.ReLU", 0);
            continue;
        }
        node = add_module(build, 0, name, "torch.nn.Linear", 16);
        add_tensor(build, node, "weight", 256);
    }
}

static struct session *make_session(void (*make)(struct build *build, uint32_t modules),
                                    uint32_t modules)
{
    struct build build;
    const struct model *model;

    if (build_init(&build, "bench", 0, NULL, NULL) < 0)
        return NULL;
    build_set_kind(&build, 0, PLACE_MODULE);
    make(&build, modules);
    model = build_finish(&build, NULL);
    build_release(&build);
    return model ? session_of(model, NULL) : NULL;
}

static uint64_t resident(void)
{
    unsigned long all = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    if (file && fscanf(file, "%lu %lu", &all, &pages) != 2)
        pages = 0;
    if (file)
        fclose(file);
    return (uint64_t)pages * 4096;
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

static double begun;

static void begin(void)
{
    begun = now();
}

static void end(const char *what, const struct browse *browse)
{
    printf("  %-28s %8.2f ms   %u rows\n", what, now() - begun, browse_rows(browse)->n);
}

#define TIME(what, call)                                                               \
    do {                                                                               \
        begin();                                                                       \
        (void)(call);                                                                  \
        end(what, browse);                                                             \
    } while (0)

static void folds(struct browse *browse)
{
    TIME("Z unfold", browse_fold(browse, FOLD_ALL));
    TIME("Z fold", browse_fold(browse, FOLD_ALL));
    TIME("Z unfold again", browse_fold(browse, FOLD_ALL));
    browse_go(browse, 3);
    TIME("o unfold", browse_fold(browse, FOLD_CLASS));
    TIME("o fold", browse_fold(browse, FOLD_CLASS));
    TIME("X", browse_runs(browse));
    TIME("X again", browse_runs(browse));
    TIME("space", browse_fold(browse, FOLD_ROW));
    TIME("j", browse_move(browse, 1));
}

static void orders(struct browse *browse)
{
    TIME("sort params", browse_sort(browse, SORT_PARAMS, false));
    TIME("sort params, reversed", browse_sort(browse, SORT_PARAMS, true));
    TIME("sort memory", browse_sort(browse, SORT_BYTES, false));
    TIME("sort name", browse_sort(browse, SORT_NAME, false));
    TIME("sort as in the model", browse_sort(browse, SORT_MODEL, false));
    TIME("F leaves", browse_flat(browse, FLAT_LEAVES));
    TIME("sort params", browse_sort(browse, SORT_PARAMS, false));
    TIME("sort name", browse_sort(browse, SORT_NAME, false));
    TIME("F tensors", browse_flat(browse, FLAT_TENSORS));
    TIME("F tree", browse_flat(browse, FLAT_NO));
    TIME("sort as in the model", browse_sort(browse, SORT_MODEL, false));
}

static void searches(struct browse *browse)
{
    static const char *const texts[] = {"c",
                                        "co",
                                        "conv1",
                                        "layer7.",
                                        "layer7.9",
                                        "C",
                                        "Conv2d",
                                        "Conv2d(",
                                        "weight",
                                        "!relu",
                                        "1×",
                                        "/conv[0-9]$/",
                                        "/layer[34].*conv1/",
                                        "trainable",
                                        "xyz"};
    char what[64];
    uint32_t which, of;
    struct str name;

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        snprintf(what, sizeof(what), "/%s", texts[i]);
        TIME(what, browse_search(browse, str_of(texts[i]), NULL));
    }
    browse_search(browse, STR("conv1"), NULL);
    TIME("n", browse_next_match(browse, 1));
    TIME("which match", browse_match_number(browse));
    TIME("which of its class", browse_same(browse, &which, &of, &name));
    browse_move(browse, 1);
    TIME("which of its class, next", browse_same(browse, &which, &of, &name));
    TIME("Esc", browse_clear(browse));
}

static int walk(const char *what, struct session *session)
{
    struct arena arena;
    struct show show;
    struct browse *browse = NULL;
    uint64_t before;
    int status = 1;

    arena_init(&arena, 0);
    if (session && show_init(&show, session, &arena, NULL) == 0) {
        before = resident();
        begin();
        browse = browse_new(&show, NULL);
    }
    if (browse) {
        browse_resize(browse, 40);
        printf("%s: %u places\n", what, show.model->n_places);
        end("begin", browse);
        folds(browse);
        if (browse_rows(browse)->n < 100)
            TIME("X", browse_runs(browse));
        printf("  memory: %.1f bytes a place\n",
               (double)(resident() - before) / show.model->n_places);
        orders(browse);
        searches(browse);
        status = 0;
    }
    browse_free(browse);
    arena_release(&arena);
    session_close(session);
    return status;
}

int main(int argc, char **argv)
{
    uint32_t n = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 100000;

    return walk("blocks", make_session(make_blocks, n)) +
           walk("a chain", make_session(make_chain, n));
}
