/* torchoscope FOLDER without a terminal: its model files, as the explorer lists them.
 */
#include <poll.h>

#include "cli/folder.h"
#include "cli/speak.h"
#include "session/file_list.h"
#include "show/files_text.h"

/* All is found and judged; false: it was stopped. */
static bool wait_for_all(struct cli *cli, struct file_list *list)
{
    for (;;) {
        struct pollfd ready = {file_list_fd(list), POLLIN, 0};
        struct file_list_facts facts = file_list_facts(list);

        file_list_poll(list);
        if (work_cancelled(&cli->work))
            return false;
        if (!facts.walking && file_list_counts(list).pending == 0 &&
            (facts.full || facts.found == file_list_n(list)))
            return true;
        poll(&ready, 1, 50);
    }
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

static void write_list(struct cli *cli, const struct file_list *list)
{
    struct file_list_facts facts = file_list_facts(list);
    struct file_counts counts = file_list_counts(list);
    unsigned width = cli->columns ? cli->columns : files_width(list);
    struct lines lines = {0};
    struct buf text = BUF_INIT;

    files_lines(&lines, list, 0, UINT32_MAX, width, UINT32_MAX);
    write_lines(cli, &lines);
    files_counts(&text, &counts);
    if (facts.skipped > 0)
        buf_printf(&text, "; %u skipped", facts.skipped);
    buf_text(&text, facts.full ? "; there are more\n" : "\n");
    speak_text(cli, &text, COLOUR_NONE);
    lines_release(&lines);
    buf_release(&text);
}

int folder_list(struct cli *cli, const char *folder, const struct err *why)
{
    struct err err = {0};
    struct file_list *list = file_list_new(folder, &err);
    int status = STATUS_FINE;

    if (!list)
        return cli_fail(&err);
    if (!wait_for_all(cli, list)) {
        cli_say("stopped");
        status = STATUS_TROUBLE;
    }
    if (file_list_n(list) == 0 && status == STATUS_FINE)
        status = cli_fail(why);
    else
        write_list(cli, list);
    file_list_free(list);
    return status;
}
