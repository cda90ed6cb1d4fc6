#include "base/intern.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 64u
#define PIECE_BITS  10 /* keeps a tiny table tiny */
#define PIECE       (1u << PIECE_BITS)
#define MAX_PIECES  (UINT32_MAX >> PIECE_BITS)
#define OWN_PIECE   (PIECE / 4) /* longer strings get a piece of their own */
#define LONG        255u        /* marks a length that does not fit into a byte */

static struct str str_at(const struct intern *intern, uint32_t id)
{
    uint32_t at = intern->at[id], len;
    const char *text = intern->pieces[at >> PIECE_BITS] + (at & (PIECE - 1));

    len = (uint8_t)*text++;
    if (len == LONG) {
        memcpy(&len, text, sizeof len);
        text += sizeof len;
    }
    return (struct str){text, len};
}

/* The slot that holds `s`, or the free one for it. The upper half of the hash gives the
 * position and is stored in the slot, so other strings are rarely compared. */
static uint64_t *find_slot(const struct intern *intern, struct str s, uint64_t hash)
{
    uint32_t i = (uint32_t)(hash >> 32) & intern->mask;

    for (; intern->slots[i]; i = (i + 1) & intern->mask)
        if (intern->slots[i] >> 32 == hash >> 32 &&
            str_eq(str_at(intern, (uint32_t)intern->slots[i] - 1), s))
            break;
    return &intern->slots[i];
}

int intern_init_apart(struct intern *intern, struct arena *arena, struct arena *table)
{
    *intern = (struct intern){.arena = arena, .table = table, .mask = FIRST_SLOTS - 1};
    intern->slots = arena_array(table, FIRST_SLOTS, sizeof *intern->slots);
    if (!intern->slots)
        return -1;
    return intern_add(intern, STR("")) == 0 ? 0 : -1;
}

int intern_init(struct intern *intern, struct arena *arena)
{
    return intern_init_apart(intern, arena, arena);
}

void intern_seal(struct intern *intern)
{
    intern->slots = NULL;
    intern->table = NULL;
}

/* Double the table in place, copying the old slots aside. Their stored hash halves give
 * the new positions, so no string is read. */
static int grow_slots(struct intern *intern)
{
    uint32_t room = intern->mask + 1, before = room;
    uint64_t *copy;

    if (intern->table->spent)
        return -1; /* already refused a smaller size */
    copy = malloc(before * sizeof *copy);
    if (!copy) {
        intern->table->spent = true;
        return -1;
    }
    memcpy(copy, intern->slots, before * sizeof *copy);
    if (arena_double(intern->table, &intern->slots, &room, sizeof *intern->slots) < 0) {
        free(copy);
        return -1;
    }
    memset(intern->slots, 0, before * sizeof *copy);
    intern->mask = room - 1;
    for (uint32_t k = 0; k < before; k++) {
        uint32_t i = (uint32_t)(copy[k] >> 32) & intern->mask;

        while (copy[k] && intern->slots[i])
            i = (i + 1) & intern->mask;
        if (copy[k])
            intern->slots[i] = copy[k];
    }
    free(copy);
    return 0;
}

static int add_piece(struct intern *intern, size_t size)
{
    char *piece;

    if (intern->n_pieces >= MAX_PIECES) {
        intern->arena->spent = true;
        return -1;
    }
    if (arena_room(intern->arena, &intern->pieces, intern->n_pieces,
                   &intern->pieces_room, sizeof *intern->pieces) < 0)
        return -1;
    piece = arena_alloc(intern->arena, size);
    if (!piece)
        return -1;
    intern->pieces[intern->n_pieces++] = piece;
    return 0;
}

/* Allocate `size` bytes of text. A long string gets a piece of its own. */
static char *take_text(struct intern *intern, size_t size, uint32_t *ret_at)
{
    uint32_t piece, cut = 0;

    if (size > OWN_PIECE) {
        if (add_piece(intern, size) < 0)
            return NULL;
        piece = intern->n_pieces - 1;
    } else {
        if (intern->n_pieces == 0 || size > PIECE - intern->cut) {
            if (add_piece(intern, PIECE) < 0)
                return NULL;
            intern->piece = intern->n_pieces - 1;
            intern->cut = 0;
        }
        piece = intern->piece;
        cut = intern->cut;
        intern->cut += (uint32_t)size;
    }
    *ret_at = piece << PIECE_BITS | cut;
    return intern->pieces[piece] + cut;
}

/* Store length, text, NUL. */
static int keep_text(struct intern *intern, struct str s, uint32_t *ret_at)
{
    size_t head = s.len < LONG ? 1 : 1 + sizeof(uint32_t);
    uint32_t len = (uint32_t)s.len;
    char *text;

    if (s.len > UINT32_MAX - PIECE) {
        intern->arena->spent = true;
        return -1;
    }
    text = take_text(intern, head + s.len + 1, ret_at);
    if (!text)
        return -1;
    *(uint8_t *)text = (uint8_t)(s.len < LONG ? s.len : LONG);
    if (head > 1)
        memcpy(text + 1, &len, sizeof len);
    if (s.len > 0)
        memcpy(text + head, s.at, s.len);
    return 0; /* arenas are zeroed: the NUL is already there */
}

uint32_t intern_add(struct intern *intern, struct str s)
{
    uint64_t hash = str_hash(s), *slot;

    if (!intern->slots)
        return INTERN_NONE;
    slot = find_slot(intern, s, hash);
    if (*slot)
        return (uint32_t)*slot - 1;
    /* At most half of the slots are in use, so most lookups end at the first. */
    if (intern->n >= intern->mask / 2) {
        if (intern->mask >= UINT32_MAX / 4 || grow_slots(intern) < 0) {
            intern->arena->spent = true;
            return INTERN_NONE;
        }
        slot = find_slot(intern, s, hash);
    }
    if (arena_room(intern->arena, &intern->at, intern->n, &intern->room,
                   sizeof *intern->at) < 0 ||
        keep_text(intern, s, &intern->at[intern->n]) < 0)
        return INTERN_NONE;
    *slot = (hash & ~(uint64_t)UINT32_MAX) | ++intern->n;
    return intern->n - 1;
}

uint32_t intern_find(const struct intern *intern, struct str s)
{
    uint32_t id = intern->slots ? (uint32_t)*find_slot(intern, s, str_hash(s)) : 0;

    return id ? id - 1 : INTERN_NONE;
}

struct str intern_str(const struct intern *intern, uint32_t id)
{
    return id < intern->n ? str_at(intern, id) : STR("");
}
