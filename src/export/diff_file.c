/* A diff as a file; the suffix chooses the format. */
#include <string.h>
#include <strings.h>

#include "base/base.h"
#include "base/whole_file.h"
#include "compare/pair_text.h"
#include "export/export.h"

static int write_form(struct out *out, const char *suffix, const struct pair *pair,
                      struct err *err)
{
    static const struct tolerance none = {0, 0};
    struct buf markdown = BUF_INIT;
    struct json json;
    int status;

    if (strcasecmp(suffix, "json") == 0) {
        json_init_text(&json, out);
        return export_diff_json(&json, pair, &none, false, err);
    }
    if (strcasecmp(suffix, "md") != 0)
        return pair_text_write(&(struct pen){.out = out}, pair, true, err);
    status = pair_markdown(&markdown, pair, true, err);
    if (status == 0)
        out_str(out, buf_span(&markdown));
    buf_release(&markdown);
    return status;
}

int export_diff_file(const char *path, const struct pair *pair, struct err *err)
{
    const char *dot = strrchr(path, '.'), *suffix = dot ? dot + 1 : "";
    struct whole_file file;
    struct out out;

    if (strcasecmp(suffix, "json") != 0 && strcasecmp(suffix, "md") != 0 &&
        strcasecmp(suffix, "txt") != 0)
        return err_set(err, ERR_USAGE,
                       "%s: unknown format; a diff is written as .txt, .md or .json",
                       path);
    if (whole_file_begin(&file, path, err) < 0)
        return -1;
    out_init_fd(&out, file.fd);
    return whole_file_end(&file, &out, path, write_form(&out, suffix, pair, err), err);
}
