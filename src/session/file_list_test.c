#include "session/file_list.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/test.h"

static char here[64];

static const char *path_of(const char *name)
{
    static char path[256];

    snprintf(path, sizeof path, "%s/%s", here, name);
    return path;
}

static void put(const char *name, const void *bytes, size_t n)
{
    FILE *file = fopen(path_of(name), "wb");

    CHECK(file);
    CHECK(fwrite(bytes, 1, n, file) == n);
    fclose(file);
}

/* One tensor of two bytes, of which some may be missing. */
static void put_part(const char *name, size_t missing)
{
    static const char header[] =
        "{\"w\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}  ";
    char bytes[8 + sizeof header + 1] = {(char)(sizeof header - 1)};

    memcpy(bytes + 8, header, sizeof header - 1);
    put(name, bytes, sizeof bytes - missing);
}

static void put_model(const char *name)
{
    put_part(name, 0);
}

static void begin(void)
{
    snprintf(here, sizeof here, "/tmp/torchoscope-files-XXXXXX");
    CHECK(mkdtemp(here));
    mkdir(path_of("sub"), 0700);
    mkdir(path_of(".git"), 0700);
    mkdir(path_of("shards"), 0700);
    mkdir(path_of("locked"), 0);
    put_model("a.safetensors");
    put_model("sub/b.safetensors");
    put_model(".git/c.safetensors");
    put_model("shards/m-00001-of-00002.safetensors");
    put_model("shards/m-00002-of-00002.safetensors");
    put("notes.txt", "plain text\n", 11);
    put("empty.pth", "", 0);
    put_part("cut.safetensors", 1);
    CHECK(symlink(here, path_of("sub/loop")) == 0);
}

static void end(void)
{
    char command[128];

    chmod(path_of("locked"), 0700);
    snprintf(command, sizeof command, "rm -rf '%s'", here);
    CHECK(system(command) == 0);
}

/* Wait until all is found and judged. */
static void wait_for_all(struct file_list *list)
{
    for (int round = 0; round < 5000; round++) {
        struct pollfd ready = {file_list_fd(list), POLLIN, 0};
        bool done = true;

        file_list_poll(list);
        for (uint32_t i = 0; i < file_list_n(list); i++)
            done = done && file_list_at(list, i)->state != FILE_PENDING;
        if (done && !file_list_facts(list).walking && file_list_n(list) > 0)
            return;
        poll(&ready, 1, 50);
    }
    CHECK(!"it ends");
}

static const struct file_row *find(const struct file_list *list, const char *name)
{
    for (uint32_t i = 0; i < file_list_n(list); i++)
        if (str_is(file_list_at(list, i)->name, name))
            return file_list_at(list, i);
    return NULL;
}

TEST(the_models_below_a_folder_are_found_and_judged)
{
    struct file_list *list;
    const struct file_row *row;
    struct file_counts counts = {0};
    struct err err = {0};

    begin();
    list = file_list_new(here, &err);
    CHECK(list);
    wait_for_all(list);
    CHECK_INT(file_list_n(list), 5);
    CHECK_INT(file_list_facts(list).skipped, 1);
    row = find(list, "sub/b.safetensors");
    CHECK(row);
    CHECK_STR(row->format, "safetensors");
    CHECK_INT(row->state, FILE_JUDGED);
    CHECK_INT(row->verdict, VERDICT_SAFE);
    CHECK(!row->damaged && !row->findings);
    row = find(list, "cut.safetensors");
    CHECK(row && row->state == FILE_JUDGED && row->damaged && row->findings &&
          row->why);
    row = find(list, "empty.pth");
    CHECK(row && row->state == FILE_TROUBLE && row->why);
    CHECK_INT(row->verdict, VERDICT_INCONCLUSIVE);
    for (uint32_t i = 0; i < file_list_n(list); i++)
        file_counts_add(&counts, file_list_at(list, i));
    CHECK_INT(counts.verdicts[VERDICT_SAFE], 4);
    CHECK_INT(counts.verdicts[VERDICT_INCONCLUSIVE], 1);
    CHECK_INT(counts.safe_findings, 2); /* and the shards, which both hold w */
    row = find(list, "shards/");
    CHECK(row);
    CHECK_INT(row->shards, 2);
    CHECK_STR(row->path, path_of("shards"));
    CHECK(geteuid() == 0 || file_list_facts(list).unreadable == 1);
    CHECK(file_list_is_model(path_of("shards")) && !file_list_is_model(here));
    for (uint32_t i = 0; i < file_list_n(list); i++)
        CHECK_INT(file_list_at(list, i)->number, i);
    file_list_free(list);
    end();
}

/* It begins like a model and is truncated. */
TEST(a_model_that_cannot_be_opened_at_all_is_damaged)
{
    const struct file_row *row;
    struct file_list *list;

    begin();
    put_part("short.safetensors", 40);
    list = file_list_new(here, NULL);
    CHECK(list);
    wait_for_all(list);
    row = find(list, "short.safetensors");
    CHECK(row && row->state == FILE_TROUBLE && row->damaged);
    row = find(list, "empty.pth");
    CHECK(row && row->state == FILE_TROUBLE && !row->damaged);
    file_list_free(list);
    end();
}

TEST(a_list_of_files_may_be_closed_at_once)
{
    begin();
    for (int i = 0; i < 20; i++)
        file_list_free(file_list_new(here, NULL));
    CHECK(!file_list_new("/nowhere/at/all", NULL));
    end();
}
