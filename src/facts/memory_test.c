#include "facts/memory_text.h"

#include "base/test.h"
#include "facts/facts.h"
#include "facts/notes.h"
#include "facts/performance.h"
#include "rows/columns.h"
#include "run/sample_run.h"

struct memory_scene {
    struct session *session;
    struct show show;
    struct arena arena;
    struct facts facts;
    struct buf text;
};

static void begin(struct memory_scene *s, struct run *run)
{
    *s = (struct memory_scene){.session = session_of_run(run, NULL), .text = BUF_INIT};
    CHECK(s->session);
    arena_init(&s->arena, 0);
    CHECK(show_init(&s->show, s->session, &s->arena, NULL) == 0);
}

static void end(struct memory_scene *s)
{
    facts_release(&s->facts);
    buf_release(&s->text);
    arena_release(&s->arena);
    session_close(s->session);
}

static const char *text(struct memory_scene *s)
{
    buf_clear(&s->text);
    facts_text(&s->text, &s->facts, 11);
    facts_clear(&s->facts);
    return buf_cstr(&s->text);
}

static const char *cell(struct memory_scene *s, const char *name)
{
    struct row row = {.place = place_find(s->show.model, str_of(name)), .count = 1};

    buf_clear(&s->text);
    column_figure(&s->text, column_find(STR("saved")), &s->show, &row);
    return s->text.len ? buf_cstr(&s->text) : "";
}

TEST(the_memory_of_a_run_has_its_peak_and_saved_tensors)
{
    struct memory_scene s;

    begin(&s, sample_ops());
    memory_run(&s.facts, &s.show, 2);
    CHECK_INT(s.facts.n, 3);
    CHECK_STR(s.facts.at[0].id, "peak");
    CHECK_INT(s.facts.parts[s.facts.at[0].first].n, 132);
    CHECK_STR(
        text(&s),
        "peak       132B of tensors at net.py:5 mm() outside the model, in backward\n"
        "           parameters 32B   gradients 24B   saved for backward 36B   "
        "other 40B\n"
        "saved      36B for backward   a 16B, 44%   list.0.act 16B, 44%\n");
    memory_place(&s.facts, &s.show, place_find(s.show.model, STR("list")));
    CHECK(s.facts.at[0].share > 0.44 && s.facts.at[0].share < 0.45);
    CHECK_STR(text(&s), "saved      16B   44% of all that is saved for backward   by "
                        "itself 0B\n");
    end(&s);
}

TEST(the_column_saved_includes_the_places_below)
{
    struct memory_scene s;

    begin(&s, sample_ops());
    CHECK_STR(cell(&s, ""), "32B");
    CHECK_STR(cell(&s, "a"), "16B");
    CHECK_STR(cell(&s, "list"), "16B");
    CHECK_STR(cell(&s, "list.0.act"), "16B");
    CHECK_STR(cell(&s, "a.weight"), "");
    CHECK_STR(cell(&s, "tail"), "");
    end(&s);
}

TEST(a_run_without_operations_has_no_facts_about_memory)
{
    struct memory_scene s;

    begin(&s, sample_run(1));
    memory_run(&s.facts, &s.show, 2);
    memory_place(&s.facts, &s.show, 0);
    notes_no_gradient(&s.facts, &s.show);
    CHECK_INT(s.facts.n, 0);
    CHECK(!notes_gradient_alarmed(&s.show));
    CHECK_STR(cell(&s, ""), "");
    end(&s);
}

/* In the sample step the weight of `a` gets a gradient and its bias does not, although
 * the operation that read it took part in backward. */
TEST(a_parameter_without_gradient_has_a_note)
{
    static const char *const note =
        "- gradient a.bias gets no gradient: backward() was limited to other tensors, "
        "or a custom function gave None\n";
    struct memory_scene s;

    begin(&s, sample_ops());
    notes_no_gradient(&s.facts, &s.show);
    CHECK_INT(s.facts.n, 1);
    CHECK_INT(s.facts.at[0].role, COLOUR_DIM);
    CHECK_STR(s.facts.at[0].id, "no_gradient");
    CHECK_STR(text(&s), note);
    notes_place(&s.facts, &s.show, place_find(s.show.model, STR("a")));
    CHECK_STR(text(&s), note);
    notes_no_gradient_at(&s.facts, &s.show, place_find(s.show.model, STR("a.weight")));
    CHECK_INT(s.facts.n, 0);
    CHECK(!notes_gradient_alarmed(&s.show)); /* it is only a note */
    end(&s);
}

static struct no_gradient cut(uint32_t tensor, uint32_t op, enum no_gradient_why why)
{
    return (struct no_gradient){.tensor = tensor, .op = op, .why = why};
}

TEST(parameters_with_one_reason_share_a_note)
{
    struct memory_scene s;
    struct no_gradient list[2];
    struct no_gradients all = {.at = list, .n = 2};

    begin(&s, sample_ops());
    s.show.no_gradients = &all;
    list[0] = cut(0, 4, NO_GRADIENT_DETACHED);
    list[1] = cut(1, 4, NO_GRADIENT_DETACHED);
    notes_no_gradient(&s.facts, &s.show);
    CHECK_STR(text(&s), "✗ gradient a.weight, a.bias get no gradient: net.py:13 "
                        "detach() in Net cut the path\n");
    CHECK(notes_gradient_alarmed(&s.show));
    list[0] = cut(0, 2, NO_GRADIENT_NO_GRAD);
    list[1] = cut(1, 1, NO_GRADIENT_NO_GRAD);
    notes_no_gradient(&s.facts, &s.show);
    CHECK_STR(text(&s), "✗ gradient a.weight, a.bias get no gradient: net.py:5 addmm() "
                        "in a ran without autograd (no_grad)\n");
    list[0] = cut(0, 2, NO_GRADIENT_NOT_SMOOTH);
    list[1] = cut(1, RUN_NONE, NO_GRADIENT_NOT_READ);
    notes_no_gradient(&s.facts, &s.show);
    CHECK_STR(text(&s), "✗ gradient a.weight gets no gradient: net.py:9 relu() in "
                        "list.0.act is not differentiable\n"
                        "! gradient a.bias gets no gradient: no operation read it\n");
    list[0] = cut(0, 5, NO_GRADIENT_DATA);
    list[1] = cut(1, 2, NO_GRADIENT_NOT_IN_LOSS);
    notes_no_gradient(&s.facts, &s.show);
    CHECK_STR(text(&s),
              "✗ gradient a.weight gets no gradient: train.py:3 sum() outside "
              "the model read a tensor without its gradient (.data)\n"
              "! gradient a.bias gets no gradient: the loss does not depend "
              "on the result of net.py:9 relu() in list.0.act\n");
    end(&s);
}

TEST(performance_shows_the_saved_memory_of_a_module)
{
    struct memory_scene s;

    begin(&s, sample_ops());
    performance_place(&s.facts, &s.show, place_find(s.show.model, STR("a")));
    CHECK_STR(s.facts.at[s.facts.n - 1].id, "saved");
    CHECK_INT(s.facts.parts[s.facts.at[s.facts.n - 1].first].n, 16);
    end(&s);
}
