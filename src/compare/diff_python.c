#include <inttypes.h>

#include "base/base.h"
#include "base/utf8.h"
#include "compare/diff_moves_in.h"
#include "compare/diff_rows_in.h"
#include "text/escape.h"

#define MOST_NAMED 6 /* names in a comment */

/* ---- texts ---- */

/* Name i of a tuple: "conv1.weight", or f"h.{i}.attn.weight" within a loop. */
static void add_name(struct buf *to, const struct name_run *run,
                     const struct name_tuple *tuple, uint32_t i)
{
    struct name_piece piece;
    bool f = false;
    size_t at;

    for (at = 0; name_run_piece(run, tuple, i, &at, &piece);)
        f |= piece.counts;
    buf_text(to, f ? "f\"" : "\"");
    for (at = 0; name_run_piece(run, tuple, i, &at, &piece);) {
        if (!piece.counts)
            diff_python_text(to, piece.text, f);
        else if (piece.more)
            buf_printf(to, "{i %c %" PRIu64 "}", piece.more < 0 ? '-' : '+',
                       piece.more < 0 ? -(uint64_t)piece.more : (uint64_t)piece.more);
        else
            buf_text(to, "{i}");
    }
    buf_char(to, '"');
}

/* ---- loops ---- */

struct diff_python_writer {
    struct buf *to;
    const struct diff_moves *moves;
    const struct name_tuple *tuples;
    const char *indent;
};
typedef void write_one(struct diff_python_writer *writer, const struct name_run *run);

static bool same_loop(const struct name_run *a, const struct name_run *b)
{
    return a->n == b->n && a->n > 1 && a->start == b->start && a->step == b->step;
}

static void begin_loop(struct buf *to, const struct name_run *run)
{
    uint64_t end = run->start + (run->n - 1) * run->step + 1;

    buf_text(to, "for i in range(");
    if (run->step > 1)
        buf_printf(to, "%" PRIu64 ", %" PRIu64 ", %" PRIu64, run->start, end,
                   run->step);
    else if (run->start > 0)
        buf_printf(to, "%" PRIu64 ", %" PRIu64, run->start, end);
    else
        buf_printf(to, "%" PRIu64, end);
    buf_text(to, "):\n");
}

/* One statement per tuple; a loop for tuples that differ by a number. */
static int write_loops(struct diff_python_writer *writer,
                       const struct name_tuple *tuples, uint32_t n, write_one *one)
{
    struct name_run *runs;
    uint32_t n_runs;

    if (name_runs_find(tuples, n, writer->moves->arena, &runs, &n_runs) < 0)
        return -1;
    writer->tuples = tuples;
    for (uint32_t i = 0; i < n_runs; i++) {
        if (tuples[runs[i].tuple].n == 0)
            continue;
        if (runs[i].n > 1 && (i == 0 || !same_loop(&runs[i - 1], &runs[i])))
            begin_loop(writer->to, &runs[i]);
        writer->indent = runs[i].n > 1 ? "    " : "";
        one(writer, &runs[i]);
    }
    return 0;
}

static void write_drop(struct diff_python_writer *writer, const struct name_run *run)
{
    buf_printf(writer->to, "%sdel state[", writer->indent);
    add_name(writer->to, run, &writer->tuples[run->tuple], 0);
    buf_text(writer->to, "]\n");
}

/* state[name 0] = state[name `from`], followed by `tail` */
static void write_assignment(struct diff_python_writer *writer,
                             const struct name_run *run, uint32_t from,
                             const char *tail)
{
    const struct name_tuple *tuple = &writer->tuples[run->tuple];

    buf_printf(writer->to, "%sstate[", writer->indent);
    add_name(writer->to, run, tuple, 0);
    buf_text(writer->to, "] = state[");
    add_name(writer->to, run, tuple, from);
    buf_printf(writer->to, "]%s\n", tail);
}

static void write_transpose(struct diff_python_writer *writer,
                            const struct name_run *run)
{
    write_assignment(writer, run, 0, ".t()");
}

/* The shape on the right. */
static void write_shape(struct buf *to, const struct diff *diff,
                        const struct diff_pair *pair)
{
    const struct tensor *tensor = place_tensor(diff->right, pair->right);

    buf_text(to, ".reshape(");
    for (int i = 0; i < tensor->rank; i++)
        buf_printf(to, "%s%" PRId64, i > 0 ? ", " : "",
                   tensor_shape(diff->right, tensor)[i]);
    buf_char(to, ')');
}

/* What llama.cpp's converter does, or its inverse. */
static void write_edit(struct diff_python_writer *writer, const struct name_run *run)
{
    /* Around the tensor, and for the inverse. */
    static const char *const words[][2][2] = {
        [EDIT_PERMUTED] = {{"permute(", ""}, {"permute(", ""}},
        [EDIT_GROUPED] = {{"group(", ""}, {"group(", ""}},
        [EDIT_PLUS_ONE] = {{"", " + 1"}, {"", " - 1"}},
        [EDIT_EXPONENT] = {{"-", ".exp()"}, {"(-", ").log()"}},
        [EDIT_RESHAPED] = {{"", ""}, {"", ""}}};
    const struct diff *diff = writer->moves->diff;
    const struct diff_pair *pair = &diff->pairs[writer->moves->edited[run->tuple]];
    const struct name_tuple *tuple = &writer->tuples[run->tuple];
    const char *const *around = words[pair->edit.kind][pair->edit.right];
    struct buf *to = writer->to;

    buf_printf(to, "%sstate[", writer->indent);
    add_name(to, run, tuple, 0);
    buf_printf(to, "] = %sstate[", around[0]);
    add_name(to, run, tuple, 0);
    buf_printf(to, "]%s", around[1]);
    if (pair->edit.kind == EDIT_PERMUTED || pair->edit.kind == EDIT_GROUPED)
        buf_printf(to, ", %u)", (unsigned)pair->edit.n);
    else if (pair->edit.kind != EDIT_PLUS_ONE)
        write_shape(to, diff, pair);
    buf_char(to, '\n');
}

/* The first edit of a kind; NULL: none. */
static const struct compare_edit *find_edit(const struct diff_moves *moves,
                                            enum compare_edit_kind kind)
{
    for (uint32_t i = 0; i < moves->n_edits; i++)
        if (moves->diff->pairs[moves->edited[i]].edit.kind == kind)
            return &moves->diff->pairs[moves->edited[i]].edit;
    return NULL;
}

/* The functions for it: the halves of each head are interleaved, or taken apart; q, k
 * and v of each head become those of all heads. */
static void write_functions(struct buf *to, const struct diff_moves *moves)
{
    const struct compare_edit *permuted = find_edit(moves, EDIT_PERMUTED);
    const struct compare_edit *grouped = find_edit(moves, EDIT_GROUPED);

    if (permuted)
        buf_printf(to,
                   "def permute(x, heads):\n"
                   "    parts = x.reshape(heads, %s, *x.shape[1:])\n"
                   "    return parts.transpose(1, 2).reshape(x.shape)\n",
                   permuted->right ? "x.shape[0] // heads // 2, 2"
                                   : "2, x.shape[0] // heads // 2");
    if (grouped)
        buf_printf(to,
                   "def group(x, heads):\n"
                   "    parts = x.reshape(%s, -1, *x.shape[1:])\n"
                   "    return parts.transpose(0, 1).reshape(x.shape)\n",
                   grouped->right ? "3, heads" : "heads, 3");
}

static void write_copy(struct diff_python_writer *writer, const struct name_run *run)
{
    write_assignment(writer, run, 1, "");
}

/* Several tensors on the left are one on the right. */
static void write_fused(struct diff_python_writer *writer, const struct name_run *run,
                        const struct diff_join *join)
{
    const struct name_tuple *tuple = &writer->tuples[run->tuple];
    struct buf *to = writer->to;

    buf_printf(to, "%smade[", writer->indent);
    add_name(to, run, tuple, 0);
    buf_printf(to, "] = torch.%s([\n", join->stacked ? "stack" : "cat");
    for (uint32_t i = 1; i < tuple->n; i++) {
        buf_printf(to, "%s    state.pop(", writer->indent);
        add_name(to, run, tuple, i);
        buf_text(to, "),\n");
    }
    buf_printf(to, "%s], dim=%u)\n", writer->indent, join->dim);
}

static void write_split(struct diff_python_writer *writer, const struct name_run *run,
                        const struct diff_join *join)
{
    const struct name_tuple *tuple = &writer->tuples[run->tuple];
    const struct model *right = writer->moves->diff->right;
    struct buf *to = writer->to;

    buf_printf(to, "%s(\n", writer->indent);
    for (uint32_t i = 1; i < tuple->n; i++) {
        buf_printf(to, "%s    made[", writer->indent);
        add_name(to, run, tuple, i);
        buf_text(to, "],\n");
    }
    buf_printf(to, "%s) = state.pop(", writer->indent);
    add_name(to, run, tuple, 0);
    if (join->stacked) {
        buf_text(to, ").unbind(0)\n");
        return;
    }
    buf_text(to, ").split([");
    for (uint32_t i = 0; i < join->n; i++) {
        const struct tensor *part = place_tensor(right, join->many[i]);
        int64_t size =
            part->rank > join->dim ? tensor_shape(right, part)[join->dim] : 1;

        buf_printf(to, "%s%" PRId64, i > 0 ? ", " : "", size);
    }
    buf_printf(to, "], dim=%u)\n", join->dim);
}

static void write_join(struct diff_python_writer *writer, const struct name_run *run)
{
    const struct diff_join *join = &writer->moves->diff->joins[run->tuple];

    if (join->fused)
        write_fused(writer, run, join);
    else
        write_split(writer, run, join);
}

/* ---- comments ---- */

static void add_file(struct buf *to, const struct diff *diff, bool right)
{
    escape_terminal(to, diff_file(diff, right));
}

/* Where the state_dict is: `"state_dict" of model.ckpt`. */
static void add_where(struct buf *to, const struct diff_moves *moves, bool right)
{
    const struct model *model = right ? moves->diff->right : moves->diff->left;
    struct buf path = BUF_INIT;

    place_path(model, moves->roots[right], &path);
    if (path.len > 0)
        escape_quoted(to, buf_span(&path));
    else
        buf_text(to, "the state_dict");
    buf_text(to, " of ");
    add_file(to, moves->diff, right);
    buf_release(&path);
}

static void write_missing(struct buf *to, const struct diff_moves *moves)
{
    const struct names_style style = {", ", ", ", MOST_NAMED};

    if (moves->n_missing == 0)
        return;
    buf_text(to, "# load_state_dict(strict=True) will miss: ");
    names_write(to, moves->missing, moves->n_missing, &style);
    buf_char(to, '\n');
}

static void add_shape(struct buf *to, const struct model *model, uint32_t place)
{
    const struct tensor *tensor = place_tensor(model, place);

    buf_char(to, '(');
    for (int i = 0; i < tensor->rank; i++)
        buf_printf(to, "%s%" PRId64, i > 0 ? ", " : "", tensor_shape(model, tensor)[i]);
    buf_text(to, tensor->rank == 1 ? ",)" : ")");
}

static void write_reshaped(struct buf *to, const struct diff_moves *moves)
{
    const struct diff *diff = moves->diff;

    for (uint32_t i = 0; i < moves->n_reshaped && i < MOST_NAMED; i++) {
        const struct diff_pair *pair = &diff->pairs[moves->reshaped[i]];

        buf_text(to, "# load_state_dict() will refuse ");
        diff_write_pair(to, diff, moves->reshaped[i]);
        buf_text(to, ": it is ");
        add_shape(to, diff->left, pair->left);
        buf_text(to, ", not ");
        add_shape(to, diff->right, pair->right);
        buf_char(to, '\n');
    }
    if (moves->n_reshaped > MOST_NAMED)
        buf_printf(to, "# and %u more for their shapes\n",
                   (unsigned)(moves->n_reshaped - MOST_NAMED));
}

/* ---- all ---- */

static bool has_fused(const struct diff *diff)
{
    for (uint32_t i = 0; i < diff->n_joins; i++)
        if (diff->joins[i].fused)
            return true;
    return false;
}

static int write_all(struct diff_python_writer *writer)
{
    const struct diff_moves *moves = writer->moves;
    struct buf *to = writer->to;

    buf_text(to, "# state: ");
    add_where(to, moves, false);
    buf_text(to, "; it gets the names of ");
    add_where(to, moves, true);
    buf_char(to, '\n');
    if (diff_python_needs_re(moves))
        buf_text(to, "import re\n");
    if (has_fused(moves->diff))
        buf_text(to, "import torch\n");
    buf_text(to, "state = dict(state)\n");
    if (moves->n_drop > 0) {
        buf_text(to, "# what ");
        add_file(to, moves->diff, true);
        buf_text(to, " does not have:\n");
    }
    if (write_loops(writer, moves->drop, moves->n_drop, write_drop) < 0)
        return -1;
    if (moves->n_joins > 0)
        buf_text(to, "made = {}\n");
    if (write_loops(writer, moves->joins, moves->n_joins, write_join) < 0)
        return -1;
    if (moves->renames)
        diff_python_rename(to, moves);
    if (moves->n_joins > 0)
        buf_text(to, "state.update(made)\n");
    write_functions(to, moves);
    if (write_loops(writer, moves->edits, moves->n_edits, write_edit) < 0 ||
        write_loops(writer, moves->transpose, moves->n_transpose, write_transpose) <
            0 ||
        write_loops(writer, moves->copy, moves->n_copy, write_copy) < 0)
        return -1;
    write_missing(to, moves);
    write_reshaped(to, moves);
    return 0;
}

/* Keeps the code ASCII, so that it can be pasted anywhere: in a string literal \\u00e9 is
 * the letter itself, in a comment it is harmless. */
static void to_ascii(struct buf *to, struct str text)
{
    uint32_t code;

    while (text.len > 0) {
        int len = utf8_decode(text, &code);

        if (len <= 1)
            buf_char(to, text.at[0]);
        else
            escape_code(to, code);
        text = str_from(text, len > 1 ? (size_t)len : 1);
    }
}

int diff_python(struct buf *to, const struct diff *diff, struct err *err)
{
    struct diff_moves moves;
    struct buf lines = BUF_INIT;
    struct diff_python_writer writer = {.to = &lines, .moves = &moves};
    struct arena arena;
    int status = 0;

    arena_init(&arena, 4 * GIB);
    if (diff_moves_find(&moves, diff, &arena) < 0)
        status = arena_err(&arena, "the Python", err);
    else if (diff->load.packed == 0 && (moves.renames || moves.n_joins > 0 ||
                                        moves.n_transpose > 0 || moves.n_edits > 0))
        status = write_all(&writer) < 0 ? arena_err(&arena, "the Python", err) : 0;
    if (status == 0)
        to_ascii(to, buf_span(&lines));
    buf_release(&lines);
    arena_release(&arena);
    return status;
}
