/* export_in.h - what the documents of this room are made of. */
#ifndef EXPORT_EXPORT_IN_H
#define EXPORT_EXPORT_IN_H

#include "base/arena.h"
#include "export/export.h"

/* One document being written. */
struct document {
    struct json *json;
    const struct session *session;
    const struct model *model;
    struct arena arena;
    struct buf path;     /* for full names */
    uint32_t *next_same; /* by place: the next place of the same tensor, or NO_PLACE;
                            NULL if nothing is tied */
    uint64_t items;      /* of values written so far; see json_value.c */
};

/* Begin with what every document has. document_end() closes the object. */
void document_begin(struct document *doc, struct json *json,
                    const struct session *session, const char *kind);
void document_end(struct document *doc);

/* "findings": the list. */
void write_findings(struct document *doc, const struct finding *findings, uint32_t n);
/* The members of a global of the pickle log: name, trust, about, uses. */
void write_global(struct document *doc, uint32_t index);

/* "KEY": the full name of a place. */
void write_path(struct document *doc, const char *key, uint32_t place);
/* "name", "place", "parent". */
void write_where(struct document *doc, uint32_t place);

/* The members of a place's object, of the kind that it is. The caller begins and ends
 * the object, and may add members. */
void write_module(struct document *doc, uint32_t place); /* also of a group */
void write_tensor(struct document *doc, uint32_t place);
void write_plain(struct document *doc, uint32_t place);

/* "KEY": a plain value. A dict of strings becomes an object. */
void write_value(struct document *doc, const char *key, uint32_t value);

/* The statistics of a tensor, or why there are none; nothing if they were not asked. */
void write_stats(struct document *doc, uint32_t tensor);

/* "KEY": [1, 2] */
void write_list(struct json *json, const char *key, const int64_t *items, int n);
/* An index in C order as a list. */
void write_index(struct document *doc, const char *key, const struct tensor *tensor,
                 uint64_t at);

const char *role_name(uint8_t role);
const char *layout_name(uint8_t layout);

static inline bool is_kept(struct export_choice choice, uint32_t place)
{
    return !choice.keep || choice.keep[place];
}

#endif
