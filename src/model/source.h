/* source.h - who answers about what a model does not hold itself: bytes of storages,
 * and of live Python objects their attributes and the code of their classes. Session,
 * measure and the views work on all of them alike. Texts are raw: whoever shows them
 * escapes them. */
#ifndef MODEL_SOURCE_H
#define MODEL_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

/* What attributes are asked of: a place (a module or a group), or an attribute that was
 * met before. */
#define NO_ATTRIBUTE UINT32_MAX
struct attribute_of {
    uint32_t place;     /* or NO_PLACE: see `attribute` */
    uint32_t attribute; /* the handle of one with something below it; or NO_ATTRIBUTE */
};

enum attribute_flag {
    ATTRIBUTE_CLASS = 1,    /* of its class: shown as "(class)" */
    ATTRIBUTE_PROPERTY = 2, /* a property, or another thing whose answer takes running
                               code: that is done when it is unfolded, not before */
    ATTRIBUTE_ITEM = 4,     /* no attribute: an item of a list, a key of a dict */
    ATTRIBUTE_RAISED = 8,   /* the exception that asking raised */
    ATTRIBUTE_REST = 16, /* stands for more of them ("… 1,900 more"), which are below
                            it */
};

/* One attribute. Methods are none. */
struct attribute {
    struct str name; /* "stride", "0"; empty: the answer of a property */
    struct str text; /* "1", "dict with 8 keys", "'zeros'", "property", one line */
    uint32_t handle; /* not NO_ATTRIBUTE: something stands below it */
    uint32_t place;  /* where it stands in the tree, as modules and parameters do; or
                        NO_PLACE */
    uint8_t flags;   /* enum attribute_flag */
};

/* The code of a class. */
struct class_code {
    struct str text; /* empty: it is not to be had */
    struct str file; /* may be empty: of code that no file has */
    uint32_t line;   /* its first, there; 0: not known */
    const char *why; /* a constant: why there is no text; or NULL */
    /* Its forward, where that is inherited: of which class, where, and its text. Empty:
     * it is the class's own, or not known. */
    struct str base, base_file, base_text;
    uint32_t base_line;
};

struct source;
struct source_ops {
    /* Copy n bytes of the model's storage `storage` from byte `at` on (inside its
     * size). The bytes are as the storage holds them (its byte order, its packing). May
     * be NULL. */
    int (*bytes)(struct source *source, uint32_t storage, uint64_t at, void *to,
                 size_t n, struct err *err);
    /* The storage's bytes in memory, if they lie there anyway; else NULL. May be NULL.
     */
    const void *(*direct)(struct source *source, uint32_t storage);
    /* 1 if what is behind this source changed since it was read. May be NULL. */
    int (*changed)(struct source *source);
    /* What stands below a place or an attribute. May be NULL. */
    int (*attributes)(struct source *source, const struct attribute_of *what,
                      struct arena *arena, struct attribute **ret_attributes,
                      uint32_t *ret_n, struct err *err);
    /* Handles of attributes are not good any more. May be NULL. */
    void (*forget)(struct source *source);
    /* The code of a class (an index in model->classes). May be NULL. */
    int (*code)(struct source *source, uint32_t class_id, struct arena *arena,
                struct class_code *ret_code, struct err *err);
    void (*close)(struct source *source);
};

struct source {
    const struct source_ops *ops;
    bool any_thread; /* may be asked by any thread; else only by its owner */
};

/* Are there values to be read? */
bool source_has_bytes(const struct source *source);
int source_bytes(struct source *source, uint32_t storage, uint64_t at, void *to,
                 size_t n, struct err *err);
const void *source_direct(struct source *source, uint32_t storage);
bool source_changed(struct source *source);

/* Are there attributes to be asked for? */
bool source_has_attributes(const struct source *source);
/* The attributes of a place, or what stands below an attribute: asked for when somebody
 * looks, so loops do not matter. Nothing but what the flags say runs the user's code;
 * what it raises is an attribute too. What is given out lies in the arena. A handle
 * keeps its object alive, until source_forget(). ERR_UNSUPPORTED: this source knows
 * none; ERR_CHANGED: the object is gone; ERR_USAGE: no such handle. */
int source_attributes(struct source *source, const struct attribute_of *what,
                      struct arena *arena, struct attribute **ret_attributes,
                      uint32_t *ret_n, struct err *err);
/* Let go of all that handles stand for. */
void source_forget(struct source *source);
/* The code of a class, in the arena. See class_code() of model.h, which knows files'
 * code as well. */
int source_code(struct source *source, uint32_t class_id, struct arena *arena,
                struct class_code *ret_code, struct err *err);
void source_close(struct source *source); /* NULL is allowed */

#endif
