/* trace_in.h - a run under construction, for trace*.c only.
 *
 * An open call is a *frame* on the stack of its thread. A kept call is a run_call from
 * its start. A light call is a *slot* of its object at its place: a slot holds one call
 * at a time, so the number of slots is the largest number of such calls open at once.
 * The serial identifies the call that a late gradient belongs to. */
#ifndef RUN_TRACE_IN_H
#define RUN_TRACE_IN_H

#include "base/map.h"
#include "run/trace.h"

/* In run_value.flags, while recording: an io refers to it. */
#define VALUE_SEEN 0x80

#define NO_SERIAL UINT64_MAX

/* The call that a recomputation repeats, or RUN_NONE: unknown. */
struct repeated {
    uint32_t call;
    uint64_t serial;
};

/* A light call: the record, and its ios with values by number. */
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

/* The merged ios of one kind and path of all calls of a light. */
struct light_io {
    uint8_t kind;
    bool measured;
    uint32_t path;
    struct stats stats;
    int64_t *shapes[16]; /* rank, sizes... */
    uint32_t n_shapes;
};

/* An io whose value is not measured yet. */
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
    uint32_t cursor; /* where the search for the next io starts: they arrive in order */
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
    uint64_t own_ns; /* cost of recording on this thread so far */
    bool is_under;   /* the next root call becomes a child of `under`: trace_under() */
    struct trace_frame under;
};

struct trace_object {
    uint32_t calls, recomputed; /* so far; `calls` does not include `recomputed` */
    /* Calls without gradients in a pass that has them: reentrant checkpointing will
     * repeat them during backward, with gradients. */
    uint32_t pending;
    bool mixed;           /* several are pending: it is unknown which one is repeated */
    struct repeated last; /* the newest pending one */
    uint16_t flags;       /* of all its calls, combined */
    uint32_t direct;      /* string id: see trace_direct(); or 0 */
    uint32_t light;       /* the first: index + 1 in trace->lights, or 0 */
    uint32_t places;      /* index of its first place in trace->places, sorted */
    uint32_t n_places;
};

/* The number of times a parent call used a place of an object with several places. */
struct place_use {
    uint64_t around; /* serial of the parent */
    uint32_t calls;
};

/* The kept values of a parameter. */
struct trace_param {
    uint32_t n[2];      /* so far: values, gradients */
    uint32_t newest[2]; /* index in trace->params of the one to replace */
};

/* Cache of recent shapes and strides. */
#define RECENT_DIMS 256
struct recent_dims {
    uint32_t at;
    uint8_t rank;
    bool used;
};

/* ---- trace_step.c ---- */

#define TRACE_OPTIMIZERS 16 /* at most; others are ignored */

struct trace_optimizer {
    uint32_t number;
    uint32_t times; /* it stepped since the last round */
};

struct trace_steps {
    uint32_t passes;   /* so far, without recomputations */
    uint32_t now;      /* the current step */
    uint32_t first;    /* the value of `now` that becomes step 0 */
    bool by_optimizer; /* an optimizer stepped: passes are no longer steps */
    struct trace_optimizer optimizers[TRACE_OPTIMIZERS];
    uint32_t n;
};

/* A pass begins (not a recomputation). */
void trace_root_begins(struct trace_steps *steps);
/* The final numbers of steps, once a run has its calls and parameters. */
void trace_number_steps(const struct trace_steps *steps, struct run *run);

struct trace_ops; /* trace_ops_in.h */

struct trace {
    struct arena arena; /* of all but kept bytes and operations */
    struct arena kept_arena;
    struct intern strings;
    struct values plain; /* of facts */
    const struct model *model;
    uint32_t keep_calls; /* limit for one object; TRACE_ALL_CALLS: never merge */

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
    uint64_t forward_ns; /* of all passes, without recomputations */
    uint64_t latest_ns;  /* the latest time seen */
    uint32_t epoch;
    bool held; /* values are not swept */

    struct run_call *calls;
    uint64_t *serials;        /* of calls */
    uint64_t *parents;        /* serial of the parent of each, or NO_SERIAL */
    struct repeated *repeats; /* the call that each repeats */
    uint32_t n_calls, calls_room, serials_room, parents_room, repeats_room;
    struct run_io *ios;
    uint32_t n_ios, ios_room;
    struct run_value *values; /* by number; `stats` is 0 if measured */
    struct stats *stats;      /* by value number */
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

    struct trace_ops *ops; /* NULL: operations are not recorded */

    /* Dropped at the memory limit. */
    uint64_t lost_calls, lost_values, lost_ios, lost_gaps, lost_kept;
};

/* trace_finish.c: a copy of n items in the arena of a run, with room for one more; NULL:
 * out of memory. */
void *trace_copy(struct run *run, const void *from, size_t n, size_t item);

/* trace_value.c: drops values without references, if there are many. */
void trace_sweep(struct trace *trace);

/* trace_light.c */
uint32_t light_begin(struct trace *trace, const struct run_call *call,
                     uint64_t parent_serial, struct repeated repeats);
/* `nested`: it is inside another call of the same place. */
void light_end(struct trace *trace, uint32_t call, bool nested);
/* Adds an io to the call with this serial; NO_SERIAL: to the open one. */
void light_io(struct trace *trace, uint32_t call, uint64_t serial,
              const struct run_io *io);
struct light_slot *light_slot(struct trace *trace, uint32_t call);
/* The record of a light call: the open one (NO_SERIAL), or the newest ended one if it
 * has this serial; or NULL. */
struct run_call *light_record(struct trace *trace, uint32_t call, uint64_t serial);
/* Replaces a recomputation by the call that it repeats, which receives its gradients
 * and backward time. */
void trace_repeated(struct trace *trace, uint32_t *call, uint64_t *serial);
struct repeated light_repeats(struct trace *trace, uint32_t call, uint64_t serial);

/* The bytes that an io adds to out_bytes and new_bytes of its call; marks the value as
 * seen. */
struct io_bytes {
    uint64_t out, fresh;
};
struct io_bytes trace_io_bytes(struct trace *trace, const struct run_io *io);

#endif
