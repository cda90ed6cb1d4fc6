/* Checks terminal output with a small terminal emulator: after any sequence of frames
 * it shows the last. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/test.h"
#include "base/utf8.h"
#include "text/width.h"
#include "tui/palette_in.h"
#include "tui/term_in.h"
#include "tui/terminfo_in.h"

#define COLUMNS 24
#define ROWS    6

/* A minimal terminal emulator. */
struct screen {
    struct {
        char text[CELL_BYTES + 8], style[64];
    } cells[ROWS][COLUMNS];
    char style[64];
    unsigned column, row;
};

static void set(char *to, size_t room, const char *text)
{
    CHECK(strlen(text) < room);
    memcpy(to, text, strlen(text) + 1);
}

#define SET(to, text) set(to, sizeof(to), text)

static void put(struct screen *screen, unsigned column, const char *text)
{
    unsigned row = screen->row, first = column;

    /* Clear both halves of a wide character. */
    while (first > 0 && screen->cells[row][first].text[0] == '\0')
        SET(screen->cells[row][first--].text, " ");
    if (first < column)
        SET(screen->cells[row][first].text, " ");
    if (column + 1 < COLUMNS && screen->cells[row][column + 1].text[0] == '\0')
        SET(screen->cells[row][column + 1].text, " ");
    SET(screen->cells[row][column].text, text);
    SET(screen->cells[row][column].style, screen->style);
}

static void erase(struct screen *screen, unsigned row, unsigned from)
{
    for (unsigned i = from; i < COLUMNS; i++) {
        SET(screen->cells[row][i].text, " ");
        SET(screen->cells[row][i].style, screen->style);
    }
}

static void show(struct screen *screen, struct str one)
{
    size_t width = text_width(one);
    char text[8] = "";

    memcpy(text, one.at, one.len);
    if (width == 0) {
        unsigned at = screen->column ? screen->column - 1 : 0;

        /* Isolates are invisible. */
        if (strcmp(text, "\u2068") == 0 || strcmp(text, "\u2069") == 0)
            return;
        while (at > 0 && screen->cells[screen->row][at].text[0] == '\0')
            at--;
        set(screen->cells[screen->row][at].text +
                strlen(screen->cells[screen->row][at].text),
            sizeof(screen->cells[0][0].text) -
                strlen(screen->cells[screen->row][at].text),
            text);
        return;
    }
    CHECK(screen->column + width <= COLUMNS);
    put(screen, screen->column, text);
    for (size_t i = 1; i < width; i++) {
        put(screen, screen->column + (unsigned)i, "");
        SET(screen->cells[screen->row][screen->column].text, text);
    }
    screen->column += (unsigned)width;
}

/* Parse ESC [ ...; returns the position after it. */
static size_t control(struct screen *screen, const char *at, size_t n)
{
    size_t end = 2;
    unsigned a = 0, b = 0;

    while (end < n && (at[end] < 0x40 || at[end] > 0x7e))
        end++;
    sscanf(at + 2, "%u;%u", &a, &b);
    if (at[end] == 'H') {
        screen->row = a ? a - 1 : 0;
        screen->column = b ? b - 1 : 0;
    } else if (at[end] == 'G') {
        screen->column = a - 1;
    } else if (at[end] == 'K') {
        erase(screen, screen->row, screen->column);
    } else if (at[end] == 'J') {
        for (unsigned row = 0; row < ROWS; row++)
            erase(screen, row, 0);
    } else if (at[end] == 'm') {
        CHECK(end < sizeof(screen->style));
        memset(screen->style, 0, sizeof(screen->style));
        memcpy(screen->style, at, end + 1);
    }
    return end + 1;
}

static void feed(struct screen *screen, const char *at, size_t n)
{
    while (n > 0) {
        uint32_t code;
        size_t taken;

        if (*at == '\033') {
            taken = control(screen, at, n);
        } else {
            taken = (size_t)utf8_decode(str_span(at, n), &code);
            CHECK(taken > 0);
            show(screen, str_span(at, taken));
        }
        at += taken;
        n -= taken;
    }
}

/* --- Frames */

static unsigned next(unsigned *seed)
{
    *seed = *seed * 1103515245u + 12345u;
    return *seed >> 16;
}

/* Change some cells; sometimes a whole row. */
static void scribble(struct cell_grid *cells, unsigned *seed)
{
    static const char *const texts[] = {"a",     "bc",         "▌├ ▸",     "漢",
                                        "漢字x", "e\u0301f",   "  ",       " ",
                                        "אבג",   "          ", "long text"};
    struct area all = {0, 0, COLUMNS, ROWS};

    for (unsigned i = next(seed) % 6; i > 0; i--) {
        unsigned row = next(seed) % ROWS;
        const char *text = texts[next(seed) % COUNT_OF(texts)];

        cells_text(cells, &all, next(seed) % COLUMNS, row, next(seed) % COLOUR_COUNT,
                   next(seed) % 16, str_of(text));
        if (next(seed) % 8 == 0)
            cells_back(cells, &all, row, next(seed) % 2 ? COLOUR_CURSOR : COLOUR_NONE,
                       0);
        if (next(seed) % 8 == 0)
            for (unsigned column = 0; column < COLUMNS; column++)
                cells_text(cells, &all, column, row, COLOUR_NONE, 0, STR(" "));
    }
}

static void compare(const struct screen *screen, const struct term *term,
                    const struct cell_grid *cells)
{
    for (unsigned row = 0; row < ROWS; row++)
        for (unsigned column = 0; column < COLUMNS; column++) {
            const struct cell *cell = &cells->at[row * COLUMNS + column];
            struct buf style = BUF_INIT;

            CHECK_STR(screen->cells[row][column].text, cell->text);
            palette_style(&style, term->colours, term->light, cell);
            if (strcmp(cell->text, " ") != 0 || cell->back)
                CHECK_STR(screen->cells[row][column].style, buf_cstr(&style));
            buf_release(&style);
        }
}

TEST(a_terminal_shows_the_last_of_many_frames)
{
    struct term *term = calloc(1, sizeof *term);
    struct screen *screen = calloc(1, sizeof *screen);
    struct cell_grid cells;
    struct err err = {0};
    unsigned seed = 7;

    setenv("TERM", "xterm-256color", 1);
    CHECK(term && screen && cells_init(&cells, COLUMNS, ROWS) == 0);
    term->fd = open("/dev/null", O_WRONLY);
    if (terminfo_open(term->fd, &err) < 0)
        SKIP("xterm-256color is not known here");
    term->ours = 1;
    term->colours = TERM_256;
    term->synchronised = true;
    for (int frame = 0; frame < 3000; frame++) {
        scribble(&cells, &seed);
        if (next(&seed) % 100 == 0)
            term_redraw(term);
        term_draw(term, &cells);
        feed(screen, term->out.at, term->out.len);
        compare(screen, term, &cells);
    }
    terminfo_close();
    close(term->fd);
    buf_release(&term->out);
    cells_release(&term->shown);
    cells_release(&cells);
    free(screen);
    free(term);
}

TEST(a_frame_that_changes_nothing_writes_nothing)
{
    struct term *term = calloc(1, sizeof *term);
    struct cell_grid cells;
    struct err err = {0};
    char bytes[4096];
    int ends[2];

    setenv("TERM", "xterm-256color", 1);
    CHECK(term && cells_init(&cells, COLUMNS, ROWS) == 0 && pipe(ends) == 0);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    term->fd = ends[1];
    if (terminfo_open(term->fd, &err) < 0)
        SKIP("xterm-256color is not known here");
    term->ours = 1;
    term_draw(term, &cells);
    CHECK(read(ends[0], bytes, sizeof(bytes)) > 0);
    term_draw(term, &cells);
    CHECK(read(ends[0], bytes, sizeof(bytes)) < 0);
    terminfo_close();
    close(ends[0]);
    close(ends[1]);
    buf_release(&term->out);
    cells_release(&term->shown);
    cells_release(&cells);
    free(term);
}
