/* torchoscope check: output as text, JSON and SARIF. */
#include <inttypes.h>
#include <string.h>

#include "base/base.h"
#include "cli/check_in.h"
#include "cli/speak.h"
#include "explorer/files_text.h"
#include "facts/check_text.h"
#include "facts/notes.h"
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

/* "  ✗ zip      two entries are called a/data.pkl": one line per fact. */
static void say_facts(struct check_run *run, const struct facts *facts)
{
    unsigned width = run->cli->columns > 2 * INDENT ? run->cli->columns : 0;
    struct pen pen = cli_pen(run->cli);
    struct lines lines = {0};

    for (uint32_t i = 0; i < facts->n; i++) {
        const struct fact *fact = &facts->at[i];

        if (*fact->label)
            lines_printf(&lines, fact->role, "  %s %s", note_sign(fact->role),
                         fact->label);
        lines_pad(&lines, INDENT);
        lines_fold(&lines, COLOUR_NONE, fact_group_text(facts, fact, 0), width, INDENT,
                   false);
    }
    lines_print(&lines, &pen);
    lines_release(&lines);
}

static void say_items(struct check_run *run, const struct model *model,
                      const struct check *check)
{
    unsigned width = run->cli->columns;
    size_t room = width > 2 * INDENT ? width - INDENT : 0;
    struct facts facts = {0};
    uint32_t of_topic = 0;

    for (uint32_t i = 0; i < check->n; i++) {
        const struct check_item *item = &check->items[i];
        bool last = i + 1 == check->n || check->items[i + 1].topic != item->topic;

        if (++of_topic <= MOST_ITEMS || run->options->verbose)
            check_facts(&facts, model, check, item, room);
        if (!last)
            continue;
        if (of_topic > MOST_ITEMS && !run->options->verbose) {
            fact_count(&facts, "more", of_topic - MOST_ITEMS);
            buf_text(&facts.text, " more: --verbose lists them all");
            fact_end(&facts, check_topic_name(item->topic), COLOUR_DIM);
        }
        of_topic = 0;
    }
    say_facts(run, &facts);
    facts_release(&facts);
}

/* Counts findings worse than a note, like info and the explorer. Items that only
 * summarise findings count if there are no others. */
static uint32_t count_findings(const struct check *check)
{
    uint32_t findings = 0, items = 0;

    for (uint32_t i = 0; i < check->n_findings; i++)
        findings += check->findings[i].severity != SEVERITY_NOTE;
    for (uint32_t i = 0; i < check->n; i++)
        items += check->items[i].mark >= CHECK_WARNING;
    return findings > 0 ? findings : items;
}

/* "; training: healthy in 120 logged steps": with findings, the items say more. */
static void add_training(struct buf *to, const struct model *model,
                         const struct check *check)
{
    struct facts facts = {0};

    for (uint32_t i = 0; i < check->n; i++)
        if (check->items[i].topic == CHECK_TRAINING &&
            check->items[i].says != CHECK_SAYS_FINDING)
            check_facts(&facts, model, check, &check->items[i], 0);
    for (uint32_t i = 0; i < facts.n; i++) {
        buf_printf(to, "; %s: ", check_topic_name(CHECK_TRAINING));
        buf_str(to, fact_group_text(&facts, &facts.at[i], 0));
    }
    facts_release(&facts);
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
        buf_printf(&line, ", but %" PRIu32 " %s", count_findings(check),
                   count_findings(check) == 1 ? "finding" : "findings");
    if (!whole) {
        buf_text(&line, "  ");
        check_subject(&line, session->model, check);
        add_training(&line, session->model, check);
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
    struct facts facts = {0};

    if (!target->found && (why->code == ERR_IO || why->code == ERR_USAGE)) {
        progress_hide(&run->progress);
        out_flush(&run->cli->out);
        cli_fail(why);
        return;
    }
    begin_line(run, target->path, summary_verdict_colour(VERDICT_INCONCLUSIVE),
               summary_verdict_word(VERDICT_INCONCLUSIVE));
    out_char(&run->cli->out, '\n');
    fact_text(&facts, "error", str_of(why->text));
    fact_end(&facts, "file", COLOUR_WARNING);
    say_facts(run, &facts);
    facts_release(&facts);
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

/* "; 3 skipped (2 text, 1 picture)". There are few kinds; equal kinds are compared
 * as pointers, then as text. */
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
