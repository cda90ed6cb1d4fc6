/* torchoscope FOLDER without a terminal: its model files, as the explorer lists them.
 */
#include <poll.h>

#include "cli/folder.h"
#include "cli/speak.h"
#include "explorer/files_text.h"
#include "text/number.h"

/* Waits until every file is found and checked; false if cancelled. */
static bool wait_for_all(struct cli *cli, struct files_view *view)
{
    for (;;) {
        struct pollfd ready = {files_view_fd(view), POLLIN, 0};

        files_view_poll(view);
        if (work_cancelled(&cli->work))
            return false;
        if (files_view_ready(view))
            return true;
        poll(&ready, 1, 50);
    }
}

/* Applies the options of a printed tree to the list of files. */
static int arrange(struct files_view *view, const struct printed_wanted *wanted,
                   struct err *err)
{
    enum files_sort sort = FILES_CHANGED;

    if (wanted->sort && files_sort_by_word(str_of(wanted->sort), &sort, err) < 0)
        return -1;
    files_view_sort(view, sort, wanted->reverse);
    return wanted->filter ? files_view_filter(view, str_of(wanted->filter), err) : 0;
}

static void write_lines(struct cli *cli, const struct lines *lines)
{
    struct buf text = BUF_INIT;

    for (uint32_t i = 0; i < lines->n; i++) {
        buf_clear(&text);
        line_plain(&text, lines, i);
        while (text.len > 0 && text.at[text.len - 1] == ' ')
            text.len--;
        buf_char(&text, '\n');
        speak_text(cli, &text, COLOUR_NONE);
    }
    buf_release(&text);
}

static void write_list(struct cli *cli, const struct files_view *view, uint32_t top)
{
    struct file_list_facts facts = files_view_facts(view);
    struct file_counts counts = files_view_counts(view);
    unsigned width = cli->columns ? cli->columns : files_width(view);
    uint32_t shown = top < files_view_n(view) ? top : files_view_n(view);
    struct lines lines = {0};
    struct buf text = BUF_INIT;

    files_lines(&lines, view, 0, UINT32_MAX, width, top < UINT32_MAX ? top + 1 : top);
    write_lines(cli, &lines);
    files_counts(&text, &counts);
    if (shown < facts.found) {
        buf_text(&text, "; ");
        text_commas(&text, shown);
        buf_text(&text, " of ");
        text_plural(&text, facts.found, "shown", "shown");
    }
    if (facts.skipped > 0) {
        buf_text(&text, "; ");
        text_plural(&text, facts.skipped, "skipped", "skipped");
    }
    buf_text(&text, facts.full ? "; there are more\n" : "\n");
    speak_text(cli, &text, COLOUR_NONE);
    lines_release(&lines);
    buf_release(&text);
}

int folder_list(struct cli *cli, const char *folder,
                const struct printed_wanted *wanted, const struct err *why)
{
    struct err err = {0};
    struct files_view *view = files_view_new(folder, &err);
    int status = STATUS_FINE;

    if (!view || arrange(view, wanted, &err) < 0) {
        files_view_free(view);
        return cli_fail(&err);
    }
    if (!wait_for_all(cli, view)) {
        cli_say("stopped");
        status = STATUS_TROUBLE;
    }
    if (files_view_facts(view).found == 0 && status == STATUS_FINE)
        status = cli_fail(why);
    else
        write_list(cli, view, wanted->top);
    files_view_free(view);
    return status;
}
