/* Compares code in files: TorchScript archives, and class sources that torch saved
 * beside a whole module.
 *
 * Two classes have the same code if their texts are equal except for numbers that
 * torch.jit puts into names, and if everything they use from the archive besides modules
 * (functions, named tuples, enums) is equal too. torch.jit numbers classes of one name
 * ("___torch_mangle_7.Net") and the variables of a file ("_12", "x3"); these are
 * renumbered per method, in order of appearance. The head of a TorchScript module, which
 * declares its attributes, is not compared: tensors, constants and children are in the
 * tree. */
#include "base/buf.h"
#include "study/diff/diff_in.h"

#define MOST_STEPS 10000000u /* through uses, in total */

/* One class (or function) of a side. */
struct code_of {
    struct str shown;   /* with plain names; empty: not in the file */
    struct str text;    /* as compared; the same lines as `shown` */
    uint64_t hash;      /* of the text */
    uint32_t first_use; /* its uses, in code_side.uses */
    uint32_t n_uses;    /* classes that its text names */
    bool module;        /* a module of the tree has this class */
    bool followed;      /* `all` is set */
    uint64_t all;       /* hash of the text and of everything it uses */
    uint32_t seen;      /* the last walk that met it */
};

struct code_side {
    const struct model *model;
    struct diffing *d;
    struct code_of *at;  /* by class */
    struct map by_name;  /* hash of the full name in the archive to class */
    struct map numbered; /* hash of method and variable to its number */
    uint32_t methods;    /* so far */
    uint32_t *uses;
    uint32_t n_uses, room;
    uint32_t walk, steps;
    uint32_t *queue; /* room for every class */
};

struct codes {
    struct code_side side[2];
};

/* ---- names ---- */

static bool is_script(struct str file)
{
    return str_starts(file, STR("code/__torch__")) && str_ends(file, STR(".py"));
}

/* "__torch__.a.___torch_mangle_7.Net" for a class in code/__torch__/a/___torch….py. */
static void full_name(const struct model *model, uint32_t class, struct buf *to)
{
    const struct class_info *info = &model->classes[class];
    struct str file = model_string(model, info->file);

    buf_clear(to);
    file = str_head(str_from(file, 5), file.len - 8);
    for (size_t i = 0; i < file.len; i++)
        buf_char(to, file.at[i] == '/' ? '.' : file.at[i]);
    buf_char(to, '.');
    buf_str(to, class_short(model_string(model, info->name)));
}

static bool in_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_' || c == '.';
}

/* The class that a name of the archive refers to, ignoring what follows it (a member of
 * an enum); or DIFF_NONE. */
static uint32_t class_named(const struct code_side *side, struct str name)
{
    uint32_t class;
    ptrdiff_t dot;

    for (;;) {
        if (map_find(&side->by_name, str_hash(name), &class))
            return class;
        dot = str_find_last_char(name, '.');
        if (dot < 0)
            return DIFF_NONE;
        name = str_head(name, (size_t)dot);
    }
}

static void add_plain_name(struct buf *to, struct str name)
{
    struct str part;
    bool first = true;

    while (str_split(&name, '.', &part)) {
        if (str_is(part, "__torch__") || str_starts(part, STR("___torch_mangle_")))
            continue;
        buf_text(to, first ? "" : ".");
        buf_str(to, part);
        first = false;
    }
}

/* ---- texts ---- */

static int add_use(struct code_side *side, struct code_of *code, uint32_t class)
{
    if (class == DIFF_NONE)
        return 0;
    if (arena_room(&side->d->scratch, &side->uses, side->n_uses, &side->room,
                   sizeof *side->uses) < 0)
        return -1;
    side->uses[side->n_uses++] = class;
    code->n_uses++;
    return 0;
}

/* Append the text with plain names, and list the names it uses. */
static int take_text(struct code_side *side, struct code_of *code, struct str text,
                     struct buf *to)
{
    static const struct str torch = {"__torch__", 9};
    ptrdiff_t found;

    code->first_use = side->n_uses;
    while ((found = str_find(text, torch)) >= 0) {
        size_t n = (size_t)found + torch.len;

        if (found > 0 && in_name(text.at[found - 1])) {
            buf_str(to, str_head(text, n));
            text = str_from(text, n);
            continue;
        }
        while (n < text.len && in_name(text.at[n]))
            n++;
        buf_str(to, str_head(text, (size_t)found));
        add_plain_name(to, str_head(str_from(text, (size_t)found), n - (size_t)found));
        if (add_use(side, code,
                    class_named(side, str_head(str_from(text, (size_t)found),
                                               n - (size_t)found))) < 0)
            return -1;
        text = str_from(text, n);
    }
    buf_str(to, text);
    return 0;
}

/* The length of the word or number at the front. */
static size_t word_length(struct str text)
{
    size_t n = 0;

    while (n < text.len && text.at[n] != '.' && in_name(text.at[n]))
        n++;
    return n;
}

/* The length of the quoted string at the front. */
static size_t quoted_length(struct str text)
{
    size_t n = 1;

    while (n < text.len && text.at[n] != text.at[0] && text.at[n] != '\n')
        n += text.at[n] == '\\' ? 2 : 1;
    return n < text.len ? n + 1 : text.len;
}

/* Append a word; a variable that ends in a number gets its number in this method. `n`
 * counts these. */
static int add_word(struct code_side *side, struct buf *to, struct str word,
                    uint32_t *n)
{
    uint64_t key = hash_mix(hash_u64(side->methods), str_hash(word));
    size_t stem = word.len;
    uint32_t number;

    while (stem > 0 && word.at[stem - 1] >= '0' && word.at[stem - 1] <= '9')
        stem--;
    if (stem == word.len || stem == 0 || (word.at[0] >= '0' && word.at[0] <= '9') ||
        (to->len > 0 && to->at[to->len - 1] == '.')) {
        buf_str(to, word);
        return 0;
    }
    if (!map_find(&side->numbered, key, &number)) {
        number = (*n)++;
        if (map_put(&side->numbered, key, number) < 0)
            return -1;
    }
    buf_str(to, str_head(word, stem));
    buf_printf(to, "\1%u", (unsigned)number);
    return 0;
}

/* Append the text with renumbered variables. */
static int number_variables(struct code_side *side, struct str text, struct buf *to)
{
    uint32_t n = 0;

    while (text.len > 0) {
        size_t len = word_length(text);
        struct str word = str_head(text, len);

        if (str_is(word, "def")) {
            side->methods++;
            n = 0;
        }
        if (len > 0 && add_word(side, to, word, &n) < 0)
            return -1;
        if (len == 0) {
            len = text.at[0] == '"' || text.at[0] == '\'' ? quoted_length(text) : 1;
            buf_str(to, str_head(text, len));
        }
        text = str_from(text, len);
    }
    return 0;
}

/* The methods of a TorchScript module, without its head. */
static struct str methods(struct str source)
{
    ptrdiff_t first = str_find(source, STR("\n  def "));

    return str_from(source, first < 0 ? source.len : (size_t)first + 1);
}

static int take_class(struct code_side *side, uint32_t class, struct buf *to)
{
    const struct class_info *info = &side->model->classes[class];
    struct code_of *code = &side->at[class];
    struct str source = model_string(side->model, info->source);

    if (!info->source)
        return 0;
    buf_clear(to);
    if (!is_script(model_string(side->model, info->file)))
        buf_str(to, source);
    else if (take_text(side, code, code->module ? methods(source) : source, to) < 0)
        return -1;
    code->text = code->shown = arena_str(&side->d->scratch, buf_span(to));
    if (is_script(model_string(side->model, info->file))) {
        buf_clear(to);
        if (number_variables(side, code->shown, to) < 0)
            return -1;
        code->text = arena_str(&side->d->scratch, buf_span(to));
    }
    code->hash = str_hash(code->text);
    return to->bad || side->d->scratch.spent ? -1 : 0;
}

static int name_classes(struct code_side *side, struct buf *name)
{
    const struct model *model = side->model;

    for (uint32_t i = 0; i < model->n_classes; i++) {
        if (!model->classes[i].source ||
            !is_script(model_string(model, model->classes[i].file)))
            continue;
        full_name(model, i, name);
        if (name->bad || map_put(&side->by_name, str_hash(buf_span(name)), i) < 0)
            return -1;
    }
    return 0;
}

static int begin_side(struct code_side *side, struct diffing *d, int s)
{
    const struct model *model = d->side[s].model;
    struct buf text = BUF_INIT;
    int status = -1;
    uint32_t i;

    *side = (struct code_side){.model = model, .d = d};
    map_init(&side->by_name, &d->scratch);
    map_init(&side->numbered, &d->scratch);
    side->at = arena_array(&d->scratch, (size_t)model->n_classes + 1, sizeof *side->at);
    side->queue =
        arena_array(&d->scratch, (size_t)model->n_classes + 1, sizeof *side->queue);
    if (!side->at || !side->queue || name_classes(side, &text) < 0)
        goto out;
    for (i = 0; i < model->n_places; i++) {
        const struct object *object = place_object(model, i);

        if (object && object->class_id < model->n_classes)
            side->at[object->class_id].module |= model->kind[i] == PLACE_MODULE;
    }
    for (i = 0; i < model->n_classes; i++)
        if (take_class(side, i, &text) < 0)
            goto out;
    status = 0;

out:
    buf_release(&text);
    return status;
}

/* ---- comparing ---- */

/* The hash of a class and everything it uses besides modules, in any order. */
static uint64_t hash_all(struct code_side *side, uint32_t class)
{
    struct code_of *code = &side->at[class];
    uint32_t n = 0, walk = ++side->walk;
    uint64_t sum = 0;

    if (code->followed)
        return code->all;
    side->queue[n++] = class;
    code->seen = walk;
    for (uint32_t first = 0; first < n && side->steps < MOST_STEPS; first++) {
        const struct code_of *at = &side->at[side->queue[first]];

        for (uint32_t i = 0; i < at->n_uses; i++, side->steps++) {
            uint32_t use = side->uses[at->first_use + i];

            if (side->at[use].seen == walk || side->at[use].module)
                continue;
            side->at[use].seen = walk;
            side->queue[n++] = use;
            sum += hash_u64(side->at[use].hash);
        }
    }
    code->followed = true;
    code->all = hash_mix(code->hash, sum);
    return code->all;
}

/* A text line by line: as compared and as shown. */
struct walking {
    struct str text, shown, line, shown_line;
};

static bool next_line(struct walking *at)
{
    bool more = str_split(&at->text, '\n', &at->line);

    if (!more || !str_split(&at->shown, '\n', &at->shown_line))
        at->line = at->shown_line = STR("");
    return more;
}

/* The first line in which the texts differ. */
static void first_lines(const struct code_of *a, const struct code_of *b,
                        struct str ret_lines[2])
{
    struct walking one = {.text = a->text, .shown = a->shown};
    struct walking two = {.text = b->text, .shown = b->shown};
    bool more;

    do {
        more = next_line(&one);
        more = next_line(&two) || more;
    } while (more && str_eq(one.line, two.line));
    ret_lines[LEFT] = str_trim(one.shown_line);
    ret_lines[RIGHT] = str_trim(two.shown_line);
}

struct codes *codes_make(struct diffing *d)
{
    struct codes *codes = arena_array(&d->scratch, 1, sizeof *codes);

    if (!codes || begin_side(&codes->side[LEFT], d, LEFT) < 0 ||
        begin_side(&codes->side[RIGHT], d, RIGHT) < 0)
        return NULL;
    return codes;
}

bool codes_differ(struct codes *codes, uint32_t left, uint32_t right,
                  struct str ret_lines[2])
{
    struct code_side *l = &codes->side[LEFT], *r = &codes->side[RIGHT];
    const struct object *a = place_object(l->model, left);
    const struct object *b = place_object(r->model, right);
    struct arena *arena = l->d->arena;

    if (!a || !b || a->class_id >= l->model->n_classes ||
        b->class_id >= r->model->n_classes || !l->model->classes[a->class_id].source ||
        !r->model->classes[b->class_id].source)
        return false;
    if (hash_all(l, a->class_id) == hash_all(r, b->class_id))
        return false;
    first_lines(&l->at[a->class_id], &r->at[b->class_id], ret_lines);
    ret_lines[LEFT] = arena_str(arena, ret_lines[LEFT]);
    ret_lines[RIGHT] = arena_str(arena, ret_lines[RIGHT]);
    return true;
}
