/* fact.h - what is known about a subject, fact by fact: a label, a value, what it means
 * and where it leads. A subject has one producer; all views render its facts, so that
 * two of them cannot disagree and none reads text back.
 *
 *     strides    [1, 120]  offset 0  storage data/4, 3.0KB
 *     tied       also lm_head.weight */
#ifndef FACTS_FACT_H
#define FACTS_FACT_H

#include "text/lines.h"

/* A piece of a value that is not torn apart where lines are short. */
struct fact_part {
    uint32_t at, len; /* in facts->text: UTF-8, escaped, one line */
    enum colour role;
};

struct fact {
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
    bool bad;                        /* out of memory: some of it is missing */
};

void facts_release(struct facts *facts);
void facts_clear(struct facts *facts); /* keeps its memory */

/* End a part: what was appended since the last one, without the blanks at its end. */
void fact_part(struct facts *facts, enum colour role);
/* End the part that is being written and the fact; one without parts is not added. Gives
 * the fact, to set a target or a share, or a dummy. */
struct fact *fact_end(struct facts *facts, const char *label, enum colour role);
/* Has nothing been appended to this fact yet? */
bool fact_is_empty(const struct facts *facts);

/* How wide the parts of a fact are side by side. */
size_t fact_cells(const struct facts *facts, const struct fact *fact);
struct str fact_part_text(const struct facts *facts, const struct fact_part *part);

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
/* The parts of one fact side by side from where the line ends now, as many on a line as
 * fit; further lines begin with `indent` blanks. The last line is left open. */
void fact_pack(struct lines *to, const struct facts *facts, const struct fact *fact,
               unsigned width, unsigned indent);

#endif
