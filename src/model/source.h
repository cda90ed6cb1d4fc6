/* source.h - access to data outside of the model: the bytes of storages, and for live
 * Python objects their attributes and the code of their classes. Texts are raw: the
 * code that shows them escapes them. */
#ifndef MODEL_SOURCE_H
#define MODEL_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

/* The owner of attributes: a place (a module or a group), or another attribute. */
#define NO_ATTRIBUTE UINT32_MAX
struct attribute_of {
    uint32_t place;     /* or NO_PLACE: see `attribute` */
    uint32_t attribute; /* a handle; or NO_ATTRIBUTE */
};

enum attribute_flag {
    ATTRIBUTE_CLASS = 1, /* of the class: shown as "(class)" */
    ATTRIBUTE_PROPERTY =
        2,                /* a property or other descriptor: reading it runs user code,
                               which happens only when it is unfolded */
    ATTRIBUTE_ITEM = 4,   /* an item of a list or a key of a dict */
    ATTRIBUTE_RAISED = 8, /* the exception that reading it raised */
    ATTRIBUTE_REST = 16,  /* a group of further attributes ("… 1,900 more") */
};

/* One attribute. Methods are omitted. */
struct attribute {
    struct str name; /* "stride", "0"; empty: the value of a property */
    struct str text; /* "1", "dict with 8 keys", "'zeros'", "property", one line */
    uint32_t handle; /* for its own attributes; NO_ATTRIBUTE: it has none */
    uint32_t place; /* its place in the tree, for modules and parameters; or NO_PLACE */
    uint8_t flags;  /* enum attribute_flag */
};

/* The code of a class. */
struct class_code {
    struct str text; /* empty: not available */
    struct str file; /* may be empty: not from a file */
    uint32_t line;   /* its first line there; 0: unknown */
    const char *why; /* a constant: why there is no text; or NULL */
    /* An inherited forward: its class, file and text. Empty: not inherited, or unknown.
     */
    struct str base, base_file, base_text;
    uint32_t base_line;
};

struct source;
struct source_ops {
    /* Copies n bytes of storage `storage` from byte `at` on (within its size), raw: in
     * the storage's byte order and packing. May be NULL. */
    int (*bytes)(struct source *source, uint32_t storage, uint64_t at, void *to,
                 size_t n, struct err *err);
    /* The storage's bytes, if they are in memory; else NULL. May be NULL. */
    const void *(*direct)(struct source *source, uint32_t storage);
    /* 1 if the file or object changed since it was read. May be NULL. */
    int (*changed)(struct source *source);
    /* The attributes of a place or an attribute. May be NULL. */
    int (*attributes)(struct source *source, const struct attribute_of *what,
                      struct arena *arena, struct attribute **ret_attributes,
                      uint32_t *ret_n, struct err *err);
    /* Invalidates all handles. May be NULL. */
    void (*forget)(struct source *source);
    /* The code of a class (an index in model->classes). May be NULL. */
    int (*code)(struct source *source, uint32_t class_id, struct arena *arena,
                struct class_code *ret_code, struct err *err);
    void (*close)(struct source *source);
};

struct source {
    const struct source_ops *ops;
    bool any_thread; /* thread-safe; else only its owner may use it */
};

/* Can it read the bytes of storages? */
bool source_has_bytes(const struct source *source);
int source_bytes(struct source *source, uint32_t storage, uint64_t at, void *to,
                 size_t n, struct err *err);
const void *source_direct(struct source *source, uint32_t storage);
bool source_changed(struct source *source);

/* Can it list attributes? */
bool source_has_attributes(const struct source *source);
/* The attributes of a place or an attribute, in the arena. One level at a time, so
 * cycles do not matter. Runs the user's code only as the flags say; an exception
 * becomes an attribute. A handle keeps its object alive until source_forget().
 * ERR_UNSUPPORTED: the source has no attributes; ERR_CHANGED: the object is gone;
 * ERR_USAGE: no such handle. */
int source_attributes(struct source *source, const struct attribute_of *what,
                      struct arena *arena, struct attribute **ret_attributes,
                      uint32_t *ret_n, struct err *err);
/* Releases the objects of all handles. */
void source_forget(struct source *source);
/* The code of a class, in the arena. class_code() of model.h also covers code in files.
 */
int source_code(struct source *source, uint32_t class_id, struct arena *arena,
                struct class_code *ret_code, struct err *err);
void source_close(struct source *source); /* NULL is allowed */

#endif
