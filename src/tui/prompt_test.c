#include "tui/prompt_in.h"

#include <stdio.h>
#include <string.h>

#include "base/test.h"

static void type(struct prompt *prompt, const char *text)
{
    while (*text) {
        struct key key;

        text += keys_take(text, strlen(text), true, &key);
        prompt_key(prompt, &key);
    }
}

TEST(a_line_is_typed_and_edited)
{
    struct prompt prompt = {0};

    prompt_begin(&prompt, PROMPT_SEARCH, STR(""));
    type(&prompt, "conx\x7fv2");
    CHECK_STR(buf_cstr(&prompt.text), "conv2");
    type(&prompt, "\033[D\033[D\xc3\xa9");
    CHECK_STR(buf_cstr(&prompt.text), "con\xc3\xa9v2");
    type(&prompt, "\x7f");
    CHECK_STR(buf_cstr(&prompt.text), "conv2");
    type(&prompt, "\033[H\033[3~\x05!");
    CHECK_STR(buf_cstr(&prompt.text), "onv2!");
    type(&prompt, "\x15");
    CHECK_STR(buf_cstr(&prompt.text), "");
    type(&prompt, "\x7f\033[D\033[3~\x17");
    CHECK_STR(buf_cstr(&prompt.text), "");
    type(&prompt, "sort layer1.conv\x17");
    CHECK_STR(buf_cstr(&prompt.text), "sort layer1.");
    type(&prompt, "\033[D\x0b");
    CHECK_STR(buf_cstr(&prompt.text), "sort layer1");
    prompt_release(&prompt);
}

TEST(a_paste_is_cut_to_one_line_of_printable_text)
{
    struct prompt prompt = {0};

    prompt_begin(&prompt, PROMPT_SEARCH, STR("a"));
    type(&prompt, "\033[200~b\033\x01"
                  "c\nd\033[201~e");
    CHECK_STR(buf_cstr(&prompt.text), "abce");
    prompt_release(&prompt);
}

TEST(older_lines_and_the_typed_one_can_be_recalled)
{
    struct prompt prompt = {0};
    char line[32];

    prompt_begin(&prompt, PROMPT_COMMAND, STR("sort time"));
    prompt_remember(&prompt);
    prompt_remember(&prompt); /* duplicates are stored once */
    prompt_begin(&prompt, PROMPT_COMMAND, STR("fold 2"));
    prompt_remember(&prompt);
    CHECK_INT(prompt.n_history, 2);
    prompt_begin(&prompt, PROMPT_COMMAND, STR("ne"));
    CHECK(prompt_history(&prompt, -1));
    CHECK_STR(buf_cstr(&prompt.text), "fold 2");
    CHECK(prompt_history(&prompt, -1));
    CHECK_STR(buf_cstr(&prompt.text), "sort time");
    CHECK(!prompt_history(&prompt, -1));
    CHECK(prompt_history(&prompt, 1) && prompt_history(&prompt, 1));
    CHECK_STR(buf_cstr(&prompt.text), "ne");
    CHECK(!prompt_history(&prompt, 1));
    for (int i = 0; i < 3 * HISTORY_MOST; i++) {
        snprintf(line, sizeof(line), "fold %d", i);
        prompt_set(&prompt, str_of(line));
        prompt_remember(&prompt);
    }
    CHECK_INT(prompt.n_history, HISTORY_MOST);
    prompt_release(&prompt);
}
