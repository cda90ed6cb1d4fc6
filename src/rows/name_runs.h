/* name_runs.h - names that differ by one number only, told once.
 *
 *     h.0.attn.q, h.1.attn.q, ... h.11.attn.q     is h.{i}.attn.q for i in 0 .. 11
 *
 * What is folded are tuples: names that belong together (the parts of a tensor and the
 * tensor). In one run the same number counts up in all of them, perhaps from another
 * beginning: (h.{i}.q, blocks.{i + 1}.q). */
#ifndef ROWS_NAME_RUNS_H
#define ROWS_NAME_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

struct name_tuple {
    const struct str *names; /* borrowed */
    uint32_t n;
    uint64_t tag; /* what else must be equal within a run: sizes, a dimension */
};

struct name_run {
    uint32_t tuple;       /* the first of them */
    uint32_t n;           /* how many tuples */
    uint64_t start, step; /* the number: start, start + step, ...; if n > 1 */
    uint32_t last;        /* the last of them */
    bool varies[16];      /* by number within a tuple: does it count up? */
};

/* The runs, in the order of their first tuples; their number. Time is linear in the
 * names. -1: the arena is spent. */
int name_runs_find(const struct name_tuple *tuples, uint32_t n, struct arena *arena,
                   struct name_run **ret_runs, uint32_t *ret_n);

/* One piece of a name: a text, or the number that counts, plus `more`. */
struct name_piece {
    struct str text;
    bool counts;
    int64_t more;
};
/* The pieces of name `i` of a run, one after the other: *at is 0 first; false behind
 * the last. Pieces that are text come with the dots before them. */
bool name_run_piece(const struct name_run *run, const struct name_tuple *tuple,
                    uint32_t i, size_t *at, struct name_piece *ret_piece);

/* Names in few words: "conv1", "bn1", "layer1", "layer2" is "conv1, bn1 and layer1-2".
 * Names are escaped. After `most` of them: "and 3 more". */
struct names_style {
    const char *between; /* ", " */
    const char *last;    /* " and " */
    uint32_t most;
};
void names_write(struct buf *to, const struct str *names, uint32_t n,
                 const struct names_style *style);

/* How many names from the first on count up by one: "layer1", "layer2" are two. */
uint32_t names_count_up(const struct str *names, uint32_t n);

/* Names as a few words that people read: "a, b and c"; "a b c" for a column. */
extern const struct names_style names_in_prose, names_in_column;

#endif
