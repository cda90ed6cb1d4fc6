/* recorder_in.h - what the files of the recorder share.
 *   recorder.c         the type: made, asked, stopped
 *   recorder_hooks.c   before and after forward
 *   recorder_value.c   a tensor becomes a value: measured, kept, left to its device
 *   recorder_frames.c  calls under way, thread by thread
 *   recorder_alive.c   whether those calls are still under way
 *   recorder_line.c    which line called
 *   recorder_names.c   what forward calls its arguments
 *   recorder_params.c  parameters and their gradients */
#ifndef EXT_RECORD_RECORDER_IN_H
#define EXT_RECORD_RECORDER_IN_H

#include "ext/record/recorder.h"
#include "ext/torch/torch.h"

#include "base/buf.h"

/* An argument of a call under way, as it was before forward. */
struct recorder_input {
    const void *tensor; /* only compared: it is not held */
    uint32_t path, value;
    int64_t version;
    uint64_t print; /* its fingerprint */
    uint8_t flags;  /* enum run_io_flag */
    bool grad;      /* it requires a gradient */
};

/* A call under way. Its arguments are entered into the trace when it ends: only then is
 * known which of them were overwritten. */
struct recorder_frame {
    const void *module, *args, *kwargs; /* only compared; kwargs may be NULL */
    const void *caller; /* Python's frame of torch that calls it, only compared: there
                           as long as the call is; or NULL */
    uint32_t call, object;
    uint32_t line;   /* which called it: string id, or 0 */
    uint32_t inputs; /* where they begin in the stack's; they end where the next
                        frame's begin */
    uintptr_t depth; /* of the C stack when it began. Each call of a module takes some
                        of it: one that does not stand below is not inside this one */
    bool has_inner;  /* some call inside it was seen */
    bool recomputed; /* by checkpointing: nothing of it is kept */
    bool compiled;   /* the module is what torch.compile() gave, and that which is
                        inside it was not heard so far */
};

struct stack {
    unsigned long ident; /* of the thread */
    uint32_t number;
    bool busy; /* a hook of ours runs: what it calls is not recorded */
    struct recorder_frame *frames;
    uint32_t n, room;
    struct recorder_input *inputs;
    uint32_t n_inputs, inputs_room;
};

struct frames *frames_new(void);
void frames_free(struct frames *frames);
/* This thread's stack; NULL without memory. It stays where it is. */
struct stack *frames_stack(struct frames *frames);
/* The stack with a number below frames_count(), to look at all. */
uint32_t frames_count(const struct frames *frames);
struct stack *frames_at(const struct frames *frames, uint32_t number);
/* Begin a call of which `frame` says all but where its arguments begin. */
bool stack_push(struct stack *stack, const struct recorder_frame *frame);
bool stack_add(struct stack *stack, const struct recorder_input *input);
/* The newest call of a module, as an index + 1; 0: none. */
uint32_t stack_find(const struct stack *stack, const void *module);
/* How many of the calls, from the outermost on, are under way by Python's own stack. An
 * interrupt leaves forward without a word to the hooks, and somebody may catch it.
 * `module` is that of which a call is about to begin. Slow. */
uint32_t stack_alive(const struct stack *stack, const void *module);
/* Drop all frames from this index on. */
void stack_cut(struct stack *stack, uint32_t index);

struct code_lines *code_lines_new(void);
void code_lines_free(struct code_lines *lines);
/* String id in the trace of the line that called: "net.py:12"; or 0. `outer` is the
 * call in which this one stands, or NULL; *ret_caller is for those inside this one. */
uint32_t code_lines_find(struct code_lines *lines, struct trace *trace,
                         const struct recorder_frame *outer, const void **ret_caller);

/* What the forward of a module calls its arguments, as walk_arguments() takes it;
 * borrowed. NULL: not known (TorchScript). Asked once for each object. */
PyObject *recorder_names(struct recorder *recorder, PyObject *module, uint32_t object);
void recorder_forget_names(struct recorder *recorder);

/* A value, and what tells later whether it was overwritten. */
struct recorder_measured {
    uint32_t value;
    int64_t version;
    uint64_t print;
    bool grad;       /* it requires a gradient */
    bool inner_grad; /* likewise, inside a function transform */
};
/* As recorder_value(). */
struct recorder_measured recorder_measure(struct recorder *recorder, PyObject *tensor,
                                          unsigned wants);
/* Ask the device for what it has yet to tell. */
void recorder_flush(struct recorder *recorder);
/* The clock of the device: a call begins or ends (NAME_start, NAME_end); work of ours
 * ends; what calls took. */
void recorder_mark(struct recorder *recorder, enum torch_attribute what, uint32_t call);
void recorder_rest(struct recorder *recorder);
void recorder_times(struct recorder *recorder);
/* Are the elements that this call sees to be kept? It is said where they are not
 * because the call is merged with others. */
bool recorder_keeps(struct recorder *recorder, uint32_t object, uint32_t call);
/* Parameters (if asked for) and their gradients, as they are now. */
void recorder_params(struct recorder *recorder, bool parameters);

/* The hooks, as methods of the type. */
PyObject *recorder_pre(struct recorder *recorder, PyObject *const *args,
                       Py_ssize_t n_args);
PyObject *recorder_post(struct recorder *recorder, PyObject *const *args,
                        Py_ssize_t n_args);
PyObject *recorder_raised(struct recorder *recorder, PyObject *const *args,
                          Py_ssize_t n_args);
/* Is the newest call of a module compiled code? */
void recorder_compiled(struct recorder *recorder, PyObject *module, bool compiled);
/* Ours and armed? False in a child that was forked while we recorded. */
bool recorder_ready(struct recorder *recorder);
/* Does a backward run on this thread? What is called then is a recomputation. */
bool recorder_in_backward(struct recorder *recorder);
unsigned recorder_forks(void); /* how often this process came from a fork */
/* Enter what calls under way have seen so far, at the end. */
void recorder_unwind(struct recorder *recorder);

#endif
