/* fact.h - what is known about a subject, fact by fact: an id for machines, a label and
 * a value for people, the numbers behind the value, its role and where it leads. A
 * subject has one producer and every view renders the same facts: two views cannot
 * disagree, and none reads text back.
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
 * Text gives "params    25,557,032 stored = unique", JSON {"params": {"stored": 25557032}}.
 */
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
    bool joined;      /* follows the part before it without a gap or a line break */
    const char *name; /* of the value, for machines: "stored"; NULL: only text */
    enum figure_kind kind; /* and the value, as in struct figure */
    uint64_t n;
    double real;
    const int64_t *dims;
};

struct fact {
    const char *id;    /* static, for machines: "params"; facts of a list share one */
    const char *label; /* static; "" continues the fact above; NULL: a sentence, which
                           begins where labels do */
    uint32_t first, n; /* its parts */
    uint32_t target;   /* the place it leads to, or NO_TARGET */
    enum colour role;  /* good, warning, alarm, dim */
    double share;      /* of a whole, 0 to 1: drawn as a bar */
};

struct facts {
    struct buf text; /* a producer appends here, then ends the part or the fact */
    struct fact_part *parts;
    uint32_t n_parts, parts_room;
    struct fact *at;
    uint32_t n, room;
    uint32_t part_begun, fact_begun; /* private: what is being written */
    bool joined;                     /* private: the next part continues the last */
    bool bad;                        /* out of memory: some of it is missing */
};

void facts_release(struct facts *facts);
void facts_clear(struct facts *facts); /* keeps its memory */

/* A typed value in the text: write it with a figure_...() of rows/figure.h, then end it.
 * The text around it belongs to the same part. */
struct figure fact_figure(struct facts *facts);
void fact_value(struct facts *facts, const char *name, const struct figure *figure);
/* The usual ones in one call. */
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
void fact_dtype(struct facts *facts, enum dtype dtype); /* its name is "dtype" */
void fact_place(struct facts *facts, const char *name, const struct show *show,
                uint32_t place); /* its full name; of the root its class */
/* What was appended since the last value, part or fact is the name of a thing: a place,
 * a call, a source line, a byte offset, a dtype. */
void fact_named(struct facts *facts, const char *name, enum figure_kind kind,
                uint64_t n);

/* End a part: what was appended since the last one, without the blanks at its end. */
void fact_part(struct facts *facts, enum colour role);
/* End the part that is being written and the fact; one without parts is not added. Its
 * id is its label, or that of the fact above if it continues it. It leads to the first
 * place among its values. Returns the fact, to set a target or a share, or a dummy. */
struct fact *fact_end(struct facts *facts, const char *label, enum colour role);
/* The same where the label is no id. */
struct fact *fact_end_as(struct facts *facts, const char *id, const char *label,
                         enum colour role);
/* Has nothing been appended to this fact yet? */
bool fact_is_empty(const struct facts *facts);

/* How wide the parts of a fact are side by side. */
size_t fact_cells(const struct facts *facts, const struct fact *fact);
struct str fact_part_text(const struct facts *facts, const struct fact_part *part);
/* Part i of the fact with the ones joined to it: how many they are, and their text. */
uint32_t fact_group_length(const struct facts *facts, const struct fact *fact,
                           uint32_t i);
struct str fact_group_text(const struct facts *facts, const struct fact *fact,
                           uint32_t i);

/* How facts become lines: "label  value". */
struct facts_look {
    unsigned width;  /* of a line; 0: no limit */
    unsigned indent; /* cells before a value */
    bool panel;      /* a margin, grey labels, and words that are too long are cut */
};
void facts_lines(struct lines *to, const struct facts *facts,
                 const struct facts_look *look);
/* The same without limit or colour, each line with its newline. */
void facts_text(struct buf *to, const struct facts *facts, unsigned indent);
/* Their values as one text. */
void facts_join(struct buf *to, const struct facts *facts, const char *between);
/* The parts of one fact side by side from where the line ends now, as many on a line as
 * fit; further lines begin with `indent` blanks. The last line is left open. */
void fact_pack(struct lines *to, const struct facts *facts, const struct fact *fact,
               unsigned width, unsigned indent);

#endif
