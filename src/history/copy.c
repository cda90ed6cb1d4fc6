/* Copies the file of a history with SQLite's backup API: the copy is consistent even
 * while another process writes the file, and this process opens no second
 * descriptor. */
#include "base/whole_file.h"
#include "history/reader_in.h"
#include "run/run_file.h"

static int copy_pages(sqlite3 *from, sqlite3 *to)
{
    sqlite3_backup *backup = sqlite3_backup_init(to, "main", from, "main");
    int status;

    if (!backup)
        return sqlite3_errcode(to);
    status = sqlite3_backup_step(backup, -1);
    sqlite3_backup_finish(backup);
    /* The header of a copy of a live file says WAL mode; reset it. */
    if (status == SQLITE_DONE)
        status = sqlite3_exec(to, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL);
    return status;
}

static int copy_to(struct history *history, const char *path, struct err *err)
{
    sqlite3 *db = NULL;
    int status = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL);

    if (status == SQLITE_OK)
        status = copy_pages(history->db, db);
    if (status != SQLITE_OK)
        err_set(err, ERR_IO, "%s", sqlite3_errstr(status));
    sqlite3_close(db);
    return status == SQLITE_OK ? 0 : -1;
}

static bool is_same_file(const struct history *history, const char *path)
{
    struct file_key key;

    return live_file_key(path, &key) && key.inode == history->key.inode &&
           key.device == history->key.device;
}

int history_copy(struct history *history, const char *path, struct err *err)
{
    struct whole_file file;
    struct err local = {0};
    int status;

    if (is_same_file(history, path) && !live_file_is(path))
        return 0;
    if (run_file_may_replace(path, err) < 0 || whole_file_begin(&file, path, err) < 0)
        return -1;
    status = history_begin(history, &local);
    if (status == 0)
        status = history_end(history, copy_to(history, file.name, &local));
    if (status == 0) {
        if (!file.direct)
            scope_remove_journals(file.path);
        return whole_file_keep(&file, err);
    }
    whole_file_drop(&file);
    return err_set_about(err, local.code, path, ": %s", err_reason(&local));
}
