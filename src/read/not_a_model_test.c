#include <string.h>

#include "base/base.h"
#include "base/test.h"
#include "read/file/test_zip_in.h"
#include "read/read.h"

/* The sentence for these bytes, which must be no model. */
static const char *named(const char *bytes, size_t len, struct err *err)
{
    const struct model *model = read_model_memory(bytes, len, "f", NULL, err);

    model_free(model);
    CHECK(model == NULL);
    return err->text;
}

#define CHECK_NAMED(bytes, part)                                                       \
    do {                                                                               \
        struct err err = {0};                                                          \
        CHECK(strstr(named(bytes, sizeof(bytes) - 1, &err), part));                    \
    } while (0)

TEST(a_file_that_is_not_a_model_is_identified)
{
    CHECK_NAMED("", "f is empty");
    CHECK_NAMED("7z\xbc\xaf\x27\x1c....", "a 7z archive, not a model: unpack it");
    CHECK_NAMED("\x1f\x8b\x08\x00....", "a gzip file");
    CHECK_NAMED("\x28\xb5\x2f\xfd....", "a zstd file");
    CHECK_NAMED("BZh91AY&SY", "a bzip2 file, not a model: unpack it (`bunzip2`)");
    CHECK_NAMED("\x04\x22\x4d\x18\x64\x40", "an LZ4 file");
    CHECK_NAMED("\x5d\0\0\x80\0\xff\xff", "an LZMA file");
    CHECK_NAMED("\xfd"
                "7zXZ\0\0\0\0",
                "an xz file");
    CHECK_NAMED("Rar!\x1a\x07\x01", "a rar archive");
    CHECK_NAMED("\x7f"
                "ELF\2\1\1\0",
                "ELF");
    CHECK_NAMED("%PDF-1.7 \n%", "a PDF document");
    CHECK_NAMED("\x89PNG\r\n\x1a\n....", "a PNG picture");
    CHECK_NAMED("\xff\xd8\xff\xe0....", "a JPEG picture");
    CHECK_NAMED("PYTORCH1\0\0\0\0\0\0\0\0", "PyTorch 1.0 preview");
    CHECK_NAMED("tjgg\1\0\0\0", "an old GGJT file");
    CHECK_NAMED("\0\0\0\0\0\0\0\0\0\0\0\0", "zeros only");
    CHECK_NAMED("\xf3\x91\x03\xfe\xe1\xc2\x99\x81", "unrecognised format");
}

TEST(an_unsupported_model_format_is_identified)
{
    CHECK_NAMED("\x1c\0\0\0"
                "FT01....",
                "is an ExecuTorch (tensor data) file");
    CHECK_NAMED("\x1c\0\0\0PTMF....", "PyTorch mobile");
    CHECK_NAMED("\4\0\0\0\1\0\0\0\3\0\0\0V 1\r\0\0\0", "Torch7");
    CHECK_NAMED("\x08\x07\x12\x04torch", "unrecognised");
    CHECK_NAMED("\x08\x07\x12\x05torch\x42\x02\x10\x11",
                "an ONNX file that ends before");
}

TEST(formats_of_other_frameworks_are_identified_with_a_hint)
{
    static const char weights[] = "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                                  "\6\0\0\0\x08\x05\x10\x03\x10\x04....";
    char index[64] = {0};
    struct err why = {0};

    CHECK_NAMED("\x08\x01\x12\x0a\x0a\x08\x12\x06\x0a\x04\x0a\x02.....",
                "a TensorFlow SavedModel; this format is not supported: convert");
    CHECK_NAMED("\x0a\x0f\x0a\x05input\x12\x06Placeh....", "a TensorFlow graph;");
    CHECK_NAMED("\x08\x05\x12\x14\x0a\x10\x0a\x05image\x1a\x07\x2a\x05\x0a\x03\x01\x03"
                "\x08.....",
                "a CoreML model;");
    CHECK_NAMED("\x0a\x12\x08\0\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x1a\2\x0a"
                "\0....",
                "a Paddle program; this format is not supported: convert it to ONNX");
    CHECK_NAMED(weights, "a Paddle parameter file;");
    CHECK_NAMED("\x28\0\0\0ORTM\0\0\0\0", "a model of ONNX Runtime (.ort);");
    index[2] = 'x';
    memcpy(index + 56, "\x57\xfb\x80\x8b\x24\x75\x47\xdb", 8);
    CHECK(strstr(named(index, 64, &why), "a TensorFlow checkpoint (its index);"));
}

TEST(a_failed_download_is_identified_with_a_hint)
{
    CHECK_NAMED("version https://git-lfs.github.com/spec/v1\n"
                "oid sha256:4d7a214614ab2935\nsize 438064459\n",
                "run `git lfs pull` to fetch its 438064459 bytes");
    CHECK_NAMED("<!DOCTYPE html>\n<html><head>", "a web page");
    CHECK_NAMED("  <HTML><body>", "a web page");
    CHECK_NAMED("{\"error\": \"Repository not found\"}", "Repository not found");
    CHECK_NAMED("{\"hidden_size\": 768}", "JSON text");
    CHECK_NAMED("Entry not found\n", "plain text");
}

/* The sentence for an archive with these entries. */
static void check_archive(const char *const *names, size_t n, const char *part)
{
    struct test_zip zip = {0};
    struct err err = {0};

    for (size_t i = 0; i < n; i++)
        test_zip_add(&zip, &(struct test_member){.name = names[i], .content = "x"});
    test_zip_end(&zip, &(struct test_end){0});
    CHECK(strstr(named(zip.bytes.at, zip.bytes.len, &err), part));
    test_zip_release(&zip);
}

TEST(an_archive_is_identified_by_its_entries)
{
    static const char *const word[] = {"[Content_Types].xml", "word/document.xml"};
    static const char *const app[] = {"classes.dex", "AndroidManifest.xml"};
    static const char *const package[] = {"m/.data/extern_modules", "m/model.pkl"};
    static const char *const other[] = {"weights/a.pt", "weights/b.pt"};

    check_archive(word, COUNT_OF(word), "a Word document");
    check_archive(app, COUNT_OF(app), "an Android app");
    check_archive(package, COUNT_OF(package), "torch.package");
    check_archive(other, COUNT_OF(other), "a zip archive of 2 files");
    check_archive(other, 0, "an empty zip archive");
}

TEST(any_short_file_is_identified_or_read)
{
    char bytes[3];
    struct err err = {0};

    for (int i = 0; i < 65536; i++) {
        bytes[0] = (char)i;
        bytes[1] = (char)(i >> 8);
        bytes[2] = '.';
        model_free(read_model_memory(bytes, 1 + (size_t)(i & 1) * 2, "f", NULL, &err));
    }
}
