#include "tui/keys.h"

#include <string.h>

#include "base/base.h"
#include "base/test.h"

/* Decode bytes that must be exactly one key. */
static struct key one(const char *bytes, size_t n)
{
    struct key key = {0};

    CHECK_INT(keys_take(bytes, n, true, &key), n);
    return key;
}

#define ONE(literal) one(literal, sizeof(literal) - 1)

TEST(a_letter_is_itself)
{
    CHECK_INT(ONE("a").code, 'a');
    CHECK_INT(ONE(" ").code, ' ');
    CHECK_INT(ONE("\r").code, '\r');
    CHECK_INT(ONE("\x06").code, KEY_CTRL('F'));
    CHECK_INT(ONE("\x7f").code, KEY_BACKSPACE);
    CHECK_INT(ONE("\b").code, KEY_BACKSPACE);
}

TEST(an_incomplete_character_waits_for_its_bytes)
{
    struct key key = {0};

    CHECK_INT(keys_take("\xc3", 1, false, &key), 0);
    CHECK_INT(ONE("\xc3\xa9").code, 0xe9);
    CHECK_INT(keys_take("\xe2\x86", 2, false, &key), 0);
    CHECK_INT(ONE("\xe2\x86\x92").code, 0x2192);
    CHECK_INT(keys_take("\xf0\x9f\x98", 3, false, &key), 0);
    CHECK_INT(ONE("\xf0\x9f\x98\x80").code, 0x1f600);
    /* The second byte cannot continue the first. */
    CHECK_INT(keys_take("\xc3q", 2, false, &key), 1);
    CHECK_INT(key.code, KEY_UNKNOWN);
}

TEST(invalid_utf8_is_consumed_byte_by_byte)
{
    CHECK_INT(ONE("\xff").code, KEY_UNKNOWN);
    CHECK_INT(ONE("\x80").code, KEY_UNKNOWN);
    CHECK_INT(ONE("\xc3").code, KEY_UNKNOWN);
    CHECK_INT(one("", 1).code, KEY_UNKNOWN); /* NUL */
    CHECK_INT(ONE("\xc2\x9b").code, KEY_UNKNOWN);
}

TEST(arrow_and_function_keys_of_all_terminals)
{
    static const struct {
        const char *bytes;
        uint32_t code;
    } all[] = {
        {"\033[A", KEY_UP},
        {"\033OA", KEY_UP},
        {"\033[1;2A", KEY_UP},
        {"\033[a", KEY_UP},
        {"\033Oa", KEY_UP},
        {"\033[B", KEY_DOWN},
        {"\033OB", KEY_DOWN},
        {"\033[C", KEY_RIGHT},
        {"\033OC", KEY_RIGHT},
        {"\033[D", KEY_LEFT},
        {"\033OD", KEY_LEFT},
        {"\033[1;5D", KEY_LEFT},
        {"\033[H", KEY_HOME},
        {"\033OH", KEY_HOME},
        {"\033[1~", KEY_HOME},
        {"\033[7~", KEY_HOME},
        {"\033[7$", KEY_HOME},
        {"\033[F", KEY_END},
        {"\033OF", KEY_END},
        {"\033[4~", KEY_END},
        {"\033[8~", KEY_END},
        {"\033[8^", KEY_END},
        {"\033[5~", KEY_PAGE_UP},
        {"\033[5;5~", KEY_PAGE_UP},
        {"\033[6~", KEY_PAGE_DOWN},
        {"\033[6@", KEY_PAGE_DOWN},
        {"\033[2~", KEY_INSERT},
        {"\033[3~", KEY_DELETE},
        {"\033[Z", KEY_BACK_TAB},
        {"\033OP", KEY_F1},
        {"\033[11~", KEY_F1},
        {"\033[[A", KEY_F1},
        {"\033[[E", KEY_F1 + 4},
        {"\033[15~", KEY_F1 + 4},
        {"\033[17~", KEY_F1 + 5},
        {"\033[21~", KEY_F1 + 9},
        {"\033[24~", KEY_F12},
        {"\033OM", '\r'},
        {"\033Oq", '1'},
        {"\033[27;5;102~", KEY_CTRL('F')},
        {"\033[102;5u", KEY_CTRL('F')},
        {"\033[97u", 'a'},
        {"\033[27u", KEY_ESCAPE},
        {"\033[9;2u", KEY_BACK_TAB},
    };

    for (size_t i = 0; i < COUNT_OF(all); i++) {
        size_t n = strlen(all[i].bytes);
        struct key key = one(all[i].bytes, n);

        if (key.code != all[i].code || key.alt)
            test_fail(__FILE__, __LINE__, "%s gave %x", all[i].bytes + 1, key.code);
        /* An incomplete sequence is not a key. */
        for (size_t part = 1; part < n; part++)
            CHECK_INT(keys_take(all[i].bytes, part, false, &key), 0);
    }
}

TEST(escape_alone_is_a_key_after_a_timeout)
{
    struct key key = {0};

    CHECK_INT(keys_take("\033", 1, false, &key), 0);
    CHECK_INT(ONE("\033").code, KEY_ESCAPE);
    CHECK_INT(keys_take("\033\033", 2, true, &key), 1);
    CHECK_INT(key.code, KEY_ESCAPE);
    CHECK_INT(keys_take("\033\033x", 3, false, &key), 1);
    CHECK_INT(key.code, KEY_ESCAPE);
}

TEST(alt_comes_as_an_escape_before_the_key)
{
    struct key key = ONE("\033f");

    CHECK(key.alt && key.code == 'f');
    key = ONE("\033\xc3\xa9");
    CHECK(key.alt && key.code == 0xe9);
    key = ONE("\033[1;3A");
    CHECK(key.alt && key.code == KEY_UP);
    key = ONE("\033\033[A");
    CHECK(key.alt && key.code == KEY_UP);
    key = ONE("\033[");
    CHECK(key.alt && key.code == '[');
    key = ONE("\033O");
    CHECK(key.alt && key.code == 'O');
    key = ONE("\033]");
    CHECK(key.alt && key.code == ']');
    key = ONE("\033\x7f");
    CHECK(key.alt && key.code == KEY_BACKSPACE);
}

TEST(mouse_events_have_position_and_button)
{
    struct key key = ONE("\033[<0;12;7M");

    CHECK(key.code == KEY_MOUSE && key.mouse == MOUSE_PRESS);
    CHECK(key.column == 11 && key.row == 6 && key.button == 0);
    CHECK(ONE("\033[<0;12;7m").mouse == MOUSE_RELEASE);
    CHECK(ONE("\033[<32;300;200M").mouse == MOUSE_DRAG);
    CHECK_INT(ONE("\033[<32;300;200M").column, 299);
    CHECK(ONE("\033[<64;1;1M").mouse == MOUSE_WHEEL_UP);
    CHECK(ONE("\033[<65;1;1M").mouse == MOUSE_WHEEL_DOWN);
    CHECK(ONE("\033[<2;1;1M").button == 2);
    CHECK(ONE("\033[<35;1;1M").code == KEY_UNKNOWN); /* no button is pressed */
    CHECK(ONE("\033[<66;1;1M").code == KEY_UNKNOWN); /* horizontal wheel */
    CHECK(ONE("\033[<0;0;1M").code == KEY_UNKNOWN);
    CHECK(ONE("\033[<0;1M").code == KEY_UNKNOWN);
    CHECK(ONE("\033[M !!").code == KEY_UNKNOWN); /* the X10 mouse, consumed whole */
}

TEST(pasted_text_is_one_key)
{
    static const char bytes[] = "\033[200~a\033[Ab\n\033[201~x";
    struct key key = {0};

    CHECK_INT(keys_take(bytes, sizeof(bytes) - 3, false, &key), 0);
    CHECK_INT(keys_take(bytes, sizeof(bytes) - 1, false, &key), sizeof(bytes) - 2);
    CHECK_INT(key.code, KEY_PASTE);
    CHECK_INT(key.text_len, 6);
    CHECK_MEM(key.text, "a\033[Ab\n", 6);
    CHECK_INT(ONE("\033[200~never ended").text_len, 11);
    CHECK_INT(ONE("\033[201~").code, KEY_UNKNOWN);
}

TEST(answers_of_the_terminal_are_distinguished_from_keys)
{
    struct key key = ONE("\033]11;rgb:1e1e/1e1e/2e2e\033\\");

    CHECK_INT(key.code, KEY_ANSWER);
    CHECK_MEM(key.text, "11;rgb:", 7);
    CHECK_INT(key.text_len, 21);
    CHECK_INT(ONE("\033]11;rgb:ff/ff/ff\a").code, KEY_ANSWER);
    CHECK_INT(ONE("\033[?64;1;2c").code, KEY_ANSWER);
    CHECK_INT(ONE("\033[?2026;2$y").code, KEY_ANSWER);
    CHECK_INT(ONE("\033P1$r0m\033\\").code, KEY_UNKNOWN);
    CHECK_INT(ONE("\033[24;80R").code, KEY_UNKNOWN);
    CHECK_INT(ONE("\033[I").code, KEY_UNKNOWN);
    CHECK_INT(keys_take("\033]11;rgb:", 9, false, &key), 0);
}

TEST(a_truncated_sequence_does_not_affect_the_next_key)
{
    struct key key = {0};

    CHECK_INT(keys_take("\033[1;\033[A", 7, false, &key), 4);
    CHECK_INT(key.code, KEY_UNKNOWN);
    CHECK_INT(keys_take("\033[1\rq", 5, false, &key), 3);
    CHECK_INT(keys_take("\033]11;\033[A", 8, false, &key), 5);
    CHECK_INT(key.code, KEY_UNKNOWN);
}

/* Any input makes progress, never reads past the end, and terminates. Tries all pairs
 * of interesting bytes, and long runs of each. */
TEST(garbage_never_hangs)
{
    static const char bytes[] = "\033[O]P<?;:0129~$M@Aumc\a\\ \x7f\x01\x9b\xc3\xff";
    size_t n = sizeof(bytes) - 1;
    char text[5000];
    struct key key;

    for (size_t i = 0; i < n * n * n * n; i++) {
        size_t rest = i, at = 0;

        for (size_t k = 0; k < 4; k++, rest /= n)
            text[k] = bytes[rest % n];
        while (at < 4) {
            size_t taken = keys_take(text + at, 4 - at, true, &key);

            CHECK(taken > 0 && taken <= 4 - at && key.code != KEY_NONE);
            at += taken;
        }
    }
    for (size_t i = 0; i < n; i++) {
        memset(text, bytes[i], sizeof(text));
        text[0] = '\033';
        text[1] = i % 2 ? '[' : ']';
        CHECK(keys_take(text, sizeof(text), false, &key) > 0);
    }
}

TEST(incomplete_sequences_have_a_longer_timeout_than_escape)
{
    static const char paste[] = "\033[200~qq";

    CHECK(keys_patience("\033", 1) < 50);
    CHECK(keys_patience("\033[", 2) < 50); /* Alt and [ */
    CHECK(keys_patience("\033[<", 3) > 200);
    CHECK(keys_patience("\033]1", 3) > 200);
    CHECK(keys_patience(paste, strlen(paste)) > keys_patience("\033[2", 3));
}

TEST(a_paste_continues_after_its_first_part)
{
    struct key key = {0};

    CHECK_INT(keys_take_paste("rest\033[20", 8, false, &key), 0);
    CHECK_INT(keys_take_paste("rest\033[201~q", 11, false, &key), 10);
    CHECK_INT(key.code, KEY_PASTE);
    CHECK_INT(key.text_len, 4);
    CHECK_INT(keys_take_paste("", 0, true, &key), 0);
}

TEST(names_of_keys_parse_back)
{
    static const uint32_t codes[] = {
        'a',    'Z',       ' ',           '\r',         '\t',          0xe9,
        KEY_UP, KEY_RIGHT, KEY_HOME,      KEY_F12,      KEY_ESCAPE,    KEY_BACKSPACE,
        '^',    '\\',      KEY_CTRL('F'), KEY_BACK_TAB, KEY_CTRL('\\')};
    char name[16];

    for (size_t i = 0; i < COUNT_OF(codes); i++) {
        key_name(name, codes[i], false);
        CHECK_INT(key_parse(name), codes[i]);
        if (codes[i] == 0xe9)
            continue;
        key_name(name, codes[i], true);
        CHECK_INT(key_parse(name), codes[i]);
    }
    key_name(name, KEY_CTRL('F'), false);
    CHECK_STR(name, "^F");
    CHECK_INT(key_parse("escape"), KEY_NONE);
    CHECK_INT(key_parse("esc"), KEY_ESCAPE);
    CHECK_INT(key_parse(""), KEY_NONE);
    CHECK_INT(key_parse("F13"), KEY_NONE);
    CHECK_INT(key_parse("ab"), KEY_NONE);
}
