#include "study/safety/expect.h"

#include <inttypes.h>

#include "base/json_read.h"
#include "base/map.h"
#include "base/utf8.h"

#define RANK_MAX 64

/* ---- reading ---- */

struct expect_reading {
    struct json_read json;
    const char *name;
    struct arena *arena;
    struct expectation *to;
    struct err *err;
};

static int wrong(struct expect_reading *self)
{
    if (self->json.error)
        return err_set_about(self->err, ERR_FORMAT, self->name,
                             ": invalid JSON: %s (at byte %zu)", self->json.error,
                             self->json.offset);
    return err_set_about(self->err, ERR_FORMAT, self->name,
                         ": unexpected value at byte %zu; write the file with "
                         "`torchoscope tree --json`",
                         self->json.offset);
}

static int read_text(struct expect_reading *self, struct str *ret_text)
{
    if (json_next(&self->json) != JSON_STRING)
        return wrong(self);
    *ret_text = self->json.text;
    return 0;
}

static int read_shape(struct expect_reading *self, struct expected_tensor *tensor)
{
    int64_t dims[RANK_MAX], *copy;
    enum json_token token;

    if (json_next(&self->json) != JSON_ARRAY)
        return wrong(self);
    tensor->rank = 0;
    for (token = json_next(&self->json); token == JSON_NUMBER;
         token = json_next(&self->json)) {
        if (tensor->rank == RANK_MAX ||
            !json_to_i64(&self->json, &dims[tensor->rank++]))
            return wrong(self);
    }
    if (token != JSON_ARRAY_END)
        return wrong(self);
    copy = arena_array(self->arena, (size_t)tensor->rank + 1, sizeof *copy);
    if (!copy)
        return arena_err(self->arena, self->name, self->err);
    for (uint32_t i = 0; i < tensor->rank; i++)
        copy[i] = dims[i];
    tensor->shape = copy;
    return 0;
}

static int keep_tensor(struct expect_reading *self,
                       const struct expected_tensor *tensor)
{
    struct expectation *to = self->to;

    if (!tensor->name.at || !tensor->dtype.at || !tensor->shape)
        return err_set_about(self->err, ERR_FORMAT, self->name,
                             ": a tensor before byte %zu has no name, shape or dtype",
                             self->json.offset);
    if (to->n == UINT32_MAX - 1 || arena_room(self->arena, &to->tensors, to->n,
                                              &to->room, sizeof *to->tensors) < 0)
        return arena_err(self->arena, self->name, self->err);
    to->tensors[to->n++] = *tensor;
    return 0;
}

/* One object of the list, after its opening brace. */
static int read_tensor(struct expect_reading *self)
{
    struct expected_tensor tensor = {0};
    enum json_token token;

    for (token = json_next(&self->json); token == JSON_KEY;
         token = json_next(&self->json)) {
        struct str key = self->json.text;
        int status;

        if (str_is(key, "name"))
            status = read_text(self, &tensor.name);
        else if (str_is(key, "dtype"))
            status = read_text(self, &tensor.dtype);
        else if (str_is(key, "shape"))
            status = read_shape(self, &tensor);
        else if (json_skip(&self->json, json_next(&self->json)) < 0)
            status = wrong(self);
        else
            status = 0;
        if (status < 0)
            return -1;
    }
    return token == JSON_OBJECT_END ? keep_tensor(self, &tensor) : wrong(self);
}

static int read_tensors(struct expect_reading *self)
{
    enum json_token token;

    if (json_next(&self->json) != JSON_ARRAY)
        return wrong(self);
    for (token = json_next(&self->json); token == JSON_OBJECT;
         token = json_next(&self->json))
        if (read_tensor(self) < 0)
            return -1;
    return token == JSON_ARRAY_END ? 0 : wrong(self);
}

int expect_read(struct str text, const char *name, struct arena *arena,
                struct expectation *ret_expectation, struct err *err)
{
    struct expectation expectation = {0};
    struct expect_reading self = {
        .name = name, .arena = arena, .to = &expectation, .err = err};
    enum json_token token;
    bool found = false;

    json_read_init(&self.json, text, arena);
    if (json_next(&self.json) != JSON_OBJECT)
        return wrong(&self);
    for (token = json_next(&self.json); token == JSON_KEY;
         token = json_next(&self.json)) {
        if (!found && str_is(self.json.text, "tensors")) {
            found = true;
            if (read_tensors(&self) < 0)
                return -1;
        } else if (json_skip(&self.json, json_next(&self.json)) < 0) {
            return wrong(&self);
        }
    }
    if (token != JSON_OBJECT_END || json_next(&self.json) != JSON_END)
        return wrong(&self);
    if (!found)
        return err_set_about(
            err, ERR_FORMAT, name,
            ": no list of tensors; write the file with `torchoscope tree --json`");
    *ret_expectation = expectation;
    return 0;
}

/* ---- comparing ---- */

struct expect_comparing {
    const struct expectation *expectation;
    const struct model *model;
    struct check *check;
    struct arena *arena;
    struct err *err;
    struct map map; /* hash of a name -> the first expected tensor not yet found */
    uint32_t *next; /* by tensor: the next with the same hash, or UINT32_MAX */
    bool *met;      /* by tensor */
    struct buf raw, path, text;
};

static int make_table(struct expect_comparing *self)
{
    const struct expectation *expectation = self->expectation;
    size_t n = (size_t)expectation->n + 1;

    map_init(&self->map, self->arena);
    self->next = arena_array(self->arena, n, sizeof *self->next);
    self->met = arena_array(self->arena, n, sizeof *self->met);
    if (!self->next || !self->met)
        return arena_err(self->arena, "the expectation", self->err);
    /* Backward, so that each list is in order. */
    for (uint32_t i = expectation->n; i-- > 0;) {
        uint64_t key = str_hash(expectation->tensors[i].name);

        if (!map_find(&self->map, key, &self->next[i]))
            self->next[i] = UINT32_MAX;
        if (map_put(&self->map, key, i) < 0)
            return arena_err(self->arena, "the expectation", self->err);
    }
    return 0;
}

/* Take the first tensor of this name from the table; NULL if there is none. */
static const struct expected_tensor *take_expected(struct expect_comparing *self,
                                                   struct str name)
{
    const struct expected_tensor *tensors = self->expectation->tensors;
    uint32_t i, before = UINT32_MAX;

    if (!map_find(&self->map, str_hash(name), &i))
        return NULL;
    while (i != UINT32_MAX && !str_eq(tensors[i].name, name)) {
        before = i;
        i = self->next[i];
    }
    if (i == UINT32_MAX)
        return NULL;
    if (before != UINT32_MAX)
        self->next[before] = self->next[i];
    else /* the key exists: this cannot fail */
        map_put(&self->map, str_hash(name), self->next[i]);
    self->met[i] = true;
    return &tensors[i];
}

static void add_shape(struct buf *to, const int64_t *shape, uint32_t rank)
{
    if (rank == 0)
        buf_text(to, "scalar");
    for (uint32_t i = 0; i < rank; i++)
        buf_printf(to, "%s%" PRId64, i > 0 ? "×" : "", shape[i]);
}

/* The text begins with the name of the tensor. */
static int say(struct expect_comparing *self, uint32_t place)
{
    struct finding finding = {.code = FINDING_UNEXPECTED,
                              .severity = SEVERITY_ALARM,
                              .place = place,
                              .named = true,
                              .text = arena_str(self->arena, buf_span(&self->text)).at};

    if (!finding.text || self->text.bad)
        return arena_err(self->arena, "the expectation", self->err);
    return check_add_finding(self->check, self->arena, finding, self->model, self->err);
}

static bool same_shape(const struct expected_tensor *expected, const int64_t *shape,
                       uint32_t rank)
{
    if (expected->rank != rank)
        return false;
    for (uint32_t i = 0; i < rank; i++)
        if (expected->shape[i] != shape[i])
            return false;
    return true;
}

/* "NAME: 3×3 float32 expected, 3×5 float32 found", with what differs. */
static int compare_tensor(struct expect_comparing *self, uint32_t place,
                          const struct expected_tensor *expected)
{
    const struct tensor *tensor = place_tensor(self->model, place);
    const int64_t *shape = tensor_shape(self->model, tensor);
    const char *dtype = dtype_name(tensor->dtype);
    bool reshaped = !same_shape(expected, shape, tensor->rank);
    bool retyped = !str_is(expected->dtype, dtype);
    const char *blank = reshaped && retyped ? " " : "";

    if (!reshaped && !retyped)
        return 0;
    buf_clear(&self->text);
    buf_str(&self->text, expected->name);
    buf_text(&self->text, ": ");
    if (reshaped)
        add_shape(&self->text, expected->shape, expected->rank);
    if (retyped)
        buf_printf(&self->text, "%s%.*s", blank, STR_ARG(expected->dtype));
    buf_text(&self->text, " expected, ");
    if (reshaped)
        add_shape(&self->text, shape, tensor->rank);
    if (retyped)
        buf_printf(&self->text, "%s%s", blank, dtype);
    buf_text(&self->text, " found");
    return say(self, place);
}

static int say_extra(struct expect_comparing *self, uint32_t place)
{
    const struct tensor *tensor = place_tensor(self->model, place);

    buf_clear(&self->text);
    buf_str(&self->text, buf_span(&self->path));
    buf_text(&self->text, ": not expected, ");
    add_shape(&self->text, tensor_shape(self->model, tensor), tensor->rank);
    buf_printf(&self->text, " %s found", dtype_name(tensor->dtype));
    return say(self, place);
}

static int say_missing(struct expect_comparing *self,
                       const struct expected_tensor *expected)
{
    buf_clear(&self->text);
    buf_str(&self->text, expected->name);
    buf_text(&self->text, ": ");
    add_shape(&self->text, expected->shape, expected->rank);
    buf_printf(&self->text, " %.*s expected, not found", STR_ARG(expected->dtype));
    return say(self, FINDING_NOWHERE);
}

/* The full name as in JSON: invalid UTF-8 bytes are U+FFFD. */
static void take_path(struct expect_comparing *self, uint32_t place)
{
    struct str rest;

    buf_clear(&self->raw);
    place_path(self->model, place, &self->raw);
    buf_clear(&self->path);
    for (rest = buf_span(&self->raw); rest.len > 0;) {
        uint32_t code;
        int n = utf8_decode(rest, &code);

        buf_str(&self->path, n > 0 ? str_head(rest, (size_t)n) : STR("\xef\xbf\xbd"));
        rest = str_from(rest, n > 0 ? (size_t)n : 1);
    }
}

static int compare_place(struct expect_comparing *self, uint32_t place)
{
    const struct expected_tensor *expected;

    take_path(self, place);
    expected = take_expected(self, buf_span(&self->path));
    return expected ? compare_tensor(self, place, expected) : say_extra(self, place);
}

int expect_compare(const struct expectation *expectation, const struct model *model,
                   struct check *check, struct arena *arena, struct err *err)
{
    struct expect_comparing self = {.expectation = expectation,
                                    .model = model,
                                    .check = check,
                                    .arena = arena,
                                    .err = err};
    int status = make_table(&self);

    for (uint32_t p = 0; status == 0 && p < model->n_places; p++)
        if (model->kind[p] == PLACE_TENSOR)
            status = compare_place(&self, p);
    for (uint32_t i = 0; status == 0 && i < expectation->n; i++)
        if (!self.met[i])
            status = say_missing(&self, &expectation->tensors[i]);
    buf_release(&self.raw);
    buf_release(&self.path);
    buf_release(&self.text);
    return status;
}
