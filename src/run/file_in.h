/* file_in.h - the tables of a .scope file, for file*.c only.
 *
 * A table is described by its columns: offset in the row struct, type, and the table it
 * refers to. This description drives CREATE TABLE, writing rows, and reading and
 * checking them.
 *
 *   file_tables.c      THE TABLE of tables
 *   scope_db.h         binds and reads columns
 *   file_row.c         writes and reads rows
 *   file_write.c       writes a run
 *   file_write_ops.c   ... its operations
 *   file_read.c        reads a run
 *   file_sections.c    ... checks its sections and their tables
 *   file_read_run.c    ... reads the tables of the run
 *   file_read_model.c  ... reads the tables of the model
 *   file_read_ops.c    ... reads the tables of operations
 *   file_kept.c        reads kept values on demand */
#ifndef RUN_FILE_IN_H
#define RUN_FILE_IN_H

#include "base/map.h"
#include "base/work.h"
#include "model/build.h"
#include "run/run_file.h"
#include "run/run_in.h"
#include "run/scope_db.h"

#define SCOPE_RANK 64

/* A part of a file with a version of its own. */
enum scope_section {
    SECTION_FILE, /* of the file itself: `section` and `meta` */
    SECTION_MODEL,
    SECTION_RUN,
    SECTION_OPS,     /* optional: if it is damaged or too new, the rest is still read */
    SECTION_HISTORY, /* optional; history/ writes and reads it */
    SECTION_COUNT
};

enum scope_table {
    TABLE_SECTION,
    TABLE_META,
    TABLE_MODEL_STRING,
    TABLE_SHAPE,
    TABLE_MODEL_PLAIN,
    TABLE_MODEL_CLASS,
    TABLE_MODEL_DEVICE,
    TABLE_MODEL_STORAGE,
    TABLE_MODEL_TENSOR,
    TABLE_MODEL_OBJECT,
    TABLE_MODEL_PLACE,
    TABLE_MODEL_FACT,
    TABLE_MODEL_FINDING,
    TABLE_RUN_STRING,
    TABLE_RUN_PLAIN,
    TABLE_RUN_FACT,
    TABLE_DEVICE,
    TABLE_STATS,
    TABLE_VALUE,
    TABLE_CALL,
    TABLE_IO,
    TABLE_MERGED,
    TABLE_MERGED_IO,
    TABLE_MERGED_SHAPE,
    TABLE_PARAM,
    TABLE_GAP,
    TABLE_KEPT,
    TABLE_KEPT_PART,
    TABLE_OP_KIND,
    TABLE_OP_ARG,
    TABLE_OP_TYPE,
    TABLE_OP_STORAGE,
    TABLE_OP_VALUE,
    TABLE_OP_SOURCE,
    TABLE_OP,
    TABLE_OP_IO,
    TABLE_OP_TOTAL,
    TABLE_COUNT
};
#define REFERS_NOT TABLE_COUNT

#define COLUMNS_MOST 18
struct file_table {
    const char *name;
    enum scope_section section;
    size_t row; /* its size */
    struct file_column columns[COLUMNS_MOST];
};

extern const struct file_table scope_tables[TABLE_COUNT];
/* The number of trailing columns that a file may lack; they are then NULL. */
extern const uint8_t scope_columns_added[TABLE_COUNT];

/* Rows that differ from the structs of a run or model. */
struct section_row {
    struct str name;
    uint32_t version;
};
struct meta_row {
    struct str key, text;
    int64_t number;
};
struct text_row {
    struct str text;
};
struct plain_row {
    uint8_t kind;
    uint32_t text, count;
    uint64_t integer;
    double real;
    struct str items;
};
struct tensor_row {
    struct tensor tensor;
    uint32_t shape, strides;
};
struct place_row {
    uint32_t parent, name, object;
    uint8_t kind, flags;
};
struct fact_row {
    uint8_t kind;
    struct model_fact fact;
};
struct finding_row {
    struct str code, severity, text;
    uint32_t place;
};
struct name_row {
    uint32_t name;
};
struct value_row {
    struct run_value value;
    uint32_t shape, strides;
};
struct merged_io_row {
    struct run_merged_io io;
    uint32_t merged;
};
struct merged_shape_row {
    uint32_t merged_io, shape;
};
struct kept_row {
    struct run_kept kept;
    uint32_t part;
};
struct op_kind_row {
    struct run_op_kind kind;
    struct str family;
};
struct op_arg_row {
    uint32_t kind, name;
};
struct op_type_row {
    struct run_op_type type;
    uint32_t shape, strides;
};
struct op_source_row {
    uint32_t value, source;
};
struct op_io_row {
    struct run_op_io io;
    uint32_t op, item; /* item: UINT32_MAX instead of OP_NO_ITEM */
};

/* Room for any row. */
union any_row {
    struct meta_row meta;
    struct plain_row plain;
    struct tensor_row tensor;
    struct object object;
    struct finding_row finding;
    struct value_row value;
    struct run_call call;
    struct stats stats;
    struct run_merged merged;
    struct op_kind_row op_kind;
    struct op_type_row op_type;
    struct run_op_value op_value;
    struct run_op op;
    struct run_op_total op_total;
};

/* ---- file_row.c ---- */

/* The number of columns of a table, without its id. */
int table_columns(enum scope_table table);
/* The CREATE TABLE statement of a table with its first `columns` columns. */
void table_sql(enum scope_table table, int columns, struct buf *to);

/* The value of an absent reference: 0 for texts and plain values. */
uint32_t table_none(unsigned refers);

/* Writes n rows; get() fills row i. */
typedef void get_row(void *user, uint32_t i, void *row);
int table_write(sqlite3 *db, enum scope_table table, uint32_t n, get_row *get,
                void *user, struct work *work, struct err *err);

/* Does the file have a table as specified in docs/run-file.md? */
enum schema_state { SCHEMA_ABSENT, SCHEMA_GOOD, SCHEMA_OTHER };

/* A file that is being read. */
struct scope_read {
    sqlite3 *db;
    const char *path;
    uint64_t size;
    struct work *work;
    uint32_t version;                 /* of the file */
    uint32_t sections[SECTION_COUNT]; /* the version of each; 0: absent */
    struct buf others;                /* "ops (version 1)": unknown sections */
    uint8_t schema[TABLE_COUNT];      /* enum schema_state */
    uint8_t columns[TABLE_COUNT];     /* number of columns in the file */
    struct build build;
    struct run *run;
    uint32_t rows[TABLE_COUNT]; /* declared */
    uint32_t n[TABLE_COUNT];    /* read so far */
    uint32_t astray;            /* dangling references of the current table */
    bool cancelled;
    /* TABLE_SHAPE: the first index of each in `sizes`, and its length. */
    int64_t *sizes;
    uint32_t n_sizes, sizes_room;
    uint32_t *shape_at;
    uint8_t *shape_rank;
    uint32_t *shape_dims; /* index of each in run->dims, or RUN_NONE: not yet */
    uint32_t dims_room;
    uint8_t *depths; /* of plain values */
    uint32_t *items; /* of the current one */
    uint32_t items_room;
    uint32_t *parents; /* of places so far */
    uint32_t last_merged, last_io;
    uint32_t *parts; /* first part of each kept value */
    char *no_rows;   /* of tables that are not stored as arrays */
    struct run_ops *ops;
    uint64_t ops_lost;
    uint32_t last_owner; /* owner of the last row, in a table whose rows belong to those
                            of another table */
    bool ops_bad;        /* the operations are dropped, with a finding */
};

/* The declared number of rows of a table; 0 if impossible. */
uint32_t table_rows(struct scope_read *read, enum scope_table table);

/* Reads a table row by row; take() returns NULL, or an error. The first bad row ends
 * the table: the rest is dropped, with a finding. Dangling references are replaced by
 * absent ones before take(). */
typedef const char *take_row(struct scope_read *read, uint32_t i, void *row);
void table_read(struct scope_read *read, enum scope_table table, take_row *take);
void scope_damaged(struct scope_read *read, enum scope_table table, uint32_t row,
                   const char *why);

/* ---- file_sections.c ---- */

/* Finds the sections, and checks the tables of the known ones. */
int scope_check_sections(struct scope_read *read, struct err *err);
/* Drops the operations, with a finding. */
void scope_drop_ops(struct scope_read *read, const char *why);
/* For table_write(): the sections of a new file; `user` is unused. A file has the
 * sections before SECTION_OPS, or before SECTION_HISTORY. */
get_row scope_get_section;
uint32_t scope_section_version(enum scope_section section);

/* ---- file_write_ops.c ---- */

/* Equal sizes and strides are written once. */
struct shapes {
    struct arena arena;
    struct map by_hash;
    struct str *texts;
    uint32_t n, room;
    bool bad;
};
uint32_t shapes_add(struct shapes *shapes, const int64_t *sizes, int rank);
/* Writes the tables of operations. */
int scope_write_ops(sqlite3 *db, const struct run *run, struct shapes *shapes,
                    struct work *work, struct err *err);

/* ---- file_kept.c ---- */

/* Passes the database to the run, for kept values. */
int scope_keep_source(struct scope_read *read, struct err *err);

/* ---- file_read_run.c ---- */
void scope_read_run(struct scope_read *read);
/* The index of a shape in run->dims, added if new; RUN_NONE: out of memory. */
uint32_t scope_dims(struct scope_read *read, uint32_t shape);
/* Allocates space for the declared rows of a table, in the run's arena; false, with a
 * finding, if that fails. `at` is the address of the array's pointer. */
bool scope_room(struct scope_read *read, enum scope_table table, void *at, size_t item);
extern const char *const scope_no_memory;

/* ---- file_read_ops.c ---- */

/* Fills run->ops, if the file has operations. After scope_read_run(). */
void scope_read_ops(struct scope_read *read);

/* ---- file_read_model.c ---- */
void scope_read_model(struct scope_read *read);
/* Reads plain values one by one, into the model's or the run's. */
bool scope_room_for_plain(struct scope_read *read, enum scope_table table);
const char *scope_take_plain(struct scope_read *read, struct values *values, uint32_t i,
                             const struct plain_row *row);
/* Replaces values that refer to unread tensors by VALUE_CUT. */
void scope_mend_values(struct values *values, const struct model *model);

#endif
