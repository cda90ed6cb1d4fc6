#include "read/pickle/pickle_machine_in.h"

/* Python writes a PUT after every object that might be fetched again, but few are: one
 * of the 25 objects of a module. So the GETs are collected before the pickle runs. An
 * object that no GET fetches is not stored and, more important, has only one reference
 * (see pickle_share.c). */

/* The distance to the next opcode; 0: it depends on the argument. */
static void fill_steps(uint8_t steps[256])
{
    for (int i = 0; i < 256; i++) {
        const struct opcode *opcode = &pickle_opcodes[i];
        bool plain = opcode->arg == ARG_NONE || opcode->arg == ARG_FIXED;

        steps[i] = plain ? (uint8_t)(1 + opcode->fixed) : 0;
    }
    steps['.'] = 0;
}

/* Skip an opcode with a longer argument. NULL: the argument is incomplete. */
static const uint8_t *skip_long(const uint8_t *at, const uint8_t *end,
                                const struct opcode *opcode)
{
    struct str rest = str_span(at + 1, (size_t)(end - at) - 1);
    size_t n = pickle_argument_length(opcode, rest);

    return n == SIZE_MAX ? NULL : at + 1 + n;
}

static void note_fetched(struct machine *m, uint64_t index)
{
    if (index < m->n_numbers)
        m->fetched[index / 8] |= (uint8_t)(1u << index % 8);
}

/* Record the numbers of all GETs up to the STOP. The machine walks the opcodes in the
 * same way, so it runs no other GETs. */
static void note_all(struct machine *m)
{
    const uint8_t *at = m->begin, *end = m->end;
    uint8_t steps[256];

    fill_steps(steps);
    while (at && at < end) {
        uint8_t byte = *at, step = steps[byte];

        if (step > (size_t)(end - at))
            return;
        if (byte == 'h') {
            note_fetched(m, at[1]);
        } else if (byte == 'j') {
            note_fetched(m, at[1] | (uint32_t)at[2] << 8 | (uint32_t)at[3] << 16 |
                                (uint32_t)at[4] << 24);
        } else if (byte == '.' || !pickle_opcodes[byte].name) {
            return;
        } else if (byte == 'g') {
            const uint8_t *line = at + 1;
            uint64_t index;

            at = skip_long(at, end, &pickle_opcodes[byte]);
            if (at &&
                str_to_u64(str_trim(str_span(line, (size_t)(at - 1 - line))), &index))
                note_fetched(m, index);
            continue;
        }
        at = step ? at + step : skip_long(at, end, &pickle_opcodes[byte]);
    }
}

/* All known writers use dense numbers, and a PUT takes at least two bytes. Entries with
 * larger numbers are always stored, and all entries if there is no memory for the
 * bits. */
void machine_look_ahead(struct machine *m)
{
    size_t n = (size_t)(m->end - m->begin) / 2;

    if (n >= UINT32_MAX)
        n = UINT32_MAX - 8;
    m->fetched = arena_array(&m->arena, n / 8 + 1, 1);
    m->put = arena_array(&m->arena, n / 8 + 1, 1);
    if (!m->fetched || !m->put) {
        m->arena.spent = false;
        return;
    }
    m->n_numbers = (uint32_t)n;
    note_all(m);
}

/* A number far above the count so far must not allocate an array up to it. */
static bool is_near(const struct machine *m, uint32_t index)
{
    return index / 4 <= m->n_memo + 1024;
}

static int grow_memo(struct machine *m, uint32_t index)
{
    while (index >= m->memo_room)
        if (arena_room(&m->arena, &m->memo, m->memo_room, &m->memo_room,
                       sizeof *m->memo) < 0)
            return machine_spent(m, "more memory than allowed");
    return 0;
}

/* MEMOIZE uses the count of numbers as the next one. A number that was far or near when
 * it was first put stays so. */
int machine_put_far(struct machine *m, uint32_t index)
{
    uint32_t old;
    bool is_far;

    if (machine_needs(m, 1) < 0)
        return -1;
    if (m->n_memo >= PICKLE_MAX_MEMO)
        return machine_spent(m, "more than 50 million memo entries");
    is_far = map_find(&m->memo_far, index, &old);
    if (!is_far && is_near(m, index)) {
        if (grow_memo(m, index) < 0)
            return -1;
        m->n_memo += m->memo[index] == 0;
        m->memo[index] = m->stack[m->n_stack - 1] + 1;
        return 0;
    }
    m->n_memo += !is_far;
    if (map_put(&m->memo_far, index, m->stack[m->n_stack - 1]) < 0)
        return machine_spent(m, "more memory than allowed");
    return 0;
}

int machine_get_far(struct machine *m, uint32_t index)
{
    uint32_t id;

    if (map_find(&m->memo_far, index, &id))
        return machine_push(m, id);
    return machine_fault(
        m, arena_printf(&m->build->scratch, "memo %u was never filled", index));
}
