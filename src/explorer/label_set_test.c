#include "explorer/label_set.h"

#include "base/test.h"
#include "explorer/resnet_in.h"
#include "rows/below.h"
#include "rows/labels.h"
#include "run/sample_run.h"
#include "text/width.h"

static const char *ids(const struct label_set *set, struct buf *text)
{
    buf_clear(text);
    label_set_text(set, text);
    return buf_cstr(text);
}

TEST(these_labels_are_on_by_default)
{
    struct label_set set;
    struct buf text = BUF_INIT;

    label_set_init(&set, NULL);
    CHECK_STR(ids(&set, &text), "params,percent,memory,time,name,type,args");
    CHECK(!set.flowing);
    CHECK_INT(set.n, 37);
    CHECK(n_label_kinds <= LABELS_MOST);
    buf_release(&text);
}

TEST(a_group_is_switched_off_as_a_whole_and_restored)
{
    struct label_set set;
    struct buf text = BUF_INIT;

    label_set_init(&set, NULL);
    label_set_group(&set, 'p');
    CHECK_STR(ids(&set, &text), "memory,time,name,type,args");
    label_set_group(&set, 'p');
    CHECK_STR(ids(&set, &text), "params,percent,memory,time,name,type,args");
    label_set_group(&set, 'f'); /* never on before: switches all on */
    CHECK_STR(ids(&set, &text),
              "params,percent,memory,in,out,calls,time,name,type,args");
    label_set_group(&set, 'm'); /* b and m are one */
    label_set_group(&set, 'f');
    CHECK_STR(ids(&set, &text), "params,percent,time,name,type,args");
    label_set_group(&set, 'b');
    CHECK_STR(ids(&set, &text), "params,percent,memory,time,name,type,args");
    label_set_group(&set, 'A');
    CHECK(set.flowing);
    label_set_group(&set, 'A');
    CHECK(!set.flowing);
    buf_release(&text);
}

TEST(a_key_without_effect_gives_a_reason)
{
    struct sample s;

    resnet_begin(&s, false);
    CHECK_STR(label_group_why(&s.show, 'r'), "nothing was recorded: no times");
    CHECK(label_group_why(&s.show, 'f'));
    CHECK(!label_group_why(&s.show, 'p'));
    sample_release(&s);
}

TEST(labels_are_moved_and_switched_individually)
{
    struct label_set set;
    struct buf text = BUF_INIT;

    label_set_init(&set, NULL);
    label_set_toggle(&set, 1); /* device */
    CHECK_STR(ids(&set, &text), "device,params,percent,memory,time,name,type,args");
    label_set_move(&set, 1, 36);
    CHECK_STR(ids(&set, &text), "params,percent,memory,time,name,type,args,device");
    label_set_move(&set, 36, 0);
    CHECK_STR(ids(&set, &text), "device,params,percent,memory,time,name,type,args");
    label_set_move(&set, 0, 99);
    label_set_toggle(&set, 99);
    CHECK_STR(ids(&set, &text), "device,params,percent,memory,time,name,type,args");
    buf_release(&text);
}

TEST(a_list_of_labels_reads_back_unchanged)
{
    struct label_set set;
    struct buf text = BUF_INIT;
    struct err err = {0};

    label_set_init(&set, NULL);
    CHECK(label_set_parse(&set, STR(" name, type ,time,%,memory%"), &err) == 0);
    CHECK_STR(ids(&set, &text), "name,type,time,percent,memory%");
    CHECK(label_set_parse(&set, STR("params,time"), &err) == 0);
    CHECK(label_is_on(&set, "name") && label_is_on(&set, "time"));
    CHECK(label_set_parse(&set, STR("-name,time"), &err) == 0);
    CHECK(!label_is_on(&set, "name"));
    CHECK(label_set_parse(&set, STR("flowing,name"), &err) == 0);
    CHECK_STR(ids(&set, &text), "flowing,name");
    CHECK(label_set_parse(&set, STR("name,memroy"), &err) < 0);
    CHECK_INT(err.code, ERR_USAGE);
    CHECK_STR(err.text, "unknown label memroy; did you mean memory?");
    CHECK_STR(ids(&set, &text), "flowing,name"); /* nothing changed */
    CHECK(label_set_parse(&set, STR("\033[31m"), &err) < 0);
    buf_release(&text);
}

TEST(labels_that_do_not_fit_are_named_in_a_line)
{
    struct sample s;
    struct label_set set;
    struct lines lines = {.n = 0};
    struct buf text = BUF_INIT;

    resnet_begin(&s, false);
    label_set_init(&set, &s.show);
    for (unsigned width = 20; width < 400; width++) {
        lines_clear(&lines);
        buf_clear(&text);
        label_set_more(&lines, &set, 18, width);
        line_plain(&text, &lines, 0);
        CHECK(text_width(buf_span(&text)) <= width);
        if (width == 52)
            CHECK_STR(buf_cstr(&text), " ▾ 19 more: total time, average own time …");
        if (width < 399)
            continue;
        CHECK(str_find(buf_span(&text), STR(", FLOPs, multiply-adds, ")) > 0);
        CHECK(str_ends(buf_span(&text), STR(", name, type, arguments, shapes")));
    }
    lines_release(&lines);
    buf_release(&text);
    sample_release(&s);
}

TEST(every_label_works_for_every_row)
{
    struct sample s;
    struct label_set set;
    struct lines lines = {.n = 0};
    struct buf text = BUF_INIT;

    resnet_begin(&s, false);
    label_set_init(&set, &s.show);
    for (uint32_t p = 0; p < s.model->n_places; p++) {
        struct row row = {.place = p, .count = 1, .above = p ? 0 : NO_ROW};

        lines_clear(&lines);
        label_set_lines(&lines, &set, &s.show, &row, 52);
        CHECK_INT(lines.n, set.n);
    }
    lines_clear(&lines);
    label_set_lines(
        &lines, &set, &s.show,
        &(struct row){.place = place_find(s.model, STR("layer1.0.conv2")), .count = 1},
        52);
    for (uint32_t i = 0; i < lines.n; i++) {
        line_plain(&text, &lines, i);
        while (text.at[text.len - 1] == ' ')
            text.len--;
        buf_char(&text, '\n');
    }
    CHECK_STR(buf_cstr(&text), " ■ Alignment              A   columns\n"
                               " □ Device                 d\n"
                               " □ Data type              d   float32\n"
                               " ■ Parameter count        p   36.9K\n"
                               " ■ Parameter share        p   49%\n"
                               " □ Own parameters         p   self=36.9K 100%\n"
                               " □ Trainable              p   trainable\n"
                               " ■ Memory                 b m 144.0KB\n"
                               " □ Memory share           b m 48%\n"
                               " □ Own memory             b m self=144.0KB 100%\n"
                               " □ Input memory\n"
                               " □ Output memory\n"
                               " □ Saved for backward\n"
                               " □ Input shapes (italic)  f\n"
                               " □ Output shapes          f\n"
                               " □ Calls                  f\n"
                               " □ Own time               r\n"
                               " □ Time share             r\n"
                               " ■ Total time             r\n"
                               " □ Average own time\n"
                               " □ Average total time\n"
                               " □ FLOPs\n"
                               " □ Multiply-adds\n"
                               " □ Operations\n"
                               " □ Output mean\n"
                               " □ Output std\n"
                               " □ Output zeros\n"
                               " □ Gradient norm\n"
                               " □ Update ratio\n"
                               " □ Weight norm\n"
                               " □ Dead units\n"
                               " □ Input dtypes\n"
                               " □ Output dtypes\n"
                               " ■ Name                       (conv2)\n"
                               " ■ Type                       Conv2d\n"
                               " ■ Arguments                  (64, 64, kernel_size=…\n"
                               " □ Shapes                 t   | weight: 64×64×3×3\n");
    buf_release(&text);
    lines_release(&lines);
    sample_release(&s);
}

/* The text of all labels for a place in the flowing form, without empty ones. */
static const char *all_of(const struct show *show, const char *name, struct buf *text)
{
    struct row row = {.place = place_find(show->model, str_of(name)), .count = 1};

    buf_clear(text);
    for (size_t i = 0; i < n_label_kinds; i++) {
        size_t begin = text->len;

        label_flow(text, &label_kinds[i], show, &row);
        if (text->len > begin)
            buf_char(text, ' ');
    }
    buf_char(text, '.');
    return buf_cstr(text);
}

TEST(labels_of_a_recording_have_rps_texts)
{
    struct session *session = session_of_run(sample_run(2), NULL);
    struct arena arena;
    struct show show;
    struct buf text = BUF_INIT;

    arena_init(&arena, 0);
    CHECK(show_init(&show, session, &arena, NULL) == 0);
    below_index(&show, &arena);
    CHECK_STR(all_of(&show, "list.0.act", &text),
              "0  0% 0B in_mem=32B out_mem=32B in=4×2 out=4×2 (2 calls) 33% "
              "mean=-0 std=0 zeros=0% in=float32 out=float32 (act) ReLU .");
    CHECK_STR(all_of(&show, "tail", &text),
              "cpu float32 (6) trainable (24B) not reached (tail) Linear | weight: 2×3 "
              "⇄ a.weight .");
    all_of(&show, "a", &text);
    CHECK(str_find(buf_span(&text), STR("(3 calls)")) >= 0);
    CHECK(str_find(buf_span(&text), STR("grad=0.6124")) >= 0);
    buf_release(&text);
    arena_release(&arena);
    session_close(session);
}
