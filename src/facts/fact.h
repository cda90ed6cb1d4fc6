/* fact.h - facts about a subject: each has an id for machines, a label and a value for
 * people, the numbers behind the value, a role and a link target. One producer per
 * subject makes the facts and every view renders them, so views cannot disagree and
 * none parses text.
 *
 *     strides    [1, 120]  offset 0  storage data/4, 3.0KB
 *     tied       also lm_head.weight
 *
 * A producer appends text to facts->text and ends each value, part and fact:
 *
 *     fact_count(facts, "stored", 25557032);
 *     buf_text(&facts->text, " stored = unique");
 *     fact_end(facts, "params", COLOUR_NONE);
 *
 * As text: "params    25,557,032 stored = unique"
 * As JSON: {"params": {"stored": 25557032}} */
#ifndef FACTS_FACT_H
#define FACTS_FACT_H

#include "model/dtype.h"
#include "rows/figure.h"
#include "text/lines.h"

struct model;
struct run;
struct show;

/* A piece of a value: plain text, or a typed value with a name. */
struct fact_part {
    uint32_t at, len; /* in facts->text: UTF-8, escaped, one line */
    enum colour role;
    bool joined;           /* joined to the previous part without a gap or line break */
    const char *name;      /* key of the value: "stored"; NULL: text only */
    enum figure_kind kind; /* the value, as in struct figure */
    uint64_t n;
    double real;
    const int64_t *dims;
};

struct fact {
    const char *id;    /* static key: "params"; facts of a list share one */
    const char *label; /* static; "" continues the previous fact; NULL: a sentence
                          that starts at the label column */
    uint32_t first, n; /* its parts */
    uint32_t target;   /* the linked place, or NO_TARGET */
    enum colour role;  /* good, warning, alarm, dim */
    double share;      /* 0 to 1, drawn as a bar */
};

struct facts {
    struct buf text; /* producers append here, then end the part or fact */
    struct fact_part *parts;
    uint32_t n_parts, parts_room;
    struct fact *at;
    uint32_t n, room;
    uint32_t part_begun, fact_begun; /* private: start of the current part and fact */
    bool joined;                     /* private: join the next part to the last */
    bool bad;                        /* out of memory: facts are incomplete */
};

void facts_release(struct facts *facts);
void facts_clear(struct facts *facts); /* keeps its memory */

/* Write a typed value: fill the figure with a figure_...() of rows/figure.h, then end
 * it with fact_value(). The surrounding text belongs to the same part. */
struct figure fact_figure(struct facts *facts);
void fact_value(struct facts *facts, const char *name, const struct figure *figure);
/* Shortcuts for common kinds. */
void fact_count(struct facts *facts, const char *name, uint64_t n); /* 25,557,032 */
void fact_plural(struct facts *facts, const char *name, uint64_t n, const char *one,
                 const char *many);                                 /* 1 tensor */
void fact_bytes(struct facts *facts, const char *name, uint64_t n); /* 97.7MB */
void fact_time(struct facts *facts, const char *name, uint64_t ns); /* 1.52ms, 0s */
void fact_share(struct facts *facts, const char *name, uint64_t part,
                uint64_t whole);                                        /* 9% */
void fact_text(struct facts *facts, const char *name, struct str text); /* escaped */
void fact_shape(struct facts *facts, const char *name, const int64_t *dims,
                int rank); /* 64×3×7×7, scalar */
void fact_tensor_shape(struct facts *facts, const char *name, const struct model *model,
                       uint32_t place);
void fact_run_shape(struct facts *facts, const char *name, const struct run *run,
                    uint32_t value);
void fact_dtype(struct facts *facts, enum dtype dtype); /* its key is "dtype" */
void fact_place(struct facts *facts, const char *name, const struct show *show,
                uint32_t place); /* its full name; for the root, its class */
/* Mark the text appended since the last value, part or fact as the name of a thing: a
 * place, a call, a source line, a byte offset, a dtype. */
void fact_named(struct facts *facts, const char *name, enum figure_kind kind,
                uint64_t n);

/* End a part: the text appended since the last one, without trailing blanks. */
void fact_part(struct facts *facts, enum colour role);
/* End the current part and the fact; a fact without parts is not added. Its id is its
 * label or, if it continues a fact, the id of that fact. It links to the first place
 * among its values. Returns the fact, to set a target or a share; on failure a dummy.
 */
struct fact *fact_end(struct facts *facts, const char *label, enum colour role);
/* The same with an id that differs from the label. */
struct fact *fact_end_as(struct facts *facts, const char *id, const char *label,
                         enum colour role);
/* Is the current fact still empty? */
bool fact_is_empty(const struct facts *facts);

/* The first fact with this id; a value of a fact by its name. NULL: none. */
const struct fact *facts_find(const struct facts *facts, const char *id);
const struct fact_part *fact_find(const struct facts *facts, const struct fact *fact,
                                  const char *name);
/* The width of the parts of a fact side by side. */
size_t fact_cells(const struct facts *facts, const struct fact *fact);
struct str fact_part_text(const struct facts *facts, const struct fact_part *part);
/* Part i and the parts joined to it: their number and their text. */
uint32_t fact_group_length(const struct facts *facts, const struct fact *fact,
                           uint32_t i);
struct str fact_group_text(const struct facts *facts, const struct fact *fact,
                           uint32_t i);

/* How to format facts as lines: "label  value". */
struct facts_look {
    unsigned width;  /* of a line; 0: no limit */
    unsigned indent; /* cells before a value */
    bool panel;      /* add a margin, dim the labels, cut overlong words */
    unsigned margin; /* of a panel; 0: one cell */
};
void facts_lines(struct lines *to, const struct facts *facts,
                 const struct facts_look *look);
/* The same without limit or colour, each line ending in a newline. */
void facts_text(struct buf *to, const struct facts *facts, unsigned indent);
/* Append all values, joined by `between`. */
void facts_join(struct buf *to, const struct facts *facts, const char *between);
/* Append the parts of one fact to the current line, as many per line as fit; further
 * lines start with `indent` blanks. Leaves the last line open. */
void fact_pack(struct lines *to, const struct facts *facts, const struct fact *fact,
               unsigned width, unsigned indent);

#endif
