/* jobs_in.h - internals of jobs.h: one lock, a list of wishes (requests), a list of
 * answers, and errands: reads that jobs_poll() does for the threads if only the owner
 * may read the source. */
#ifndef SESSION_JOBS_IN_H
#define SESSION_JOBS_IN_H

#include <pthread.h>

#include "session/jobs.h"

#define JOBS_THREADS 2
#define JOBS_WISHES  64
#define JOBS_SLOTS   8     /* functions of jobs_made() */
#define JOBS_BRIEF   4096u /* answers that the long job queues before it waits */

/* One request and its result. */
struct answer {
    struct answer *next; /* in the list of finished ones */
    uint32_t tensor;
    bool brief;     /* of the long job: statistics only */
    bool cancelled; /* it may be requested again */
    char why[256];  /* why there are no numbers, or "" */
    struct stats stats;
    struct numbers numbers; /* points into this answer */
    double quantiles[NUMBERS_QUANTILES];
    uint64_t bins[NUMBERS_BINS];
};

/* A read that a thread needs and only the owner of the source may do. */
enum errand_state { ERRAND_NONE, ERRAND_ASKED, ERRAND_RUN };
struct errand {
    enum errand_state state;
    uint32_t storage;
    uint64_t at;
    void *to;
    size_t n;
    int status;
    struct err err;
};

/* A result of jobs_made(): requested, running, or done. */
enum slot_state { SLOT_NONE, SLOT_WANTED, SLOT_BEGUN, SLOT_DONE };
struct slot {
    enum slot_state state;
    struct made made; /* a thread works on a copy */
};

/* A thread, and the source through which it reads the model. */
struct worker {
    struct source source; /* first: cast to the worker */
    struct jobs *jobs;
    pthread_t thread;
    struct model lent; /* the session's model, with the source above if needed */
    bool busy;
    bool with_long;         /* busy with the long job */
    struct slot *with_slot; /* busy with this; or NULL */
    struct work work;       /* except for the long job */
    struct errand errand;
};

struct jobs {
    struct session *session;
    pthread_mutex_t lock;
    pthread_cond_t more;   /* new work, or `ending` */
    pthread_cond_t asked;  /* an errand waits, or a worker finished */
    pthread_cond_t served; /* an errand was run, or `ending` */
    int read_fd, write_fd;
    bool notified; /* a byte is in the pipe */
    bool ending;

    struct worker workers[JOBS_THREADS];
    uint32_t n_workers;

    uint32_t wishes[JOBS_WISHES]; /* the newest last */
    uint32_t n_wishes;
    struct answer *done; /* for jobs_poll() */
    uint32_t n_brief;    /* answers of the long job among them */

    struct slot slots[JOBS_SLOTS];
    bool slot_new; /* one was finished since the last poll */

    /* The long job: tensors in file order. */
    uint32_t *order;
    uint32_t n_order, at_order;
    struct work long_work;
    uint64_t long_began_ns, long_notified_ns;
    bool long_on;
    bool quiet; /* the long job reports no progress, and wakes the owner less often */

    /* Used by the owner only, without the lock. */
    uint8_t *state;          /* by tensor: enum jobs_asked */
    struct answer **answers; /* by tensor */
    bool unseen;             /* results were taken while waiting: jobs_waited() */
    struct numbers known;    /* from the session, of the last tensor looked up */
    struct arena arena;      /* of `state` and `answers` */
};

enum jobs_asked { NOT_ASKED, ASKED, ANSWERED };

/* Makes jobs_fd() readable. The lock is held. */
void jobs_notify(struct jobs *jobs);

/* A worker takes a requested slot, and returns the result. */
struct slot *slot_take(struct worker *worker); /* or NULL */
void slot_give(struct jobs *jobs, struct slot *slot, struct made *made);
/* Waits for results until end_ns and takes them. False: none came. */
bool jobs_wait_more(struct jobs *jobs, uint64_t end_ns);
/* Called after the last wait: its results may include some that other callers expect,
 * so the next jobs_poll() reports them. */
void jobs_waited(struct jobs *jobs);
/* Starts threads as needed. The lock is held. */
void jobs_start(struct jobs *jobs);

/* Gives a worker a source that sends its reads to the owner. */
void errands_begin(struct worker *worker);
/* Runs errands for at most this time. True: some were run. */
bool errands_run(struct jobs *jobs, uint64_t most_ns);

#endif
