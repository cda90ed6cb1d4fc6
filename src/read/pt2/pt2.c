#include "read/pt2/pt2_in.h"

#include "base/base.h"
#include "read/file/file_source_in.h"

#define JSON_LIMIT     (1 * GIB)
#define OLD_PROGRAM    "serialized_exported_program.json"
#define MODELS_FOLDER  "models/"
#define NOTE_LIMIT     64
#define PROGRAMS_SHOWN 64

static bool is_program(struct str record)
{
    return str_starts(record, STR(MODELS_FOLDER)) && str_ends(record, STR(".json"));
}

static int pt2_knows(const struct input *input)
{
    if (!input->zip)
        return 0;
    if (zip_find(input->zip, OLD_PROGRAM) >= 0)
        return SURE_MAGIC + 1;
    return zip_find(input->zip, "archive_format") >= 0 ? SURE_MAGIC + 1 : 0;
}

int64_t pt2_entry(const struct pt2 *pt2, const char *folder, struct str name,
                  const char *tail)
{
    char *record =
        arena_printf(&pt2->build->scratch, "%s%.*s%s", folder, STR_ARG(name), tail);

    return record && name.len <= ZIP_NAME_MAX ? zip_find(pt2->zip, record) : -1;
}

int pt2_load_json(struct pt2 *pt2, uint32_t entry, struct json_doc *doc,
                  struct err *err)
{
    struct arena *arena = &pt2->build->scratch;
    struct str name = pt2->zip->entries[entry].name, text;
    char *shown = arena_printf(arena, "%s: %.*s", pt2->input->path, STR_ARG(name));

    if (!shown)
        return arena_err(arena, pt2->input->path, err);
    if (zip_load(pt2->zip, entry, JSON_LIMIT, pt2->build, arena, &text, err) < 0)
        return -1;
    return json_doc_read(doc, text, shown, arena, err);
}

/* The trimmed text of a small record; empty: there is none. */
static struct str note_of(struct pt2 *pt2, const char *record)
{
    int64_t entry = zip_find(pt2->zip, record);
    struct str text = {0};
    struct err why = {0};

    if (entry >= 0 && pt2->zip->entries[entry].size <= NOTE_LIMIT &&
        zip_load(pt2->zip, (uint32_t)entry, NOTE_LIMIT, pt2->build,
                 &pt2->build->scratch, &text, &why) == 0)
        return str_trim(text);
    return STR("");
}

/* ---- one program ---- */

/* Read the program of this entry below `root`. The model's graph is that of the first
 * program. */
static int read_program(struct pt2 *pt2, uint32_t entry, struct str name, uint32_t root,
                        bool first, struct err *err)
{
    uint32_t module;

    pt2->name = name;
    pt2->root = root;
    pt2->n_frames = 0;
    name_map_init(&pt2->tensors, &pt2->build->scratch);
    pt2->tensor_nodes = NULL;
    pt2->tensor_nodes_room = pt2->stack_room = pt2->frames_room = 0;
    pt2->stack_of = NULL;
    pt2->frames = NULL;
    if (pt2_load_json(pt2, entry, &pt2->doc, err) < 0)
        return -1;
    module = json_doc_get(&pt2->doc, JSON_DOC_ROOT, "graph_module");
    pt2->graph = json_doc_get(&pt2->doc, module, "graph");
    pt2->signature = json_doc_get(&pt2->doc, module, "signature");
    if (json_doc_kind(&pt2->doc, pt2->graph) != JSON_OBJECT)
        return err_set_about(err, ERR_FORMAT, pt2->input->path,
                             ": %.*s has no graph of torch.export",
                             STR_ARG(pt2->zip->entries[entry].name));
    if (pt2_tree(pt2, err) < 0 || pt2_tensors(pt2, err) < 0)
        return -1;
    if (first)
        pt2_facts(pt2);
    if (first && !pt2->input->inner)
        pt2_program(pt2);
    return 0;
}

/* The name of a program in "models/NAME.json". */
static struct str program_name(const struct pt2 *pt2, uint32_t entry)
{
    struct str record = str_from(zip_record(pt2->zip, entry), sizeof MODELS_FOLDER - 1);

    return str_head(record, record.len - 5);
}

/* One of several programs: a damaged one does not hide the others. */
static int read_one_of(struct pt2 *pt2, uint32_t entry, bool first, struct err *err)
{
    struct build *build = pt2->build;
    struct str name = program_name(pt2, entry);
    uint32_t node = build_node(build, pt2->input->node, PLACE_MODULE, name);
    struct err why = {0};
    struct arena before;
    int status;

    if (node == NO_PLACE)
        return arena_err(&build->model->arena, pt2->input->path, err);
    before = build_scratch_begin(build);
    status = read_program(pt2, entry, name, node, first, &why);
    build_scratch_end(build, before);
    if (status == 0)
        return 0;
    if (why.code == ERR_CANCELLED || build_spent(build))
        return err_copy(err, &why);
    build_finding(build, FINDING_DAMAGED, SEVERITY_ALARM, node, "%s", why.text);
    return 0;
}

static int read_several(struct pt2 *pt2, uint32_t n, struct err *err)
{
    uint32_t seen = 0;

    build_fact(pt2->build, "programs", value_int(build_values(pt2->build), n));
    for (uint32_t i = 0; i < pt2->zip->n && seen < PROGRAMS_SHOWN; i++) {
        if (!is_program(zip_record(pt2->zip, i)))
            continue;
        if (read_one_of(pt2, i, seen == 0, err) < 0)
            return -1;
        seen++;
    }
    build_finding(pt2->build, FINDING_UNSUPPORTED, SEVERITY_NOTE, pt2->input->node,
                  "the archive has %u programs: only the operations of the first are "
                  "shown",
                  n);
    return 0;
}

/* ---- the archive ---- */

static int read_new(struct pt2 *pt2, struct err *err)
{
    uint32_t n = 0, first = 0;

    for (uint32_t i = pt2->zip->n; i-- > 0;)
        if (is_program(zip_record(pt2->zip, i))) {
            n++;
            first = i;
        }
    if (n == 1 && read_program(pt2, first, program_name(pt2, first), pt2->input->node,
                               true, err) < 0)
        return -1;
    return n > 1 ? read_several(pt2, n, err) : 0;
}

static int pt2_read(struct input *input, struct build *build, struct err *err)
{
    struct pt2 pt2 = {.input = input, .build = build, .zip = input->zip};
    int64_t old = zip_find(input->zip, OLD_PROGRAM);
    struct str format = note_of(&pt2, "archive_format");

    pt2.storage_of = arena_array(&build->scratch, pt2.zip->n, sizeof *pt2.storage_of);
    if (!pt2.storage_of)
        return arena_err(&build->scratch, input->path, err);
    if (input->node == 0)
        build_fact(build, "entries", value_int(build_values(build), input->zip->n));
    if (input->zip->salvaged)
        build_finding(build, FINDING_TRUNCATED, SEVERITY_ALARM, input->node,
                      "truncated: the archive has no directory; %u of its entries were "
                      "found. Download it again",
                      input->zip->n);
    pt2.old = old >= 0;
    pt2.big_endian = str_is(note_of(&pt2, "byteorder"), "big");
    if (pt2.old)
        return read_program(&pt2, (uint32_t)old, STR("model"), input->node, true, err);
    if (!str_is(format, "pt2"))
        return err_set_about(err, ERR_UNSUPPORTED, input->path,
                             ": an archive of the format %.*s, which is not supported",
                             STR_ARG(str_head(format, NOTE_LIMIT)));
    if (read_new(&pt2, err) < 0)
        return -1;
    return pt2_native(&pt2, err);
}

const struct reader pt2_reader = {
    .name = "torch.export", .knows = pt2_knows, .read = pt2_read};
