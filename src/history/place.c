/* Where a history is kept: in memory, or on a file system on which WAL works or not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include "base/base.h"
#include "history/writer_in.h"

/* ---- in memory: a database of SQLite's memdb ---- */

/* Connections of one process that open the same name share it, and the last of them
 * frees it. */
#define MEMORY_NAME "file:/torchoscope-"

bool history_is_memory(const char *path)
{
    return strncmp(path, MEMORY_NAME, strlen(MEMORY_NAME)) == 0;
}

char *history_memory_name(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static unsigned count;
    char *name = malloc(64);
    unsigned number;

    pthread_mutex_lock(&lock);
    number = count++;
    pthread_mutex_unlock(&lock);
    if (name)
        snprintf(name, 64, MEMORY_NAME "%u?vfs=memdb", number);
    return name;
}

/* ---- file systems ---- */

/* WAL needs memory that all processes share, so it breaks on network file systems, where
 * other machines may have the file open. Unknown file systems count as such. */
static const unsigned long local_types[] = {
    0xEF53,     /* ext2, ext3, ext4 */
    0x58465342, /* xfs */
    0x9123683E, /* btrfs */
    0x01021994, /* tmpfs */
    0x794C7630, /* overlayfs */
    0x2FC12FC1, /* zfs */
    0xF2F52010, /* f2fs */
    0xCA451A4E, /* bcachefs */
    0x3153464A, /* jfs */
    0x52654973, /* reiserfs */
    0x4D44,     /* FAT */
    0x2011BAB0, /* exfat */
    0x5346544E, /* ntfs */
    0x7366746E, /* ntfs3 */
    0x858458F6, /* ramfs */
    0xF15F,     /* ecryptfs */
};

bool history_wal_works_on(unsigned long type)
{
    for (size_t i = 0; i < COUNT_OF(local_types); i++)
        if (local_types[i] == type)
            return true;
    return false;
}

bool history_wal_works(const char *path)
{
    struct statfs info;

    return statfs(path, &info) == 0 &&
           history_wal_works_on((unsigned long)info.f_type & 0xffffffff);
}
