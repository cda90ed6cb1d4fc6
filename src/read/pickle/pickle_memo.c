#include "read/pickle/pickle_machine_in.h"

/* Python writes a PUT behind every object that might be asked for again, and most never
 * are: of the twenty-five objects that make a module, one. So we look ahead, before the
 * pickle is run, at the GETs. What no GET wants is not remembered; and, which is worth
 * more, is known to be reached by one way only (see pickle_share.c). */

/* How far it is to the opcode behind this one; 0: that is told by its argument. */
static void fill_steps(uint8_t steps[256])
{
    for (int i = 0; i < 256; i++) {
        const struct opcode *opcode = &pickle_opcodes[i];
        bool plain = opcode->arg == ARG_NONE || opcode->arg == ARG_FIXED;

        steps[i] = plain ? (uint8_t)(1 + opcode->fixed) : 0;
    }
    steps['.'] = 0;
}

/* Step over an opcode with a longer argument. NULL: there is nothing behind it, or what
 * the machine will not get past. */
static const uint8_t *skip_long(const uint8_t *at, const uint8_t *end,
                                const struct opcode *opcode)
{
    size_t left = (size_t)(end - at) - 1;
    uint64_t n = 0;

    at++;
    if (opcode->arg == ARG_COUNTED) {
        if (left < opcode->fixed)
            return NULL;
        for (unsigned i = 0; i < opcode->fixed; i++)
            n |= (uint64_t)at[i] << 8 * i;
        return n > left - opcode->fixed ? NULL : at + opcode->fixed + n;
    }
    for (int lines = opcode->arg == ARG_NAMES ? 2 : 1; lines > 0 && at; lines--) {
        at = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
        at = at ? at + 1 : NULL;
    }
    return at;
}

static void note_fetched(struct machine *m, uint64_t index)
{
    if (index < m->n_numbers)
        m->fetched[index / 8] |= (uint8_t)(1u << index % 8);
}

/* The numbers that some GET up to the STOP names; the machine comes to no others, for
 * it steps from opcode to opcode as we do. */
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

/* Numbers come dense from every writer that we know, and a thing that is put takes two
 * bytes at least. One above that is taken for wanted, as all are if there is no memory
 * for the bits. */
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

/* Memo numbers come dense from every writer we know; one that is far above the count so
 * far must not make us allocate up to it. */
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

/* How many numbers are put counts: MEMOIZE takes it for the next one. A number is far
 * or near for good once it is put, whatever the memo grows to. */
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
