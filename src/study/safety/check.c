#include "study/safety/check.h"

#include <inttypes.h>

#include "base/map.h"
#include "study/safety/expect.h"

struct check_making {
    const struct model *model;
    const struct check_ask *ask;
    struct arena *arena;
    struct check *check;
    struct err *err;
};

/* ---- items ---- */

static int add_item(struct check *check, struct arena *arena, struct check_item item,
                    struct err *err)
{
    if (arena_room(arena, &check->items, check->n, &check->room, sizeof *check->items) <
        0)
        return arena_err(arena, "the check", err);
    check->items[check->n++] = item;
    return 0;
}

static int add(struct check_making *self, enum check_topic topic, enum check_mark mark,
               enum check_says says, uint32_t index)
{
    struct check_item item = {topic, mark, says, index};

    return add_item(self->check, self->arena, item, self->err);
}

/* The worst mark of a topic's items so far; CHECK_GOOD if it has none. */
static enum check_mark worst_of(const struct check *check, enum check_topic topic)
{
    enum check_mark worst = CHECK_GOOD;

    for (uint32_t i = 0; i < check->n; i++)
        if (check->items[i].topic == topic && check->items[i].mark > worst)
            worst = check->items[i].mark;
    return worst;
}

static bool is_fine(const struct check *check, enum check_topic topic)
{
    return worst_of(check, topic) <= CHECK_NOTE;
}

/* ---- findings ---- */

/* An integer fact of the container: "entries", "shards". */
static bool has_fact(const struct model *model, const char *key, uint64_t *ret_number)
{
    for (uint32_t i = 0; i < model->n_facts; i++) {
        const struct value *value = value_at(&model->values, model->facts[i].value);

        if (!str_is(model_string(model, model->facts[i].key), key) ||
            value->kind != VALUE_INT)
            continue;
        *ret_number = (uint64_t)value->integer;
        return true;
    }
    return false;
}

bool check_is_sharded(const struct model *model)
{
    uint64_t shards;

    return has_fact(model, "shards", &shards);
}

/* The entries of a GGUF file are its metadata. */
static enum check_topic container(const struct model *model)
{
    uint64_t entries;

    if (check_is_sharded(model))
        return CHECK_SHARDS;
    if (str_is(str_of(model->format), "GGUF"))
        return CHECK_FILE;
    return has_fact(model, "entries", &entries) ? CHECK_ZIP : CHECK_FILE;
}

static enum check_topic topic_of(enum finding_code code, const struct model *model)
{
    switch (code) {
    case FINDING_PICKLE_MALFORMED:
    case FINDING_PICKLE_OVERRIDE:
    case FINDING_PICKLE_NESTED:
        return CHECK_PICKLE;
    case FINDING_CHECKSUM:
    case FINDING_ENCRYPTED:
    case FINDING_ZIP_TRICK:
        return CHECK_ZIP;
    case FINDING_MISSING_SHARD:
    case FINDING_SHARD_MISMATCH:
        return CHECK_SHARDS;
    case FINDING_MISSING_RECORD:
        /* A plain file with missing data is incomplete. */
        return container(model) == CHECK_FILE ? CHECK_FILE : CHECK_TENSORS;
    case FINDING_BAD_TENSOR:
    case FINDING_SIZE_MISMATCH:
    case FINDING_BIG_ENDIAN:
        return CHECK_TENSORS;
    case FINDING_NON_FINITE:
        return CHECK_VALUES;
    case FINDING_TRAINING:
        return CHECK_TRAINING;
    case FINDING_UNEXPECTED:
        return CHECK_EXPECT;
    default:
        return container(model);
    }
}

static enum check_mark mark_of(enum severity severity)
{
    switch (severity) {
    case SEVERITY_NOTE:
        return CHECK_NOTE;
    case SEVERITY_WARNING:
        return CHECK_WARNING;
    case SEVERITY_ALARM:
        break;
    }
    return CHECK_ALARM;
}

int check_add_finding(struct check *check, struct arena *arena, struct finding finding,
                      const struct model *model, struct err *err)
{
    struct check_item item = {.topic = topic_of(finding.code, model),
                              .mark = mark_of(finding.severity),
                              .says = CHECK_SAYS_FINDING,
                              .index = check->n_findings};

    if (arena_room(arena, &check->findings, check->n_findings, &check->findings_room,
                   sizeof finding) < 0)
        return arena_err(arena, "the check", err);
    check->findings[check->n_findings++] = finding;
    return add_item(check, arena, item, err);
}

static uint64_t finding_key(const struct finding *finding)
{
    uint64_t place = (uint64_t)finding->file << 32 | finding->place;

    return hash_mix(hash_mix(hash_u64(finding->entry), place), finding->code);
}

/* Does the model have this finding, too? `seen` maps a key to the index of a
 * finding. */
static bool is_known(const struct check_making *self, const struct map *seen,
                     const struct finding *finding)
{
    uint32_t i;

    return map_find(seen, finding_key(finding), &i) &&
           finding_same(&self->model->findings[i], finding);
}

/* The model's findings, then new ones of the second pass. */
static int add_findings(struct check_making *self)
{
    const struct check_ask *ask = self->ask;
    struct map seen;

    map_init(&seen, self->arena);
    for (uint32_t i = 0; i < self->model->n_findings; i++) {
        const struct finding *finding = &self->model->findings[i];

        if (map_put(&seen, finding_key(finding), i) < 0)
            return arena_err(self->arena, "the check", self->err);
        if (check_add_finding(self->check, self->arena, *finding, self->model,
                              self->err) < 0)
            return -1;
    }
    for (uint32_t i = 0; i < ask->n_found; i++)
        if (!is_known(self, &seen, &ask->found[i]) &&
            check_add_finding(self->check, self->arena, ask->found[i], self->model,
                              self->err) < 0)
            return -1;
    return 0;
}

/* ---- topics ---- */

/* One item for each dangerous global, one for all unknown globals. */
static int look_at_pickles(struct check_making *self)
{
    struct verdict_sum plain = verdict_of(self->model);
    struct check *check = self->check;
    uint32_t first_unknown = UINT32_MAX;

    for (uint32_t i = 0; i < self->model->pickle.n_globals; i++) {
        enum trust trust = verdict_judge(self->model, &check->verdict, i, NULL);

        if (trust == TRUST_DANGER &&
            add(self, CHECK_PICKLE, CHECK_ALARM, CHECK_SAYS_GLOBAL, i) < 0)
            return -1;
        if (trust == TRUST_UNKNOWN && first_unknown == UINT32_MAX)
            first_unknown = i;
    }
    if (plain.unknown > check->verdict.unknown)
        check->allowed = plain.unknown - check->verdict.unknown;
    if (first_unknown != UINT32_MAX)
        return add(self, CHECK_PICKLE, CHECK_WARNING, CHECK_SAYS_UNKNOWN,
                   first_unknown);
    return 0;
}

static int conclude_pickles(struct check_making *self)
{
    if (!is_fine(self->check, CHECK_PICKLE))
        return 0;
    if (self->check->verdict.verdict == VERDICT_INCONCLUSIVE)
        return add(self, CHECK_PICKLE, CHECK_WARNING, CHECK_SAYS_UNDECIDED, 0);
    return add(self, CHECK_PICKLE, CHECK_GOOD, CHECK_SAYS_WELL, 0);
}

static int look_at_container(struct check_making *self)
{
    enum check_topic topic = container(self->model);

    has_fact(self->model, topic == CHECK_SHARDS ? "shards" : "entries",
             &self->check->entries);
    self->check->data_verified = self->ask->data_verified;
    if (!is_fine(self->check, topic))
        return 0;
    return add(self, topic, CHECK_GOOD, CHECK_SAYS_WELL, 0);
}

/* Should the file hold values of this tensor? */
static bool has_data(const struct tensor *tensor)
{
    return !(tensor->flags & (TENSOR_META | TENSOR_SHAPE_ONLY | TENSOR_DERIVED));
}

static bool lies_inside(const struct model *model, const struct tensor *tensor)
{
    return tensor->dtype == DTYPE_UNKNOWN || model->no_values ||
           tensor_readable(model, tensor, NULL);
}

/* A tensor with its parts, which are not counted separately. */
static void look_at_tensor(struct check_making *self, uint32_t place)
{
    const struct model *model = self->model;
    bool data = false, inside = true;

    for (uint32_t p = place; p < model->end[place]; p++) {
        if (model->kind[p] != PLACE_TENSOR || !has_data(place_tensor(model, p)))
            continue;
        data = true;
        inside &= lies_inside(model, place_tensor(model, p));
    }
    self->check->tensors += data;
    self->check->inside += data && inside;
}

static int look_at_tensors(struct check_making *self)
{
    const struct model *model = self->model;
    struct check *check = self->check;

    for (uint32_t p = 0; p < model->n_places;
         p = model->kind[p] == PLACE_TENSOR ? model->end[p] : p + 1)
        if (model->kind[p] == PLACE_TENSOR)
            look_at_tensor(self, p);
    /* Tensors in attributes have no place: count only the bad ones. */
    for (uint32_t i = 0; i < model->n_tensors; i++)
        check->tensors += model->tensors[i].place == NO_PLACE &&
                          has_data(&model->tensors[i]) &&
                          !lies_inside(model, &model->tensors[i]);
    if (check->inside < check->tensors)
        return add(self, CHECK_TENSORS, CHECK_ALARM, CHECK_SAYS_COUNT, 0);
    if (is_fine(check, CHECK_TENSORS))
        return add(self, CHECK_TENSORS, CHECK_GOOD, CHECK_SAYS_WELL, 0);
    return 0;
}

/* "fc.weight holds 3 NaN, 1 infinity among 4096 values" */
static int say_non_finite(struct check_making *self, const struct tensor *tensor,
                          const struct stats *stats)
{
    uint64_t infinite = stats->pos_inf + stats->neg_inf;
    struct finding finding = {.code = FINDING_NON_FINITE,
                              .severity =
                                  stats->nan ? SEVERITY_ALARM : SEVERITY_WARNING,
                              .place = FINDING_NOWHERE};
    struct buf text = BUF_INIT;

    if (tensor->place < self->model->n_places) {
        finding.place = tensor->place;
        place_path(self->model, tensor->place, &text);
        finding.named = true;
    }
    buf_text(&text, text.len > 0 ? " holds " : "the tensor holds ");
    if (stats->nan)
        buf_printf(&text, "%" PRIu64 " NaN%s", stats->nan, infinite ? " and " : "");
    if (infinite)
        buf_printf(&text, "%" PRIu64 " %s", infinite,
                   infinite == 1 ? "infinity" : "infinities");
    buf_printf(&text, " among %" PRIu64 " %s", stats->count,
               stats->count == 1 ? "value" : "values");
    finding.text = arena_str(self->arena, buf_span(&text)).at;
    buf_release(&text);
    if (!finding.text)
        return arena_err(self->arena, "the check", self->err);
    return check_add_finding(self->check, self->arena, finding, self->model, self->err);
}

static int look_at_values(struct check_making *self)
{
    const struct check_values *values = self->ask->values;
    struct check *check = self->check;
    enum check_mark mark;

    if (!values)
        return add(self, CHECK_VALUES, CHECK_NOT_LOOKED_AT, CHECK_SAYS_NOTHING, 0);
    for (uint32_t i = 0; i < self->model->n_tensors; i++) {
        const struct stats *stats = values->stats[i];

        if (!stats) {
            check->unread += has_data(&self->model->tensors[i]);
            continue;
        }
        check->values += stats->count;
        if (stats->nan + stats->pos_inf + stats->neg_inf > 0 &&
            say_non_finite(self, &self->model->tensors[i], stats) < 0)
            return -1;
    }
    check->stopped = !values->complete;
    /* A format without values is not missing any. */
    mark = self->model->no_values && !check->stopped ? CHECK_NOTE : CHECK_WARNING;
    if (check->unread > 0 && add(self, CHECK_VALUES, mark, CHECK_SAYS_COUNT, 0) < 0)
        return -1;
    if (is_fine(check, CHECK_VALUES))
        return add(self, CHECK_VALUES, CHECK_GOOD, CHECK_SAYS_WELL, 0);
    return 0;
}

static int look_at_training(struct check_making *self)
{
    if (!self->ask->training)
        return 0;
    self->check->steps = self->ask->steps;
    self->check->evals = self->ask->evals;
    if (!is_fine(self->check, CHECK_TRAINING))
        return 0;
    if (self->check->steps > 0)
        return add(self, CHECK_TRAINING, CHECK_GOOD, CHECK_SAYS_WELL, 0);
    /* No values were found to be healthy. */
    return add(self, CHECK_TRAINING,
               self->check->evals > 0 ? CHECK_NOTE : CHECK_WARNING, CHECK_SAYS_COUNT,
               0);
}

static int look_at_expectation(struct check_making *self)
{
    const struct expectation *expect = self->ask->expect;

    if (!expect)
        return 0;
    self->check->expected = expect->n;
    if (expect_compare(expect, self->model, self->check, self->arena, self->err) < 0)
        return -1;
    if (is_fine(self->check, CHECK_EXPECT))
        return add(self, CHECK_EXPECT, CHECK_GOOD, CHECK_SAYS_WELL, 0);
    return 0;
}

/* ---- the whole check ---- */

/* Sort items by topic; stable. */
static int sort_items(struct check_making *self)
{
    struct check *check = self->check;
    struct check_item *sorted =
        arena_array(self->arena, (size_t)check->n + 1, sizeof *sorted);
    uint32_t n = 0;

    if (!sorted)
        return arena_err(self->arena, "the check", self->err);
    for (uint8_t topic = 0; topic < CHECK_TOPIC_COUNT; topic++)
        for (uint32_t i = 0; i < check->n; i++)
            if (check->items[i].topic == topic)
                sorted[n++] = check->items[i];
    check->items = sorted;
    check->room = check->n;
    return 0;
}

static int status_of(const struct check *check)
{
    if (check->verdict.verdict == VERDICT_INCONCLUSIVE)
        return 2;
    if (check->verdict.verdict != VERDICT_SAFE)
        return 1;
    for (uint32_t i = 0; i < check->n; i++)
        if (check->items[i].mark >= CHECK_WARNING)
            return 1;
    return 0;
}

int check_make(const struct model *model, const struct check_ask *ask,
               struct arena *arena, struct check *ret_check, struct err *err)
{
    struct check check = {.verdict = verdict_with(model, ask->allow)};
    struct check_making self = {model, ask, arena, &check, err};

    if (look_at_pickles(&self) < 0 || add_findings(&self) < 0 ||
        conclude_pickles(&self) < 0 || look_at_container(&self) < 0 ||
        look_at_tensors(&self) < 0 || look_at_values(&self) < 0 ||
        look_at_training(&self) < 0 || look_at_expectation(&self) < 0 ||
        sort_items(&self) < 0)
        return -1;
    check.status = status_of(&check);
    *ret_check = check;
    return 0;
}

const char *check_topic_name(enum check_topic topic)
{
    static const char *const names[CHECK_TOPIC_COUNT] = {
        [CHECK_PICKLE] = "pickle",     [CHECK_ZIP] = "zip",
        [CHECK_SHARDS] = "shards",     [CHECK_FILE] = "file",
        [CHECK_TENSORS] = "tensors",   [CHECK_VALUES] = "values",
        [CHECK_TRAINING] = "training", [CHECK_EXPECT] = "expect",
    };

    return names[topic];
}

const char *check_mark_name(enum check_mark mark)
{
    static const char *const names[] = {"good", "not looked at", "note", "warning",
                                        "alarm"};

    return names[mark];
}

enum verdict check_worse(enum verdict a, enum verdict b)
{
    static const int order[] = {[VERDICT_SAFE] = 0,
                                [VERDICT_NEEDS_CODE] = 1,
                                [VERDICT_INCONCLUSIVE] = 2,
                                [VERDICT_UNSAFE] = 3};

    return order[a] >= order[b] ? a : b;
}
