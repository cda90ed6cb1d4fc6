#include "model/value.h"

#include <math.h>

#include "base/test.h"

struct fixture {
    struct arena arena;
    struct intern strings;
    struct values values;
};

static struct values *fresh(struct fixture *f)
{
    arena_init(&f->arena, 0);
    CHECK(intern_init(&f->strings, &f->arena) == 0);
    CHECK(values_init(&f->values, &f->arena, &f->strings) == 0);
    return &f->values;
}

TEST(equal_values_have_the_same_id)
{
    struct fixture f;
    struct values *v = fresh(&f);
    uint32_t a[2] = {value_int(v, 7), value_str(v, STR("seven"))};
    uint32_t b[2] = {value_int(v, 7), value_str(v, STR("seven"))};

    CHECK(a[0] == b[0] && a[1] == b[1]);
    CHECK(value_make(v, VALUE_LIST, STR(""), a, 2) ==
          value_make(v, VALUE_LIST, STR(""), b, 2));
    CHECK(value_make(v, VALUE_LIST, STR(""), a, 2) !=
          value_make(v, VALUE_TUPLE, STR(""), b, 2));
    CHECK(value_real(v, NAN) == value_real(v, NAN));
    CHECK(value_real(v, 0.0) != value_real(v, -0.0));
    CHECK(value_int(v, 1) != value_bool(v, true));
    arena_release(&f.arena);
}

TEST(none_is_value_zero_and_an_unknown_id_reads_as_none)
{
    struct fixture f;
    struct values *v = fresh(&f);

    CHECK(value_at(v, VALUE_ID_NONE)->kind == VALUE_NONE);
    CHECK(value_at(v, VALUE_ID_FAILED)->kind == VALUE_NONE);
    CHECK(value_items(v, VALUE_ID_NONE) == NULL);
    arena_release(&f.arena);
}

TEST(a_dict_is_searched_by_key)
{
    struct fixture f;
    struct values *v = fresh(&f);
    uint32_t items[4] = {value_str(v, STR("lr")), value_real(v, 0.1), value_int(v, 3),
                         value_bool(v, false)};
    uint32_t dict = value_make(v, VALUE_DICT, STR(""), items, 4), found;

    CHECK(value_get(v, dict, "lr", &found) && found == items[1]);
    CHECK(!value_get(v, dict, "momentum", &found));
    CHECK(!value_get(v, items[0], "lr", &found));
    arena_release(&f.arena);
}

TEST(bytes_keep_their_head_and_their_true_length)
{
    struct fixture f;
    struct values *v = fresh(&f);
    uint32_t id = value_bytes(v, STR("abc"), 5000);

    CHECK(value_at(v, id)->n == 5000);
    CHECK(value_items(v, id) == NULL);
    CHECK(str_is(value_text(v, id), "abc"));
    arena_release(&f.arena);
}

TEST(a_spent_arena_gives_a_failed_id_and_keeps_the_old_values)
{
    struct fixture f;
    struct values *v = fresh(&f);
    uint32_t id = value_int(v, 1), last = id;

    f.arena.limit = f.arena.used;
    for (int i = 0; i < 100000 && last != VALUE_ID_FAILED; i++)
        last = value_int(v, i);
    CHECK(last == VALUE_ID_FAILED && f.arena.spent);
    CHECK(value_at(v, id)->integer == 1);
    arena_release(&f.arena);
}
