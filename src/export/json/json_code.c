/* The source of a module's class with shapes beside its lines, and the attributes of an
 * object: the content of panels 2 and 3 of the terminal. */
#include "export/export_in.h"

#include "base/base.h"
#include "facts/objects/attribute_tree.h"
#include "facts/objects/code.h"
#include "text/escape.h"

#define MOST_ATTRIBUTES 1000u

/* ---- code ---- */

/* Source comes from files: escape what a browser would hide or reorder. */
static void put_line(struct document *doc, struct buf *text, struct str line)
{
    buf_clear(text);
    escape_terminal(text, line);
    json_str(doc->json, NULL, buf_span(text));
}

static void put_marks(struct document *doc, const struct code *code,
                      const struct code_mark *marks)
{
    json_array(doc->json, "marks");
    for (uint32_t i = 0; i < code->n; i++) {
        if (!marks[i].text)
            continue;
        json_object(doc->json, NULL);
        json_u64(doc->json, "line", code->first + i);
        json_text(doc->json, "text", marks[i].text);
        export_flag(doc->json, "alarm", marks[i].alarm);
        export_flag(doc->json, "input", marks[i].input);
        json_object_end(doc->json);
    }
    json_array_end(doc->json);
}

/* The shapes of the call, if there is one. */
static int put_code(struct document *doc, const char *key, const struct code *code,
                    const struct show *show, uint32_t call)
{
    struct code_mark *marks =
        arena_array(&doc->arena, (size_t)code->n + 1, sizeof *marks);
    struct buf text = BUF_INIT;

    if (!marks || (call != RUN_NONE && code->n > 0 &&
                   code_marks(marks, code, show, call, &doc->arena) < 0))
        return -1;
    json_object(doc->json, key);
    json_str(doc->json, "name", code->name);
    if (code->file.len > 0)
        json_str(doc->json, "file", code->file);
    json_u64(doc->json, "first", code->first);
    if (code->forward < code->n)
        json_u64(doc->json, "forward", code->first + code->forward);
    json_array(doc->json, "lines");
    for (uint32_t i = 0; i < code->n; i++)
        put_line(doc, &text, code->lines[i]);
    json_array_end(doc->json);
    put_marks(doc, code, marks);
    json_object_end(doc->json);
    buf_release(&text);
    return 0;
}

static int put_source(struct document *doc, const struct show *show, uint32_t class_id,
                      uint32_t call)
{
    struct class_source source = {.why = code_why_none(doc->model)};

    if (class_id != NO_CLASS)
        class_source_read(&source, doc->model, class_id, &doc->arena);
    if (source.why) {
        json_null(doc->json, "source");
        json_text(doc->json, "source_why", source.why);
        return 0;
    }
    if (put_code(doc, "source", &source.code, show, call) < 0)
        return -1;
    return source.base.n > 0 ? put_code(doc, "inherited", &source.base, show, call) : 0;
}

/* The call with this number at the place, or the newest; RUN_NONE: none. */
static uint32_t call_of(const struct show *show, uint32_t place, uint64_t number)
{
    const struct run *run = show->session->run;
    uint32_t call;

    if (!show->activity || show->model->kind[place] != PLACE_MODULE)
        return RUN_NONE;
    if (number == EXPORT_NEWEST)
        return show->activity->at[place].newest;
    call = run_first_call(run, show->model->object[place]);
    while (call != RUN_NONE &&
           (run->calls[call].number != number || run->calls[call].place != place))
        call = run_next_call(run, call);
    return call;
}

static void begin(struct document *doc, const char *kind, uint32_t place)
{
    json_object(doc->json, NULL);
    json_u64(doc->json, "torchoscope", 1);
    json_text(doc->json, "kind", kind);
    document_path(doc, "name", place);
    json_u64(doc->json, "place", place);
}

int export_code_json(struct json *json, const struct session *session, uint32_t place,
                     uint64_t number, struct err *err)
{
    struct document doc = {
        .json = json, .session = session, .model = session->model, .run = session->run};
    uint32_t module = code_module(session->model, place);
    uint32_t class_id = code_class(session->model, module), call;
    struct show show;
    int status;

    arena_init(&doc.arena, GIB);
    status = show_init(&show, session, &doc.arena, err);
    if (status < 0)
        goto out;
    call = call_of(&show, module, number);
    begin(&doc, "code", module);
    if (class_id != NO_CLASS)
        json_str(json, "class",
                 model_string(session->model, session->model->classes[class_id].name));
    if (call != RUN_NONE) {
        json_u64(json, "call", call);
        json_u64(json, "number", session->run->calls[call].number);
    }
    if (put_source(&doc, &show, class_id, call) < 0)
        status = arena_err(&doc.arena, "the source", err);
    json_object_end(json);

out:
    buf_release(&doc.path);
    arena_release(&doc.arena);
    return status;
}

/* ---- attributes ---- */

static void put_node(struct document *doc, const struct attribute_node *node)
{
    json_object(doc->json, NULL);
    json_str(doc->json, "name", node->name);
    json_str(doc->json, "text", node->text);
    export_flag(doc->json, "folds", node->folds);
    if (node->place != NO_PLACE)
        json_u64(doc->json, "to", node->place);
    export_flag(doc->json, "of_class", node->flags & ATTRIBUTE_CLASS);
    export_flag(doc->json, "property", node->flags & ATTRIBUTE_PROPERTY);
    export_flag(doc->json, "raised", node->flags & ATTRIBUTE_RAISED);
    export_flag(doc->json, "rest", node->flags & ATTRIBUTE_REST);
    json_object_end(doc->json);
}

static void put_nodes(struct document *doc, const struct attribute_node *node)
{
    uint32_t n = 0;

    json_array(doc->json, "attributes");
    for (const struct attribute_node *at = node->first; at; at = at->next)
        if (n++ < MOST_ATTRIBUTES)
            put_node(doc, at);
    json_array_end(doc->json);
    if (n > MOST_ATTRIBUTES)
        json_u64(doc->json, "left_out", n - MOST_ATTRIBUTES);
}

/* Open the node at "3.0": the first child of the fourth. Properties are not read: that
 * would run the model's code, which only the terminal on the user's request does. */
static struct attribute_node *open_node(struct attribute_tree *tree, struct str path,
                                        struct err *err)
{
    struct attribute_node *node = tree->root;
    struct str part;
    uint64_t index;

    while (path.len > 0 && str_split(&path, '.', &part)) {
        if (!str_to_u64(part, &index)) {
            err_set(err, ERR_USAGE, "open= takes positions: 3.0");
            return NULL;
        }
        for (node = node->first; node && index > 0; index--)
            node = node->next;
        if (!node || !node->folds) {
            err_set(err, ERR_NOT_FOUND, "there is no such attribute to open");
            return NULL;
        }
        if (node->flags & ATTRIBUTE_PROPERTY) {
            err_set(err, ERR_UNSUPPORTED,
                    "a property is not read here: that would run the model's code");
            return NULL;
        }
        if (attribute_open(tree, node, err) < 0)
            return NULL;
    }
    return node;
}

int export_attributes_json(struct json *json, const struct session *session,
                           uint32_t place, struct str path, struct err *err)
{
    struct document doc = {.json = json, .session = session, .model = session->model};
    struct attribute_tree tree = {.place = NO_PLACE};
    const struct attribute_node *node = NULL;
    struct show show;

    arena_init(&doc.arena, 0);
    if (show_init(&show, session, &doc.arena, err) == 0 &&
        attribute_tree_begin(&tree, &show, place, err) == 0)
        node = open_node(&tree, path, err);
    if (node) {
        begin(&doc, "attributes", place);
        json_str(json, "title", tree.root->text);
        json_str(json, "open", path);
        put_nodes(&doc, node);
        if (!tree.root->first)
            json_text(json, "attributes_why",
                      attribute_why_none(session->model, place));
        json_object_end(json);
    }
    attribute_tree_release(&tree);
    buf_release(&doc.path);
    arena_release(&doc.arena);
    return node ? 0 : -1;
}
