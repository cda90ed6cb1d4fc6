#include "base/folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/test.h"

TEST(a_folder_lists_its_entries_by_name)
{
    char path[] = "/tmp/torchoscope_folder_XXXXXX";
    struct folder folder;
    struct arena arena;
    struct err err = {0};
    FILE *file;
    int fd;

    CHECK(mkdtemp(path));
    fd = open(path, O_RDONLY | O_DIRECTORY);
    CHECK(mkdirat(fd, "sub", 0700) == 0 && mkfifoat(fd, "pipe", 0600) == 0);
    CHECK(symlinkat("b.bin", fd, "link") == 0 && symlinkat("gone", fd, "dead") == 0);
    file = fdopen(openat(fd, "b.bin", O_WRONLY | O_CREAT, 0600), "w");
    CHECK(file && fputs("12345", file) >= 0 && fclose(file) == 0);

    arena_init(&arena, 0);
    CHECK(folder_open(&folder, path, &arena, &err) == 0);
    CHECK_INT(folder.n, 5);
    CHECK_STR(folder.entries[0].name.at, "b.bin");
    CHECK(folder.entries[0].is_file && folder.entries[0].size == 5);
    CHECK(folder.entries[0].mtime_ns > 0);
    CHECK_STR(folder.entries[1].name.at, "dead");
    CHECK(!folder.entries[1].is_file && !folder.entries[1].is_folder);
    CHECK_STR(folder.entries[2].name.at, "link");
    CHECK(folder.entries[2].is_file && folder.entries[2].size == 5);
    CHECK(folder.entries[1].is_link && folder.entries[2].is_link);
    CHECK(!folder.entries[0].is_link && !folder.entries[4].is_link);
    CHECK(!folder.entries[3].is_file && !folder.entries[3].is_folder);
    CHECK(folder.entries[4].is_folder && !folder.entries[4].is_file);
    CHECK(faccessat(folder.fd, "b.bin", R_OK, 0) == 0);
    folder_close(&folder);
    CHECK_INT(folder.fd, -1);
    folder_close(&folder);
    arena_release(&arena);

    unlinkat(fd, "sub", AT_REMOVEDIR);
    unlinkat(fd, "pipe", 0);
    unlinkat(fd, "link", 0);
    unlinkat(fd, "dead", 0);
    unlinkat(fd, "b.bin", 0);
    close(fd);
    CHECK(rmdir(path) == 0);
}

TEST(only_folders_can_be_listed)
{
    struct folder folder;
    struct arena arena;
    struct err err = {0};

    arena_init(&arena, 0);
    CHECK(folder_open(&folder, "/dev/null", &arena, &err) == -1);
    CHECK_STR(err.text, "/dev/null: Not a directory");
    CHECK(folder_open(&folder, "/no/such/place", &arena, &err) == -1);
    CHECK_STR(err.text, "/no/such/place: No such file or directory");
    arena_release(&arena);
    arena_init(&arena, 64);
    CHECK(folder_open(&folder, "/", &arena, &err) == -1 && err.code == ERR_LIMIT);
    CHECK_INT(folder.fd, -1);
    arena_release(&arena);
    CHECK(path_is_folder("/") && !path_is_folder("/dev/null"));
    CHECK(!path_is_folder("/no/such/place"));
}

TEST(a_plain_name_stays_in_its_folder)
{
    CHECK(folder_name_is_plain(STR("model.pth")));
    CHECK(folder_name_is_plain(STR("...")) && folder_name_is_plain(STR("a..b")));
    CHECK(!folder_name_is_plain(STR("")) && !folder_name_is_plain(STR(".")));
    CHECK(!folder_name_is_plain(STR("..")) && !folder_name_is_plain(STR("a/b")));
    CHECK(!folder_name_is_plain(str_span("a\0b", 3)));
}

TEST(the_last_part_of_a_path_is_the_shown_name)
{
    static const char *const paths[][2] = {
        {"a/b.pth", "b.pth"}, {"b.pth", "b.pth"}, {"/x/model//", "model"}, {"/", "/"},
        {"///", "/"},         {"", ""},           {"model/", "model"},
    };
    size_t i;

    for (i = 0; i < COUNT_OF(paths); i++)
        CHECK(str_is(path_last(paths[i][0]), paths[i][1]));
}
