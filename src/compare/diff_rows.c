#include "compare/diff_rows_in.h"

#include "text/text.h"

#define MOST_ROWS 20 /* of one kind */

/* ---- names ---- */

static struct str file_part(const char *path)
{
    struct str whole = str_of(path);

    while (whole.len > 1 && whole.at[whole.len - 1] == '/')
        whole.len--;
    return str_from(whole, (size_t)(str_find_last_char(whole, '/') + 1));
}

struct str diff_file(const struct diff *diff, bool right)
{
    const char *path = right ? diff->right->path : diff->left->path;

    if (str_eq(file_part(diff->left->path), file_part(diff->right->path)))
        return str_of(path);
    return file_part(path);
}

void diff_pair_name(const struct diff *diff, uint32_t pair, struct buf *to)
{
    const struct diff_pair *one = &diff->pairs[pair];
    bool right = one->right != NO_PLACE;

    diff_name(diff, right, right ? one->right : one->left, to);
}

void diff_node_name(const struct diff *diff, uint32_t node, struct buf *to)
{
    size_t begin = to->len, end;
    uint32_t up;

    /* The tree puts a node of the left model beside its neighbours of the right one,
     * under a path that it never had. */
    if (node != 0 && diff->nodes[node].right == NO_PLACE) {
        diff_name(diff, false, diff->nodes[node].left, to);
        return;
    }
    /* Make room for the whole name, then fill it from the end. */
    for (up = node; up != 0; up = diff->nodes[up].parent)
        buf_fill(to, '.', diff->nodes[up].name.len + (up != node));
    end = to->len;
    if (to->bad || end == begin)
        return;
    for (up = node; up != 0; up = diff->nodes[up].parent) {
        struct str name = diff->nodes[up].name;

        end -= name.len + (up != node);
        if (name.len > 0)
            memcpy(to->at + end, name.at, name.len);
    }
}

void diff_write_place(struct buf *to, const struct diff *diff, bool right,
                      uint32_t place)
{
    struct buf raw = BUF_INIT;

    diff_name(diff, right, place, &raw);
    escape_terminal(to, buf_span(&raw));
    buf_release(&raw);
}

void diff_write_pair(struct buf *to, const struct diff *diff, uint32_t pair)
{
    const struct diff_pair *one = &diff->pairs[pair];
    bool right = one->right != NO_PLACE;

    diff_write_place(to, diff, right, right ? one->right : one->left);
}

void diff_write_node(struct buf *to, const struct diff *diff, uint32_t node)
{
    struct buf raw = BUF_INIT;

    diff_node_name(diff, node, &raw);
    escape_terminal(to, buf_span(&raw));
    buf_release(&raw);
}

struct str diff_keep_node(struct arena *arena, const struct diff *diff, uint32_t node,
                          struct str root)
{
    struct buf raw = BUF_INIT;
    struct str kept;

    if (node == 0)
        return root;
    diff_node_name(diff, node, &raw);
    kept = arena_str(arena, buf_span(&raw));
    buf_release(&raw);
    return kept;
}

uint32_t diff_largest(const struct diff *diff, uint32_t node, const struct compared *by)
{
    for (uint32_t below = node; below < diff->nodes[node].end; below++) {
        uint32_t pair = diff->nodes[below].pair;

        if (pair != DIFF_NONE && diff->pairs[pair].by.max_abs == by->max_abs)
            return pair;
    }
    return DIFF_NONE;
}

/* ---- rows ---- */

void diff_list_begin(struct diff_rows_maker *maker)
{
    maker->listed = maker->left_out = 0;
}

static void keep_row(struct diff_rows_maker *maker, const char *sign,
                     enum colour colour)
{
    struct diff_rows *rows = maker->rows;
    struct diff_row *row;

    if (arena_room(rows->arena, &rows->at, rows->n, &rows->room, sizeof *rows->at) < 0)
        return;
    row = &rows->at[rows->n++];
    row->sign = sign;
    row->colour = colour;
    row->what = arena_str(rows->arena, buf_span(&maker->what));
    row->amount = arena_str(rows->arena, buf_span(&maker->amount));
    row->rest = arena_str(rows->arena, buf_span(&maker->rest));
}

void diff_row_add(struct diff_rows_maker *maker, const char *sign, enum colour colour)
{
    if (maker->rows->all || maker->listed < MOST_ROWS) {
        keep_row(maker, sign, colour);
        maker->listed++;
    } else {
        maker->left_out++;
    }
    buf_clear(&maker->what);
    buf_clear(&maker->amount);
    buf_clear(&maker->rest);
}

void diff_list_end(struct diff_rows_maker *maker)
{
    if (maker->left_out == 0)
        return;
    text_commas(&maker->what, maker->left_out);
    buf_text(&maker->what, " more (--all)");
    keep_row(maker, " ", COLOUR_DIM);
    buf_clear(&maker->what);
    diff_list_begin(maker);
}

/* ---- shapes ---- */

void diff_shape(struct buf *to, const struct model *model, uint32_t place)
{
    const struct tensor *tensor = place_tensor(model, place);

    text_shape(to, tensor_shape(model, tensor), tensor->rank);
}

static void add_reshaped(struct diff_rows_maker *maker)
{
    const struct diff *diff = maker->diff;

    diff_list_begin(maker);
    for (uint32_t i = 0; i < diff->n_pairs; i++) {
        const struct diff_pair *pair = &diff->pairs[i];

        if (pair->state != DIFF_RESHAPED)
            continue;
        diff_write_pair(&maker->what, diff, i);
        diff_shape(&maker->rest, diff->left, pair->left);
        buf_text(&maker->rest, " → ");
        diff_shape(&maker->rest, diff->right, pair->right);
        if (pair->flags & DIFF_TRANSPOSED)
            buf_text(&maker->rest, ", transposed");
        diff_row_add(maker, "≠", COLOUR_WARNING);
    }
    diff_list_end(maker);
}

/* ---- only on one side ---- */

/* The topmost nodes that are on one side only. */
struct lone {
    struct str *names;
    uint32_t *nodes;
    uint32_t n;
};

static bool is_lone(const struct diff_node *node, enum diff_state state)
{
    return node->sums.tensors > 0 && node->sums.states[state] == node->sums.tensors;
}

static int find_lone(struct diff_rows_maker *maker, enum diff_state state,
                     struct lone *lone)
{
    const struct diff *diff = maker->diff;
    struct arena *arena = maker->rows->arena;
    size_t room = (size_t)diff->total.states[state] + 1;

    *lone = (struct lone){.n = 0};
    lone->names = arena_array(arena, room, sizeof *lone->names);
    lone->nodes = arena_array(arena, room, sizeof *lone->nodes);
    if (!lone->names || !lone->nodes)
        return -1;
    for (uint32_t node = 0; node < diff->n_nodes && lone->n + 1 < room;) {
        if (!is_lone(&diff->nodes[node], state)) {
            node++;
            continue;
        }
        lone->names[lone->n] = diff_keep_node(arena, diff, node, STR(""));
        lone->nodes[lone->n++] = node;
        node = diff->nodes[node].end;
    }
    return 0;
}

/* Elements of all tensors at and below a node. */
static uint64_t count_elements(const struct diff *diff, uint32_t node)
{
    uint64_t sum = 0;

    for (uint32_t below = node; below < diff->nodes[node].end; below++) {
        uint32_t index = diff->nodes[below].pair;
        const struct diff_pair *pair;

        if (index == DIFF_NONE)
            continue;
        pair = &diff->pairs[index];
        sum += pair->right != NO_PLACE ? place_tensor(diff->right, pair->right)->numel
                                       : place_tensor(diff->left, pair->left)->numel;
    }
    return sum;
}

/* "18 tensors, 2.4M"; for a single tensor, its shape and dtype. */
static void add_size(struct diff_rows_maker *maker, const struct lone *lone,
                     uint32_t first, uint32_t n)
{
    const struct diff *diff = maker->diff;
    uint32_t pair = diff->nodes[lone->nodes[first]].pair;
    uint64_t tensors = 0, elements = 0;

    for (uint32_t i = first; i < first + n; i++) {
        tensors += diff->nodes[lone->nodes[i]].sums.tensors;
        elements += count_elements(diff, lone->nodes[i]);
    }
    if (n == 1 && pair != DIFF_NONE && tensors == 1) {
        bool right = diff->pairs[pair].right != NO_PLACE;
        const struct model *model = right ? diff->right : diff->left;
        uint32_t place = right ? diff->pairs[pair].right : diff->pairs[pair].left;

        diff_shape(&maker->rest, model, place);
        buf_printf(&maker->rest, " %s", dtype_name(place_tensor(model, place)->dtype));
        return;
    }
    text_plural(&maker->rest, tensors, "tensor", "tensors");
    buf_text(&maker->rest, ", ");
    text_count(&maker->rest, elements);
}

/* Does the conversion to GGUF add (or leave out) everything at and below this node? */
static bool is_beside(const struct diff *diff, uint32_t node)
{
    for (uint32_t below = node; below < diff->nodes[node].end; below++)
        if (diff->nodes[below].pair != DIFF_NONE &&
            !(diff->pairs[diff->nodes[below].pair].flags & DIFF_BESIDE))
            return false;
    return true;
}

static uint32_t count_alike(const struct diff *diff, const struct lone *lone,
                            uint32_t first)
{
    uint32_t n = names_count_up(lone->names + first, lone->n - first), i;
    bool beside = is_beside(diff, lone->nodes[first]);

    for (i = 1; i < n && is_beside(diff, lone->nodes[first + i]) == beside; i++)
        ;
    return i;
}

static void add_lone(struct diff_rows_maker *maker, enum diff_state state,
                     const char *sign, enum colour colour)
{
    struct lone lone;

    diff_list_begin(maker);
    if (find_lone(maker, state, &lone) < 0)
        return;
    for (uint32_t i = 0, n; i < lone.n; i += n) {
        n = count_alike(maker->diff, &lone, i);
        if (lone.nodes[i] == 0)
            buf_text(&maker->what, "(all)");
        names_write(&maker->what, lone.names + i, n, &names_in_column);
        add_size(maker, &lone, i, n);
        if (is_beside(maker->diff, lone.nodes[i]))
            buf_text(&maker->rest, (state == DIFF_LEFT) == maker->diff->gguf_left
                                       ? ", which llama.cpp's converter adds"
                                       : ", which llama.cpp's converter leaves out");
        diff_row_add(maker, sign, colour);
    }
    diff_list_end(maker);
}

int diff_rows_make(struct diff_rows *rows, const struct diff *diff, struct err *err)
{
    struct diff_rows_maker maker = {.rows = rows, .diff = diff};

    add_reshaped(&maker);
    add_lone(&maker, DIFF_RIGHT, "+", COLOUR_GOOD);
    add_lone(&maker, DIFF_LEFT, "-", COLOUR_ALARM);
    diff_name_rows(&maker);
    diff_edit_rows(&maker);
    diff_dtype_rows(&maker);
    diff_quantised_rows(&maker);
    diff_value_rows(&maker);
    diff_other_rows(&maker);
    diff_tie_rows(&maker);
    diff_unread_rows(&maker);
    buf_release(&maker.what);
    buf_release(&maker.amount);
    buf_release(&maker.rest);
    buf_release(&maker.name);
    if (rows->arena->spent)
        return arena_err(rows->arena, "the list of differences", err);
    return 0;
}
