#include "explorer/explorer.h"
#include "compare/diff_view.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/base.h"
#include "base/folder.h"
#include "explorer/alarms_in.h"
#include "rows/labels.h"
#include "run/kept.h"
#include "text/text.h"

#define UNASKED_BYTES (64 * MIB) /* larger tensors are read only on request */
#define MOST_OF_ROW   32         /* tensors of one module measured at once */
#define STEP_WAIT_MS  8          /* half a frame */

/* ---- setup and cleanup ---- */

/* A live model is probably under development, so show its code; for a training run,
 * show how it went. */
static void open_first(struct explorer *explorer)
{
    bool live = explorer->session->model->live && !explorer->pair;
    bool training = explorer_follows(explorer);

    explorer->panels[PANEL_TRAINING].open = training;
    explorer->panels[PANEL_CODE].open = live && !training;
    explorer->panels[PANEL_ATTRIBUTES].open = live && !training;
    explorer->panels[PANEL_DETAILS].open = !live && !training;
    if (training && explorer->alarms.training > 0 && explorer_next_alarm(explorer))
        buf_clear(&explorer->message);
    else if (explorer->show.activity && !explorer->pair &&
             (notes_alarmed(explorer->show.activity) ||
              notes_gradient_alarmed(&explorer->show)) &&
             explorer_next_alarm(explorer))
        buf_clear(&explorer->message);
}

int explorer_begin(struct explorer *explorer, struct session *session,
                   struct pair *pair, bool background, struct err *err)
{
    *explorer = (struct explorer){.session = session,
                                  .pair = pair,
                                  .call = RUN_NONE,
                                  .background = background,
                                  .step = STEP_NEWEST,
                                  .went_to = HISTORY_NONE};
    arena_init(&explorer->arena, 0);
    map_init(&explorer->measured, &explorer->arena);
    map_init(&explorer->asked, &explorer->arena);
    if (show_init(&explorer->show, session, &explorer->arena, err) < 0)
        goto fail;
    diff_show(&explorer->show, pair);
    explorer->browse = browse_new(&explorer->show, err);
    if (!explorer->browse || alarms_find(explorer, err) < 0)
        goto fail;
    if (background && !pair) {
        explorer->jobs = jobs_new(session, err);
        if (!explorer->jobs)
            goto fail;
    }
    label_set_init(&explorer->labels, &explorer->show);
    explorer_follow(explorer); /* from now on */
    open_first(explorer);
    return 0;

fail:
    explorer_end(explorer);
    return -1;
}

int explorer_again(struct explorer *explorer, const struct explorer *of,
                   struct err *err)
{
    *explorer = (struct explorer){.session = of->session,
                                  .pair = of->pair,
                                  .call = RUN_NONE,
                                  .step = STEP_NEWEST,
                                  .went_to = HISTORY_NONE};
    arena_init(&explorer->arena, 0);
    map_init(&explorer->measured, &explorer->arena);
    map_init(&explorer->asked, &explorer->arena);
    explorer->show = of->show;
    explorer->alarms = of->alarms; /* borrowed */
    explorer->alarms.next = 0;
    explorer->browse = browse_new(&explorer->show, err);
    if (!explorer->browse) {
        explorer_end(explorer);
        return -1;
    }
    label_set_init(&explorer->labels, &explorer->show);
    open_first(explorer);
    return 0;
}

void explorer_end(struct explorer *explorer)
{
    for (int i = 0; i < PANEL_COUNT; i++)
        if (panels[i] && panels[i]->release)
            panels[i]->release(&explorer->panels[i]);
    for (int i = 0; i < 2; i++) {
        if (explorer->sides[i])
            explorer_end(explorer->sides[i]);
        free(explorer->sides[i]);
    }
    jobs_free(explorer->jobs);
    browse_free(explorer->browse);
    buf_release(&explorer->message);
    buf_release(&explorer->in_short);
    buf_release(&explorer->too_large);
    arena_release(&explorer->alarm_arena);
    arena_release(&explorer->step_arena);
    arena_release(&explorer->arena);
    *explorer = (struct explorer){.session = NULL};
}

void explorer_say(struct explorer *explorer, const char *format, ...)
{
    va_list args;

    buf_clear(&explorer->message);
    va_start(args, format);
    buf_vprintf(&explorer->message, format, args);
    va_end(args);
}

uint32_t explorer_place(const struct explorer *explorer)
{
    uint32_t at = browse_place(explorer->browse);

    return explorer->pair ? explorer->pair->diff.nodes[at].right : at;
}

/* ---- the sides of a pair ---- */

struct explorer *explorer_side(struct explorer *explorer, bool right)
{
    const struct pair *pair = explorer->pair;
    const struct diff_node *node = &pair->diff.nodes[browse_place(explorer->browse)];
    uint32_t place = right ? node->right : node->left;
    struct explorer **at = &explorer->sides[right], *side = *at;

    if (place == NO_PLACE)
        return NULL;
    if (!side) {
        side = malloc(sizeof *side);
        if (!side || explorer_begin(side, right ? pair->right : pair->left, NULL,
                                    explorer->background, NULL) < 0) {
            free(side);
            return NULL;
        }
        *at = side;
    }
    if (browse_place(side->browse) != place)
        browse_go(side->browse, place);
    if (side->bins != explorer->bins)
        explorer_set_bins(side, explorer->bins);
    side->call = explorer->call;
    side->ascii = explorer->ascii;
    side->plain = explorer->plain;
    side->heat = explorer->heat;
    return side;
}

/* The jobs of the session (i = 0), or of side i of a pair; may be NULL. */
static struct jobs *jobs_of(const struct explorer *explorer, int i)
{
    if (!explorer->pair)
        return i == 0 ? explorer->jobs : NULL;
    return explorer->sides[i] ? explorer->sides[i]->jobs : NULL;
}

bool explorer_poll(struct explorer *explorer)
{
    bool any = false;

    for (int i = 0; i < 2; i++)
        if (jobs_of(explorer, i))
            any |= jobs_poll(jobs_of(explorer, i));
    if (any)
        alarms_refresh(explorer);
    return any;
}

void explorer_fds(const struct explorer *explorer, int ret_fds[2])
{
    for (int i = 0; i < 2; i++)
        ret_fds[i] = jobs_of(explorer, i) ? jobs_fd(jobs_of(explorer, i)) : -1;
}

void explorer_drop(struct explorer *explorer)
{
    for (int i = 0; i < 2; i++)
        if (jobs_of(explorer, i))
            jobs_drop(jobs_of(explorer, i));
}

/* ---- calls ---- */

uint32_t explorer_call(const struct explorer *explorer, uint32_t place)
{
    const struct run *run = explorer->session->run;
    uint32_t call;

    if (!explorer->show.activity || explorer->show.model->kind[place] != PLACE_MODULE)
        return RUN_NONE;
    if (explorer->call == RUN_NONE)
        return explorer->show.activity->at[place].newest;
    call = run_first_call(run, explorer->show.model->object[place]);
    while (call != RUN_NONE && (run->calls[call].number != explorer->call ||
                                run->calls[call].place != place))
        call = run_next_call(run, call);
    /* The chosen call may belong to another module, or be merged with others. */
    return call == RUN_NONE ? explorer->show.activity->at[place].newest : call;
}

bool explorer_step(struct explorer *explorer, int by)
{
    const struct run *run = explorer->session->run;
    uint32_t place = explorer_place(explorer), now, before = RUN_NONE, call;

    now = place == NO_PLACE ? RUN_NONE : explorer_call(explorer, place);
    if (now == RUN_NONE) {
        explorer_say(explorer, "no calls of this row were recorded");
        return false;
    }
    call = run_first_call(run, explorer->show.model->object[place]);
    while (call != RUN_NONE) {
        if (run->calls[call].place != place) {
            call = run_next_call(run, call);
            continue;
        }
        if ((by > 0 && before == now) || (by < 0 && call == now))
            break;
        before = call;
        call = run_next_call(run, call);
    }
    if (by < 0)
        call = before;
    if (call == RUN_NONE) {
        explorer_say(explorer,
                     by > 0 ? "this is the newest call" : "this is the first call");
        return false;
    }
    explorer->call = run->calls[call].number;
    explorer_say(explorer, "call %u of %u", (unsigned)explorer->call + 1,
                 (unsigned)run_count_calls(run, run->calls[call].object));
    return true;
}

/* ---- numbers ---- */

#define KEPT_KEY ((uint64_t)1 << 32) /* flag for kept values in `asked` */

static bool may_read(struct explorer *explorer, uint64_t key, uint64_t bytes,
                     const char **ret_why)
{
    struct buf *text = &explorer->too_large;
    uint32_t asked;

    if (bytes <= UNASKED_BYTES || map_find(&explorer->asked, key, &asked))
        return true;
    buf_clear(text);
    buf_text(text, "too large to measure automatically (");
    text_bytes(text, bytes);
    buf_text(text, "); press 4");
    *ret_why = buf_cstr(text);
    return false;
}

bool explorer_may_read(struct explorer *explorer, uint32_t tensor, const char **ret_why)
{
    uint64_t bytes = tensor_bytes(&explorer->session->model->tensors[tensor]);

    return may_read(explorer, tensor, bytes, ret_why);
}

bool explorer_may_read_kept(struct explorer *explorer, uint32_t value, uint64_t bytes,
                            const char **ret_why)
{
    return may_read(explorer, KEPT_KEY | value, bytes, ret_why);
}

bool explorer_stop(struct explorer *explorer)
{
    bool any = false;

    for (int i = 0; i < 2; i++)
        if (jobs_of(explorer, i))
            any |= jobs_stop(jobs_of(explorer, i));
    for (int i = 0; i < 2; i++)
        if (explorer->sides[i])
            map_init(&explorer->sides[i]->asked, &explorer->sides[i]->arena);
    map_init(&explorer->asked, &explorer->arena);
    return any;
}

/* Without threads: compute now and cache. */
static const struct numbers *compute(struct explorer *explorer, uint32_t tensor,
                                     const char **ret_why)
{
    struct numbers_wanted wanted = numbers_usual;
    struct err err = {0};
    struct numbers *numbers;
    uint32_t index;

    if (map_find(&explorer->measured, tensor, &index))
        return explorer->numbers[index];
    if (explorer->bins)
        wanted.bins = explorer->bins;
    if (!explorer_may_read(explorer, tensor, ret_why))
        return NULL;
    numbers = arena_alloc(&explorer->arena, sizeof *numbers);
    if (!numbers || session_numbers(explorer->session, tensor, &wanted,
                                    &explorer->arena, NULL, numbers, &err) < 0) {
        *ret_why = arena_printf(&explorer->arena, "%s", err.text);
        return NULL;
    }
    if (arena_room(&explorer->arena, &explorer->numbers, explorer->n_numbers,
                   &explorer->numbers_room, sizeof *explorer->numbers) == 0 &&
        map_put(&explorer->measured, tensor, explorer->n_numbers) == 0)
        explorer->numbers[explorer->n_numbers++] = numbers;
    return numbers;
}

const struct numbers *explorer_numbers(struct explorer *explorer, uint32_t tensor,
                                       const char **ret_why)
{
    const struct model *model = explorer->session->model;
    const struct numbers *numbers;
    const char *why = NULL;
    bool busy;

    *ret_why = NULL;
    if (!explorer->jobs)
        return compute(explorer, tensor, ret_why);
    numbers = jobs_numbers(explorer->jobs, tensor, &busy, &why);
    if (why) {
        *ret_why = why;
    } else if (busy) {
        *ret_why = "…";
    } else if (!numbers || (numbers->n_bins == 0 && stats_measured(numbers->stats) &&
                            tensor_readable(model, &model->tensors[tensor], NULL))) {
        if (!explorer_may_read(explorer, tensor, ret_why))
            return numbers;
        jobs_want(explorer->jobs, tensor);
        numbers = jobs_numbers(explorer->jobs, tensor, &busy, &why);
        *ret_why = why ? why : busy ? "…" : NULL;
    }
    return numbers;
}

void explorer_set_bins(struct explorer *explorer, uint32_t bins)
{
    explorer->bins = bins == NUMBERS_BINS ? 0 : bins;
    map_init(&explorer->measured, &explorer->arena);
}

void explorer_measure(struct explorer *explorer, uint32_t tensor)
{
    const char *why;

    if (tensor != NO_TENSOR) {
        map_put(&explorer->asked, tensor, 1);
        explorer_numbers(explorer, tensor, &why);
    } else if (explorer->jobs) {
        jobs_want_all(explorer->jobs, JOBS_LOUD);
    } else {
        uint32_t n = explorer->session->model->n_tensors;
        uint32_t *all = arena_array(&explorer->arena, (size_t)n + 1, sizeof *all);

        for (uint32_t i = 0; all && i < n; i++)
            all[i] = i;
        if (all)
            session_stats_many(explorer->session, all, n, NULL, NULL);
    }
    alarms_refresh(explorer);
}

void explorer_forget(struct explorer *explorer)
{
    session_forget(explorer->session);
    if (explorer->jobs)
        jobs_forget(explorer->jobs);
    map_init(&explorer->measured, &explorer->arena);
    alarms_refresh(explorer);
}

void explorer_measure_row(struct explorer *explorer)
{
    const struct model *model = explorer->show.model;
    uint32_t place = explorer_place(explorer), n = 0, call, kept;

    for (int i = 0; explorer->pair && i < 2; i++)
        if (explorer_side(explorer, i))
            explorer_measure_row(explorer->sides[i]);
    if (explorer->pair || place == NO_PLACE || model->kind[place] == PLACE_VALUE)
        return;
    if (model->kind[place] == PLACE_TENSOR) {
        explorer_measure(explorer, model->object[place]);
        return;
    }
    call = explorer_call(explorer, place);
    kept = call == RUN_NONE ? RUN_NONE : kept_result(explorer->session->run, call);
    if (kept != RUN_NONE)
        map_put(&explorer->asked, KEPT_KEY | kept, 1);
    for (uint32_t p = place_first(model, place); p != NO_PLACE && n < MOST_OF_ROW;
         p = place_next(model, p))
        if (model->kind[p] == PLACE_TENSOR && n++ < MOST_OF_ROW)
            explorer_measure(explorer, model->object[p]);
}

/* ---- the history of a training run ---- */

bool explorer_follows(const struct explorer *explorer)
{
    return explorer->session && explorer->session->history && !explorer->pair;
}

static uint64_t stamp_file(uint64_t stamp, const char *path)
{
    static const char *const ends[] = {"", "-wal"};

    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        struct buf name = BUF_INIT;
        struct stat info;

        buf_printf(&name, "%s%s", path, ends[i]);
        if (!name.bad && stat(name.at, &info) == 0) {
            stamp = hash_mix(stamp, (uint64_t)info.st_size + 1);
            stamp = hash_mix(stamp, (uint64_t)info.st_mtim.tv_sec);
            stamp = hash_mix(stamp, (uint64_t)info.st_mtim.tv_nsec);
        }
        buf_release(&name);
    }
    return stamp;
}

/* Sizes and times of the file and its -wal, in one number; of a folder, of the files of
 * all ranks. */
static uint64_t stamp_of(const char *path)
{
    struct folder folder;
    struct arena arena;
    uint64_t stamp = 0;

    if (!path_is_folder(path))
        return stamp_file(0, path);
    arena_init(&arena, 0);
    if (folder_open(&folder, path, &arena, NULL) == 0) {
        for (uint32_t i = 0; i < folder.n; i++) {
            const char *file =
                arena_printf(&arena, "%s/%.*s", path, STR_ARG(folder.entries[i].name));

            if (file && str_ends(folder.entries[i].name, STR(".scope")))
                stamp = stamp_file(stamp, file);
        }
        folder_close(&folder);
    }
    arena_release(&arena);
    return stamp;
}

bool explorer_follow(struct explorer *explorer)
{
    uint64_t stamp, before = explorer->history_stamp;

    if (!explorer_follows(explorer))
        return false;
    stamp = stamp_of(explorer->session->history_path);
    explorer->history_stamp = stamp;
    if (before == 0 || before == stamp)
        return false;
    explorer->history_version++;
    return true;
}

struct training_summary_question {
    const char *path;
    uint64_t version;
};

static int make_summary(const struct model *model, const void *question,
                        struct arena *arena, struct work *work, const void **ret_made,
                        struct err *err)
{
    const struct training_summary_question *q = question;
    struct history_summary *sum = arena_alloc(arena, sizeof *sum);
    struct history *history;
    int status;

    (void)model, (void)work;
    if (!sum)
        return arena_err(arena, "the summary", err);
    history = history_open(q->path, NULL, err);
    if (!history)
        return -1;
    status = history_summarise(history, sum, err);
    history_close(history);
    *ret_made = sum;
    return status;
}

void explorer_refresh_training(struct explorer *explorer)
{
    struct asked_version *asked = &explorer->asked_sum;
    const struct training_summary_question q = {
        explorer->session->history_path,
        asked->waiting ? asked->version : explorer->history_version};
    const struct making making = {make_summary, &q, sizeof q};
    const struct history_summary *sum;
    const char *why;
    bool busy;

    if (!explorer_follows(explorer) || explorer->history_version == 0)
        return;
    if (!explorer->jobs) {
        session_refresh_training(explorer->session);
    } else {
        sum = jobs_made(explorer->jobs, &making, 0, &busy, &why);
        *asked = (struct asked_version){q.version, busy};
        if (sum)
            *explorer->session->training = *sum;
    }
    alarms_refresh(explorer);
}

struct step_question {
    const char *path;
    uint64_t version, step;
};

static int make_step(const struct model *model, const void *question,
                     struct arena *arena, struct work *work, const void **ret_made,
                     struct err *err)
{
    const struct step_question *q = question;
    struct at_step *at = arena_alloc(arena, sizeof *at);
    struct history *history;
    int status;

    (void)work;
    if (!at)
        return arena_err(arena, "the numbers of a step", err);
    history = history_open(q->path, NULL, err);
    if (!history)
        return -1;
    status = at_step_read(history, model, q->step, arena, at, err);
    history_close(history);
    *ret_made = at;
    return status;
}

/* Does anything show numbers of a step? */
static bool wants_step(const struct explorer *explorer)
{
    enum rows_sort sort = browse_view(explorer->browse)->sort;

    if (explorer->panels[PANEL_TRAINING].open || explorer->step != STEP_NEWEST ||
        (sort >= SORT_GRAD && sort <= SORT_WEIGHT))
        return true;
    for (size_t i = 0; i < n_label_kinds; i++)
        if (label_kinds[i].needs & LABEL_OF_TRAINING && explorer->labels.on[i])
            return true;
    return false;
}

/* A result of the jobs is replaced by the next one, so keep a copy. */
static void keep_step(struct explorer *explorer, const struct at_step *from,
                      uint64_t version)
{
    struct arena arena;
    struct step_numbers *at;

    arena_init(&arena, 0);
    at = arena_array(&arena, (size_t)from->n + 1, sizeof *at);
    if (!at)
        return;
    memcpy(at, from->at, from->n * sizeof *at);
    arena_release(&explorer->step_arena);
    explorer->step_arena = arena;
    explorer->at_step = *from;
    explorer->at_step.at = at;
    explorer->show.step = &explorer->at_step;
    explorer->step_version = version;
    browse_renumber(explorer->browse);
}

void explorer_refresh_step(struct explorer *explorer)
{
    struct asked_version *asked = &explorer->asked_step;
    const struct step_question q = {
        explorer->session->history_path,
        asked->waiting ? asked->version : explorer->history_version, explorer->step};
    const struct making making = {make_step, &q, sizeof q};
    const struct at_step *at;
    struct made made = {.size = 0};
    const char *why;
    bool busy;

    if (!explorer_follows(explorer) || !wants_step(explorer) ||
        (explorer->show.step && explorer->show.step->asked == explorer->step &&
         explorer->step_version == explorer->history_version))
        return;
    if (explorer->jobs) {
        at = jobs_made(explorer->jobs, &making, STEP_WAIT_MS, &busy, &why);
        *asked = (struct asked_version){q.version, busy};
    } else {
        made_init(&made, &making);
        at = made_make(&made, explorer->session->model, NULL) == 0 ? made.at : NULL;
    }
    if (at)
        keep_step(explorer, at, q.version);
    made_release(&made);
}

void explorer_show_alarm(struct explorer *explorer, uint32_t alarm, uint64_t step)
{
    explorer->step = step;
    explorer->went_to = alarm;
    explorer->panels[PANEL_TRAINING].open = true;
}
