/* pickle_log.h - the effects that loading a pickle would have. The pickle machine
 * writes an event when an opcode runs, not when its result is used. So calls whose
 * result is discarded are included, and so is everything before a parse error. Events
 * are counted per global and kind; the first PICKLE_LOG_KEEP of each are kept in full,
 * with their arguments. The log does not judge: see study/safety/verdict.h. */
#ifndef MODEL_PICKLE_LOG_H
#define MODEL_PICKLE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum pickle_act {
    PICKLE_NAMES,      /* GLOBAL, STACK_GLOBAL: the name is imported */
    PICKLE_CALLS,      /* REDUCE; OBJ and INST with arguments; or passed to a
                          function that calls its argument */
    PICKLE_MAKES,      /* NEWOBJ, NEWOBJ_EX, OBJ, INST: a new object of the class */
    PICKLE_BUILDS,     /* BUILD on an object of that class or made by that call */
    PICKLE_OVERRIDES,  /* BUILD, SETITEM or APPEND on the global itself */
    PICKLE_PERSISTENT, /* a persistent id; `global` is empty */
    PICKLE_EXTENSION,  /* EXT1/2/4: an unknown name, from the copyreg registry */
    PICKLE_FILLS,      /* SETITEM, APPEND, ... on an object of that class, which is not
                          a known container: this would call its own methods */
    PICKLE_READS,      /* no opcode: a call of it would load a file from bytes; that
                          file was read as well, and its events are in this log */
    PICKLE_ACT_COUNT
};

#define PICKLE_LOG_KEEP 16
/* Calls of getattr, and of its results, are judged one by one, by their arguments.
 * Equal ones count once, and this many are kept. */
#define PICKLE_LOG_KEEP_GETATTR 4096
#define NO_EVENT                UINT32_MAX

struct pickle_event {
    uint32_t global; /* index in the log's globals; a computed name: "<computed>"; a
                        persistent id: "" */
    uint8_t act;     /* enum pickle_act */
    uint8_t opcode;  /* the byte; pickle_opcode_name() has its name */
    uint32_t stream; /* index of the pickle in the log's streams */
    uint64_t offset; /* of the opcode, in the stream */
    uint32_t args;   /* value id of the arguments, as far as they are plain */
    uint32_t place;  /* place of its result in the tree, or FINDING_NOWHERE */
    uint32_t next;   /* the next event of the same global, or NO_EVENT */
};

/* A global, with its number of events by kind. */
struct pickle_global {
    uint32_t name;        /* string id "module.name" */
    uint32_t module_len;  /* length of the module: 12 for "torch._utils" */
    uint32_t first, last; /* its first and last kept event, or NO_EVENT */
    uint64_t acts[PICKLE_ACT_COUNT];
};

/* One pickle: "archive/data.pkl", or the fourth of a legacy file. */
struct pickle_stream {
    uint32_t name; /* string id */
    uint64_t size, opcodes;
    uint8_t protocol;
    bool complete; /* decoded to its STOP */
};

struct pickle_log {
    struct pickle_event *events; /* in the order they ran */
    uint32_t n_events, events_room;
    struct pickle_global *globals; /* in the order of first use */
    uint32_t n_globals, globals_room;
    struct pickle_stream *streams;
    uint32_t n_streams, streams_room;
    bool lost; /* out of memory: some names or pickles are missing */
};

const char *pickle_act_name(enum pickle_act act); /* "names", "calls", ... */
/* The name of an opcode that events have: "REDUCE"; "" for others. */
const char *pickle_opcode_name(uint8_t opcode);

#endif
