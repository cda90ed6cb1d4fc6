#include "tui/config_in.h"

#include "base/test.h"
#include "tui/keys.h"

TEST(a_config_file_says_how_it_looks_and_which_keys)
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

TEST(the_first_mistake_is_told_and_all_else_counts)
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
