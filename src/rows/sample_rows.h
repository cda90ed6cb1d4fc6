/* sample_rows.h - for tests: small models made by hand, and their rows as text. */
#ifndef ROWS_SAMPLE_ROWS_H
#define ROWS_SAMPLE_ROWS_H

#include "model/build.h"
#include "rows/rows.h"
#include "rows/show.h"

struct sample {
    struct build build;
    const struct model *model; /* set by sample_finish(); owned by the session */
    struct session *session;
    struct show show;
    struct arena arena;
    struct buf text;
    bool ascii, isolate; /* how the tree is printed */
};

void sample_begin(struct sample *sample, const char *path);
void sample_finish(struct sample *sample);
/* The model that build_finish() froze, writable, for tests that modify it. */
static inline struct model *sample_change(const struct sample *sample)
{
    return (struct model *)(uintptr_t)sample->model;
}
void sample_release(struct sample *sample);

/* A module with a class and arguments: "in_channels=3 kernel_size=7,7 p=0.5 mode='x'".
 */
uint32_t sample_module(struct sample *sample, uint32_t parent, const char *name,
                       const char *class_name, const char *args);
/* A float32 parameter with its own storage. The shape 6×3×5×5 is "6 3 5 5". Returns the
 * tensor. */
uint32_t sample_tensor(struct sample *sample, uint32_t parent, const char *name,
                       const char *shape);
/* A tensor by its dotted name, as in a state_dict. */
void sample_dotted(struct sample *sample, const char *name, const char *shape);
/* "epoch" = 12. */
void sample_plain(struct sample *sample, uint32_t parent, const char *name,
                  uint32_t value);

/* The printed tree (columns "" for the default ones, which have no header). Valid until
 * the next call. */
const char *sample_tree(struct sample *sample, const struct view *view, unsigned width);

#endif
