/* torchoscope check: the answers as text, JSON and SARIF. */
#include <inttypes.h>
#include <string.h>

#include "base/base.h"
#include "cli/check_in.h"
#include "cli/speak.h"
#include "explorer/files_text.h"
#include "facts/check_text.h"
#include "facts/summary.h"
#include "session/file_list.h"
#include "text/text.h"

#define INDENT     13 /* "  ✗ pickle   " */
#define MOST_ITEMS 10 /* of one topic */

/* ---- text ---- */

static void text_begin(struct check_run *run)
{
    (void)run;
}

static void begin_line(struct check_run *run, const char *path, enum colour role,
                       const char *word)
{
    struct buf line = BUF_INIT;

    progress_hide(&run->progress);
    escape_terminal(&line, str_of(path));
    buf_text(&line, ": ");
    speak_text(run->cli, &line, COLOUR_NONE);
    buf_clear(&line);
    buf_text(&line, word);
    speak_text(run->cli, &line, role);
    buf_release(&line);
}

/* A part of an item that begins a line of its own, wrapped. The first line begins with
 * `head`, the others with blanks. */
static void say_wrapped(struct check_run *run, struct str text, struct buf *head,
                        enum colour *role)
{
    unsigned width = run->cli->columns;
    size_t room = width > 2 * INDENT ? width - INDENT : SIZE_MAX;
    struct buf part = BUF_INIT;

    do {
        size_t len = text_wrap(text, room);

        buf_clear(&part);
        buf_str(&part, str_head(text, len));
        speak_text(run->cli, head, *role);
        speak_text(run->cli, &part, COLOUR_NONE);
        out_char(&run->cli->out, '\n');
        text = str_trim(str_from(text, len));
        buf_clear(head);
        buf_fill(head, ' ', INDENT);
        *role = COLOUR_NONE;
    } while (text.len > 0);
    buf_release(&part);
}

/* "  ✗ zip      two entries are called a/data.pkl" */
static void say_line(struct check_run *run, enum check_mark mark, const char *topic,
                     struct str text)
{
    enum colour role = check_colour(mark);
    struct buf head = BUF_INIT;
    struct str part;

    buf_printf(&head, "  %s ", check_sign(mark));
    text_pad(&head, str_of(topic), INDENT - 4);
    while (str_split(&text, '\n', &part))
        say_wrapped(run, part, &head, &role);
    buf_release(&head);
}

static void say_items(struct check_run *run, const struct model *model,
                      const struct check *check)
{
    unsigned width = run->cli->columns;
    size_t room = width > 2 * INDENT ? width - INDENT : 0;
    struct buf text = BUF_INIT;
    uint32_t of_topic = 0;

    for (uint32_t i = 0; i < check->n; i++) {
        const struct check_item *item = &check->items[i];
        bool last = i + 1 == check->n || check->items[i + 1].topic != item->topic;

        if (++of_topic <= MOST_ITEMS || run->options->verbose) {
            buf_clear(&text);
            check_sentence(&text, model, check, item, room);
            say_line(run, item->mark, check_topic_name(item->topic), buf_span(&text));
        }
        if (!last)
            continue;
        if (of_topic > MOST_ITEMS && !run->options->verbose) {
            buf_clear(&text);
            text_commas(&text, of_topic - MOST_ITEMS);
            buf_text(&text, " more: --verbose lists them all");
            say_line(run, CHECK_NOTE, check_topic_name(item->topic), buf_span(&text));
        }
        of_topic = 0;
    }
    buf_release(&text);
}

/* How many items are worse than a note. */
static uint32_t count_bad(const struct check *check)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < check->n; i++)
        n += check->items[i].mark >= CHECK_WARNING;
    return n;
}

static void text_model(struct check_run *run, const struct session *session,
                       const struct check *check)
{
    enum verdict verdict = check->verdict.verdict;
    bool fine = check->status == STATUS_FINE, safe = verdict == VERDICT_SAFE;
    bool whole = run->single || run->options->verbose || !fine;
    enum colour role = safe && !fine ? COLOUR_WARNING : summary_verdict_colour(verdict);
    struct buf line = BUF_INIT;

    if (run->options->quiet && fine)
        return;
    begin_line(run, session->model->path, role, summary_verdict_word(verdict));
    if (safe && !fine)
        buf_printf(&line, ", but %" PRIu32 " %s", count_bad(check),
                   count_bad(check) == 1 ? "finding" : "findings");
    if (!whole) {
        buf_text(&line, "  ");
        check_subject(&line, session->model, check);
    }
    speak_text(run->cli, &line, COLOUR_NONE);
    out_char(&run->cli->out, '\n');
    if (whole)
        say_items(run, session->model, check);
    buf_release(&line);
}

static void text_error(struct check_run *run, const struct check_target *target,
                       const struct err *why)
{
    struct buf text = BUF_INIT;

    if (!target->found && (why->code == ERR_IO || why->code == ERR_USAGE)) {
        progress_hide(&run->progress);
        out_flush(&run->cli->out);
        cli_fail(why);
        return;
    }
    begin_line(run, target->path, summary_verdict_colour(VERDICT_INCONCLUSIVE),
               summary_verdict_word(VERDICT_INCONCLUSIVE));
    out_char(&run->cli->out, '\n');
    escape_terminal(&text, str_of(why->text));
    say_line(run, CHECK_WARNING, "file", buf_span(&text));
    buf_release(&text);
}

/* ---- the last lines ---- */

static void add_plural(struct buf *to, const char *kind, uint32_t n)
{
    if (n == 1 || strcmp(kind, "text") == 0 || strcmp(kind, "empty") == 0 ||
        strcmp(kind, "other") == 0 || strcmp(kind, "no file") == 0)
        buf_text(to, kind);
    else if (strcmp(kind, "link to a folder") == 0)
        buf_text(to, "links to folders");
    else
        buf_printf(to, "%ss", kind);
}

/* "; 3 skipped (2 text, 1 picture)". Kinds are few, and the same kind is the same
 * pointer or at least the same word. */
static void add_skipped(struct buf *to, const struct check_run *run)
{
    const char *kinds[16];
    uint32_t counts[COUNT_OF(kinds)] = {0}, n = 0;

    if (run->n_skipped == 0)
        return;
    for (uint32_t i = 0; i < run->n_skipped; i++) {
        uint32_t k = 0;

        while (k < n && strcmp(kinds[k], run->kinds[i]) != 0)
            k++;
        if (k == COUNT_OF(kinds))
            continue;
        if (k == n)
            kinds[n++] = run->kinds[i];
        counts[k]++;
    }
    buf_text(to, "; ");
    text_commas(to, run->n_skipped);
    buf_text(to, " skipped (");
    for (uint32_t k = 0; k < n; k++) {
        buf_text(to, k > 0 ? ", " : "");
        text_commas(to, counts[k]);
        buf_char(to, ' ');
        add_plural(to, kinds[k], counts[k]);
    }
    buf_char(to, ')');
}

static void say_skipped(struct check_run *run)
{
    struct buf line = BUF_INIT;

    for (uint32_t i = 0; i < run->n_skipped; i++) {
        buf_clear(&line);
        escape_terminal(&line, str_of(run->skipped[i].path));
        buf_text(&line, ": - skipped: ");
        escape_terminal(&line, str_of(run->skipped[i].why));
        speak_text(run->cli, &line, COLOUR_DIM);
        out_char(&run->cli->out, '\n');
    }
    buf_release(&line);
}

/* "12 files: 9 safe, 2 need code, 1 unsafe, 0 inconclusive; 3 skipped (…)" */
static void text_end(struct check_run *run)
{
    struct file_counts counts = {.safe_findings = run->n_safe};
    struct buf line = BUF_INIT;

    if (run->single || (run->options->quiet && run->sum.status == STATUS_FINE))
        return;
    if (run->options->verbose)
        say_skipped(run);
    memcpy(counts.verdicts, run->n_verdicts, sizeof counts.verdicts);
    files_counts(&line, &counts);
    add_skipped(&line, run);
    buf_char(&line, '\n');
    speak_text(run->cli, &line, COLOUR_NONE);
    buf_release(&line);
}

const struct check_writer check_text_writer = {text_begin, text_model, text_error,
                                               text_end};

/* ---- JSON and SARIF ---- */

static void json_begin(struct check_run *run)
{
    export_check_begin(&run->json);
}

static void json_model(struct check_run *run, const struct session *session,
                       const struct check *check)
{
    export_check_model(&run->json, session, check);
}

static void json_error(struct check_run *run, const struct check_target *target,
                       const struct err *why)
{
    export_check_error(&run->json, target->path, why->text);
}

static void json_finish(struct check_run *run)
{
    export_check_end(&run->json, &run->sum);
}

const struct check_writer check_json_writer = {json_begin, json_model, json_error,
                                               json_finish};

static void sarif_begin(struct check_run *run)
{
    export_sarif_begin(&run->json, TORCHOSCOPE_VERSION);
}

static void sarif_model(struct check_run *run, const struct session *session,
                        const struct check *check)
{
    export_sarif_model(&run->json, session, check);
}

static void sarif_error(struct check_run *run, const struct check_target *target,
                        const struct err *why)
{
    export_sarif_error(&run->json, target->path, why->text);
}

static void sarif_end(struct check_run *run)
{
    export_sarif_end(&run->json, &run->sum);
}

const struct check_writer check_sarif_writer = {sarif_begin, sarif_model, sarif_error,
                                                sarif_end};
