/* sketch_in.h - diagrams made by hand, for tests of pictures: boxes in pre-order, then
 * values from box to box, then sketch_end(), which builds the nets of every group. */
#ifndef EXPORT_PICTURE_SKETCH_IN_H
#define EXPORT_PICTURE_SKETCH_IN_H

#include "export/picture/picture_in.h"

#define SKETCH_BOXES 256
#define SKETCH_ENDS  1024

struct sketch {
    struct diagram diagram;
    struct arena arena;
    struct plan_box plan_boxes[SKETCH_BOXES];
    struct diagram_box boxes[SKETCH_BOXES];
    struct plan_net plan_nets[SKETCH_ENDS];
    struct diagram_net nets[SKETCH_ENDS];
    struct plan_end plan_ends[SKETCH_ENDS];
    struct diagram_end ends[SKETCH_ENDS];
    struct str words[SKETCH_BOXES];
    struct str path[4];
    uint32_t n_boxes, n_nets, n_ends, n_words;
};

struct sketch *sketch_new(void);
void sketch_free(struct sketch *sketch);
/* A box inside `parent` (0: the root), after all earlier ones. `words` are separated by
 * commas. A box with boxes inside is an open group until sketch_close(). */
uint32_t sketch_box(struct sketch *sketch, uint32_t parent, enum diagram_kind kind,
                    const char *name, enum family family, const char *words);
void sketch_close(struct sketch *sketch, uint32_t group);
/* A value from a box to `n` others. */
void sketch_value(struct sketch *sketch, uint32_t from, const uint32_t *to, uint32_t n,
                  const struct diagram_net *what);
struct diagram *sketch_end(struct sketch *sketch);

/* A block of ResNet with an open downsample; all kinds of boxes and marks. */
struct sketch *sketch_block(void);
struct sketch *sketch_everything(void);

#endif
