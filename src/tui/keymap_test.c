#include "tui/keymap.h"

#include <string.h>

#include "base/base.h"
#include "base/test.h"
#include "tui/keys.h"

static enum action does(const struct keymap *map, uint32_t key, unsigned where)
{
    const struct binding *found = keymap_find(map, key, where);

    return found ? (enum action)found->action : ACTION_NONE;
}

TEST(every_action_has_a_binding_and_a_unique_name)
{
    bool have[ACTION_COUNT] = {false};

    for (size_t i = 0; i < n_bindings; i++) {
        CHECK(bindings[i].name && bindings[i].about && bindings[i].where);
        CHECK(!have[bindings[i].action]);
        have[bindings[i].action] = true;
        for (size_t k = 0; k < i; k++)
            CHECK(strcmp(bindings[i].name, bindings[k].name) != 0);
    }
    for (int i = ACTION_NONE + 1; i < ACTION_COUNT; i++)
        if (!have[i])
            test_fail(__FILE__, __LINE__, "action %d has no binding", i);
}

TEST(no_key_hides_another)
{
    struct keymap *map = keymap_new();

    for (size_t i = 0; i < n_bindings; i++)
        for (size_t k = 0; k < KEYS_MOST && bindings[i].keys[k]; k++) {
            bool found = false;

            for (unsigned where = 1; where <= 32; where *= 2)
                found = found || (bindings[i].where & where &&
                                  does(map, bindings[i].keys[k], where) ==
                                      (enum action)bindings[i].action);
            if (!found)
                test_fail(__FILE__, __LINE__, "%s never happens", bindings[i].name);
        }
    keymap_free(map);
}

TEST(the_keys_of_the_seeds_do_what_the_seeds_describe)
{
    static const struct {
        uint32_t key;
        enum action action;
    } seeds[] = {
        {KEY_UP, ACTION_UP},
        {'k', ACTION_UP},
        {KEY_DOWN, ACTION_DOWN},
        {'j', ACTION_DOWN},
        {KEY_LEFT, ACTION_LEFT},
        {'h', ACTION_LEFT},
        {KEY_RIGHT, ACTION_RIGHT},
        {'l', ACTION_RIGHT},
        {' ', ACTION_FOLD},
        {'z', ACTION_FOLD_SUBTREE},
        {'Z', ACTION_FOLD_ALL},
        {'s', ACTION_FOLD_SIBLINGS},
        {'S', ACTION_FOLD_SIBLINGS_BELOW},
        {'o', ACTION_FOLD_CLASS},
        {'O', ACTION_FOLD_CLASS_BELOW},
        {'t', ACTION_SHAPES},
        {'b', ACTION_MEMORY},
        {'p', ACTION_COUNTS},
        {'d', ACTION_DEVICE},
        {'f', ACTION_FORWARD},
        {'A', ACTION_ALIGN},
        {'c', ACTION_CODE},
        {'a', ACTION_ATTRIBUTES},
        {'L', ACTION_LABELS},
        {'<', ACTION_LARGER},
        {'>', ACTION_SMALLER},
        {'?', ACTION_HELP},
        {'q', ACTION_QUIT},
    };
    struct keymap *map = keymap_new();

    for (size_t i = 0; i < COUNT_OF(seeds); i++)
        CHECK_INT(does(map, seeds[i].key, IN_TREE), seeds[i].action);
    CHECK_INT(does(map, 'J', IN_LABELS), ACTION_LABEL_DOWN);
    CHECK_INT(does(map, 'J', IN_TREE), ACTION_NEXT_SIBLING);
    CHECK_INT(does(map, ' ', IN_LABELS), ACTION_LABEL_TOGGLE);
    CHECK_INT(does(map, '\r', IN_LABELS), ACTION_LABEL_TOGGLE);
    CHECK_INT(does(map, '\r', IN_TREE), ACTION_ENTER);
    keymap_free(map);
}

TEST(keys_can_be_rebound)
{
    struct keymap *map = keymap_new();
    struct err err = {0};

    CHECK_INT(keymap_bind(map, STR("quit"), STR("^X F10"), &err), 0);
    CHECK_INT(does(map, 'q', IN_TREE), ACTION_NONE);
    CHECK_INT(does(map, KEY_CTRL('X'), IN_TREE), ACTION_QUIT);
    CHECK_INT(does(map, KEY_F1 + 9, IN_FILES), ACTION_QUIT);
    /* Binding a key takes it from the other action. */
    CHECK_INT(keymap_bind(map, STR("zoom"), STR("z"), &err), 0);
    CHECK_INT(does(map, 'z', IN_TREE), ACTION_ZOOM);
    /* The other binding of J, in Labels, stays. */
    CHECK_INT(keymap_bind(map, STR("sort"), STR(""), &err), 0);
    CHECK_INT(does(map, 'i', IN_TREE), ACTION_NONE);
    CHECK_INT(keymap_bind(map, STR("qiut"), STR("x"), &err), -1);
    CHECK_STR(err.text, "unknown action \"qiut\"; did you mean quit?");
    CHECK_INT(keymap_bind(map, STR("quit"), STR("Hyper"), &err), -1);
    CHECK_STR(err.text, "unknown key \"Hyper\"");
    CHECK_INT(keymap_bind(map, STR("quit"), STR("1 2 3 4 5"), &err), -1);
    keymap_free(map);
}

TEST(keys_are_named_as_help_writes_them)
{
    struct keymap *map = keymap_new();
    struct buf text = BUF_INIT;

    keymap_names(map, 2, false, &text);
    CHECK_STR(buf_cstr(&text), "← h");
    buf_clear(&text);
    keymap_names(map, 2, true, &text);
    CHECK_STR(buf_cstr(&text), "Left h");
    buf_release(&text);
    keymap_free(map);
}
