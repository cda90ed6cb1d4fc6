/* Screens of all sizes: no content breaks the layout. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/test.h"
#include "model/build.h"
#include "run/sample_run.h"
#include "session/sample_session.h"
#include "text/width.h"
#include "tui/tui_in.h"

static const struct {
    unsigned columns, rows;
} sizes[] = {
    {40, 8},  {41, 23},  {60, 20},  {79, 24},  {80, 23},  {80, 24},
    {99, 30}, {100, 24}, {120, 36}, {160, 24}, {200, 60}, {300, 100},
};

/* Wide, combining, right-to-left and invisible characters, and an overlong name. */
static struct session *odd_session(void)
{
    static const char *const names[] = {
        "卷积卷积卷积卷积卷积卷积卷积卷积卷积卷积卷积卷积卷积卷积卷积卷积卷积卷积卷积",
        "e\xcc\x81tage",
        "שלום.עולם",
        "\x1b[31mred\nline",
        "\xe2\x80\xaegnp.exe",
        "a_name_that_is_longer_than_a_narrow_screen_is_wide_and_goes_on_and_on_and_on",
    };
    int64_t shape[] = {3, 3};
    const struct model *model;
    struct build b;

    CHECK(build_init(&b, "names.pt", 0, NULL, NULL) == 0);
    b.model->format = "sample";
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct storage storage = {.bytes = 36};
        struct tensor tensor = {.dtype = DTYPE_FLOAT32,
                                .role = ROLE_PARAMETER,
                                .storage = build_storage(&b, &storage),
                                .class_id = NO_CLASS};
        uint32_t node = build_node(&b, 0, PLACE_GROUP, str_of(names[i]));

        build_tensor(&b, build_node(&b, node, PLACE_TENSOR, str_of(names[i])), &tensor,
                     shape, NULL, 2);
    }
    model = build_finish(&b, NULL);
    CHECK(model);
    build_release(&b);
    return session_of(model, NULL);
}

/* No line may be too wide, and no cell may hold a control character; in ASCII mode,
 * nothing outside ASCII. */
static void check_cells(struct tui *tui, const char *about)
{
    struct buf text = BUF_INIT;
    struct str rest, line;
    unsigned n = 0;

    cells_print(&tui->cells, &text);
    rest = buf_span(&text);
    while (rest.len > 0 && str_split(&rest, '\n', &line)) {
        bool fine = text_width(line) <= tui->cells.columns;

        for (size_t i = 0; i < line.len; i++) {
            unsigned char c = (unsigned char)line.at[i];

            fine &= c >= 0x20 && c != 0x7f && (!tui->config.ascii || c < 0x7f);
        }
        if (!fine)
            test_fail(__FILE__, __LINE__, "%s at %ux%u: \"%.*s\"", about,
                      tui->cells.columns, tui->cells.rows, STR_ARG(line));
        n++;
    }
    CHECK_INT(n, tui->cells.rows);
    buf_release(&text);
}

/* The cursor's row is visible if the tree is. */
static void check_cursor(struct tui *tui, const char *about)
{
    const struct area *tree = &tui->frame.tree;
    const char *sign = tui->config.ascii ? ">" : "▌";
    bool seen = false;

    for (unsigned row = tree->row + 1; row < tree->row + tree->rows; row++)
        seen |= strcmp(tui->cells.at[row * tui->cells.columns].text, sign) == 0;
    if (tree->rows > 1 && !seen)
        test_fail(__FILE__, __LINE__, "%s at %ux%u: no cursor", about,
                  tui->cells.columns, tui->cells.rows);
}

static void press(struct tui *tui, const char *keys)
{
    for (; *keys; keys++)
        tui_key(tui, &(struct key){.code = (unsigned char)*keys});
}

/* Show all panels and Labels, stacked and zoomed, at every size and back. */
static void show_all(struct tui *tui, const char *about)
{
    for (unsigned focus = 0; focus <= PANEL_COUNT; focus++) {
        char open[] = {(char)(focus < PANEL_COUNT ? '0' + focus : 'L'), '\0'};

        press(tui, focus ? open : "G");
        for (int zoom = 0; zoom < 2; zoom++) {
            for (size_t i = 0; i < COUNT_OF(sizes); i++) {
                cells_release(&tui->cells);
                CHECK(cells_init(&tui->cells, sizes[i].columns, sizes[i].rows) == 0);
                tui->cells.ascii = tui->config.ascii;
                tui_changed(tui);
                tui_frame(tui);
                check_cells(tui, about);
                check_cursor(tui, about);
            }
            press(tui, "+");
        }
    }
}

static void check_sizes(struct session *session, struct pair *pair, const char *about)
{
    for (int ascii = 0; ascii < 2; ascii++) {
        struct tui_wanted wanted = {
            .session = pair ? NULL : session, .pair = pair, .settings = SETTINGS_INIT};
        struct tui *tui = malloc(sizeof *tui);

        CHECK(tui && tui_begin(tui, &wanted, NULL) == 0);
        CHECK(tui_begin_exploring(tui, NULL) == 0);
        tui->config.ascii = tui->explorer.ascii = ascii;
        press(tui, "Zo");
        show_all(tui, about);
        tui_end(tui);
        free(tui);
    }
    session_close(session);
}

TEST(a_model_fits_into_every_screen)
{
    check_sizes(sample_session(), NULL, "a model");
}

TEST(odd_names_fit_into_every_screen)
{
    check_sizes(odd_session(), NULL, "odd names");
}

TEST(a_recording_fits_into_every_screen)
{
    check_sizes(session_of_run(sample_run(2), NULL), NULL, "a recording");
}

TEST(two_models_fit_into_every_screen)
{
    struct diff_wanted wanted = {.values = true};
    struct pair *pair = pair_of(sample_session(), odd_session(), &wanted, NULL, NULL);

    CHECK(pair);
    check_sizes(NULL, pair, "two models");
    pair_close(pair);
}
