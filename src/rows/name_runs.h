/* name_runs.h - merges names that differ in one number only.
 *
 *     h.0.attn.q, h.1.attn.q, ... h.11.attn.q     is h.{i}.attn.q for i in 0 .. 11
 *
 * The unit is a tuple of related names (the parts of a tensor and the tensor). In a
 * run, the same number counts up in every name, possibly from different starts:
 * (h.{i}.q, blocks.{i + 1}.q). */
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
    uint64_t tag; /* must also be equal within a run: sizes, a dimension */
};

struct name_run {
    uint32_t tuple;       /* index of the first tuple */
    uint32_t n;           /* number of tuples */
    uint64_t start, step; /* the number: start, start + step, ...; if n > 1 */
    uint32_t last;        /* index of the last tuple */
    bool varies[16];      /* by index of a number in a tuple: does it count up? */
};

/* Find the runs, in the order of their first tuples. Linear in the names. -1: the arena
 * is full. */
int name_runs_find(const struct name_tuple *tuples, uint32_t n, struct arena *arena,
                   struct name_run **ret_runs, uint32_t *ret_n);

/* One piece of a name: text, or the running number plus `more`. */
struct name_piece {
    struct str text;
    bool counts;
    int64_t more;
};
/* Iterate over the pieces of name `i` of a run: start with *at = 0; false after the
 * last. Text pieces include the dots before them. */
bool name_run_piece(const struct name_run *run, const struct name_tuple *tuple,
                    uint32_t i, size_t *at, struct name_piece *ret_piece);

/* Write a short list of names: "conv1", "bn1", "layer1", "layer2" becomes "conv1, bn1
 * and layer1-2". Escapes the names. Ends with "and 3 more" after `most` of them. */
struct names_style {
    const char *between; /* ", " */
    const char *last;    /* " and " */
    uint32_t most;
};
void names_write(struct buf *to, const struct str *names, uint32_t n,
                 const struct names_style *style);

/* Number of names, from the first on, that count up by one: 2 for "layer1", "layer2".
 */
uint32_t names_count_up(const struct str *names, uint32_t n);

/* "a, b and c" for prose; "a b c" for a column. */
extern const struct names_style names_in_prose, names_in_column;

#endif
