/* trace_in.h - a run under construction, for trace*.c only.
 *
 * A call under way is a *frame* on the stack of its thread. A call that is kept is a
 * run_call from its beginning on. A light call is a *slot* of its object at its place:
 * there are as many slots as such calls were ever under way at once, so a slot is one
 * call at a time; which call a gradient that comes late is of, the serial tells. */
#ifndef RUN_TRACE_IN_H
#define RUN_TRACE_IN_H

#include "base/map.h"
#include "run/trace.h"

/* In run_value.flags, while recording: some io refers to it already. */
#define VALUE_SEEN 0x80

#define NO_SERIAL UINT64_MAX

/* The call that a recomputation repeats, or RUN_NONE: not known. */
struct repeated {
    uint32_t call;
    uint64_t serial;
};

/* How a light call is held: the record, and its ios with values by number. */
struct light_call {
    struct run_call call; /* parent: see parent_serial */
    uint64_t serial, parent_serial;
    struct repeated repeats;
    struct run_io *ios;
    uint32_t n_ios, ios_room;
};

struct light_slot {
    uint32_t object;
    uint32_t light; /* index in trace->lights */
    uint32_t next;  /* slot of the same light, or RUN_NONE */
    bool open;
    struct light_call now;
};

/* What the ios of one kind and path of all calls of a light have in common. */
struct light_io {
    uint8_t kind;
    bool measured;
    uint32_t path;
    struct stats stats;
    int64_t *shapes[16]; /* rank, sizes... */
    uint32_t n_shapes;
};

/* An io whose value is yet to be measured. */
struct light_wait {
    uint32_t light, io, value; /* io: among those of the light */
};

/* The light calls of one object at one of its places, or its recomputations there. */
struct light {
    uint32_t place;
    bool recomputed;
    uint32_t next; /* of the same object at another place: index + 1, or 0 */
    struct run_merged merged;
    struct light_io *ios;
    uint32_t n_ios, ios_room;
    uint32_t cursor; /* where the next io is looked for first: they come in order */
    struct light_call newest;
    uint32_t slots; /* the first slot, or RUN_NONE */
};

struct trace_frame {
    uint32_t call, object, place;
    uint16_t flags; /* of the call, when it began */
    bool is_root;   /* it has no parent */
    uint64_t serial;
    uint64_t own_before; /* of the stack, when it began */
    uint64_t start_ns, children_ns;
};

struct trace_stack {
    struct trace_frame *frames;
    uint32_t n, room;
    uint64_t own_ns; /* of ours on this thread so far */
    bool is_under;   /* the next call without one around it has this: trace_under() */
    struct trace_frame under;
};

struct trace_object {
    uint32_t calls, recomputed; /* so far; the one does not hold the other */
    /* Calls without gradients in a pass that has them: reentrant checkpointing will
     * repeat them in the backward, and only then are there nodes. */
    uint32_t pending;
    bool mixed;           /* several are pending: which one is repeated is not known */
    struct repeated last; /* the newest of them */
    uint16_t flags;       /* of all its calls together */
    uint32_t direct;      /* string id: see trace_direct(); or 0 */
    uint32_t light;       /* the first: index + 1 in trace->lights, or 0 */
    uint32_t places;      /* where its places begin in trace->places, sorted */
    uint32_t n_places;
};

/* How often the call around used a place of an object that has several. */
struct place_use {
    uint64_t around; /* its serial */
    uint32_t calls;
};

/* Whose turn it is among the values of a parameter that are kept. */
struct trace_param {
    uint32_t n[2];      /* so far: values, gradients */
    uint32_t newest[2]; /* index in trace->params of that which is replaced */
};

/* Sizes that were met lately, to be found again. */
#define RECENT_DIMS 256
struct recent_dims {
    uint32_t at;
    uint8_t rank;
    bool used;
};

/* ---- trace_step.c ---- */

#define TRACE_OPTIMIZERS 16 /* that are waited for */

struct trace_optimizer {
    uint32_t number;
    uint32_t times; /* it stepped since the last round */
};

struct trace_steps {
    uint32_t passes;   /* calls without a parent so far, but recomputations */
    uint32_t now;      /* the step under way */
    uint32_t first;    /* of `now`: what is step 0 in the end */
    bool by_optimizer; /* an optimizer stepped: root calls do not count any more */
    struct trace_optimizer optimizers[TRACE_OPTIMIZERS];
    uint32_t n;
};

/* A call without a parent begins, which is no recomputation. */
void trace_root_begins(struct trace_steps *steps);
/* The final numbers of steps, once a run has its calls and parameters. */
void trace_number_steps(const struct trace_steps *steps, struct run *run);

struct trace {
    struct arena arena; /* of all but kept bytes */
    struct arena kept_arena;
    struct intern strings;
    struct values plain; /* of facts */
    const struct model *model;
    uint32_t keep_calls; /* of one object; TRACE_ALL_CALLS: never merge */

    struct trace_object *objects; /* by object of the model */
    uint32_t *places;
    struct place_use *uses;        /* by index in `places` */
    struct trace_param *by_tensor; /* by tensor of the model */
    struct trace_stack *stacks;    /* by thread */
    uint32_t n_stacks, stacks_room;
    uint32_t n_open; /* frames of all stacks */
    uint64_t serial; /* of the next call */
    struct trace_steps steps;
    uint64_t own_ns;
    uint64_t forward_ns; /* of calls without a parent, recomputations left out */
    uint64_t latest_ns;  /* the latest time that was told */
    uint32_t epoch;

    struct run_call *calls;
    uint64_t *serials;        /* of calls */
    uint64_t *parents;        /* the serial of the call around each, or NO_SERIAL */
    struct repeated *repeats; /* what each repeats */
    uint32_t n_calls, calls_room, serials_room, parents_room, repeats_room;
    struct run_io *ios;
    uint32_t n_ios, ios_room;
    struct run_value *values; /* by number; their `stats` is 0: measured */
    struct stats *stats;      /* of the value of the same number */
    uint32_t n_values, values_room, stats_room;
    uint32_t live_values; /* after the last sweep */
    int64_t *dims;
    uint32_t n_dims, dims_room;
    struct recent_dims recent[RECENT_DIMS];
    struct light *lights;
    uint32_t n_lights, lights_room;
    struct light_wait *waits;
    uint32_t n_waits, waits_room;
    struct light_slot *slots;
    uint32_t n_slots, slots_room;
    struct run_param *params;
    uint32_t n_params, params_room;
    struct run_gap *gaps;
    uint32_t n_gaps, gaps_room;
    struct map gaps_by_hash;
    struct run_kept *kept;
    uint32_t n_kept, kept_room;
    uint32_t *devices;
    uint32_t n_devices, devices_room;
    struct model_fact *facts;
    uint32_t n_facts, facts_room;

    /* What could not be held. */
    uint64_t lost_calls, lost_values, lost_ios, lost_gaps, lost_kept;
};

/* trace_value.c: drop the values that nothing refers to, if there are many. */
void trace_sweep(struct trace *trace);

/* trace_light.c */
uint32_t light_begin(struct trace *trace, const struct run_call *call,
                     uint64_t parent_serial, struct repeated repeats);
/* `nested`: another call of the same place is around it. */
void light_end(struct trace *trace, uint32_t call, bool nested);
/* Of the call with this serial; NO_SERIAL: of that under way. */
void light_io(struct trace *trace, uint32_t call, uint64_t serial,
              const struct run_io *io);
struct light_slot *light_slot(struct trace *trace, uint32_t call);
/* The record of a light call: under way (NO_SERIAL), or the newest that ended if it has
 * this serial; or NULL. */
struct run_call *light_record(struct trace *trace, uint32_t call, uint64_t serial);
/* Of a recomputation, the call that it repeats takes what comes of its backward. */
void trace_repeated(struct trace *trace, uint32_t *call, uint64_t *serial);
struct repeated light_repeats(struct trace *trace, uint32_t call, uint64_t serial);

/* What an io says of the bytes of its call; it marks the value as seen. */
struct io_bytes {
    uint64_t out, fresh;
};
struct io_bytes trace_io_bytes(struct trace *trace, const struct run_io *io);

#endif
