#include "explorer/copy.h"

#include "base/test.h"
#include "rows/sample_rows.h"
#include "session/sample_session.h"

typedef void copier(struct buf *to, const struct show *show, const struct row *row);

static struct buf text;

static const char *copied(copier *copy, const struct show *show, uint32_t place)
{
    struct row row = {.place = place, .count = 1, .above = NO_ROW};

    buf_clear(&text);
    copy(&text, show, &row);
    return buf_cstr(&text);
}

TEST(names_are_copied_in_the_form_that_other_programs_need)
{
    struct sample sample;
    uint32_t net, list, block, conv, odd;

    sample_begin(&sample, "folder/net.scope");
    net = sample_module(&sample, 0, "net", "models.Net", "");
    list = sample_module(&sample, net, "layer1",
                         "torch.nn.modules.container.Sequential", "");
    block = sample_module(&sample, list, "0", "models.Block", "");
    conv = sample_module(&sample, block, "conv2", "torch.nn.modules.conv.Conv2d", "");
    sample_tensor(&sample, conv, "weight", "4 3");
    odd = sample_module(&sample, block, "7", "torch.nn.modules.linear.Identity", "");
    (void)odd;
    sample_finish(&sample);
    net = place_find(sample.model, STR("net"));
    conv = place_find(sample.model, STR("net.layer1.0.conv2"));
    odd = place_find(sample.model, STR("net.layer1.0.7"));
    CHECK_STR(copied(copy_name, &sample.show, conv), "net.layer1.0.conv2");
    CHECK_STR(copied(copy_name, &sample.show, 0), "net.scope");
    CHECK_STR(copied(copy_key, &sample.show, conv), "net.layer1.0.conv2.weight");
    CHECK_STR(copied(copy_key, &sample.show, conv + 1), "net.layer1.0.conv2.weight");
    CHECK_STR(copied(copy_key, &sample.show, odd), "");
    CHECK_STR(copied(copy_python, &sample.show, net), "model");
    CHECK_STR(copied(copy_python, &sample.show, conv), "model.layer1[0].conv2");
    CHECK_STR(copied(copy_python, &sample.show, odd),
              "getattr(model.layer1[0], \"7\")");
    sample_release(&sample);
    buf_release(&text);
}

TEST(copies_of_a_hostile_name_are_one_line)
{
    struct session *session = sample_session();
    struct arena arena;
    struct show show;

    arena_init(&arena, 0);
    CHECK(show_init(&show, session, &arena, NULL) == 0);
    for (uint32_t p = 0; p < session->model->n_places; p++) {
        CHECK(!strchr(copied(copy_name, &show, p), '\n'));
        CHECK(!strchr(copied(copy_python, &show, p), '\n'));
        CHECK(!strchr(copied(copy_key, &show, p), '\n'));
    }
    CHECK_STR(copied(copy_python, &show, sample_place(session, "a.weight")),
              "model.a.weight");
    arena_release(&arena);
    session_close(session);
    buf_release(&text);
}
