/* jobs_in.h - the parts of jobs.h: one lock, a list of wishes, a list of answers, and
 * for sources that only their owner may ask, errands that jobs_poll() runs for the
 * threads. */
#ifndef SESSION_JOBS_IN_H
#define SESSION_JOBS_IN_H

#include <pthread.h>

#include "session/jobs.h"

#define JOBS_THREADS 2
#define JOBS_WISHES  64
#define JOBS_SLOTS   4 /* kinds of things that are made besides numbers */
#define JOBS_BRIEF                                                                     \
    4096u /* answers of the long job that wait for a poll; then it waits */

/* One question, and what came of it. */
struct answer {
    struct answer *next; /* in the list of those that are done */
    uint32_t tensor;
    bool brief;     /* asked by the long job: statistics, no more */
    bool cancelled; /* it may be asked again */
    char why[256];  /* why there are no numbers, or "" */
    struct stats stats;
    struct numbers numbers; /* points into this answer */
    double quantiles[NUMBERS_QUANTILES];
    uint64_t bins[NUMBERS_BINS];
};

/* Bytes that a thread needs and only the owner of the source may fetch. */
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

/* What is made besides numbers: one thing of each kind is wanted, being made, or there.
 */
enum slot_state { SLOT_NONE, SLOT_WANTED, SLOT_BEGUN, SLOT_DONE };
struct slot {
    enum slot_state state;
    struct made made; /* made on a copy until it is done */
};

/* A thread, and the source through which it sees the model. */
struct worker {
    struct source source; /* first: it is asked for its worker */
    struct jobs *jobs;
    pthread_t thread;
    struct model lent; /* the session's, with the source above where that is needed */
    bool busy;
    bool with_long;         /* what it is busy with, if not with a wish: this, */
    struct slot *with_slot; /* or this */
    struct work work;       /* of all but the long job */
    struct errand errand;
};

struct jobs {
    struct session *session;
    pthread_mutex_t lock;
    pthread_cond_t more;   /* there is something to do, or all ends */
    pthread_cond_t asked;  /* an errand waits, or somebody is done */
    pthread_cond_t served; /* an errand was run, or all ends */
    int read_fd, write_fd;
    bool told; /* a byte is in the pipe */
    bool ending;

    struct worker workers[JOBS_THREADS];
    uint32_t n_workers;

    uint32_t wishes[JOBS_WISHES]; /* the newest last */
    uint32_t n_wishes;
    struct answer *done; /* for jobs_poll() */
    uint32_t n_brief;    /* answers of the long job among them */

    struct slot slots[JOBS_SLOTS];
    bool slot_new; /* nobody polled since one was made */

    /* The long job: tensors in the order of the file. */
    uint32_t *order;
    uint32_t n_order, at_order;
    struct work long_work;
    uint64_t long_began_ns, long_told_ns;
    bool long_on;
    bool quiet; /* nobody asked for the long job: no progress, and news less often */

    /* Of whoever asks; no thread looks at them. */
    uint8_t *state;          /* by tensor: enum jobs_asked */
    struct answer **answers; /* by tensor */
    struct numbers known;    /* what the session knows of the last one asked for */
    struct arena arena;      /* of the two */
};

enum jobs_asked { NOT_ASKED, ASKED, ANSWERED };

/* Let whoever waits know that there is something to poll. The lock is held. */
void jobs_tell(struct jobs *jobs);

/* Take what is to be made, and give back what was made of it. */
struct slot *slot_take(struct worker *worker); /* or NULL */
void slot_give(struct jobs *jobs, struct slot *slot, struct made *made);
/* Wait for news until then, and take them. False: there are none. */
bool jobs_wait_more(struct jobs *jobs, uint64_t end_ns);
/* Threads, as needed. The lock is held. */
void jobs_start(struct jobs *jobs);

/* How a thread sees the model: through a source that asks the owner. */
void errands_begin(struct worker *worker);
/* Run errands for at most so long. True: some were run. */
bool errands_run(struct jobs *jobs, uint64_t most_ns);

#endif
