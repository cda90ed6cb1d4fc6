/* owner_in.h - shared by owner.c (the owner's side, copies, waiting) and owner_source.c
 * (the sources that send requests). */
#ifndef WEB_OWNER_IN_H
#define WEB_OWNER_IN_H

#include <pthread.h>

#include "base/base.h"
#include "web/owner.h"

#define COPY_LIMIT (256 * MIB) /* of one storage */
#define COPIES     16
#define FORGETS    8

enum wish_kind { WISH_BYTES, WISH_ATTRIBUTES, WISH_CODE };
enum wish_state { WISH_WAITS, WISH_TAKEN, WISH_DONE };

/* One request, on the stack of the requesting thread. */
struct owner_wish {
    struct owner_wish *next;
    enum wish_kind kind;
    enum wish_state state;
    struct source *real;
    const struct source *of; /* the requesting source */
    uint32_t number;         /* storage or class */
    uint64_t bytes;
    const struct attribute_of *what;
    struct arena *arena;
    struct attribute **attributes;
    uint32_t *n_attributes;
    struct class_code *code;
    int status;
    struct err err;
};

/* A copy of a storage, for one source. */
struct owner_copy {
    const struct source *of;
    uint32_t storage;
    bool pinned; /* a question reads it */
    char *at;    /* NULL: free */
    uint64_t bytes, taken, used, step;
};

struct owner {
    pthread_mutex_t lock;
    pthread_cond_t answered;
    struct owner_wish *first;
    struct owner_copy copies[COPIES];
    struct source *forgets[FORGETS]; /* sources whose handles can be released */
    unsigned n_forgets;
    uint64_t clock;      /* incremented by questions and copies */
    uint64_t offered_ns; /* when the owner last offered to answer; 0: never */
    uint64_t step, steps;
    bool answering, ended;
    pthread_t answerer;
};

struct owner_source {
    struct source source;
    struct owner *owner;
    const struct model *model;
    struct source *real;
    uint64_t wanted; /* minimum clock of a copy that is new enough */
    struct owner_age age;
};

/* Sends a request and waits. 0 or -1: the owner's result; 1: it did not answer. */
int owner_ask(struct owner *owner, struct owner_wish *wish);
/* May any thread read this source? */
bool owner_is_free(const struct source *real);
/* The copy of a storage for a source; NULL: none. Call it with the lock held. */
struct owner_copy *owner_copy(struct owner *owner, const struct source *of,
                              uint32_t storage);
void owner_drop_copy(struct owner_copy *copy);

#endif
