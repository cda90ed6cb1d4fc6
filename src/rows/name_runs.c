#include "rows/name_runs.h"

#include "base/map.h"
#include "text/escape.h"

#define MOST_NUMBERS 16 /* numbers in a tuple; tuples with more are not folded */

const struct names_style names_in_prose = {", ", " and ", 6};
const struct names_style names_in_column = {" ", " ", 4};

/* ---- numbers in names ---- */

/* A component that is a plain number: "0", "11", but not "01". */
static bool is_number(struct str part, uint64_t *ret_number)
{
    if (part.len == 0 || part.len > 18 || (part.at[0] == '0' && part.len > 1))
        return false;
    for (size_t i = 0; i < part.len; i++)
        if (part.at[i] < '0' || part.at[i] > '9')
            return false;
    return str_to_u64(part, ret_number);
}

/* A hash of everything that must be equal within a run. */
static uint64_t pattern_of(const struct name_tuple *tuple)
{
    uint64_t hash = hash_mix(tuple->tag, tuple->n), number;

    for (uint32_t i = 0; i < tuple->n; i++) {
        struct str rest = tuple->names[i], part;

        hash = hash_mix(hash, 1);
        while (str_split(&rest, '.', &part))
            hash = hash_mix(hash, is_number(part, &number) ? 2 : str_hash(part));
    }
    return hash;
}

static uint32_t count_numbers(const struct name_tuple *tuple)
{
    uint64_t number;
    uint32_t n = 0;

    for (uint32_t i = 0; i < tuple->n; i++) {
        struct str rest = tuple->names[i], part;

        while (str_split(&rest, '.', &part))
            n += is_number(part, &number);
    }
    return n;
}

/* ---- folding ---- */

/* The step of the running number between two tuples; 0 if they are not neighbours. If
 * `varies` is not NULL, it is filled (`learn`) or compared. */
static uint64_t step_between(const struct name_tuple *a, const struct name_tuple *b,
                             bool *varies, bool learn)
{
    uint64_t step = 0, x, y;
    uint32_t k = 0;

    if (a->n != b->n || a->tag != b->tag)
        return 0;
    for (uint32_t i = 0; i < a->n; i++) {
        struct str left = a->names[i], right = b->names[i], p, q;

        while (str_split(&left, '.', &p)) {
            if (!str_split(&right, '.', &q))
                return 0;
            if (!is_number(p, &x) || !is_number(q, &y)) {
                if (!str_eq(p, q))
                    return 0;
                continue;
            }
            if (k == MOST_NUMBERS || y < x || (y > x && step && y - x != step))
                return 0;
            if (!learn && varies[k] != (y > x))
                return 0;
            varies[k++] = y > x;
            step = y > x ? y - x : step;
        }
        if (right.at && right.len > 0)
            return 0;
    }
    return step;
}

/* The first running number of a tuple. */
static uint64_t first_counting(const struct name_tuple *tuple, const bool *varies)
{
    uint64_t number;
    uint32_t k = 0;

    for (uint32_t i = 0; i < tuple->n; i++) {
        struct str rest = tuple->names[i], part;

        while (str_split(&rest, '.', &part))
            if (is_number(part, &number) && varies[k++])
                return number;
    }
    return 0;
}

/* Append tuple t to a run if it continues the run. */
static bool goes_on(struct name_run *run, const struct name_tuple *tuples, uint32_t t)
{
    const struct name_tuple *last = &tuples[run->last];
    uint64_t step = step_between(last, &tuples[t], run->varies, run->n == 1);

    if (step == 0 || (run->n > 1 && step != run->step))
        return false;
    if (run->n == 1) {
        run->step = step;
        run->start = first_counting(last, run->varies);
    }
    run->n++;
    run->last = t;
    return true;
}

int name_runs_find(const struct name_tuple *tuples, uint32_t n, struct arena *arena,
                   struct name_run **ret_runs, uint32_t *ret_n)
{
    struct name_run *runs = arena_array(arena, (size_t)n + 1, sizeof *runs);
    uint32_t n_runs = 0, at;
    struct map open;

    map_init(&open, arena);
    for (uint32_t t = 0; runs && t < n; t++) {
        uint64_t pattern = pattern_of(&tuples[t]);
        struct name_run *run = &runs[n_runs];
        bool folds = count_numbers(&tuples[t]) <= MOST_NUMBERS;

        if (folds && map_find(&open, pattern, &at) && goes_on(&runs[at], tuples, t))
            continue;
        *run = (struct name_run){.tuple = t, .n = 1, .last = t};
        if (folds && map_put(&open, pattern, n_runs) < 0)
            return -1;
        n_runs++;
    }
    *ret_runs = runs;
    *ret_n = n_runs;
    return runs ? 0 : -1;
}

bool name_run_piece(const struct name_run *run, const struct name_tuple *tuple,
                    uint32_t i, size_t *at, struct name_piece *ret_piece)
{
    struct str name = tuple->names[i], part, rest;
    uint64_t number;
    uint32_t k = 0;
    size_t text = *at, pos = 0;

    if (*at >= name.len)
        return false;
    for (uint32_t before = 0; before < i; before++) {
        rest = tuple->names[before];
        while (str_split(&rest, '.', &part))
            k += is_number(part, &number);
    }
    /* From the component at *at up to the next running number. */
    for (rest = name; str_split(&rest, '.', &part); pos += part.len + 1) {
        bool counts = is_number(part, &number) && run->n > 1 && run->varies[k++];

        if (pos < *at || !counts)
            continue;
        if (pos == *at) {
            *at = pos + part.len;
            *ret_piece =
                (struct name_piece){part, true, (int64_t)(number - run->start)};
            return true;
        }
        *at = pos;
        *ret_piece =
            (struct name_piece){str_head(str_from(name, text), pos - text), false, 0};
        return true;
    }
    *at = name.len;
    *ret_piece = (struct name_piece){str_from(name, text), false, 0};
    return true;
}

/* ---- lists of names ---- */

/* Split "layer12" into "layer" and 12. */
static bool split_tail(struct str name, struct str *ret_head, uint64_t *ret_number)
{
    size_t digits = 0;

    while (digits < name.len && name.at[name.len - 1 - digits] >= '0' &&
           name.at[name.len - 1 - digits] <= '9')
        digits++;
    *ret_head = str_head(name, name.len - digits);
    return digits > 0 && is_number(str_from(name, name.len - digits), ret_number);
}

uint32_t names_count_up(const struct str *names, uint32_t n)
{
    struct str head, next;
    uint64_t number, other;
    uint32_t k = 1;

    if (!split_tail(names[0], &head, &number))
        return 1;
    while (k < n && split_tail(names[k], &next, &other) && str_eq(head, next) &&
           other == number + k)
        k++;
    return k;
}

void names_write(struct buf *to, const struct str *names, uint32_t n,
                 const struct names_style *style)
{
    uint32_t written = 0, i = 0, k;
    struct str head;
    uint64_t number;

    while (i < n && written < style->most) {
        k = names_count_up(names + i, n - i);
        if (written > 0)
            buf_text(to, i + k == n ? style->last : style->between);
        escape_terminal(to, names[i]);
        if (k > 1) {
            split_tail(names[i + k - 1], &head, &number);
            buf_printf(to, "-%llu", (unsigned long long)number);
        }
        i += k;
        written++;
    }
    if (i < n)
        buf_printf(to, "%s%u more", style->last, (unsigned)(n - i));
}
