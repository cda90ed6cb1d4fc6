/* pickle_log.h - what a pickle would do if somebody loaded it. The pickle machine
 * writes an event when the opcode runs, not when its result is used: a call whose
 * result is thrown away is here too, and so is all that came before a parse error.
 * Events are counted per global and kind; the first PICKLE_LOG_KEEP of each are kept in
 * full, with their arguments. study/safety/verdict.h judges; nobody here does. */
#ifndef MODEL_PICKLE_LOG_H
#define MODEL_PICKLE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum pickle_act {
    PICKLE_NAMES,      /* GLOBAL, STACK_GLOBAL: the name is imported */
    PICKLE_CALLS,      /* REDUCE; OBJ and INST with arguments; or given to something
                          that calls what it is given */
    PICKLE_MAKES,      /* NEWOBJ, NEWOBJ_EX, OBJ, INST: a new object of the class */
    PICKLE_BUILDS,     /* BUILD on an object of that class or made by that call */
    PICKLE_OVERRIDES,  /* BUILD, SETITEM or APPEND on the global itself */
    PICKLE_PERSISTENT, /* a persistent id; `global` is empty */
    PICKLE_EXTENSION,  /* EXT1/2/4: a name from the copyreg registry, unknown to us */
    PICKLE_FILLS,      /* SETITEM, APPEND, ... on an object of that class, which is no
                          container that we know: its own methods would be called */
    PICKLE_READS,      /* no opcode: the file in bytes that a call of it would load was
                          read as well, and what it does is in this log */
    PICKLE_ACT_COUNT
};

#define PICKLE_LOG_KEEP 16
/* Calls of getattr, and of what getattr gave, are judged by their arguments, each: they
 * are counted once for all that look alike, and so many are kept. */
#define PICKLE_LOG_KEEP_GETATTR 4096
#define NO_EVENT                UINT32_MAX

struct pickle_event {
    uint32_t global; /* index in the log's globals; a computed name: "<computed>"; a
                        persistent id: "" */
    uint8_t act;     /* enum pickle_act */
    uint8_t opcode;  /* the byte; pickle_opcode_name() has its name */
    uint32_t stream; /* index in the log's streams: which pickle */
    uint64_t offset; /* of the opcode, in the stream */
    uint32_t args;   /* value id of the arguments, as far as they are plain */
    uint32_t place;  /* where its result stands in the tree, or FINDING_NOWHERE */
    uint32_t next;   /* the next event of the same global, or NO_EVENT */
};

/* One global, with how often it was named, called, ... */
struct pickle_global {
    uint32_t name;        /* string id "module.name" */
    uint32_t module_len;  /* where the name begins: "torch._utils" has 12 */
    uint32_t first, last; /* of its events that are kept, or NO_EVENT */
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
    struct pickle_global *globals; /* in the order they were first met */
    uint32_t n_globals, globals_room;
    struct pickle_stream *streams;
    uint32_t n_streams, streams_room;
    bool lost; /* memory was spent: there were names or pickles that are not here */
};

const char *pickle_act_name(enum pickle_act act); /* "names", "calls", ... */
/* "REDUCE": of the opcodes that stand in events; "" of others. */
const char *pickle_opcode_name(uint8_t opcode);

#endif
