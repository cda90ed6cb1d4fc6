/* not_a_model.c - the reader of last resort: an error says what an unsupported file is,
 * and what to do about it. */
#include <inttypes.h>
#include <string.h>

#include "base/base.h"
#include "base/bytes.h"
#include "base/utf8.h"
#include "read/file/input_in.h"
#include "read/foreign_in.h"
#include "read/onnx/onnx_in.h"
#include "read/read.h"

enum {
    SURE_NAMED = 50, /* by its first bytes: less than a reader of the format */
    SURE_ZIP = 40,
    SURE_TEXT = 5,
    SURE_NOTHING = 1,
};

enum magic_kind {
    MAGIC_FORMAT,    /* a model format that is not supported */
    MAGIC_OLD_MODEL, /* another program can convert it */
    MAGIC_ARCHIVE,
    MAGIC_PICTURE,
    MAGIC_DOCUMENT,
    MAGIC_PROGRAM,
    MAGIC_DATABASE,
};

/* A known file type, by its first bytes. */
struct magic {
    uint16_t at;
    uint8_t len;
    const char *bytes;
    enum magic_kind kind;
    const char *what;   /* of a MAGIC_FORMAT its name, else "a PNG picture" */
    const char *advice; /* NULL: what follows from the kind */
};

static const struct magic magics[] = {
    {0, 4, "lmgg", MAGIC_OLD_MODEL, "an old GGML file",
     "convert it to GGUF with llama.cpp"},
    {0, 4, "fmgg", MAGIC_OLD_MODEL, "an old GGMF file",
     "convert it to GGUF with llama.cpp"},
    {0, 4, "tjgg", MAGIC_OLD_MODEL, "an old GGJT file",
     "convert it to GGUF with llama.cpp"},
    {0, 4, "algg", MAGIC_OLD_MODEL, "an old GGLA adapter",
     "convert it to GGUF with llama.cpp"},
    {4, 4, "ET13", MAGIC_FORMAT, "ExecuTorch", NULL},
    {4, 4, "BP08", MAGIC_FORMAT, "ExecuTorch (bundled program)", NULL},
    {4, 4, "FT01", MAGIC_FORMAT, "ExecuTorch (tensor data)", NULL},
    {4, 4, "PTMF", MAGIC_FORMAT, "PyTorch mobile (flatbuffer)", NULL},
    {0, 8, "PYTORCH1", MAGIC_OLD_MODEL, "a container of the PyTorch 1.0 preview",
     "load and save it with PyTorch 1.0"},
    {8, 7, "\3\0\0\0V 1", MAGIC_FORMAT, "Lua Torch7 .t7", NULL},
    {0, 6, "7z\xbc\xaf\x27\x1c", MAGIC_ARCHIVE, "a 7z archive", NULL},
    {0, 2, "\x1f\x8b", MAGIC_ARCHIVE, "a gzip file", NULL},
    {0, 4, "\x28\xb5\x2f\xfd", MAGIC_ARCHIVE, "a zstd file",
     "unpack it (`zstd -d`) and open what is in it"},
    {0, 4, "\x04\x22\x4d\x18", MAGIC_ARCHIVE, "an LZ4 file",
     "unpack it (`lz4 -d`) and open what is in it"},
    {0, 3, "BZh", MAGIC_ARCHIVE, "a bzip2 file",
     "unpack it (`bunzip2`) and open what is in it"},
    {0, 6,
     "\xfd"
     "7zXZ",
     MAGIC_ARCHIVE, "an xz file", "unpack it (`unxz`) and open what is in it"},
    {0, 3, "\x5d\0\0", MAGIC_ARCHIVE, "an LZMA file",
     "unpack it (`unlzma`) and open what is in it"},
    {0, 4, "Rar!", MAGIC_ARCHIVE, "a rar archive", NULL},
    {0, 2, "\x78\x9c", MAGIC_ARCHIVE, "zlib-packed data, as joblib writes it", NULL},
    {0, 2, "\x78\xda", MAGIC_ARCHIVE, "zlib-packed data, as joblib writes it", NULL},
    {257, 5, "ustar", MAGIC_ARCHIVE, "a tar archive without a PyTorch model", NULL},
    {0, 4,
     "\x7f"
     "ELF",
     MAGIC_PROGRAM, "a program or library (ELF)", NULL},
    {0, 2, "MZ", MAGIC_PROGRAM, "a Windows program", NULL},
    {0, 5, "%PDF-", MAGIC_DOCUMENT, "a PDF document", NULL},
    {0, 8, "\x89PNG\r\n\x1a\n", MAGIC_PICTURE, "a PNG picture", NULL},
    {0, 3, "\xff\xd8\xff", MAGIC_PICTURE, "a JPEG picture", NULL},
    {0, 4, "GIF8", MAGIC_PICTURE, "a GIF picture", NULL},
    {0, 16, "SQLite format 3", MAGIC_DATABASE, "an SQLite database", NULL},
};

/* The error for an unsupported model format. */
static int say_later(const struct input *input, const char *format, struct err *err)
{
    return err_set_about(err, ERR_UNSUPPORTED, input->path,
                         " is %s %s file; this format is not supported",
                         strchr("AEIOU", format[0]) ? "an" : "a", format);
}

/* The same for a format of other frameworks, with what to do. */
static int say_foreign(const struct input *input, const struct foreign *foreign,
                       struct err *err)
{
    return err_set_about(err, ERR_UNSUPPORTED, input->path,
                         " is a %s; this format is not supported: %s", foreign->what,
                         foreign->advice);
}

static const struct magic *find_magic(struct str head)
{
    for (size_t i = 0; i < COUNT_OF(magics); i++) {
        const struct magic *magic = &magics[i];

        if (head.len >= (size_t)magic->at + magic->len &&
            memcmp(head.at + magic->at, magic->bytes, magic->len) == 0)
            return magic;
    }
    return NULL;
}

/* ---- archives ---- */

static bool some_start(const struct zip *zip, struct str head)
{
    for (uint32_t i = 0; i < zip->n; i++)
        if (str_starts(zip->entries[i].name, head))
            return true;
    return false;
}

static bool has(const struct zip *zip, const char *name)
{
    return zip_find_name(zip, str_of(name)) >= 0;
}

/* The model format of an archive by the names in it, or NULL. */
static const char *archive_format(const struct zip *zip)
{
    if (zip_find(zip, ".data/extern_modules") >= 0)
        return "torch.package";
    if (zip_find(zip, "constants.pkl") >= 0)
        return "TorchScript";
    if (zip_find(zip, "model.json") >= 0 && some_start(zip, zip->root))
        return zip->root.len > 0 ? "TorchScript of the PyTorch 1.0 preview" : NULL;
    if (zip_find(zip, "data.pkl") >= 0)
        return "PyTorch zip";
    if (has(zip, "ETRECORD_V0"))
        return "ExecuTorch ETRecord";
    return NULL;
}

static const char *archive_kind(const struct zip *zip)
{
    if (some_start(zip, STR("word/")))
        return "a Word document";
    if (some_start(zip, STR("xl/")))
        return "an Excel workbook";
    if (some_start(zip, STR("ppt/")))
        return "a PowerPoint presentation";
    if (has(zip, "AndroidManifest.xml"))
        return "an Android app";
    if (has(zip, "META-INF/MANIFEST.MF"))
        return "a Java archive";
    return NULL;
}

/* Records of tensors as torch.save() writes them: "archive/data/0", "archive/version"
 */
static bool lacks_its_pickle(const struct zip *zip)
{
    uint64_t number;

    for (uint32_t i = 0; i < zip->n; i++) {
        struct str name = zip->entries[i].name;
        ptrdiff_t at = str_find(name, STR("/data/"));

        if (at > 0 && str_find_char(name, '/') == at &&
            str_to_u64(str_from(name, (size_t)at + 6), &number))
            return true;
    }
    return false;
}

static int name_archive(const struct input *input, struct err *err)
{
    const struct zip *zip = input->zip;
    const char *format = archive_format(zip);
    const char *kind = archive_kind(zip);

    if (format)
        return say_later(input, format, err);
    if (zip->leads_out)
        return err_set_about(
            err, ERR_UNSUPPORTED, input->path,
            " is a zip archive, but not a model. Do not unpack it: it can "
            "write outside of the target folder");
    if (lacks_its_pickle(zip))
        return err_set_about(
            err, ERR_FORMAT, input->path,
            " is a PyTorch zip file without data.pkl, which describes its "
            "%" PRIu32 " records. Save or download it again",
            zip->n);
    if (kind)
        return err_set_about(err, ERR_UNSUPPORTED, input->path, " is %s, not a model",
                             kind);
    if (zip->n == 0)
        return err_set_about(err, ERR_FORMAT, input->path, " is an empty zip archive");
    if (zip->salvaged)
        return err_set_about(
            err, ERR_FORMAT, input->path,
            " is a truncated zip archive: none of its first %" PRIu32
            " entries (the first is %.*s) describes a model. Download it "
            "again",
            zip->n, STR_ARG(str_head(zip->entries[0].name, 100)));
    return err_set_about(err, ERR_UNSUPPORTED, input->path,
                         " is a zip archive of %" PRIu32
                         " files (the first is %.*s), but "
                         "not a model: unpack it and open the files in it",
                         zip->n, STR_ARG(str_head(zip->entries[0].name, 100)));
}

/* ---- text ---- */

/* Is the head text? It may end inside a character. */
static bool is_text(struct str head)
{
    size_t n = head.len;

    for (size_t i = 0; i < n; i++) {
        uint8_t c = (uint8_t)head.at[i];

        if (c < 9 || (c > 13 && c < 32 && c != 27) || c == 127)
            return false;
    }
    for (size_t cut = 0; cut < 4 && cut <= n; cut++)
        if (utf8_valid(str_head(head, n - cut)))
            return n > 0;
    return false;
}

/* A git-LFS pointer has the size of the real file: "size 12345". */
static int name_pointer(const struct input *input, struct err *err)
{
    struct str rest = input->head, line;

    while (str_split(&rest, '\n', &line)) {
        uint64_t size;

        if (str_starts(line, STR("size ")) &&
            str_to_u64(str_trim(str_from(line, 5)), &size))
            return err_set_about(
                err, ERR_FORMAT, input->path,
                " is a git-LFS pointer, not the file itself: run `git lfs "
                "pull` to fetch its %" PRIu64 " bytes",
                size);
    }
    return err_set_about(
        err, ERR_FORMAT, input->path,
        " is a git-LFS pointer, not the file itself: run `git lfs pull`");
}

static bool is_pointer(struct str head)
{
    return str_starts(head, STR("version https://git-lfs.github.com/spec/"));
}

static int name_text(const struct input *input, struct err *err)
{
    struct str text = str_trim(input->head);

    if (is_pointer(input->head))
        return name_pointer(input, err);
    if (str_starts_word(text, STR("<!doctype")) ||
        str_starts_word(text, STR("<html")) || str_starts_word(text, STR("<?xml")))
        return err_set_about(
            err, ERR_FORMAT, input->path,
            " is a web page, not a model: the download failed or needs a "
            "login. Download it again");
    if (str_starts(text, STR("{\"error\"")) || str_starts(text, STR("{\"message\"")))
        return err_set_about(err, ERR_FORMAT, input->path,
                             " is a server's error message, not a model: %.*s",
                             STR_ARG(str_head(text, 120)));
    if (str_starts(text, STR("{")) || str_starts(text, STR("[")))
        return err_set_about(
            err, ERR_FORMAT, input->path,
            " is JSON text, not a model: the weights are in another file");
    return err_set_about(err, ERR_FORMAT, input->path, " is plain text, not a model");
}

/* ---- the reader ---- */

static int knows(const struct input *input)
{
    if (!input->blob)
        return SURE_NOTHING;
    if (input->zip)
        return SURE_ZIP;
    if (find_magic(input->head) || is_pointer(input->head) || foreign_format(input))
        return SURE_NAMED;
    return is_text(input->head) ? SURE_TEXT : SURE_NOTHING;
}

static bool all_zero(struct str head)
{
    return head.len > 0 && head.at[0] == 0 &&
           memcmp(head.at, head.at + 1, head.len - 1) == 0;
}

static int name_magic(const struct input *input, const struct magic *magic,
                      struct err *err)
{
    const char *advice = magic->advice;

    if (magic->kind == MAGIC_FORMAT)
        return say_later(input, magic->what, err);
    if (magic->kind == MAGIC_ARCHIVE && !advice)
        advice = "unpack it and open the files in it";
    return err_set_about(err, ERR_UNSUPPORTED, input->path, " is %s, not a model%s%s",
                         magic->what, advice ? ": " : "", advice ? advice : "");
}

static int say_what_it_is(struct input *input, struct build *build, struct err *err)
{
    const struct magic *magic;

    (void)build;
    if (!input->blob && foreign_folder(input->folder))
        return say_foreign(input, foreign_folder(input->folder), err);
    if (!input->blob)
        return err_set_about(err, ERR_USAGE, input->path,
                             ": no model file in this folder");
    if (input->blob->size == 0)
        return err_set_about(err, ERR_FORMAT, input->path,
                             " is empty: the download or the copy did not finish");
    /* A zip may follow anything: TFLite keeps its metadata so. */
    magic = zip_looks_like(input->head) ? NULL : find_magic(input->head);
    if (magic)
        return name_magic(input, magic, err);
    if (input->zip)
        return name_archive(input, err);
    if (foreign_format(input))
        return say_foreign(input, foreign_format(input), err);
    if (zip_looks_like(input->head))
        return err_set_about(
            err, ERR_FORMAT, input->path,
            " is a zip archive without a readable entry: it is truncated "
            "or damaged. Download it again");
    if (is_text(input->head))
        return name_text(input, err);
    if (all_zero(input->head))
        return err_set_about(err, ERR_FORMAT, input->path,
                             " begins with zeros only: the download did not finish");
    return err_set_about(
        err, ERR_FORMAT, input->path,
        ": unrecognised format: its first bytes match no model format");
}

const struct reader not_a_model_reader = {
    .name = "not a model", .knows = knows, .read = say_what_it_is};

/* ---- in one word ---- */

static const char *const magic_words[] = {
    [MAGIC_FORMAT] = "model",      [MAGIC_OLD_MODEL] = "model",
    [MAGIC_ARCHIVE] = "archive",   [MAGIC_PICTURE] = "picture",
    [MAGIC_DOCUMENT] = "document", [MAGIC_PROGRAM] = "program",
    [MAGIC_DATABASE] = "database",
};

static const char *kind_of_input(const struct input *input)
{
    const struct magic *magic = find_magic(input->head);

    if (input->blob->size == 0)
        return "empty";
    if (magic)
        return magic_words[magic->kind];
    if (zip_looks_like(input->head))
        return "archive";
    if (onnx_looks_like(input) || foreign_format(input) ||
        str_starts(input->head, STR("GGUF"))) /* a damaged one */
        return "model";
    return is_text(input->head) ? "text" : "other";
}

const char *read_kind(const char *path)
{
    struct input input = {.path = path, .blob = blob_open_file(path, NULL)};
    const char *kind = NULL;
    char head[INPUT_HEAD];

    if (!input.blob)
        return NULL;
    input.head = str_span(
        head, input.blob->size < sizeof head ? (size_t)input.blob->size : sizeof head);
    if (blob_read(input.blob, 0, head, input.head.len, NULL) == 0)
        kind = kind_of_input(&input);
    blob_close(input.blob);
    return kind;
}
