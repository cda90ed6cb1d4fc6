#include "base/out.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/out_in.h"
#include "base/test.h"

static void fill(struct out *out, char c, size_t n)
{
    while (n-- > 0)
        out_char(out, c);
}

TEST(text_goes_to_a_buf_at_once)
{
    struct buf buf = BUF_INIT;
    struct out out;

    out_init_buf(&out, &buf);
    out_text(&out, "a");
    out_char(&out, 'b');
    out_str(&out, STR("c"));
    fill(&out, '-', 3);
    out_printf(&out, "%d", 12);
    out_add(&out, NULL, 0);
    CHECK_STR(buf_cstr(&buf), "abc---12");
    CHECK(out_flush(&out) == 0);
    CHECK(out_release(&out) == 0);
    CHECK_STR(buf_cstr(&buf), "abc---12");
    buf_release(&buf);
}

/* Write pieces of many sizes with every function. */
static void write_pieces(struct out *out)
{
    size_t size;

    for (size = 1; size < 200000; size = size * 3 / 2 + 1) {
        char *to = out_space(out, 8);

        CHECK(to);
        *to = '#';
        out_used(out, to + 1);
        fill(out, (char)('a' + size % 26), size);
        out_printf(out, "<%zu>", size);
        out_char(out, '\n');
    }
}

TEST(a_file_gets_the_same_text_as_a_buf)
{
    char path[] = "/tmp/torchoscope_out_XXXXXX";
    int fd = mkstemp(path);
    struct buf expected = BUF_INIT;
    struct out out;
    char *got;

    CHECK(fd >= 0 && unlink(path) == 0);
    out_init_buf(&out, &expected);
    write_pieces(&out);
    CHECK(out_release(&out) == 0);
    out_init_fd(&out, fd);
    write_pieces(&out);
    CHECK(out_release(&out) == 0);

    CHECK_INT(lseek(fd, 0, SEEK_END), expected.len);
    got = malloc(expected.len);
    CHECK(got && pread(fd, got, expected.len, 0) == (ssize_t)expected.len);
    CHECK_MEM(got, expected.at, expected.len);
    free(got);
    close(fd);
    buf_release(&expected);
}

TEST(short_text_is_buffered_until_the_flush)
{
    int ends[2];
    struct out out;
    char got[8];

    CHECK(pipe(ends) == 0 && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
    out_init_fd(&out, ends[1]);
    out_text(&out, "abc");
    CHECK(read(ends[0], got, sizeof got) == -1 && errno == EAGAIN);
    CHECK(out_flush(&out) == 0);
    CHECK_INT(read(ends[0], got, sizeof got), 3);
    CHECK_MEM(got, "abc", 3);
    CHECK(out_release(&out) == 0);
    close(ends[0]);
    close(ends[1]);
}

TEST(after_a_closed_pipe_the_rest_is_dropped)
{
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    int ends[2];
    struct out out;

    CHECK(pipe(ends) == 0);
    close(ends[0]);
    out_init_fd(&out, ends[1]);
    fill(&out, 'x', 200000);
    CHECK(out.bad && out.error == EPIPE);
    out_text(&out, "more");
    out_printf(&out, "more");
    CHECK(!out_space(&out, 10));
    CHECK(out_flush(&out) == -1);
    CHECK(out_release(&out) == -1);
    CHECK_INT(out.error, EPIPE);
    close(ends[1]);
    signal(SIGPIPE, before);
}

static void *read_all(void *fd)
{
    static char some[4096];
    size_t total = 0;
    ssize_t n;

    usleep(20000);
    while ((n = read(*(int *)fd, some, sizeof some)) > 0)
        total += (size_t)n;
    return (void *)total;
}

TEST(a_full_non_blocking_pipe_is_polled)
{
    pthread_t reader;
    int ends[2];
    struct out out;
    void *total;

    CHECK(pipe(ends) == 0 && fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
    CHECK(pthread_create(&reader, NULL, read_all, &ends[0]) == 0);
    out_init_fd(&out, ends[1]);
    fill(&out, 'x', 500000);
    CHECK(out_release(&out) == 0);
    close(ends[1]);
    pthread_join(reader, &total);
    CHECK_INT((size_t)total, 500000);
    close(ends[0]);
}

TEST(a_buf_without_memory_makes_its_out_bad)
{
    struct buf buf = {.bad = true};
    struct out out;

    out_init_buf(&out, &buf);
    out_text(&out, "x");
    CHECK(out.bad && out.error == ENOMEM);
    CHECK(out_release(&out) == -1);
}
