/* Keys in a list of files, without a terminal. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/test.h"
#include "session/sample_session.h"
#include "tui/tui_in.h"

static char here[64];

struct stage {
    struct tui tui;
    struct tui_wanted wanted;
    struct session *session; /* open below the list; or NULL */
    struct buf text;
};

/* A parameter of `values` bytes, the last `missing` of them cut off. */
static void put(const char *name, int values, int missing)
{
    char path[128], bytes[1024] = {0}, header[128];
    FILE *file;
    int n = snprintf(
        header, sizeof header,
        "{\"w.weight\":{\"dtype\":\"U8\",\"shape\":[%d],\"data_offsets\":[0,%d]}}",
        values, values);

    bytes[0] = (char)n;
    memcpy(bytes + 8, header, (size_t)n);
    snprintf(path, sizeof path, "%s/%s", here, name);
    file = fopen(path, "wb");
    CHECK(file);
    CHECK(fwrite(bytes, 1, (size_t)(8 + n + values - missing), file) ==
          (size_t)(8 + n + values - missing));
    fclose(file);
}

static struct stage *begin(bool over_a_model)
{
    struct stage *stage = calloc(1, sizeof *stage);
    struct err err = {0};

    snprintf(here, sizeof here, "/tmp/torchoscope-list-XXXXXX");
    CHECK(mkdtemp(here));
    put("a2.safetensors", 100, 0);
    put("a10.safetensors", 20, 0);
    put("cut.safetensors", 300, 1);
    CHECK(stage);
    stage->session = over_a_model ? sample_session() : NULL;
    stage->wanted = (struct tui_wanted){
        .session = stage->session, .path = here, .settings = SETTINGS_INIT};
    stage->wanted.settings.tree.sort = over_a_model ? NULL : "name";
    CHECK_INT(tui_begin(&stage->tui, &stage->wanted, &err), 0);
    CHECK_INT(tui_begin_exploring(&stage->tui, &err), 0);
    CHECK_INT(cells_init(&stage->tui.cells, 100, 20), 0);
    tui_frame(&stage->tui);
    return stage;
}

static void end(struct stage *stage)
{
    char command[128];

    tui_end(&stage->tui);
    session_close(stage->session);
    buf_release(&stage->text);
    free(stage);
    snprintf(command, sizeof command, "rm -rf '%s'", here);
    CHECK(system(command) == 0);
}

static void press(struct stage *stage, const char *bytes)
{
    size_t n = strlen(bytes);

    while (n > 0) {
        struct key key;
        size_t taken = keys_take(bytes, n, true, &key);

        tui_key(&stage->tui, &key);
        tui_frame(&stage->tui);
        bytes += taken;
        n -= taken;
    }
}

static void shows(struct stage *stage, const char *text)
{
    buf_clear(&stage->text);
    cells_print(&stage->tui.cells, &stage->text);
    if (!strstr(buf_cstr(&stage->text), text))
        test_fail(__FILE__, __LINE__, "no \"%s\" in\n%s", text, buf_cstr(&stage->text));
}

TEST(two_marked_files_are_compared_and_q_returns_to_the_list)
{
    struct stage *stage = begin(false);

    shows(stage, "name▾");
    press(stage, "D");
    CHECK_INT(stage->tui.prompt.kind, PROMPT_COMMAND);
    press(stage, "\033 D");
    shows(stage, "this row is the marked one");
    press(stage, "G D"); /* mark the second row, then compare both */
    shows(stage, "a2.safetensors ⇄ cut.safetensors");
    CHECK(!stage->tui.files && stage->tui.explorer.pair);
    press(stage, "q");
    shows(stage, "2 marked · row 3/3");
    press(stage, "k "); /* a third */
    shows(stage, "two rows are marked already");
    press(stage, "\033");
    press(stage, " gD"); /* one mark and the selected row */
    shows(stage, "a10.safetensors ⇄ a2.safetensors");
    press(stage, "qq");
    CHECK(stage->tui.quit);
    end(stage);
}

TEST(the_mark_and_the_cursor_stay_with_their_files)
{
    struct stage *stage = begin(false);

    press(stage, "j im"); /* a10; biggest first */
    shows(stage, "▌■a10.safetensors");
    shows(stage, "row 3/3");
    press(stage, "fd");
    shows(stage, "1 of 3 files");
    shows(stage, "1 marked · /damaged · row 1/1");
    press(stage, "D"); /* the marked row is hidden, but still marked */
    shows(stage, "a10.safetensors ⇄ cut.safetensors");
    press(stage, "q\033");
    shows(stage, "▌■a10.safetensors");
    end(stage);
}

/* A list opened over a model handles keys and commands itself. */
TEST(commands_apply_to_the_shown_list)
{
    struct stage *stage = begin(true);
    char line[128];

    snprintf(line, sizeof line, ":open %s\r", here);
    press(stage, line);
    CHECK(stage->tui.files && stage->tui.exploring);
    press(stage, ":sort size reverse\r");
    shows(stage, "size▴");
    press(stage, ":filter cut\r");
    shows(stage, "1 of 3 files");
    press(stage, ":fold 1\r");
    shows(stage, "no model is open");
    press(stage, "\033\033:sort time\r");
    shows(stage, "use name, size, params, verdict or changed");
    press(stage, "\033g GD");
    CHECK(!stage->tui.files && stage->tui.explorer.pair);
    press(stage, "q");
    CHECK(stage->tui.files && !stage->tui.quit);
    end(stage);
}

static unsigned random_next(unsigned *seed)
{
    *seed = *seed * 1103515245u + 12345u;
    return *seed >> 16;
}

TEST(random_keys_in_a_list_of_files_do_no_harm)
{
    static const char *const words[] = {"D",
                                        " ",
                                        "g D",
                                        "G ",
                                        "iv",
                                        "im",
                                        "in",
                                        "fu",
                                        "fd",
                                        "fx",
                                        "fs",
                                        "/a\r",
                                        "/[/\r",
                                        "\033",
                                        "q",
                                        "\r",
                                        "j",
                                        "k",
                                        "n",
                                        ":sort size\r",
                                        ":filter !safe\r",
                                        "?\r",
                                        "D\t\r",
                                        "/(?=\r",
                                        "\033[<0;5;2M",
                                        "\033[<0;90;2M",
                                        "\033[<0;9;4M"};

    for (unsigned seed = 1; seed <= 3; seed++) {
        struct stage *stage = begin(seed == 2);
        unsigned random = seed;

        for (int i = 0; i < 400; i++) {
            press(stage,
                  words[random_next(&random) % (sizeof words / sizeof words[0])]);
            stage->tui.quit = false;
        }
        end(stage);
    }
}
