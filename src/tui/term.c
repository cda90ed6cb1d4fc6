#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/background.h"
#include "text/pen.h"
#include "tui/term_in.h"
#include "tui/terminfo_in.h"

#define THEME_MS  50 /* how long to wait for the background colour */
#define PASTE_END 6  /* length of the paste terminator ESC [ 2 0 1 ~ */

extern char **environ;

/* --- Entering and leaving */

void term_write(int fd, const char *at, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, at, len);

        if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
            struct pollfd wait = {.fd = fd, .events = POLLOUT};

            poll(&wait, 1, 100);
            continue;
        }
        if (n <= 0)
            return;
        at += n;
        len -= (size_t)n;
    }
}

void term_enter(struct term *term)
{
    tcsetattr(term->fd, TCSADRAIN, &term->raw);
    term_write(term->fd, term->enter.at, term->enter.len);
    term->ours = 1;
}

void term_leave(struct term *term)
{
    if (!term->ours)
        return;
    term->ours = 0;
    term_write(term->fd, term->leave.at, term->leave.len);
    tcsetattr(term->fd, TCSADRAIN, &term->was);
}

/* Disable wrapping: if the terminal draws a character wider than expected, only that
 * row is affected. */
static void make_sequences(struct term *term)
{
    terminfo_add(&term->enter, "smcup");
    buf_text(&term->enter, "\033[?7l\033[?25l\033[?2004h");
    if (term->mouse)
        buf_text(&term->enter, "\033[?1000h\033[?1002h\033[?1006h");
    if (term->mouse)
        buf_text(&term->leave, "\033[?1006l\033[?1002l\033[?1000l");
    buf_text(&term->leave, "\033[?2004l\033[0m\033[?7h");
    if (term->synchronised)
        buf_text(&term->leave, "\033[?2026l");
    terminfo_add(&term->leave, "clear");
    terminfo_add(&term->leave, "rmcup");
    buf_text(&term->leave, "\033[?25h");
    terminfo_add(&term->leave, "cnorm");
}

static void make_raw(struct term *term)
{
    term->raw = term->was;
    term->raw.c_iflag &=
        (tcflag_t) ~(BRKINT | ICRNL | INLCR | IGNCR | INPCK | ISTRIP | IXON | PARMRK);
    term->raw.c_oflag &= (tcflag_t)~OPOST;
    term->raw.c_lflag &= (tcflag_t) ~(ECHO | ECHONL | ICANON | IEXTEN | ISIG);
    term->raw.c_cflag = (term->raw.c_cflag & (tcflag_t)~PARENB) | CS8;
    term->raw.c_cc[VMIN] = 1;
    term->raw.c_cc[VTIME] = 0;
}

/* --- Colours */

static bool is_set(const char *text)
{
    return text && *text;
}

static enum term_colours find_colours(const char *wanted)
{
    const char *depth = getenv("COLORTERM");
    int known = terminfo_number("colors");

    if (is_set(wanted)) {
        if (strcmp(wanted, "never") == 0)
            return TERM_MONO;
        if (strcmp(wanted, "16") == 0)
            return TERM_16;
        if (strcmp(wanted, "256") == 0)
            return TERM_256;
        if (strcmp(wanted, "true") == 0)
            return TERM_TRUE;
    } else if (is_set(getenv("NO_COLOR"))) {
        return TERM_MONO;
    }
    if (known < 8 && !is_set(wanted))
        return TERM_MONO;
    if (known > 256 || (is_set(depth) && (strcmp(depth, "truecolor") == 0 ||
                                          strcmp(depth, "24bit") == 0)))
        return TERM_TRUE;
    return known >= 256 ? TERM_256 : TERM_16;
}

/* "15;0" or "15;default;0": the last number is the background; 7 and 9 to 15 are
 * light. */
static bool colorfgbg_light(void)
{
    const char *text = getenv("COLORFGBG");
    const char *last = text ? strrchr(text, ';') : NULL;
    uint64_t number;

    return last && str_to_u64(str_of(last + 1), &number) &&
           (number == 7 || (number > 8 && number < 16));
}

/* "11;rgb:1e1e/1e1e/2e2e": derive the theme from the background colour. */
static void take_answer(struct term *term, const struct key *key)
{
    struct str text = {key->text, key->text_len}, part;
    unsigned levels[3] = {0}, n = 0;

    if (!str_starts(text, STR("11;rgb:")) || term->theme_known)
        return;
    text = str_from(text, 7);
    while (n < 3 && str_split(&text, '/', &part)) {
        char digits[3] = {part.len ? part.at[0] : '0', part.len > 1 ? part.at[1]
                                                       : part.len   ? part.at[0]
                                                                    : '0'};

        levels[n++] = (unsigned)strtoul(digits, NULL, 16);
    }
    term->theme_known = true;
    term->light = levels[0] * 299 + levels[1] * 587 + levels[2] * 114 > 128 * 1000;
    term->changed = 1;
}

/* Is TERM a Linux console, which prints unknown sequences? */
static bool is_console(void)
{
    const char *name = getenv("TERM");

    return is_set(name) && (strcmp(name, "linux") == 0 || strncmp(name, "vt", 2) == 0);
}

void term_look(struct term *term, const struct term_wanted *wanted)
{
    const char *theme = wanted->theme;

    if (!is_set(theme))
        theme = getenv("TORCHOSCOPE_THEME");
    term->colours = find_colours(wanted->colour);
    term->theme_known =
        is_set(theme) && (strcmp(theme, "light") == 0 || strcmp(theme, "dark") == 0);
    if (term->theme_known)
        term->light = strcmp(theme, "light") == 0;
    else
        term->light = colorfgbg_light();
    term->whole = true;
}

/* --- Keys */

static bool in_paste(const struct term *term)
{
    return term->pasting ||
           str_starts((struct str){term->in, term->n_in}, STR("\033[200~"));
}

/* If the end of a paste was lost, a lone ^C ends it. */
static void break_paste(struct term *term, size_t n)
{
    if (!in_paste(term))
        return;
    for (size_t i = 0; i < n; i++)
        if (term->in[term->n_in - 1 - i] != KEY_CTRL('C'))
            return;
    term->in[0] = KEY_CTRL('C');
    term->n_in = 1;
    term->pasting = false;
}

/* Read the available bytes; false: end of input. */
static bool read_more(struct term *term)
{
    ssize_t n = read(term->fd, term->in + term->n_in, sizeof(term->in) - term->n_in);

    if (n > 0) {
        term->n_in += (size_t)n;
        break_paste(term, (size_t)n);
    } else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
        term->closed = true;
    }
    return !term->closed;
}

static void forget_taken(struct term *term)
{
    if (term->taken == 0)
        return;
    memmove(term->in, term->in + term->taken, term->n_in - term->taken);
    term->n_in -= term->taken;
    term->taken = 0;
}

/* Decode one key, or the next part of a paste that exceeds the buffer. */
static size_t take_front(struct term *term, bool last, struct key *ret_key)
{
    bool full = term->n_in == sizeof(term->in);
    size_t taken;

    if (term->pasting)
        taken = keys_take_paste(term->in, term->n_in, last || full, ret_key);
    else
        taken = keys_take(term->in, term->n_in, last || full, ret_key);
    if (taken || last)
        term->pasting = full && !last && taken && ret_key->code == KEY_PASTE &&
                        ret_key->text + ret_key->text_len == term->in + taken;
    if (term->pasting && full) { /* the terminator may be split across reads */
        taken -= PASTE_END - 1;
        ret_key->text_len -= PASTE_END - 1;
    }
    return taken;
}

/* Decode the next complete key, if any. */
static bool take_key(struct term *term, bool last, struct key *ret_key)
{
    for (;;) {
        forget_taken(term);
        term->taken = take_front(term, last, ret_key);
        if (term->taken == 0)
            return false;
        if (ret_key->code != KEY_ANSWER)
            return true;
        take_answer(term, ret_key);
    }
}

static void drain(int fd)
{
    char bytes[64];

    while (read(fd, bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes))
        ;
}

/* Wait for a key, a signal, or another descriptor; returns which. */
static uint32_t wait_for(struct term *term, const struct term_wait *wait, int timeout)
{
    struct pollfd fds[4] = {{.fd = term->fd, .events = POLLIN},
                            {.fd = term->wake[0], .events = POLLIN},
                            {.fd = wait->fds[0], .events = POLLIN},
                            {.fd = wait->fds[1], .events = POLLIN}};
    int n, why;

    if (wait->begin)
        wait->begin(wait->user);
    n = poll(fds, 4, timeout);
    why = errno;
    if (wait->end)
        wait->end(wait->user);
    if (fds[1].revents & POLLIN)
        drain(term->wake[0]);
    if (term->hung)
        return KEY_HANGUP;
    if (n < 0)
        return why == EINTR ? KEY_RESIZE : KEY_HANGUP;
    if (n == 0)
        return KEY_NONE;
    if (fds[0].revents)
        return read_more(term) ? KEY_FIRST : KEY_HANGUP;
    return fds[1].revents ? KEY_RESIZE : KEY_JOBS;
}

static int patience(const struct term *term)
{
    static const char paste[] = "\033[200~";

    return term->pasting ? keys_patience(paste, sizeof(paste) - 1)
                         : keys_patience(term->in, term->n_in);
}

struct key term_key(struct term *term, const struct term_wait *wait)
{
    struct key key = {0};

    for (;;) {
        bool partial;
        uint32_t what;

        if (take_key(term, false, &key))
            return key;
        if (term->changed) {
            term->changed = 0;
            term->whole = true;
            return (struct key){.code = KEY_RESIZE};
        }
        partial = term->n_in > 0 || term->pasting;
        what = wait_for(term, wait, partial ? patience(term) : wait->timeout_ms);
        if (what == KEY_HANGUP)
            return (struct key){.code = KEY_HANGUP};
        if (what == KEY_JOBS)
            return (struct key){.code = KEY_JOBS};
        if (what == KEY_NONE && !partial)
            return (struct key){.code = KEY_NONE};
        if (what == KEY_NONE && take_key(term, true, &key))
            return key;
        if (what == KEY_RESIZE &&
            !term->changed) /* an interrupted wait: return to the caller */
            return (struct key){.code = KEY_NONE};
    }
}

/* Query the background colour, followed by a query that every terminal answers, so that
 * a terminal without the first costs only one round trip. */
static void ask_theme(struct term *term)
{
    static const char question[] = "\033]11;?\033\\\033[c";
    struct pollfd wait = {.fd = term->fd, .events = POLLIN};

    if (term->theme_known || term->colours < TERM_256 || is_console())
        return;
    term_write(term->fd, question, sizeof(question) - 1);
    while (poll(&wait, 1, THEME_MS) > 0 && wait.revents & POLLIN && read_more(term)) {
        struct key key;
        size_t at = 0, n;

        /* Keep what was typed meanwhile; remove the answers. */
        while ((n = keys_take(term->in + at, term->n_in - at, false, &key)) > 0) {
            bool end = key.code == KEY_ANSWER && key.text_len &&
                       key.text[key.text_len - 1] == 'c';

            if (key.code != KEY_ANSWER) {
                at += n;
                continue;
            }
            take_answer(term, &key);
            memmove(term->in + at, term->in + at + n, term->n_in - at - n);
            term->n_in -= n;
            if (end)
                goto out;
        }
    }
out:
    term->changed = 0;
}

/* --- Opening */

static int open_tty(struct term *term, struct err *err)
{
    const char *name = getenv("TERM");

    term->fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (term->fd < 0)
        return err_set(err, ERR_UNSUPPORTED, "there is no terminal: /dev/tty: %s",
                       strerror(errno));
    if (is_set(name) && strcmp(name, "dumb") == 0)
        return err_set(err, ERR_UNSUPPORTED, "the terminal is dumb");
    if (tcgetattr(term->fd, &term->was) < 0)
        return err_set(err, ERR_UNSUPPORTED, "/dev/tty: %s", strerror(errno));
    return terminfo_open(term->fd, err);
}

static void free_term(struct term *term)
{
    for (int i = 0; i < 2; i++)
        if (term->wake[i] >= 0)
            close(term->wake[i]);
    if (term->fd >= 0)
        close(term->fd);
    buf_release(&term->enter);
    buf_release(&term->leave);
    buf_release(&term->out);
    cells_release(&term->shown);
    free(term);
}

struct term *term_open(const struct term_wanted *wanted, struct err *err)
{
    struct term *term = calloc(1, sizeof *term);

    if (!term) {
        err_set(err, ERR_LIMIT, "no memory for the terminal");
        return NULL;
    }
    term->fd = term->wake[0] = term->wake[1] = -1;
    term->owner = getpid();
    if (term_open_one) {
        err_set(err, ERR_UNSUPPORTED, "the terminal is in use already");
        goto fail;
    }
    if (open_tty(term, err) < 0)
        goto fail;
    if (background_pipe(term->wake, err) < 0) {
        terminfo_close();
        goto fail;
    }
    term->mouse = wanted->mouse;
    term->synchronised = !is_console();
    term_look(term, wanted);
    make_raw(term);
    make_sequences(term);
    term_signals_begin(term);
    term_enter(term);
    ask_theme(term);
    return term;

fail:
    free_term(term);
    return NULL;
}

void term_close(struct term *term)
{
    if (!term)
        return;
    term_leave(term);
    term_signals_end();
    terminfo_close();
    free_term(term);
}

/* --- Other operations */

void term_size(struct term *term, unsigned *ret_columns, unsigned *ret_rows)
{
    struct winsize size = {0};
    int columns = terminfo_number("cols"), rows = terminfo_number("lines");

    *ret_columns = columns > 0 ? (unsigned)columns : 80;
    *ret_rows = rows > 0 ? (unsigned)rows : 24;
    if (ioctl(term->fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) {
        *ret_columns = size.ws_col;
        *ret_rows = size.ws_row;
    }
}

enum term_colours term_colours(const struct term *term)
{
    return term->colours;
}

void term_suspend(struct term *term)
{
    term_signals_stop();
    if (!term->ours && !term->hung)
        term_enter(term); /* no SIGCONT handler ran */
    term->changed = 0;
    term->whole = true;
}

/* The program must not inherit our ignored and caught signals. */
static void plain_signals(posix_spawnattr_t *how)
{
    sigset_t ours;

    sigemptyset(&ours);
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGQUIT);
    sigaddset(&ours, SIGTSTP);
    sigaddset(&ours, SIGPIPE);
    posix_spawnattr_init(how);
    posix_spawnattr_setsigdefault(how, &ours);
    posix_spawnattr_setflags(how, POSIX_SPAWN_SETSIGDEF);
}

int term_run(struct term *term, char *const argv[], struct err *err)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, interrupt, quit;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    int status = -1, failed;
    pid_t child = -1;

    term->lent = 1;
    term_leave(term);
    sigemptyset(&ignore.sa_mask);
    sigaction(SIGINT, &ignore, &interrupt);
    sigaction(SIGQUIT, &ignore, &quit);
    posix_spawn_file_actions_init(&files);
    for (int i = 0; i < 3; i++)
        posix_spawn_file_actions_adddup2(&files, term->fd, i);
    plain_signals(&how);
    failed = posix_spawnp(&child, argv[0], &files, &how, argv, environ);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    while (!failed && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    sigaction(SIGINT, &interrupt, NULL);
    sigaction(SIGQUIT, &quit, NULL);
    term->lent = 0;
    term_enter(term);
    term->whole = true;
    if (failed)
        return err_set(err, ERR_IO, "%s: %s", argv[0], strerror(failed));
    if (WIFSIGNALED(status))
        return err_set(err, ERR_IO, "%s was ended by signal %d", argv[0],
                       WTERMSIG(status));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void base64(struct buf *to, struct str text)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < text.len; i += 3) {
        size_t n = text.len - i < 3 ? text.len - i : 3;
        uint32_t bits = 0;

        for (size_t k = 0; k < 3; k++)
            bits = bits << 8 | (k < n ? (unsigned char)text.at[i + k] : 0u);
        for (size_t k = 0; k < 4; k++)
            buf_char(to, k <= n ? letters[bits >> (18 - 6 * k) & 63] : '=');
    }
}

bool term_copy(struct term *term, struct str text)
{
    struct buf out = BUF_INIT;

    if (is_console())
        return false;
    buf_text(&out, "\033]52;c;");
    base64(&out, text);
    buf_char(&out, '\a');
    if (is_set(getenv("TMUX"))) {
        /* tmux handles it or passes it on, depending on its options. */
        struct buf inner = BUF_INIT;

        buf_str(&inner, buf_span(&out));
        buf_text(&out, "\033Ptmux;\033");
        buf_str(&out, buf_span(&inner));
        buf_text(&out, "\033\\");
        buf_release(&inner);
    }
    term_write(term->fd, out.at, out.len);
    buf_release(&out);
    return true;
}
