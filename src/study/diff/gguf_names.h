/* gguf_names.h - the names that tensors of other files have in a GGUF, and what
 * llama.cpp's converter does to some tensors. */
#ifndef STUDY_DIFF_GGUF_NAMES_H
#define STUDY_DIFF_GGUF_NAMES_H

#include "measure/compare.h"
#include "study/diff/rename_in.h"

#define GGUF_NO_EXPERT UINT64_MAX

/* What the metadata of a GGUF says. */
struct gguf_model {
    struct str architecture;
    uint32_t heads, kv_heads; /* 0: unknown */
};
/* False: it has no metadata of a GGUF. */
bool gguf_model_read(struct gguf_model *gguf, const struct model *model);

/* A name of another file while it is looked for in the table. */
struct gguf_name {
    struct rename_parts parts;
    uint32_t layer; /* the component with the number of the layer; `end`: none */
    uint32_t end;   /* the last component: "weight", "bias" */
    int row;        /* of the table */
    uint64_t expert;
};
/* False: the tensor does not become one of a GGUF. The text stays borrowed. */
bool gguf_name_split(struct gguf_name *name, struct str text);
/* The next name that it may have in a GGUF of this architecture; false: no further one. */
bool gguf_name_next(struct gguf_name *name, struct str architecture, struct buf *to);
/* Is it a tensor that llama.cpp's converter adds (in a GGUF) or leaves out? */
bool gguf_name_beside(const struct gguf_name *name, bool in_gguf);

/* What the converter does to a tensor of the current name; *ret_usual: it does so in
 * this architecture, else perhaps. */
struct compare_edit gguf_edit(const struct gguf_name *name,
                              const struct gguf_model *model, bool *ret_usual);
/* Why the values of the current name cannot be compared; NULL: they can. */
const char *gguf_obstacle(const struct gguf_name *name, const struct gguf_model *model);

#endif
