/* diff_in.h - shared by the files of diff.h while two models are compared.
 *
 * The steps of diff_make(): align names (diff_align.c), compare the values of equal
 * names (diff_values.c), match the rest in other ways (diff_match.c, diff_moved.c,
 * diff_join.c), then build the tree with its sums and conclusions (diff_tree.c,
 * diff_facts.c, diff_parts.c, diff_rules.c). */
#ifndef STUDY_DIFF_DIFF_IN_H
#define STUDY_DIFF_DIFF_IN_H

#include "base/intern.h"
#include "base/map.h"
#include "study/diff/diff.h"

enum { LEFT, RIGHT };

/* A name shared by both sides: equal names below the bases have one spot, and so have
 * equal full names outside of them. */
struct diff_spot {
    uint32_t parent, name; /* a spot; an id in diffing.names */
    uint32_t nth;          /* index among siblings of the same name */
    uint32_t place[2];     /* on each side, or NO_PLACE */
    uint32_t seen[2];      /* siblings of this name on each side; in the first spot */
};
#define SPOT_INSIDE  0u /* both bases */
#define SPOT_OUTSIDE 1u /* the roots above them */

struct side {
    const struct model *model;
    uint32_t
        constants;     /* CONSTANTS of TorchScript, which the other side lacks: literals
                           of its code, no weights; or 0 */
    bool saved_only;   /* the other side is a state_dict: ignore what it cannot hold
                          (plain attributes, non-persistent buffers) */
    uint32_t base;     /* names are compared below this place; 0: no prefix */
    uint32_t *spot;    /* by place */
    uint32_t *tensors; /* by place: tensors at and below it */
    uint32_t *match;   /* by place of a tensor: its match, or NO_PLACE */
    uint32_t *join;    /* by place of a tensor: index in joins, or DIFF_NONE */
    bool *beside;      /* by place of a tensor: DIFF_BESIDE if it has no match */
};

/* What has to be done to a tensor before it equals its match. */
struct diff_conversion {
    struct compare_edit edit;
    bool usual; /* try it first; else only if the values are far apart as they are */
    const char *obstacle; /* why it cannot be undone, or NULL */
};

/* The comparison of two tensors. */
struct diff_known {
    uint32_t tensor[2];
    bool transposed;
    struct compare_edit edit; /* what was done */
    const char *why;          /* why they could not be compared; NULL: they were */
    struct compared by;
};

struct diffing {
    struct diff *diff;
    const struct diff_wanted *wanted;
    struct arena *arena; /* holds the diff */
    struct arena scratch;
    struct work *work;
    struct side side[2];
    uint8_t
        *flags;  /* by left place: DIFF_BY_CONTENT and DIFF_TRANSPOSED of its match */
    bool turned; /* look for the transposes of left tensors */
    struct intern names;
    struct diff_spot *spots;
    uint32_t n_spots, spots_room;
    struct map by_spot;
    struct diff_known *known;
    uint32_t n_known, known_room;
    struct map by_tensors;
    uint32_t joins_room, others_room;
    struct diff_conversion *conversions; /* by place of side `converted`; or NULL */
    int converted;
    bool stopped; /* cancelled: read nothing more */
};

/* ---- one side ---- */

/* Is this place a tensor to compare? */
bool side_tensor(const struct side *side, uint32_t place);
const struct tensor *side_at(const struct side *side, uint32_t place);
bool side_same_shape(const struct side *left, const struct tensor *a,
                     const struct side *right, const struct tensor *b);
/* Equal for equal shapes, also across models. */
uint64_t side_shape_hash(const struct side *side, const struct tensor *tensor);
/* The role of the tensor; for a part, the role of the whole tensor. */
uint8_t side_role(const struct side *side, uint32_t place);

/* ---- names and matches ---- */

void diffing_match(struct diffing *d, uint32_t left, uint32_t right);
void diffing_unmatch(struct diffing *d, uint32_t left);
/* The full name of a place, relative to `base` if it is below it; stored in `path`. */
struct str diffing_name(struct diffing *d, int s, uint32_t place, uint32_t base,
                        struct buf *path);
/* The spot below `parent` with this name, or DIFF_NONE: then *ret_key (may be NULL) is
 * its key in by_spot. */
uint32_t diffing_spot(const struct diffing *d, uint32_t parent, uint32_t name,
                      uint32_t nth, uint64_t *ret_key);
/* The right place below `above` (may be NO_PLACE) that has the name of a left place, or
 * NO_PLACE. */
uint32_t diffing_below(const struct diffing *d, uint32_t place, uint32_t above);
/* By left place: the right place it became, or NO_PLACE. NULL: arena spent. */
uint32_t *diffing_images(struct diffing *d);

/* A hash of a tensor's shape, dtype and some elements. False if it cannot be read, does
 * not identify the tensor (all zeros), or the work was stopped. */
bool diffing_sample(struct diffing *d, int s, uint32_t place, uint64_t *ret_sample);

struct diff_sampled {
    uint64_t sample;
    uint32_t place;
};
struct diff_samples {
    struct diff_sampled *at; /* by sample, then place */
    uint32_t n;
};
typedef bool diffing_wanted(const struct diffing *d, int s, uint32_t place);
/* Sample the wanted tensors of both sides whose shape and dtype the other side has too.
 */
int diffing_samples(struct diffing *d, diffing_wanted *wanted,
                    struct diff_samples ret_samples[2]);

/* ---- values ---- */

/* The comparison of the tensors at two places, made now if necessary. NULL if stopped or
 * if the arena is spent (see d->scratch.spent). */
const struct diff_known *diffing_know(struct diffing *d, uint32_t left, uint32_t right);
/* The same, only if it was made before. */
const struct diff_known *diffing_known(const struct diffing *d, uint32_t left,
                                       uint32_t right);
/* Set state, flags and values of a pair whose places are set. */
void diffing_judge(const struct diffing *d, struct diff_pair *pair);
/* Add the bytes of the tensors at two places to the total of `work`. */
void diffing_expect(struct diffing *d, uint32_t left, uint32_t right);

/* How to compare the tensors at two places. */
struct diff_conversion diffing_conversion(const struct diffing *d, uint32_t left,
                                          uint32_t right);
/* Add a join; its `many` is in the diff's arena. */
int diffing_add_join(struct diffing *d, const struct diff_join *join);

/* ---- code ---- */

struct codes;
/* Read the code of both sides; NULL: arena spent. */
struct codes *codes_make(struct diffing *d);
/* Does the code of the modules at two places differ? ret_lines: the first lines that do,
 * in the diff's arena. */
bool codes_differ(struct codes *codes, uint32_t left, uint32_t right,
                  struct str ret_lines[2]);

/* ---- steps: 0, or -1 if an arena is spent ---- */

int diffing_align(struct diffing *d);
int diffing_match_gguf(struct diffing *d);
int diffing_compare_stacks(struct diffing *d);
int diffing_compare(struct diffing *d); /* matches that were not compared yet */
int diffing_match_rest(struct diffing *d);
int diffing_match_moved(struct diffing *d);  /* moved blocks */
int diffing_match_joined(struct diffing *d); /* fused and split tensors */
int diffing_make_tree(struct diffing *d);
int diffing_make_others(struct diffing *d);
int diffing_make_rules(struct diffing *d);
int diffing_make_parts(struct diffing *d);

#endif
