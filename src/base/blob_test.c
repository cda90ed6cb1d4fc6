#include "base/blob.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/base.h"
#include "base/live_file.h"
#include "base/test.h"

static char dir[] = "/tmp/torchoscope_blob_XXXXXX";

/* A path in the test's temporary folder. */
static const char *path_of(const char *name)
{
    static char path[100];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void make_dir(void)
{
    memcpy(dir + sizeof dir - 7, "XXXXXX", 6);
    CHECK(mkdtemp(dir));
}

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(path_of(name), "wb");

    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void remove_all(const char *name)
{
    remove(path_of(name));
    CHECK(rmdir(dir) == 0);
}

TEST(a_file_is_read_anywhere)
{
    struct err err = {0};
    struct blob *blob;
    char got[4];

    make_dir();
    write_file("a", "0123456789");
    blob = blob_open_file(path_of("a"), &err);
    CHECK(blob && blob->size == 10);
    CHECK_STR(blob->name, path_of("a"));
    CHECK(blob_read(blob, 6, got, 4, &err) == 0);
    CHECK_MEM(got, "6789", 4);
    CHECK(blob_read(blob, 10, got, 0, &err) == 0);
    CHECK(!blob_changed(blob));
    blob_close(blob);
    remove_all("a");
}

TEST(a_range_outside_the_blob_is_refused)
{
    struct err err = {0};
    struct blob *blob = blob_open_memory("0123456789", 10, "digits", &err);
    char got[20];

    CHECK(blob_read(blob, 7, got, 4, &err) == -1 && err.code == ERR_FORMAT);
    CHECK_STR(err.text, "digits has 10 bytes: cannot read 4 bytes at byte 7");
    CHECK(blob_read(blob, 11, got, 0, &err) == -1);
    CHECK(blob_read(blob, UINT64_MAX, got, 2, &err) == -1);
    CHECK(blob_read(blob, 2, got, SIZE_MAX, &err) == -1);
    CHECK(!blob_open_part(blob, 3, UINT64_MAX - 1, "part", &err));
    CHECK(!blob_open_part(blob, 3, 8, "part", &err));
    blob_close(blob);
    blob_close(NULL);
}

TEST(a_part_of_a_part_is_read_like_any_blob)
{
    struct err err = {0};
    char name[] = "inner";
    struct blob *whole = blob_open_memory("0123456789", 10, "digits", &err);
    struct blob *part = blob_open_part(whole, 2, 6, "part", &err);
    struct blob *inner = blob_open_part(part, 1, 3, name, &err);
    char got[3];

    name[0] = 'x'; /* a blob keeps its own copy of the name */
    CHECK_STR(inner->name, "inner");
    CHECK(blob_read(inner, 0, got, 3, &err) == 0);
    CHECK_MEM(got, "345", 3);
    CHECK(blob_read(inner, 1, got, 3, &err) == -1);
    CHECK(!blob_changed(inner));
    blob_close(inner);
    blob_close(part);
    blob_close(whole);
}

TEST(loading_gives_bytes_followed_by_a_nul)
{
    struct err err = {0};
    struct blob *blob = blob_open_memory("0123456789", 10, "digits", &err);
    struct arena arena;
    struct str bytes = STR("before");

    arena_init(&arena, 0);
    CHECK(blob_load(blob, 2, 3, &arena, &bytes, &err) == 0);
    CHECK_STR(bytes.at, "234");
    CHECK(blob_load(blob, 10, 0, &arena, &bytes, &err) == 0 && bytes.len == 0);
    CHECK(blob_load(blob, 9, 2, &arena, &bytes, &err) == -1);
    CHECK_INT(err.code, ERR_FORMAT);
    arena_release(&arena);
    arena_init(&arena, 8);
    CHECK(blob_load(blob, 0, 10, &arena, &bytes, &err) == -1);
    CHECK_INT(err.code, ERR_LIMIT);
    arena_release(&arena);
    blob_close(blob);
}

TEST(a_file_truncated_while_it_is_open_is_detected)
{
    struct err err = {0};
    struct blob *blob;
    char got[10], expected[200];

    make_dir();
    write_file("a", "0123456789");
    blob = blob_open_file(path_of("a"), &err);
    CHECK(blob);
    CHECK(truncate(path_of("a"), 4) == 0);
    CHECK(blob_changed(blob));
    CHECK(blob_read(blob, 0, got, 10, &err) == -1 && err.code == ERR_CHANGED);
    snprintf(expected, sizeof expected,
             "%s became shorter while it was open: 6 bytes at byte 4 are missing. Open "
             "it again",
             path_of("a"));
    CHECK_STR(err.text, expected);
    CHECK(blob_read(blob, 0, got, 4, &err) == 0);
    blob_close(blob);
    remove_all("a");
}

TEST(a_file_written_while_it_is_open_has_changed)
{
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1, .tv_nsec = 1}};
    struct err err = {0};
    struct blob *blob, *part;

    make_dir();
    write_file("a", "0123456789");
    blob = blob_open_file(path_of("a"), &err);
    part = blob_open_part(blob, 0, 4, "part", &err);
    CHECK(!blob_changed(part));
    CHECK(utimensat(AT_FDCWD, path_of("a"), times, 0) == 0);
    CHECK(blob_changed(blob) && blob_changed(part));
    blob_close(part);
    blob_close(blob);
    remove_all("a");
}

/* Opening `name` must fail with an error that starts with its path and ends with
 * `end`. */
static void check_refused(const char *name, const char *end)
{
    struct err err = {0};
    char expected[256];

    CHECK(!blob_open_file(path_of(name), &err));
    snprintf(expected, sizeof expected, "%s%s", path_of(name), end);
    CHECK_STR(err.text, expected);
    CHECK_INT(err.code, ERR_IO);
}

TEST(files_that_are_not_regular_are_refused_with_a_clear_error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    struct err err = {0};

    make_dir();
    check_refused("missing", ": No such file or directory");
    CHECK(mkdir(path_of("d"), 0700) == 0);
    check_refused("d", " is a folder");
    CHECK(rmdir(path_of("d")) == 0);
    CHECK(mkfifo(path_of("f"), 0600) == 0);
    check_refused("f", " is not a regular file (a FIFO)");
    CHECK(unlink(path_of("f")) == 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path_of("s"));
    CHECK(bind(fd, (struct sockaddr *)&address, sizeof address) == 0);
    check_refused("s", " is not a regular file (a socket)");
    close(fd);
    remove_all("s");
    CHECK(!blob_open_file("/dev/null", &err));
    CHECK_STR(err.text, "/dev/null is not a regular file (a device)");
}

TEST(an_empty_file_is_a_blob_of_no_bytes)
{
    struct err err = {0};
    struct blob *blob;

    make_dir();
    write_file("a", "");
    blob = blob_open_file(path_of("a"), &err);
    CHECK(blob && blob->size == 0);
    CHECK(blob_read(blob, 0, NULL, 0, &err) == 0);
    blob_close(blob);
    remove_all("a");
}

TEST(a_file_of_a_folder_is_opened_by_plain_name_only)
{
    static const char *const bad[] = {"", ".", "..", "../x", "/etc/passwd", "a/b"};
    struct err err = {0};
    struct blob *blob;
    size_t i;
    int fd;

    make_dir();
    write_file("a", "abc");
    CHECK(symlink("a", path_of("link")) == 0);
    fd = open(dir, O_RDONLY | O_DIRECTORY);
    blob = blob_open_at(fd, "link", "the link", &err);
    CHECK(blob && blob->size == 3);
    CHECK_STR(blob->name, "the link");
    blob_close(blob);
    for (i = 0; i < COUNT_OF(bad); i++)
        CHECK(!blob_open_at(fd, bad[i], "x", &err) && err.code == ERR_FORMAT);
    CHECK(!blob_open_at(fd, "missing", "shard 2", &err) && err.code == ERR_IO);
    CHECK_STR(err.text, "shard 2: No such file or directory");
    close(fd);
    unlink(path_of("link"));
    remove_all("a");
}

TEST(a_file_that_this_process_is_writing_is_not_opened)
{
    char path[] = "/tmp/torchoscope_blob_XXXXXX";
    int fd = mkstemp(path);
    struct file_key key;
    struct err err = {0};
    struct blob *blob;

    CHECK(fd >= 0 && live_file_add(path, NULL) == 0 && live_file_key(path, &key));
    CHECK(!blob_open_file(path, &err) && err.code == ERR_CHANGED);
    live_file_remove(&key);
    blob = blob_open_file(path, NULL);
    CHECK(blob != NULL);
    blob_close(blob);
    close(fd);
    unlink(path);
}

TEST(a_file_named_by_a_model_is_opened_only_below_its_folder)
{
    static const char *const bad[] = {
        "",     ".",    "..",      "../x", "/etc/passwd", "sub/../a", "sub//a",
        "sub/", "link", "links/a", "hard", "a\\b",        "./.."};
    char other[100];
    struct err err = {0};
    struct blob *blob;
    int fd;

    make_dir();
    CHECK(mkdir(path_of("sub"), 0700) == 0);
    write_file("sub/a", "abc");
    write_file("other", "xyz");
    snprintf(other, sizeof other, "%s", path_of("other"));
    CHECK(link(other, path_of("hard")) == 0);
    CHECK(symlink("sub/a", path_of("link")) == 0);
    CHECK(symlink("sub", path_of("links")) == 0);
    fd = open(dir, O_RDONLY | O_DIRECTORY);
    blob = blob_open_beneath(fd, STR("sub/a"), "sub/a", &err);
    CHECK(blob && blob->size == 3);
    blob_close(blob);
    blob = blob_open_beneath(fd, STR("./sub/a"), "sub/a", &err);
    CHECK(blob && blob->size == 3);
    blob_close(blob);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        err = (struct err){0};
        CHECK(!blob_open_beneath(fd, str_of(bad[i]), "x", &err));
        CHECK_INT(err.code, ERR_FORMAT);
    }
    CHECK(!blob_open_beneath(fd, (struct str){"a\0b", 3}, "x", &err));
    CHECK_INT(err.code, ERR_FORMAT);
    CHECK(!blob_open_beneath(fd, STR("missing"), "x", &err) && err.code == ERR_IO);
    CHECK(!blob_open_beneath(fd, STR("sub"), "x", &err) && err.code == ERR_IO);
    close(fd);
    unlink(path_of("hard"));
    unlink(path_of("link"));
    unlink(path_of("links"));
    unlink(path_of("other"));
    unlink(path_of("sub/a"));
    rmdir(path_of("sub"));
    remove_all("a");
}
