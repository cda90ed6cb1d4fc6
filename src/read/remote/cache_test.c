#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/test.h"
#include "read/remote/cache_in.h"

static char home[] = "/tmp/torchoscope-cache-XXXXXX";

static void begin(struct remote_cache *cache)
{
    CHECK(mkdtemp(strcpy(home, "/tmp/torchoscope-cache-XXXXXX")));
    setenv("XDG_CACHE_HOME", home, 1);
    remote_cache_open(cache, "https://x/m.pth");
    CHECK(cache->folder && cache->version[0] == '\0');
}

static void end(struct remote_cache *cache)
{
    char command[100];

    remote_cache_close(cache);
    snprintf(command, sizeof command, "rm -r %s", home);
    CHECK(system(command) == 0);
}

TEST(blocks_are_reused_only_with_the_same_version)
{
    struct remote_cache cache, again;
    char bytes[5];

    begin(&cache);
    remote_cache_put(&cache, 0, "early", 5); /* no version is known */
    CHECK(!remote_cache_get(&cache, 0, bytes, 5));
    remote_cache_set(&cache, "\"v1\"", 70000);
    remote_cache_put(&cache, 1, "hello", 5);
    remote_cache_open(&again, "https://x/m.pth");
    CHECK_STR(again.version, "\"v1\"");
    CHECK_INT(again.total, 70000);
    CHECK(remote_cache_get(&again, 1, bytes, 5) && memcmp(bytes, "hello", 5) == 0);
    CHECK(!remote_cache_get(&again, 1, bytes, 4));
    CHECK(!remote_cache_get(&again, 0, bytes, 5));
    remote_cache_set(&again, "\"v2\"", 70000);
    CHECK(!remote_cache_get(&again, 1, bytes, 5));
    remote_cache_put(&cache, 1, "stale",
                     5); /* from a process that read the old version */
    CHECK(!remote_cache_get(&again, 1, bytes, 5));
    remote_cache_set(&again, "", 70000); /* without a version nothing is cached */
    CHECK(!again.folder);
    remote_cache_close(&again);
    end(&cache);
}

TEST(a_damaged_block_is_not_used)
{
    struct remote_cache cache;
    char path[200], bytes[5];
    FILE *file;

    begin(&cache);
    remote_cache_set(&cache, "\"v1\"", 5);
    remote_cache_put(&cache, 0, "hello", 5);
    snprintf(path, sizeof path, "%s/0", cache.folder);
    for (int cut = 0; cut < 21; cut++) {
        CHECK(truncate(path, cut) == 0);
        CHECK(!remote_cache_get(&cache, 0, bytes, 5));
        remote_cache_put(&cache, 0, "hello", 5);
    }
    file = fopen(path, "r+");
    CHECK(file && fputc('j', file) == 'j' && fclose(file) == 0);
    CHECK(!remote_cache_get(&cache, 0, bytes, 5));
    end(&cache);
}

TEST(without_a_cache_folder_nothing_is_cached)
{
    struct remote_cache cache;
    char bytes[5];

    setenv("XDG_CACHE_HOME", "/proc/none", 1);
    remote_cache_open(&cache, "https://x/m.pth");
    remote_cache_set(&cache, "\"v1\"", 5);
    remote_cache_put(&cache, 0, "hello", 5);
    CHECK(!remote_cache_get(&cache, 0, bytes, 5));
    remote_cache_close(&cache);
}
