#include "base/whole_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/folder.h"
#include "base/test.h"

struct place {
    char folder[64], path[96];
};

static void place_make(struct place *place)
{
    strcpy(place->folder, "/tmp/whole_file.XXXXXX");
    CHECK(mkdtemp(place->folder) != NULL);
    snprintf(place->path, sizeof place->path, "%s/x", place->folder);
}

/* Delete everything in the folder; returns how many files there were. */
static uint32_t place_empty(const struct place *place)
{
    struct arena arena;
    struct folder folder;
    uint32_t n = 0;

    arena_init(&arena, 0);
    if (folder_open(&folder, place->folder, &arena, NULL) == 0) {
        n = folder.n;
        for (uint32_t i = 0; i < n; i++)
            unlinkat(folder.fd, folder.entries[i].name.at, 0);
        folder_close(&folder);
    }
    arena_release(&arena);
    rmdir(place->folder);
    return n;
}

static void write_now(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static bool holds(const char *path, const char *text)
{
    char found[32] = "";
    FILE *file = fopen(path, "r");

    if (!file)
        return false;
    found[fread(found, 1, sizeof found - 1, file)] = '\0';
    fclose(file);
    return strcmp(found, text) == 0;
}

TEST(a_file_gets_its_name_when_it_is_kept)
{
    struct whole_file file;
    struct place place;

    place_make(&place);
    CHECK(whole_file_begin(&file, place.path, NULL) == 0);
    CHECK(write(file.fd, "new", 3) == 3);
    CHECK(access(place.path, F_OK) < 0);
    CHECK(whole_file_keep(&file, NULL) == 0);
    CHECK(holds(place.path, "new"));
    CHECK(place_empty(&place) == 1);
}

TEST(a_dropped_file_leaves_only_the_old_one)
{
    struct whole_file file;
    struct place place;

    place_make(&place);
    write_now(place.path, "old");
    CHECK(whole_file_begin(&file, place.path, NULL) == 0);
    CHECK(write(file.fd, "half", 4) == 4);
    whole_file_drop(&file);
    CHECK(holds(place.path, "old"));
    CHECK(place_empty(&place) == 1);
}

TEST(links_stay_links_and_permissions_are_kept)
{
    struct whole_file file;
    struct place place;
    struct stat there;
    char link[128];

    place_make(&place);
    write_now(place.path, "old");
    CHECK(chmod(place.path, 0640) == 0);
    snprintf(link, sizeof link, "%s/link", place.folder);
    CHECK(symlink("x", link) == 0);
    CHECK(whole_file_begin(&file, link, NULL) == 0);
    CHECK(write(file.fd, "new", 3) == 3);
    CHECK(whole_file_keep(&file, NULL) == 0);
    CHECK(holds(place.path, "new"));
    CHECK(lstat(link, &there) == 0 && S_ISLNK(there.st_mode));
    CHECK(stat(place.path, &there) == 0 && (there.st_mode & 0777) == 0640);
    CHECK(place_empty(&place) == 2);
}

TEST(a_device_is_written_to_and_stays)
{
    struct whole_file file;
    struct stat there;

    CHECK(whole_file_begin(&file, "/dev/null", NULL) == 0);
    CHECK(write(file.fd, "new", 3) == 3);
    CHECK(whole_file_keep(&file, NULL) == 0);
    CHECK(stat("/dev/null", &there) == 0 && S_ISCHR(there.st_mode));
}

TEST(a_file_that_cannot_be_created_gives_a_clear_error)
{
    struct whole_file file;
    struct err err = {0};

    CHECK(whole_file_begin(&file, "/no/such/folder/x", &err) < 0);
    CHECK(err.code == ERR_IO && strncmp(err.text, "/no/such/folder/x: ", 19) == 0);
}
