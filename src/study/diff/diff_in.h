/* diff_in.h - what the files of diff.h share while two models are compared.
 *
 * The steps, as diff_make() takes them: names are aligned (diff_align.c), values of
 * what has the same name are compared (diff_values.c), what is left over is matched in
 * other ways (diff_match.c, diff_moved.c, diff_join.c), and then the tree with its sums
 * and what they say are made (diff_tree.c, diff_facts.c, diff_parts.c, diff_rules.c).
 */
#ifndef STUDY_DIFF_DIFF_IN_H
#define STUDY_DIFF_DIFF_IN_H

#include "base/intern.h"
#include "base/map.h"
#include "study/diff/diff.h"

enum { LEFT, RIGHT };

/* A name that both sides share: equal names below the bases have one spot, and so have
 * equal full names outside of them. */
struct diff_spot {
    uint32_t parent, name; /* a spot; an id in diffing.names */
    uint32_t nth;          /* of those that spell alike: the first is 0 */
    uint32_t place[2];     /* on each side, or NO_PLACE */
    uint32_t seen[2];      /* how many spell so on each side; kept by the first */
};
#define SPOT_INSIDE  0u /* the spot of both bases */
#define SPOT_OUTSIDE 1u /* of the roots above them */

struct side {
    const struct model *model;
    bool saved_only;   /* the other side is a state_dict: what is saved in none, plain
                          attributes and some buffers, is not compared */
    uint32_t base;     /* below it are the names that are compared; 0: no prefix */
    uint32_t *spot;    /* by place */
    uint32_t *tensors; /* by place: places of tensors at and below it */
    uint32_t *match; /* by place of a tensor: the one on the other side, or NO_PLACE */
    uint32_t *join;  /* likewise: index in joins, or DIFF_NONE */
};

/* What came of comparing two tensors. */
struct known {
    uint32_t tensor[2];
    bool transposed;
    const char *why; /* why they could not be compared; NULL: they were */
    struct compared by;
};

struct diffing {
    struct diff *diff;
    const struct diff_wanted *wanted;
    struct arena *arena; /* what the diff keeps */
    struct arena scratch;
    struct work *work;
    struct side side[2];
    uint8_t *flags; /* by left place: DIFF_BY_CONTENT of its match */
    struct intern names;
    struct diff_spot *spots;
    uint32_t n_spots, spots_room;
    struct map by_spot;
    struct known *known;
    uint32_t n_known, known_room;
    struct map by_tensors;
    uint32_t joins_room, others_room;
    bool stopped; /* somebody asked to stop: nothing is read any more */
};

/* Is there a tensor at this place? Which? */
bool side_tensor(const struct side *side, uint32_t place);
const struct tensor *side_at(const struct side *side, uint32_t place);
bool same_shape(const struct side *left, const struct tensor *a,
                const struct side *right, const struct tensor *b);
/* A number of the shape; equal shapes have equal ones, also across models. */
uint64_t shape_hash(const struct side *side, const struct tensor *tensor);
void match_places(struct diffing *d, uint32_t left, uint32_t right);
void unmatch_left(struct diffing *d, uint32_t left);
/* A buffer, a parameter or something else: of a part, what the whole one is. */
uint8_t role_at(const struct side *side, uint32_t place);

/* Contents by which tensors are found again: those that tell (not all zeros). */
struct sampled {
    uint64_t sample;
    uint32_t place;
};
struct samples {
    struct sampled *at;
    uint32_t n;
};
/* What must be equal before contents are looked at: shape and dtype. */
uint64_t sample_key(const struct side *side, uint32_t place);
/* The sample of one place; false if it has none, tells nothing, or all was stopped. */
bool sample_at(struct diffing *d, int s, uint32_t place, uint64_t *ret_sample);
/* The tensors of one side that are `wanted`. */
int samples_list(struct diffing *d, int s,
                 bool (*wanted)(const struct diffing *d, int s, uint32_t place),
                 struct samples *ret_samples);
/* The keys of all places listed; then sample those whose key the other side has too,
 * drop the others and sort by sample, then place. -1: spent. */
int samples_keys(struct diffing *d, int s, const struct samples *samples,
                 struct map *keys);
void sample_many(struct diffing *d, int s, struct samples *samples,
                 const struct map *other_keys);
/* The full name of a place, without that of `base` if it is below it; in `path`. */
struct str name_below(struct diffing *d, int s, uint32_t place, uint32_t base,
                      struct buf *path);
/* By left place: the right place that it has become, or NO_PLACE. NULL: spent. */
uint32_t *find_images(struct diffing *d);

/* The spot below `parent` with this name, or DIFF_NONE: then *ret_key (may be NULL) is
 * where it belongs in by_spot. */
uint32_t spot_find(const struct diffing *d, uint32_t parent, uint32_t name,
                   uint32_t nth, uint64_t *ret_key);

/* The code of both, read once; NULL when an arena is spent. */
struct codes;
struct codes *codes_make(struct diffing *d);
/* Does the code of the modules at two places differ? Then the first lines that do are
 * in ret_lines, in the diff's arena. */
bool codes_differ(struct codes *codes, uint32_t left, uint32_t right,
                  struct str ret_lines[2]);

/* Each returns 0, or -1 when an arena is spent. */
int align_names(struct diffing *d);
int compare_matches(struct diffing *d); /* those that are not known yet */
int match_rest(struct diffing *d);
int match_moved(struct diffing *d);   /* of match_rest(): blocks that moved */
int match_aliases(struct diffing *d); /* likewise: names through shared modules */
int match_joined(struct diffing *d);  /* likewise: what was fused or split */
int make_tree(struct diffing *d);
int make_others(struct diffing *d);
int make_rules(struct diffing *d);
int make_parts(struct diffing *d);

/* The comparison of the tensors at two places, made now if it was not yet; NULL when
 * it was stopped or the arena is spent (d->scratch.spent tells). */
const struct known *know(struct diffing *d, uint32_t left, uint32_t right);
/* The same, only if it was made before. */
const struct known *known_of(const struct diffing *d, uint32_t left, uint32_t right);
/* State, flags and values of a pair whose places are set. */
void judge_pair(const struct diffing *d, struct diff_pair *pair);
/* Tell `work` of bytes still to be read: those of the tensors at two places. */
void expect_pair(struct diffing *d, uint32_t left, uint32_t right);

void sums_add_pair(struct diff_sums *sums, const struct diff_pair *pair,
                   uint32_t index);
void sums_add(struct diff_sums *sums, const struct diff_sums *more);
/* Does it count as "differs": neither same nor close, nor unknown? */
bool pair_differs(const struct diff_pair *pair);

#endif
