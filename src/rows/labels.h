/* labels.h - the label of a row, and the labels that the user switches on and off.
 *
 * A label has parts, so that a narrow view can drop the less important ones first:
 *     ⇄ lm_head: Linear(768→50257)  tied to transformer.wte
 *     sign name  type   args         tail
 */
#ifndef ROWS_LABELS_H
#define ROWS_LABELS_H

#include "base/buf.h"
#include "base/str.h"
#include "rows/columns.h"
#include "rows/rows.h"
#include "rows/show.h"
#include "text/colour.h"

/* --- The label */

struct label {
    struct buf sign;   /* "⇄ ", "▪ ", "✗ " or nothing */
    struct buf name;   /* escaped */
    const char *joint; /* between the name and the rest: ": ", "  " */
    struct buf type;   /* "Conv2d", "~conv", "dict with 2 keys", a plain value */
    struct buf args;   /* "3→64, 7×7"; without brackets */
    bool brackets;     /* args are in brackets, else after a blank */
    bool is_class;     /* the type is a class */
    bool guessed;      /* ... which was guessed */
    bool is_count;     /* the type is a count: "2 pickles" */
    bool always;       /* brackets even without arguments: ReLU() */
    bool is_shape;     /* the type is a shape, the arguments a dtype */
    bool is_path;      /* the name is a full path */
    enum colour sign_colour;
    bool colour;     /* set by the caller: write colour codes, which take no cells */
    bool ascii;      /* set by the caller before label_make(): ASCII only */
    bool keep_tail;  /* cut the rest before the tail */
    struct buf tail; /* "  tied to transformer.wte.weight" */
    uint32_t times;  /* number of rows merged into a run, never cut; 0: not a run */
};

enum label_name { LABEL_NAME, LABEL_PATH }; /* for a tree; for a flat list */

void label_release(struct label *label);
/* Fill the label of a row. The root is named after its file. */
void label_make(struct label *label, const struct show *show, const struct row *row,
                enum label_name name);
/* Append the label, at most `cells` wide (0: no limit). Drops arguments first, from the
 * right, then the type, then the middle of the name or the front of a path. */
void label_write(struct buf *to, const struct label *label, size_t cells);
/* The width of the uncut label. */
size_t label_width(const struct label *label);

/* A label stored until all labels are measured. */
struct label_kept {
    uint32_t ends[5]; /* of sign, name, type, args and tail among the texts */
    uint32_t begin, times;
    const char *joint;
    uint8_t sign_colour;
    bool brackets : 1, is_class : 1, guessed : 1, always : 1, is_shape : 1, is_path : 1;
    bool keep_tail : 1, ascii : 1;
};
void label_keep(struct label_kept *to, struct buf *texts, const struct label *label);
/* Restore the label. It borrows the texts: do not release it. */
struct label label_again(const struct label_kept *kept, const struct buf *texts);

/* The label split into parts, for renderers that style each part. */
enum label_part {
    PART_SIGN,
    PART_NAME,
    PART_JOINT,
    PART_TYPE,
    PART_ARGS, /* with their brackets */
    PART_TAIL,
    PART_COUNT
};
struct label_parts {
    struct buf text;
    size_t ends[PART_COUNT]; /* of each part in the text */
};
void label_fit(struct label_parts *parts, const struct label *label, size_t cells);
/* Append parts, with colour codes if the label has colour. */
void label_write_parts(struct buf *to, const struct label *label,
                       const struct label_parts *parts);
struct str label_part(const struct label_parts *parts, enum label_part part);
/* The role of a part; a name has none. */
enum colour label_part_colour(const struct label *label, enum label_part part);

/* --- Labels that the user switches on and off in the terminal (L, --labels) */

enum label_needs {
    LABEL_OF_RUN = 1,      /* a recording */
    LABEL_OF_TRAINING = 2, /* a history */
};

struct label_kind {
    const char *id;     /* for --labels */
    const char *title;  /* in the label panel */
    char key;           /* toggles its group; 0: no group */
    bool first;         /* on by default */
    const char *column; /* its column: an id in THE TABLE; NULL: part of the row's
                           label */
    uint8_t cells;      /* width of that column; 0: as wide as the widest cell shown */
    uint8_t goes;       /* if space is short, the lowest is dropped first */
    /* Writes its text in the flowing form, as rp's explorer does; NULL: uses the cell.
     */
    void (*flow)(struct buf *to, const struct show *show, const struct row *row);
    unsigned needs; /* bits of enum label_needs: needs one of them; 0: needs nothing */
};

extern const struct label_kind label_kinds[];
extern const size_t n_label_kinds;

int label_kind_find(struct str id); /* an index in the table, or -1 */
/* Does the session have what the label needs? */
bool label_applies(const struct label_kind *kind, const struct show *show);
/* Append the text of a label in the flowing form; nothing if not applicable. */
void label_flow(struct buf *to, const struct label_kind *kind, const struct show *show,
                const struct row *row);

#endif
