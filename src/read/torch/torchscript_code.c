#include "read/torch/torchscript_code_in.h"

#include <string.h>

#include "base/base.h"

#define CODE_LIMIT    (64 * MIB) /* of one record */
#define LITERAL_DEPTH 16
#define LITERAL_ITEMS 256 /* of one tuple or list; the rest is left out */

/* A parser of one constant. */
struct literal {
    struct values *values;
    struct str rest;
    int depth;
};

static void skip_blanks(struct literal *in)
{
    while (in->rest.len && (in->rest.at[0] == ' ' || in->rest.at[0] == '\n'))
        in->rest = str_from(in->rest, 1);
}

static bool take_char(struct literal *in, char c)
{
    skip_blanks(in);
    if (!in->rest.len || in->rest.at[0] != c)
        return false;
    in->rest = str_from(in->rest, 1);
    return true;
}

static uint32_t literal_value(struct literal *in);

/* "(1, 2, )" or "[1, 2]", after the opening bracket. */
static uint32_t literal_items(struct literal *in, enum value_kind kind, char close)
{
    uint32_t items[LITERAL_ITEMS], n = 0;

    while (!take_char(in, close)) {
        if (n == LITERAL_ITEMS || !in->rest.len || in->depth > LITERAL_DEPTH)
            return VALUE_ID_FAILED;
        items[n] = literal_value(in);
        if (items[n++] == VALUE_ID_FAILED)
            return VALUE_ID_FAILED;
        take_char(in, ',');
    }
    return value_make(in->values, kind, STR(""), items, n);
}

/* A text in double quotes. Only the escapes \" and \\ are undone. */
static uint32_t literal_text(struct literal *in)
{
    struct buf text = BUF_INIT;
    uint32_t value;

    while (in->rest.len && in->rest.at[0] != '"') {
        if (in->rest.at[0] == '\\' && in->rest.len > 1 &&
            (in->rest.at[1] == '"' || in->rest.at[1] == '\\'))
            in->rest = str_from(in->rest, 1);
        buf_char(&text, in->rest.at[0]);
        in->rest = str_from(in->rest, 1);
    }
    take_char(in, '"');
    value = value_str(in->values, buf_span(&text));
    buf_release(&text);
    return value;
}

/* A number, True, None, or a name. */
static uint32_t literal_word(struct literal *in)
{
    struct str word;
    size_t n = 0;
    int64_t integer;
    double real;

    while (n < in->rest.len && !strchr(",)]} \n", in->rest.at[n]))
        n++;
    word = str_head(in->rest, n);
    in->rest = str_from(in->rest, n);
    if (n == 0)
        return VALUE_ID_FAILED;
    if (str_is(word, "None"))
        return VALUE_ID_NONE;
    if (str_is(word, "True") || str_is(word, "False"))
        return value_bool(in->values, str_is(word, "True"));
    if (str_to_i64(word, &integer))
        return value_int(in->values, integer);
    if (str_to_double(word, &real))
        return value_real(in->values, real);
    return value_make(in->values, VALUE_GLOBAL, word, NULL, 0);
}

/* Recurses through literal_items(); the depth is limited. */
static uint32_t literal_value(struct literal *in)
{
    uint32_t value;

    skip_blanks(in);
    in->depth++;
    if (take_char(in, '('))
        value = literal_items(in, VALUE_TUPLE, ')');
    else if (take_char(in, '['))
        value = literal_items(in, VALUE_LIST, ']');
    else if (take_char(in, '"'))
        value = literal_text(in);
    else
        value = literal_word(in);
    in->depth--;
    return value;
}

/* The value of `text`; anything but a plain literal stays text. */
static uint32_t literal_parse(struct values *values, struct str text)
{
    struct literal in = {.values = values, .rest = text};
    uint32_t value = literal_value(&in);

    skip_blanks(&in);
    if (value != VALUE_ID_FAILED && in.rest.len == 0)
        return value;
    return value_make(values, VALUE_GLOBAL, str_head(text, 200), NULL, 0);
}

/* The next line without its '\n'. */
static bool next_line(struct str *rest, struct str *ret_line)
{
    return rest->len > 0 && str_split(rest, '\n', ret_line);
}

/* The inside of `[...]` on this line. */
static struct str list_inside(struct str line)
{
    ptrdiff_t open = str_find_char(line, '['), close = str_find_last_char(line, ']');

    if (open < 0 || close <= open)
        return STR("");
    return str_head(str_from(line, (size_t)open + 1), (size_t)(close - open - 1));
}

/* `name : Final[Type] = literal` adds name: literal to the constants. */
static int read_constant(struct build *build, struct str line, uint32_t *items,
                         uint32_t *n)
{
    struct values *values = build_values(build);
    ptrdiff_t final = str_find(line, STR(" : Final[")), equals;

    if (final < 0 || *n + 2 > LITERAL_ITEMS)
        return 0;
    equals = str_find(line, STR("] = "));
    if (equals < final)
        return 0;
    items[*n] = value_str(values, str_head(line, (size_t) final));
    items[*n + 1] = literal_parse(values, str_from(line, (size_t)equals + 4));
    if (items[*n] == VALUE_ID_FAILED || items[*n + 1] == VALUE_ID_FAILED)
        return -1;
    *n += 2;
    return 0;
}

/* Read the attributes of a class: the lines before its first method. */
static int read_attributes(struct build *build, struct script_class *class)
{
    uint32_t items[LITERAL_ITEMS], n = 0;
    struct str rest = class->source, line;

    next_line(&rest, &line);
    while (next_line(&rest, &line)) {
        line = str_trim(line);
        if (str_starts(line, STR("def ")))
            break;
        if (str_starts(line, STR("__parameters__ = ")))
            class->parameters = list_inside(line);
        else if (str_starts(line, STR("__buffers__ = ")))
            class->buffers = list_inside(line);
        else if (read_constant(build, line, items, &n) < 0)
            return -1;
    }
    if (n)
        class->constants =
            value_make(build_values(build), VALUE_DICT, STR(""), items, n);
    return class->constants == VALUE_ID_FAILED ? -1 : 0;
}

/* "def relu(x: Tensor) -> Tensor:" gives its name. */
static bool function_line(struct str line, struct str *ret_name)
{
    ptrdiff_t open = str_find_char(line, '(');

    if (!str_starts(line, STR("def ")) || open <= 4)
        return false;
    *ret_name = str_head(str_from(line, 4), (size_t)open - 4);
    return true;
}

/* The name and base of "class Conv2d(Module):"; a function has the base "def". False:
 * another line. */
static bool class_line(struct str line, struct str *ret_name, struct str *ret_base)
{
    ptrdiff_t open;

    *ret_base = STR("def");
    if (function_line(line, ret_name))
        return true;
    if (!str_starts(line, STR("class ")))
        return false;
    line = str_from(line, 6);
    open = str_find_char(line, '(');
    *ret_base = STR("");
    if (open < 0)
        open = str_find_char(line, ':');
    else
        *ret_base = str_head(str_from(line, (size_t)open + 1),
                             (size_t)(str_find_char(line, ')') - open - 1));
    if (open <= 0 || ret_base->len > line.len)
        return false;
    *ret_name = str_head(line, (size_t)open);
    return true;
}

static int add_class(struct script_code *code, struct script_class *class)
{
    struct build *build = code->build;
    uint32_t i;
    int added;

    if (read_attributes(build, class) < 0 ||
        arena_room(&build->scratch, &code->classes, code->names.n, &code->room,
                   sizeof *code->classes) < 0)
        return -1;
    added = name_map_add(&code->names, class->name, &i);
    if (added <= 0)
        return added; /* the first of two classes with one name wins */
    code->classes[i] = *class;
    code->n_functions += str_is(class->base, "def");
    return 0;
}

/* "code/__torch__/a/b.py" names the module "__torch__.a.b". */
static char *module_name(struct build *build, struct str record)
{
    struct str path = str_from(record, 5);
    char *name = arena_printf(&build->scratch, "%.*s", (int)(path.len - 3), path.at);

    for (char *c = name; c && *c; c++)
        if (*c == '/')
            *c = '.';
    return name;
}

static int read_record(struct script_code *code, struct str record, struct str text)
{
    struct build *build = code->build;
    char *module = module_name(build, record);
    struct script_class class = {0};
    struct str rest = text, line, name, base;
    uint32_t number = 0;
    bool open = false, top;

    if (!module)
        return -1;
    while (next_line(&rest, &line)) {
        number++;
        top = line.len && line.at[0] != ' ';
        if (top && open) {
            class.source.len = (size_t)(line.at - class.source.at);
            if (add_class(code, &class) < 0)
                return -1;
            open = false;
        }
        if (top && class_line(line, &name, &base)) {
            char *full =
                arena_printf(&build->scratch, "%s.%.*s", module, STR_ARG(name));

            if (!full)
                return -1;
            class = (struct script_class){.name = str_of(full),
                                          .base = base,
                                          .source = {line.at, 0},
                                          .record = record,
                                          .line = number};
            open = true;
        }
    }
    if (!open)
        return 0;
    class.source.len = (size_t)(text.at + text.len - class.source.at);
    return add_class(code, &class);
}

int script_code_load(struct script_code *code, struct input *input, struct build *build,
                     struct err *err)
{
    struct zip *zip = input->zip;
    struct err why;

    memset(code, 0, sizeof *code);
    code->build = build;
    name_map_init(&code->names, &build->scratch);
    for (uint32_t i = 0; i < zip->n; i++) {
        struct str record = zip_record(zip, i), text;

        if (!str_starts(record, STR("code/")) || !str_ends(record, STR(".py")) ||
            record.len < 9)
            continue;
        if (zip_load(zip, i, CODE_LIMIT, build, &build->scratch, &text, &why) < 0) {
            build_finding(build, FINDING_DAMAGED, SEVERITY_WARNING, input->node,
                          "the code in %.*s cannot be read: %s", STR_ARG(record),
                          why.text);
            continue;
        }
        if (read_record(code, record, text) < 0)
            return arena_err(&build->scratch, input->path, err);
        if (!work_step(build->work, 0))
            return err_set_about(err, ERR_CANCELLED, input->path, ": stopped");
    }
    return 0;
}

const struct script_class *script_class_find(const struct script_code *code,
                                             struct str name)
{
    uint32_t i;

    return name_map_find(&code->names, name, &i) ? &code->classes[i] : NULL;
}

bool script_list_has(struct str list, struct str name)
{
    struct str part;

    while (str_split(&list, ',', &part)) {
        part = str_trim(part);
        if (part.len == name.len + 2 && part.at[0] == '"' &&
            memcmp(part.at + 1, name.at, name.len) == 0)
            return true;
    }
    return false;
}

struct str script_plain_name(struct build *build, struct str name)
{
    struct buf plain = BUF_INIT;
    struct str part, copy;

    while (str_split(&name, '.', &part)) {
        if (str_is(part, "__torch__") || str_starts(part, STR("___torch_mangle_")))
            continue;
        if (plain.len)
            buf_char(&plain, '.');
        buf_str(&plain, part);
    }
    copy = arena_str(&build->scratch, buf_span(&plain));
    buf_release(&plain);
    return copy;
}
