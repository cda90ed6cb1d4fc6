/* Finds the sections of a file, and checks their tables against docs/run-file.md. Other
 * tables, indexes, views and triggers are never used, so no SQL of a file is run. */
#include <stdio.h>
#include <string.h>

#include "run/file_in.h"

#define NAME_MOST     32
#define SECTIONS_MOST 64

/* The newest version of each section; this one is written. Older ones can be read too.
 * SECTION_FILE has the version of the file. */
static const struct {
    const char *name;
    uint32_t version;
} sections[SECTION_COUNT] = {
    [SECTION_FILE] = {"", SCOPE_VERSION},
    [SECTION_MODEL] = {"model", 1},
    [SECTION_RUN] = {"run", 2},
    [SECTION_OPS] = {"ops", 1},
    [SECTION_HISTORY] = {"history", SCOPE_HISTORY_VERSION},
};

uint32_t scope_section_version(enum scope_section section)
{
    return sections[section].version;
}

void scope_get_section(void *user, uint32_t i, void *row)
{
    (void)user;
    *(struct section_row *)row = (struct section_row){
        str_of(sections[SECTION_MODEL + i].name), sections[SECTION_MODEL + i].version};
}

/* ---- the schema ---- */

/* Is it the expected CREATE statement, perhaps with further columns at the end? */
static bool is_ours(enum scope_table table, int columns, const char *sql)
{
    struct buf ours = BUF_INIT;
    bool good;

    table_sql(table, columns, &ours);
    good = !ours.bad && scope_sql_is(sql, buf_span(&ours));
    buf_release(&ours);
    return good;
}

/* Counts the columns of a table. */
static void look_at_table(struct scope_read *read, enum scope_table table,
                          const char *sql)
{
    int all = table_columns(table), least = all - scope_columns_added[table];

    read->schema[table] = SCHEMA_OTHER;
    for (int n = all; sql && n >= least; n--)
        if (read->schema[table] == SCHEMA_OTHER && is_ours(table, n, sql)) {
            read->schema[table] = SCHEMA_GOOD;
            read->columns[table] = (uint8_t)n;
        }
}

static int look_at_schema(struct scope_read *read, struct err *err)
{
    sqlite3_stmt *stmt = NULL;
    int status = sqlite3_prepare_v2(read->db, "SELECT name, sql FROM sqlite_schema", -1,
                                    &stmt, NULL);

    while (status == SQLITE_OK || status == SQLITE_ROW) {
        const char *name, *sql;

        status = sqlite3_step(stmt);
        if (status != SQLITE_ROW)
            break;
        name = (const char *)sqlite3_column_text(stmt, 0);
        sql = (const char *)sqlite3_column_text(stmt, 1);
        for (int i = 0; i < TABLE_COUNT; i++)
            if (name && strcmp(name, scope_tables[i].name) == 0)
                look_at_table(read, i, sql);
    }
    sqlite3_finalize(stmt);
    if (status == SQLITE_DONE)
        return 0;
    return err_set_about(err, ERR_FORMAT, read->path, ": damaged: %s",
                         sqlite3_errmsg(read->db));
}

void scope_drop_ops(struct scope_read *read, const char *why)
{
    if (!read->ops_bad)
        build_finding(&read->build, FINDING_DAMAGED, SEVERITY_ALARM, 0,
                      "%s; all operations are skipped", why);
    read->ops_bad = true;
}

/* If operations are invalid, the rest of the file is still shown. */
static void check_ops(struct scope_read *read)
{
    char text[100];

    for (int i = TABLE_OP_KIND; i <= TABLE_OP_TOTAL && read->sections[SECTION_OPS]; i++)
        if (read->schema[i] != SCHEMA_GOOD) {
            snprintf(text, sizeof text, "table %s %s", scope_tables[i].name,
                     read->schema[i] == SCHEMA_ABSENT
                         ? "is missing"
                         : "does not have the columns of a recording");
            scope_drop_ops(read, text);
        }
    if (read->ops_bad)
        read->sections[SECTION_OPS] = 0;
}

static int check_tables(struct scope_read *read, struct err *err)
{
    for (int i = 0; i < TABLE_OP_KIND; i++) {
        if (i == TABLE_SECTION || !read->sections[scope_tables[i].section])
            continue;
        if (read->schema[i] == SCHEMA_ABSENT)
            return err_set_about(err, ERR_FORMAT, read->path,
                                 ": damaged: table %s is missing",
                                 scope_tables[i].name);
        if (read->schema[i] == SCHEMA_OTHER)
            return err_set_about(err, ERR_FORMAT, read->path,
                                 ": damaged: table %s does not have the columns of a "
                                 "recording",
                                 scope_tables[i].name);
    }
    return 0;
}

/* ---- the table of sections ---- */

static bool is_name(struct str name)
{
    for (size_t i = 0; i < name.len; i++)
        if (name.at[i] != '_' && (name.at[i] < 'a' || name.at[i] > 'z'))
            return false;
    return name.len > 0 && name.len <= NAME_MOST;
}

static const char *take_section(struct scope_read *read, uint32_t i, void *row)
{
    const struct section_row *section = row;
    int known = SECTION_MODEL;

    if (!is_name(section->name))
        return "name";
    if (section->version == 0 || section->version == UINT32_MAX)
        return "version";
    if (i >= SECTIONS_MOST)
        return "too many sections";
    while (known < SECTION_COUNT && !str_is(section->name, sections[known].name))
        known++;
    if (known < SECTION_COUNT && read->sections[known])
        return "a duplicate section";
    if (known >= SECTION_OPS && known < SECTION_COUNT &&
        section->version > sections[known].version)
        known = SECTION_COUNT;
    if (known < SECTION_COUNT)
        read->sections[known] = section->version;
    else
        buf_printf(&read->others, "%s%.*s (version %u)", read->others.len ? ", " : "",
                   STR_ARG(section->name), section->version);
    return NULL;
}

/* A file needs a model and a run, both of known versions. */
static int check_versions(const struct scope_read *read, struct err *err)
{
    for (int i = SECTION_MODEL; i < SECTION_OPS; i++) {
        if (read->sections[i] > sections[i].version)
            return err_set_about(
                err, ERR_UNSUPPORTED, read->path,
                ": its section \"%s\" has version %u, and this torchoscope "
                "reads up to version %u. Update torchoscope to open it.",
                sections[i].name, read->sections[i], sections[i].version);
        if (!read->sections[i])
            return err_set_about(
                err, ERR_UNSUPPORTED, read->path,
                ": has no section \"%s\", which this torchoscope needs to "
                "show it%s%.300s",
                sections[i].name, read->others.len ? "; it holds " : "",
                read->others.len ? read->others.at : "");
    }
    return 0;
}

int scope_check_sections(struct scope_read *read, struct err *err)
{
    if (look_at_schema(read, err) < 0)
        return -1;
    read->sections[SECTION_FILE] = read->version;
    if (read->version == 1) {
        read->sections[SECTION_MODEL] = read->sections[SECTION_RUN] = 1;
    } else if (read->schema[TABLE_SECTION] == SCHEMA_GOOD) {
        read->rows[TABLE_SECTION] = table_rows(read, TABLE_SECTION);
        table_read(read, TABLE_SECTION, take_section);
    } else {
        return err_set_about(err, ERR_FORMAT, read->path,
                             ": damaged: table section is missing");
    }
    if (check_versions(read, err) < 0)
        return -1;
    check_ops(read);
    return check_tables(read, err);
}
