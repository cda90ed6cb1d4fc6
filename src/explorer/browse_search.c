/* Search. While only matches are shown, their ancestors are shown open without changing
 * the folds, which return once the filter is removed. */
#include "explorer/browse_in.h"
#include "rows/search.h"

/* --- Visible rows */

/* Open the ancestors of matches. */
static void open_leads(struct browse *b)
{
    const struct outline *outline = &b->of.outline;
    uint8_t *leads = b->spare;

    memset(leads, 0, bit_bytes(outline->n));
    for (uint32_t p = outline->n; p-- > 1;)
        if (bit_get(b->match, p) || bit_get(leads, p))
            bit_set(leads, outline->parent[p], true);
    for (uint32_t i = 0; i < bit_bytes(outline->n); i++)
        b->shown[i] = b->open[i] | leads[i];
}

/* Keep matches, their descendants and their ancestors. */
static void keep_matches(struct browse *b)
{
    const struct outline *outline = &b->of.outline;
    uint32_t below = 1;

    open_leads(b);
    memcpy(b->keep, b->spare, bit_bytes(outline->n));
    for (uint32_t p = 0; p < outline->n; p++) {
        if (bit_get(b->match, p) && outline->end[p] > below)
            below = outline->end[p];
        if (p < below)
            bit_set(b->keep, p, true);
    }
}

/* `!`: keep what neither matches nor is below a match. Only modules then count as
 * matches; tensors stay below them. */
static void keep_others(struct browse *b)
{
    const struct outline *outline = &b->of.outline;

    memcpy(b->shown, b->open, bit_bytes(outline->n));
    bit_set(b->keep, 0, true);
    for (uint32_t p = 1; p < outline->n; p++)
        bit_set(b->keep, p,
                bit_get(b->keep, outline->parent[p]) && !bit_get(b->match, p));
    b->matches = 0;
    for (uint32_t p = 1; p < outline->n; p++) {
        bool other = bit_get(b->keep, p) && bit_get(b->of.has, p) &&
                     outline_kind(outline, p) != PLACE_TENSOR;

        bit_set(b->match, p, other);
        b->matches += other;
    }
    open_leads(b);
}

/* --- Searching */

/* Search for `text`, into b->hits; if letters were added, only among the previous
 * hits. */
static int find(struct browse *b, struct str text, struct err *err)
{
    struct search *search = search_new(text, err);
    bool narrows;
    uint8_t *swap;

    if (!search)
        return -1;
    narrows = b->last && search_narrows(search, b->last);
    if (search_find(search, &b->of.outline, narrows ? b->hits : NULL, b->spare,
                    &b->n_hits, err) < 0) {
        search_free(search);
        return -1;
    }
    search_free(b->last);
    b->last = search;
    swap = b->hits;
    b->hits = b->spare;
    b->spare = swap;
    return 0;
}

/* The words `trainable` and `frozen` match modules with such a parameter of their own;
 * in a list of tensors, and outside modules, they match the tensors. */
static void lift_words(struct browse *b, struct str text)
{
    const struct outline *outline = &b->of.outline;

    if (text.len > 0 && text.at[0] == '!')
        text = str_from(text, 1);
    if ((!str_is(text, "trainable") && !str_is(text, "frozen")) ||
        b->view.flat == FLAT_TENSORS)
        return;
    b->matches = 0;
    for (uint32_t p = outline->n; p-- > 1;) {
        uint32_t parent = outline->parent[p];

        if (!bit_get(b->match, p))
            continue;
        if (outline_kind(outline, p) == PLACE_TENSOR && parent > 0 &&
            outline_kind(outline, parent) == PLACE_MODULE) {
            bit_set(b->match, p, false);
            bit_set(b->match, parent, true);
        } else {
            b->matches++;
        }
    }
}

/* Filter by the hits; b->matches is the number of matches left. */
static void apply(struct browse *b, struct str text)
{
    memcpy(b->match, b->hits, bit_bytes(b->of.outline.n));
    b->matches = b->n_hits;
    b->filtered = true;
    lift_words(b, text);
    if (text.at[0] == '!')
        keep_others(b);
    else
        keep_matches(b);
}

void browse_unfilter(struct browse *browse)
{
    browse->filtered = false;
    browse->matches = 0;
    buf_clear(&browse->pattern);
}

void browse_research(struct browse *browse)
{
    if (browse->filtered)
        apply(browse, buf_span(&browse->pattern));
}

/* The first match at or after `place`, wrapping around. */
static uint32_t match_from(const struct browse *b, uint32_t place)
{
    uint32_t n = b->of.outline.n;

    for (uint32_t i = 0; i < n; i++, place = place + 1 < n ? place + 1 : 0)
        if (bit_get(b->match, place))
            return place;
    return 0;
}

int browse_search(struct browse *browse, struct str text, struct err *err)
{
    bool any = text.len > 0 && !str_is(text, "!");

    buf_clear(&browse->message);
    if (any && find(browse, text, err) < 0)
        return -1;
    browse_unfilter(browse);
    browse->unlimited = false;
    browse->place = browse->origin;
    browse->line = browse->origin_line;
    if (any && (browse->n_hits > 0 || text.at[0] == '!'))
        apply(browse, text);
    if (browse->matches > 0) {
        buf_str(&browse->pattern, text);
        browse->place = match_from(browse, browse->origin);
        if (browse->place != browse->origin)
            browse_remember(browse, browse->origin | BY_SEARCH);
    } else {
        browse_unfilter(browse);
        if (any)
            browse_say(browse, "0 matches");
    }
    browse_remake(browse);
    if (browse->filtered)
        browse_lift(browse);
    return 0;
}

/* --- Results */

struct str browse_filter(const struct browse *browse)
{
    return buf_span(&browse->pattern);
}

struct search *browse_found(const struct browse *browse)
{
    return browse->pattern.len > 0 ? browse->last : NULL;
}

bool browse_filtering(const struct browse *browse)
{
    return browse->filtered && !browse->unlimited;
}

bool browse_clear(struct browse *browse)
{
    buf_clear(&browse->message);
    if (!browse->filtered)
        return false;
    browse_unfilter(browse);
    if (!browse->view.flat)
        browse_reveal(browse, browse->place);
    browse_remake(browse);
    browse_settle(browse);
    return true;
}

bool browse_only_matches(struct browse *browse)
{
    buf_clear(&browse->message);
    if (!browse->filtered) {
        browse_say(browse, "no search; / starts one");
        return false;
    }
    browse->unlimited = !browse->unlimited;
    if (!browse->unlimited && !bit_get(browse->keep, browse->place))
        browse->place = match_from(browse, browse->place);
    if (browse->unlimited && !browse->view.flat)
        browse_reveal(browse, browse->place);
    browse_remake(browse);
    return true;
}

static bool has_capital(struct str name)
{
    for (size_t i = 0; i < name.len; i++)
        if (name.at[i] >= 'A' && name.at[i] <= 'Z')
            return true;
    return false;
}

bool browse_search_class(struct browse *browse)
{
    struct buf text = BUF_INIT;
    struct str name;
    uint32_t which, of;
    bool found;

    buf_clear(&browse->message);
    if (!browse_same(browse, &which, &of, &name)) {
        browse_say(browse, "its class is not known");
        return false;
    }
    /* A capital makes the search match types exactly: no class that only ends in this
     * name. */
    buf_printf(&text, has_capital(name) ? "/^%.*s\\(/" : "%.*s(", STR_ARG(name));
    found = browse_search(browse, buf_span(&text), NULL) == 0 && browse->filtered;
    buf_release(&text);
    return found;
}
