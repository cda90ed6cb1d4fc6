#include "read/pickle/pickle_machine_in.h"

#include "base/base.h"

#define TUPLE_SHARED 8  /* longer tuples of ints are not shared */
#define TEXT_COPIED  64 /* shorter texts are copied before the input is freed */
#define DROP_STEP    (256 * KIB)

int machine_fault(struct machine *m, const char *why)
{
    if (!m->fault)
        m->fault = why ? why : "it is wrong";
    return -1;
}

int machine_spent(struct machine *m, const char *what)
{
    if (!m->spent)
        m->spent = what;
    return -1;
}

int machine_more_stack(struct machine *m)
{
    if (m->n_stack >= PICKLE_MAX_STACK)
        return machine_spent(m, "more than 10 million values on the stack");
    if (arena_room(&m->arena, &m->stack, m->n_stack, &m->stack_room, sizeof *m->stack) <
        0)
        return machine_spent(m, "more memory than allowed");
    return 0;
}

int machine_more_nodes(struct machine *m)
{
    struct pickle *p = m->pickle;

    if (p->n_nodes >= PICKLE_MAX_NODES)
        return machine_spent(m, "more than 50 million values");
    if (arena_room(&m->build->scratch, &p->nodes, p->n_nodes, &p->nodes_room,
                   sizeof *p->nodes) < 0)
        return machine_spent(m, "more memory than allowed");
    return 0;
}

/* A state_dict has about 100 bytes for each tensor, which make 7 nodes and 15 items. */
static void reserve_arrays(struct machine *m)
{
    size_t size = (size_t)(m->end - m->begin);
    struct pickle *p = m->pickle;

    arena_reserve(&m->build->scratch, &p->nodes, size / 13, &p->nodes_room,
                  sizeof *p->nodes);
    arena_reserve(&m->build->scratch, &p->items, size / 6, &p->items_room,
                  sizeof *p->items);
    arena_reserve(&m->arena, &m->memo, size / 20, &m->memo_room, sizeof *m->memo);
}

static int make_constants(struct machine *m)
{
    struct pickle *p = m->pickle;

    if (arena_room(&m->build->scratch, &p->more, 0, &p->more_room, sizeof *p->more) < 0)
        return machine_spent(m, "more memory than allowed");
    p->more[p->n_more++] = (struct node_more){.state = NO_NODE, .extra = NO_NODE};
    m->none = machine_node(m, NODE_NONE);
    m->no = machine_node(m, NODE_BOOL);
    m->yes = machine_node(m, NODE_BOOL);
    m->empty_tuple = machine_node(m, NODE_TUPLE);
    if (m->empty_tuple == NO_NODE)
        return -1;
    node_at(m, m->yes)->integer = 1;
    memset(m->ints, 0xff, sizeof m->ints);
    memset(m->tuples, 0xff, sizeof m->tuples);
    m->computed = NO_NODE;
    return machine_init_shared(m);
}

int machine_init(struct machine *m, struct pickle *pickle, struct build *build,
                 struct bytes *in, struct str name, struct pickle_load *load,
                 bool drops)
{
    size_t used = build->scratch.used, limit = build->scratch.limit;

    memset(m, 0, sizeof *m);
    m->pickle = pickle;
    m->build = build;
    m->name = name;
    m->begin = m->at = m->opcode = in->at;
    m->end = in->end;
    pickle->input = (const char *)in->at;
    m->load = load;
    m->drops = drops;
    pickle->copied = drops ? TEXT_COPIED : 0;
    arena_init(&m->arena, limit > used ? limit - used : 1);
    map_init(&m->memo_far, &m->arena);
    map_init(&m->globals, &m->arena);
    map_init(&m->reached, &m->arena);
    m->getattr_log = UINT32_MAX;
    m->persistent_log = m->extension_log = UINT32_MAX;
    m->raw = NO_NODE;
    reserve_arrays(m);
    map_init(&pickle->raw_of, &build->scratch);
    if (!load) /* raw arrays hide the GETs: all numbers are stored */
        machine_look_ahead(m);
    if (machine_more_stack(m) < 0)
        return -1;
    return make_constants(m);
}

int machine_mark(struct machine *m)
{
    if (m->n_marks >= PICKLE_MAX_MARKS)
        return machine_spent(m, "more than a million marks");
    if (m->n_marks == m->marks_room && arena_room(&m->arena, &m->marks, m->n_marks,
                                                  &m->marks_room, sizeof *m->marks) < 0)
        return machine_spent(m, "more memory than allowed");
    m->marks[m->n_marks++] = m->n_stack;
    m->floor = m->n_stack;
    return 0;
}

/* Pop the mark and all above it. The items are valid until the next push. */
int machine_pop_mark(struct machine *m, const node_id **ret_items, uint32_t *ret_n)
{
    uint32_t mark;

    if (m->n_marks == 0)
        return machine_fault(m, "it needs a mark, but there is none");
    mark = m->marks[--m->n_marks];
    *ret_items = m->stack + mark;
    *ret_n = m->n_stack - mark;
    m->n_stack = mark;
    m->floor = m->n_marks > 0 ? m->marks[m->n_marks - 1] : 0;
    return 0;
}

struct node_more *machine_more(struct machine *m, node_id id)
{
    struct pickle *p = m->pickle;
    struct node *node = node_at(m, id);

    if (node->more == 0) {
        if (arena_room(&m->build->scratch, &p->more, p->n_more, &p->more_room,
                       sizeof *p->more) < 0) {
            machine_no_memory(m);
            return NULL;
        }
        p->more[p->n_more] = p->more[0];
        node->more = p->n_more++;
    }
    return &p->more[node->more];
}

int machine_set_state(struct machine *m, node_id id, node_id state)
{
    struct node_more *more = machine_more(m, id);

    if (!more)
        return -1;
    more->state = state;
    return 0;
}

int machine_set_extra(struct machine *m, node_id id, node_id extra)
{
    struct node_more *more = machine_more(m, id);

    if (!more)
        return -1;
    more->extra = extra;
    return 0;
}

/* The offset of the text in the input; false: not in it, or too far. */
static bool find_in_input(const struct machine *m, struct str text, uint32_t *ret_at)
{
    uintptr_t begin = (uintptr_t)m->begin, end = (uintptr_t)m->end;
    uintptr_t at = (uintptr_t)text.at;

    if (at < begin || at > end || text.len > end - at || at - begin > UINT32_MAX ||
        text.len > UINT32_MAX)
        return false;
    *ret_at = (uint32_t)(at - begin);
    return true;
}

void machine_drop(struct machine *m, size_t to)
{
    if (to <= m->dropped || to - m->dropped < DROP_STEP)
        return;
    arena_drop_part((void *)(uintptr_t)m->begin, m->dropped, to);
    m->dropped = to;
}

/* Copy a short text out of an input that will be freed. Pieces do not move: callers may
 * keep the text. */
static int copy_text(struct machine *m, struct str text, uint32_t *ret_at)
{
    struct pickle *p = m->pickle;
    uint32_t piece = 1u << CHARS_SHIFT, used = m->char_end & (piece - 1);

    if (m->char_end == p->n_chars << CHARS_SHIFT || text.len > piece - used) {
        if (p->n_chars >= UINT32_MAX >> CHARS_SHIFT ||
            arena_room(&m->build->scratch, &p->chars, p->n_chars, &p->chars_room,
                       sizeof *p->chars) < 0)
            return machine_spent(m, "more memory than allowed");
        p->chars[p->n_chars] = arena_alloc(&m->build->scratch, piece);
        if (!p->chars[p->n_chars])
            return machine_spent(m, "more memory than allowed");
        m->char_end = p->n_chars++ << CHARS_SHIFT;
    }
    *ret_at = m->char_end;
    if (text.len > 0)
        memcpy(p->chars[*ret_at >> CHARS_SHIFT] + (*ret_at & (piece - 1)), text.at,
               text.len);
    m->char_end += (uint32_t)text.len;
    return 0;
}

/* A long text stays; free the bytes before it. */
static void keep_text(struct machine *m, uint32_t at, size_t len)
{
    machine_drop(m, at);
    m->dropped = at + len;
}

node_id machine_text(struct machine *m, enum node_kind kind, struct str text)
{
    uint32_t at;
    node_id id;

    if (find_in_input(m, text, &at)) {
        if (text.len < m->pickle->copied && copy_text(m, text, &at) < 0)
            return NO_NODE;
        if (m->drops && text.len >= m->pickle->copied)
            keep_text(m, at, text.len);
        id = machine_node(m, kind);
        if (id != NO_NODE) {
            node_at(m, id)->text.at = at;
            node_at(m, id)->text.len = (uint32_t)text.len;
        }
        return id;
    }
    id = machine_listed(m, kind, text);
    if (id != NO_NODE)
        node_at(m, id)->flags |= NODE_LISTED;
    return id;
}

node_id machine_listed(struct machine *m, enum node_kind kind, struct str text)
{
    struct pickle *p = m->pickle;
    node_id id;

    if (p->n_texts == p->texts_room &&
        arena_room(&m->build->scratch, &p->texts, p->n_texts, &p->texts_room,
                   sizeof *p->texts) < 0)
        return machine_no_memory(m);
    id = machine_node(m, kind);
    if (id == NO_NODE)
        return NO_NODE;
    p->nodes[id].listed.text = p->n_texts;
    p->texts[p->n_texts++] = text;
    return id;
}

node_id machine_new_int(struct machine *m, int64_t value, node_id *ret_kept)
{
    node_id id = machine_node(m, NODE_INT);

    if (id == NO_NODE)
        return NO_NODE;
    node_at(m, id)->integer = value;
    *ret_kept = id;
    return id;
}

static int reserve_items(struct machine *m, uint32_t n)
{
    struct pickle *p = m->pickle;

    while (p->items_room - p->n_items < n)
        if (arena_room(&m->build->scratch, &p->items, p->items_room, &p->items_room,
                       sizeof *p->items) < 0)
            return machine_spent(m, "more memory than allowed");
    return 0;
}

/* Allocate n items of the pool: from the hole if they fit, else at its end. */
static int take_items(struct machine *m, uint32_t n, uint32_t *ret_first)
{
    if (n <= m->n_hole) {
        *ret_first = m->hole;
        m->hole += n;
        m->n_hole -= n;
        return 0;
    }
    if (reserve_items(m, n) < 0)
        return -1;
    *ret_first = m->pickle->n_items;
    m->pickle->n_items += n;
    return 0;
}

node_id machine_new_tuple(struct machine *m, const node_id *items, uint32_t n)
{
    uint32_t first;
    node_id id;

    if (take_items(m, n, &first) < 0)
        return NO_NODE;
    id = machine_node(m, NODE_TUPLE);
    if (id == NO_NODE)
        return NO_NODE;
    node_at(m, id)->items.first = first;
    node_at(m, id)->items.n = n;
    memcpy(m->pickle->items + first, items, n * sizeof *items);
    return id;
}

static bool are_ints(const struct machine *m, const node_id *items, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (node_at(m, items[i])->kind != NODE_INT)
            return false;
    return true;
}

/* Equal tuples of ints share a node: most sizes and strides occur in many tensors. */
static node_id tuple_of_ints(struct machine *m, const node_id *items, uint32_t n)
{
    const struct pickle *p = m->pickle;
    uint32_t hash = n;
    node_id *kept;

    for (uint32_t i = 0; i < n; i++)
        hash = hash * 0x9e3779b1u + items[i];
    kept = &m->tuples[(hash ^ hash >> 16) % TUPLES_KEPT];
    if (*kept != NO_NODE && node_at(m, *kept)->items.n == n &&
        memcmp(p->items + node_at(m, *kept)->items.first, items, n * sizeof *items) ==
            0)
        return *kept;
    *kept = machine_new_tuple(m, items, n);
    return *kept;
}

node_id machine_tuple(struct machine *m, const node_id *items, uint32_t n)
{
    if (n == 0)
        return m->empty_tuple;
    if (n <= TUPLE_SHARED && are_ints(m, items, n))
        return tuple_of_ints(m, items, n);
    return n == 1 && machine_is_shared(m, items[0]) ? machine_single(m, items[0])
                                                    : machine_new_tuple(m, items, n);
}

/* Make room for `need` items in a container. The last one of the pool grows in place;
 * any other moves and doubles its room, so that lists that grow in turns cost a
 * constant per item. Its old room becomes the hole: a state_dict would otherwise waste
 * as much as it holds. */
static int grow_container(struct machine *m, struct node *node, struct node_more *more,
                          uint32_t need)
{
    struct pickle *p = m->pickle;
    uint32_t have = node->items.n, first = node->items.first, room = need;
    uint32_t left = more->aux ? more->aux : have;

    if (first + left == p->n_items) {
        if (reserve_items(m, need - left) < 0)
            return -1;
        p->n_items += need - left;
        more->aux = need;
        return 0;
    }
    if (have <= UINT32_MAX / 2 && room < 2 * have)
        room = 2 * have;
    if (take_items(m, room, &node->items.first) < 0)
        return -1;
    memcpy(p->items + node->items.first, p->items + first, have * sizeof *p->items);
    more->aux = room;
    if (node->sharing & SHARED_ITEMS) {
        node->sharing &= (uint8_t)~SHARED_ITEMS;
    } else if (left > m->n_hole) {
        m->hole = first;
        m->n_hole = left;
    }
    return 0;
}

/* The first items of a container. Most get no more, so it has no spare room. */
static int fill_container(struct machine *m, node_id id, const node_id *items,
                          uint32_t n)
{
    struct node *node = node_at(m, id);

    if (node->kind == NODE_DICT && machine_share_items(m, id, items, n))
        return 0;
    if (take_items(m, n, &node->items.first) < 0)
        return -1;
    memcpy(m->pickle->items + node->items.first, items, n * sizeof *items);
    node->items.n = n;
    return 0;
}

node_id machine_call(struct machine *m, enum node_kind kind, node_id callee,
                     node_id args)
{
    node_id id = machine_node(m, kind);

    if (id == NO_NODE)
        return NO_NODE;
    node_at(m, id)->call.callee = callee;
    node_at(m, id)->call.args = args;
    return id;
}

/* `items` may be on the stack, but not in the pool, which can move. */
int machine_add_items(struct machine *m, node_id id, const node_id *items, uint32_t n)
{
    struct node *node = node_at(m, id);
    struct node_more *more;
    uint32_t have = node->items.n;

    if (n == 0)
        return 0;
    if (have == 0)
        return fill_container(m, id, items, n);
    more = machine_more(m, id);
    if (!more)
        return -1;
    if (n > UINT32_MAX - have)
        return machine_spent(m, "a container with more than 4 billion items");
    if (have + n > more->aux && grow_container(m, node, more, have + n) < 0)
        return -1;
    memcpy(m->pickle->items + node->items.first + have, items, n * sizeof *items);
    node->items.n = have + n;
    return 0;
}

/* An object can have both list and dict items: the second kind is the extra of the
 * first. */
node_id machine_extra(struct machine *m, node_id id, enum node_kind kind)
{
    node_id extra = node_extra(m->pickle, node_at(m, id));

    while (extra != NO_NODE && node_at(m, extra)->kind != kind) {
        id = extra;
        extra = node_extra(m->pickle, node_at(m, id));
    }
    if (extra != NO_NODE)
        return extra;
    extra = machine_node(m, kind);
    if (extra != NO_NODE && machine_set_extra(m, id, extra) < 0)
        return NO_NODE;
    return extra;
}
