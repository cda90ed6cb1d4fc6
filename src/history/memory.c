/* A history in memory is a database of SQLite's memdb: connections of one process that
 * open the same name share it, and the last of them frees it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "history/writer_in.h"

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
