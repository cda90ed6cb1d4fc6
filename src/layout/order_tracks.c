/* order_tracks.c - assigns the track of a channel on which each line turns. A net has
 * one piece per channel that covers all its turns there; overlapping pieces get
 * different tracks, in the order with the fewest crossings. */
#include <stdlib.h>
#include <string.h>

#include "layout/order_in.h"

#define PAIRWISE 24 /* maximum number of pieces in a channel for comparing every pair */

/* A vertical line that meets a channel's horizontal piece. */
struct order_turn {
    int32_t channel;
    uint32_t net, end; /* the end it leads to; PLAN_NONE */
    int64_t place;
    bool up, down; /* its directions from the piece */
};

struct order_piece {
    uint32_t net;
    uint32_t turns, n_turns;
    int64_t low, high;
    uint32_t track;
};

struct tracking {
    struct ordering *o;
    struct order_turn *turns, *sorted;
    uint32_t n_turns;
    uint32_t *turn_at; /* per channel, in `sorted` */
    struct order_piece *pieces;
    uint32_t *piece_at; /* per channel */
};

static void add_turn(struct tracking *t, int32_t channel, uint32_t net, uint32_t end,
                     int64_t place, bool up, bool down)
{
    t->turns[t->n_turns++] = (struct order_turn){channel, net, end, place, up, down};
}

/* At most two turns per end, and two per net. */
static void add_end(struct tracking *t, const struct order_node *source, uint32_t index,
                    bool *turns_below)
{
    const struct ordering *o = t->o;
    struct plan_end *end = &o->plan->ends[index];
    const struct plan_net *net = &o->plan->nets[end->net];
    const struct order_node *target = &o->nodes[target_node(o, end)];
    int64_t entry = order_place(target->column, end->slot);

    end->track = PLAN_NONE;
    switch ((enum plan_way)end->way) {
    case PLAN_OVER:
        add_turn(t, source->rank + 1, end->net, index, entry, false, true);
        *turns_below = true;
        break;
    case PLAN_ALONG:
        add_turn(t, target->rank, end->net, index, entry, false, true);
        add_turn(t, target->rank, end->net, PLAN_NONE, order_place(source->column, 0),
                 true, false);
        break;
    case PLAN_LANE:
        add_turn(t, target->rank, end->net, index, entry, false, true);
        add_turn(t, target->rank, end->net, PLAN_NONE, ORDER_LANES + net->lane,
                 (uint32_t)target->rank > net->first_row,
                 (uint32_t)target->rank < net->last_row);
        break;
    case PLAN_LANE_SIDE:
    case PLAN_DOWN:
    case PLAN_ALONG_SIDE:
        break;
    }
}

static int find_turns(struct tracking *t)
{
    struct ordering *o = t->o;
    const struct plan_group *group = o->group;
    size_t room = 2 * (size_t)group->n_nets;

    for (uint32_t k = group->nets; k < group->nets + group->n_nets; k++)
        room += 2 * (size_t)o->plan->nets[k].n_ends;
    t->turns = order_array(o, room, sizeof(*t->turns));
    t->sorted = order_array(o, room, sizeof(*t->sorted));
    t->pieces = order_array(o, room, sizeof(*t->pieces));
    if (!t->turns || !t->sorted || !t->pieces)
        return -1;
    for (uint32_t k = group->nets; k < group->nets + group->n_nets; k++) {
        struct plan_net *net = &o->plan->nets[k];
        const struct order_node *source = &o->nodes[source_node(o, net)];
        uint32_t below = (uint32_t)(source->rank + 1);
        bool turns = net->lane != PLAN_NONE;

        net->track = PLAN_NONE;
        for (uint32_t e = net->ends; e < net->ends + net->n_ends; e++)
            add_end(t, source, e, &turns);
        if (turns)
            add_turn(t, (int32_t)below, k, PLAN_NONE,
                     order_place(source->column, net->slot), true, net->slot == 0);
        if (net->lane != PLAN_NONE)
            add_turn(t, (int32_t)below, k, PLAN_NONE, ORDER_LANES + net->lane,
                     below > net->first_row, below < net->last_row);
    }
    return 0;
}

/* By channel; within one, turns stay in the order of nets. */
static int sort_turns(struct tracking *t)
{
    size_t channels = (size_t)t->o->rows + 1;
    uint32_t *next = order_array(t->o, channels + 1, sizeof(*next));

    t->turn_at = order_array(t->o, channels + 1, sizeof(*t->turn_at));
    t->piece_at = order_array(t->o, channels + 1, sizeof(*t->piece_at));
    if (!next || !t->turn_at || !t->piece_at)
        return -1;
    for (uint32_t k = 0; k < t->n_turns; k++)
        t->turn_at[t->turns[k].channel + 1]++;
    for (size_t c = 0; c < channels; c++)
        t->turn_at[c + 1] += t->turn_at[c];
    memcpy(next, t->turn_at, (channels + 1) * sizeof(*next));
    for (uint32_t k = 0; k < t->n_turns; k++)
        t->sorted[next[t->turns[k].channel]++] = t->turns[k];
    return 0;
}

static uint32_t make_pieces(struct tracking *t, uint32_t channel, uint32_t n)
{
    uint32_t k = t->turn_at[channel], end = t->turn_at[channel + 1];

    while (k < end) {
        struct order_piece *piece = &t->pieces[n++];
        const struct order_turn *turn = &t->sorted[k];

        *piece = (struct order_piece){turn->net, k, 0, turn->place, turn->place, 0};
        for (; k < end && t->sorted[k].net == piece->net; k++, piece->n_turns++) {
            int64_t place = t->sorted[k].place;

            piece->low = place < piece->low ? place : piece->low;
            piece->high = place > piece->high ? place : piece->high;
        }
    }
    return n;
}

/* Lines that cross if piece `a` lies above piece `b`. */
static uint32_t crossings(const struct tracking *t, const struct order_piece *a,
                          const struct order_piece *b)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k < b->n_turns; k++) {
        const struct order_turn *turn = &t->sorted[b->turns + k];

        n += turn->up && turn->place > a->low && turn->place < a->high;
    }
    for (uint32_t k = 0; k < a->n_turns; k++) {
        const struct order_turn *turn = &t->sorted[a->turns + k];

        n += turn->down && turn->place > b->low && turn->place < b->high;
    }
    return n;
}

/* Few pieces: sort by pairs that cross less, then each goes below those it overlaps. */
static uint32_t stack_pairwise(const struct tracking *t, struct order_piece *pieces,
                               uint32_t n)
{
    uint32_t tracks = 0;
    bool moved = true;

    for (uint32_t pass = 0; moved && pass < n; pass++) {
        moved = false;
        for (uint32_t k = 1; k < n; k++) {
            struct order_piece *a = &pieces[k - 1], *b = &pieces[k], swap = *a;

            if (crossings(t, b, a) >= crossings(t, a, b))
                continue;
            *a = *b;
            *b = swap;
            moved = true;
        }
    }
    for (uint32_t k = 0; k < n; k++) {
        struct order_piece *piece = &pieces[k];

        piece->track = 0;
        for (uint32_t j = 0; j < k; j++)
            if (pieces[j].low <= piece->high && pieces[j].high >= piece->low &&
                pieces[j].track >= piece->track)
                piece->track = pieces[j].track + 1;
        if (piece->track >= tracks)
            tracks = piece->track + 1;
    }
    return tracks;
}

static int by_low(const void *a, const void *b)
{
    const struct order_piece *x = a, *y = b;

    if (x->low != y->low)
        return x->low < y->low ? -1 : 1;
    return x->net < y->net ? -1 : x->net > y->net;
}

/* Many pieces: from left to right, each takes the track that has been free for longest.
 * `heap` has room for n pieces: those that end each track, the leftmost end on top. */
static uint32_t stack_many(struct order_piece *pieces, uint32_t n,
                           struct order_piece *heap)
{
    uint32_t tracks = 0;

    qsort(pieces, n, sizeof(*pieces), by_low);
    for (uint32_t k = 0; k < n; k++) {
        struct order_piece *piece = &pieces[k];
        uint32_t at;

        if (tracks > 0 && heap[0].high < piece->low) {
            piece->track = heap[0].track;
            at = 0;
            for (uint32_t child; (child = 2 * at + 1) < tracks; at = child) {
                child += child + 1 < tracks && heap[child + 1].high < heap[child].high;
                if (heap[child].high >= piece->high)
                    break;
                heap[at] = heap[child];
            }
        } else {
            piece->track = at = tracks++;
            for (; at > 0 && heap[(at - 1) / 2].high > piece->high; at = (at - 1) / 2)
                heap[at] = heap[(at - 1) / 2];
        }
        heap[at] = *piece;
    }
    return tracks;
}

static int stack_channels(struct tracking *t)
{
    struct ordering *o = t->o;
    uint32_t *tracks = &o->plan->tracks[o->group->channels];
    struct order_piece *heap;
    uint32_t n = 0;

    for (int32_t c = 0; c <= o->rows; c++) {
        t->piece_at[c] = n;
        n = make_pieces(t, (uint32_t)c, n);
    }
    t->piece_at[o->rows + 1] = n;
    heap = order_array(o, n, sizeof(*heap));
    if (!heap)
        return -1;
    for (int32_t c = 0; c <= o->rows; c++) {
        struct order_piece *pieces = &t->pieces[t->piece_at[c]];
        uint32_t in_channel = t->piece_at[c + 1] - t->piece_at[c];

        tracks[c] = in_channel <= PAIRWISE ? stack_pairwise(t, pieces, in_channel)
                                           : stack_many(pieces, in_channel, heap);
    }
    return 0;
}

/* Stores the tracks where plan_place() needs them, and the columns covered by each
 * channel's pieces. */
static int note_tracks(struct tracking *t)
{
    struct ordering *o = t->o;
    uint32_t n = t->piece_at[o->rows + 1];

    o->cover_at = t->piece_at;
    o->covers = order_array(o, n, sizeof(*o->covers));
    if (!o->covers)
        return -1;
    for (uint32_t k = 0; k < n; k++) {
        const struct order_piece *piece = &t->pieces[k];
        const struct order_turn *turns = &t->sorted[piece->turns];
        struct plan_net *net = &o->plan->nets[piece->net];

        o->covers[k] = (struct order_cover){
            order_column(piece->low),
            piece->high >= ORDER_LANES ? INT32_MAX : order_column(piece->high)};
        if (o->nodes[source_node(o, net)].rank + 1 == turns[0].channel)
            net->track = piece->track;
        for (uint32_t i = 0; i < piece->n_turns; i++)
            if (turns[i].end != PLAN_NONE)
                o->plan->ends[turns[i].end].track = piece->track;
    }
    return 0;
}

int order_tracks(struct ordering *o)
{
    struct tracking tracking = {.o = o};

    if (find_turns(&tracking) < 0 || sort_turns(&tracking) < 0 ||
        stack_channels(&tracking) < 0)
        return -1;
    return note_tracks(&tracking);
}
