#include "session/series_tree_in.h"

#include <sys/stat.h>

#include "base/base.h"
#include "history/reader.h"
#include "model/build.h"

#define SERIES_LIMIT (256 * MIB)

/* Numbered siblings are sorted; the rest stays in the order of the file. */
static int add_series(struct build *build, const struct history_series *series)
{
    struct str last;
    uint32_t parent;

    if (series->name.len == 0)
        return 0; /* the root */
    parent = build_dotted(build, 0, series->name, &last);
    return parent == NO_PLACE ||
                   build_child(build, parent, PLACE_MODULE, last) == NO_PLACE
               ? -1
               : 0;
}

static const struct model *build_tree(const char *path,
                                      const struct history_series *series, uint32_t n,
                                      struct err *err)
{
    const struct model *model = NULL;
    struct build build;
    struct stat info = {.st_size = 0};

    if (build_init(&build, path, SERIES_LIMIT, NULL, err) < 0)
        goto out;
    build.model->format = "history";
    build_set_kind(&build, 0, PLACE_MODULE);
    for (uint32_t i = 0; i < n; i++)
        if (add_series(&build, &series[i]) < 0)
            break; /* spent: a partial model */
    stat(path, &info);
    build_file(&build, str_of(path), (uint64_t)info.st_size);
    build_finding(&build, FINDING_UNSUPPORTED, SEVERITY_NOTE, FINDING_NOWHERE,
                  "this file holds no model; the tree has the names of its series");
    model = build_finish(&build, err);

out:
    build_release(&build);
    return model;
}

const struct model *series_tree(const char *path, struct err *err)
{
    struct history *history = history_open(path, NULL, err);
    const struct model *model = NULL;
    struct history_series *series;
    struct arena arena;
    uint32_t n;

    if (!history)
        return NULL;
    arena_init(&arena, SERIES_LIMIT);
    if (!history_has_model(history) &&
        history_read_series(history, &arena, &series, &n, err) == 0)
        model = build_tree(path, series, n, err);
    arena_release(&arena);
    history_close(history);
    return model;
}
