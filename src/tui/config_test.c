#include "tui/config_in.h"

#include <string.h>

#include "base/test.h"
#include "tui/keys.h"

TEST(a_config_file_sets_the_look_and_keys)
{
    struct keymap *map = keymap_new();
    struct config config = {0};
    struct err err = {0};

    CHECK_INT(config_parse(&config, map,
                           STR("# mine\ntheme = light\ncolor=256\n ascii = yes \n"
                               "mouse = no\n\n[keys]\nquit = ^X\n"),
                           &err),
              0);
    CHECK_STR(config.theme, "light");
    CHECK_STR(config.colour, "256");
    CHECK(config.ascii && config.no_mouse && !config.remember);
    CHECK_INT(keymap_find(map, KEY_CTRL('X'), IN_TREE)->action, ACTION_QUIT);
    CHECK_INT(config_set(&config, STR("theme"), STR("auto"), &err), 0);
    CHECK_STR(config.theme, "");
    keymap_free(map);
}

TEST(the_first_mistake_is_reported_and_other_lines_apply)
{
    struct keymap *map = keymap_new();
    struct config config = {0};
    struct err err = {0};

    CHECK_INT(config_parse(&config, map,
                           STR("theme = green\nwhat\nascii = on\n[keys]\nzoom = F1"),
                           &err),
              -1);
    CHECK_STR(err.text, "line 1: theme is one of auto|dark|light, not \"green\"");
    CHECK(config.ascii && !config.theme[0]);
    CHECK_INT(keymap_find(map, KEY_F1, IN_TREE)->action, ACTION_ZOOM);
    CHECK_INT(config_parse(&config, map, STR("[colours]"), &err), -1);
    CHECK_INT(config_parse(&config, map, STR("remember = maybe"), &err), -1);
    CHECK_INT(config_parse(&config, map, STR("size = 7"), &err), -1);
    CHECK_INT(config_parse(&config, map, STR(""), &err), 0);
    keymap_free(map);
}

TEST(every_setting_of_the_table_can_be_set)
{
    struct buf names = BUF_INIT;

    config_names(&names);
    CHECK_STR(buf_cstr(&names), "theme, color, ascii, mouse, plain, remember");
    buf_release(&names);
    for (size_t i = 0; config_option(i); i++) {
        const struct option *option = config_option(i);
        struct config before = {0}, after = {0};
        struct str rest = str_of(option->value), word = STR("yes");
        bool no;
        const char *name = config_name(option, &no);

        if (option->kind == OPTION_FLAG && no)
            word = STR("no");
        do {
            if (option->kind != OPTION_FLAG && !str_split(&rest, '|', &word))
                break;
            CHECK(word.len < CONFIG_WORD);
            CHECK_INT(config_set(&after, str_of(name), word, NULL), 0);
            CHECK(memcmp(&before, &after, sizeof before) != 0);
            CHECK_INT(config_set(&after, str_of(name),
                                 option->kind != OPTION_FLAG ? STR("auto")
                                 : no                        ? STR("yes")
                                                             : STR("no"),
                                 NULL),
                      0);
            CHECK(memcmp(&before, &after, sizeof before) == 0);
        } while (rest.len > 0);
    }
}
